// Laws of lengths of time: what a network, a server or a thinking user draws.
#pragma once

#include <string>

#include "policies/base/error.hpp"
#include "policies/base/rng.hpp"

namespace retrygate {

// Written as a text: "50ms" (always), "uniform 200us 2ms", "exponential 50ms" (mean), "normal 10ms 2ms" (mean
// and standard deviation of the law before it is cut off at 0), "lognormal 10ms 0.5" (median and sigma of the
// logarithm), "gamma 10ms 2" (mean and shape), "weibull 10ms 1.5" (scale and shape).
struct Law {
  enum class Kind : std::uint8_t { constant, uniform, exponential, normal, lognormal, gamma, weibull };

  Kind kind = Kind::constant;
  Duration a;        // the constant, lower end, mean, median or scale
  Duration b;        // upper end or standard deviation
  double shape = 0;  // sigma or shape

  static Law constant(Duration d) { return {Kind::constant, d, d, 0}; }
  bool random() const { return kind != Kind::constant; }
  // Never negative; nearest nanosecond. A constant consumes no draw.
  [[gnu::always_inline]] Duration draw(Rng& rng) const {
    if (kind == Kind::constant) return a;
    return kind == Kind::uniform ? rng.between(a, b) : draw_other(rng);
  }
  bool operator==(const Law&) const = default;

 private:
  friend class Sampler;
  Duration draw_other(Rng&) const;
};

// A law made ready for many draws: the same draws, without working out its width each time.
class Sampler {
 public:
  Sampler(const Law& law)  // NOLINT: meant to convert
      : law_(law),
        width_(law.kind == Law::Kind::uniform ? static_cast<std::uint64_t>((law.b - law.a).ns()) + 1 : 0) {}
  [[gnu::always_inline]] Duration draw(Rng& rng) const {
    if (width_ != 0) return Duration::ns(law_.a.ns() + static_cast<std::int64_t>(rng.below(width_)));
    if (law_.kind == Law::Kind::constant) return law_.a;
    Rng rest = rng;  // so that the other can stay in registers
    const Duration d = law_.draw_other(rest);
    rng = rest;
    return d;
  }

 private:
  Law law_;
  std::uint64_t width_;  // of a uniform law: how many nanoseconds it may take
};

std::string to_string(const Law&);  // the form that parse_law reads
Result<Law> parse_law(std::string_view text, Where where = {});

}  // namespace retrygate
