#include "sim/law.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

constexpr std::string_view hint =
    "\"50ms\", \"uniform 1ms 2ms\", \"exponential 50ms\", \"normal 10ms 2ms\", \"lognormal 10ms 0.5\", "
    "\"gamma 10ms 2\" or \"weibull 10ms 1.5\"";

// Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958; the second of the pair is
// dropped.
double standard_normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log1p(-rng.unit()));
  return radius * std::cos(2 * std::numbers::pi * rng.unit());
}

// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000, with their boost for shapes
// below 1.
double standard_gamma(double shape, Rng& rng) {
  if (shape < 1) {
    const double boost = std::pow(1 - rng.unit(), 1 / shape);
    return standard_gamma(shape + 1, rng) * boost;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = standard_normal(rng);
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log1p(-rng.unit()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

std::optional<double> positive_number(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value <= 0)
    return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

Duration Law::draw_other(Rng& rng) const {
  switch (kind) {
    case Kind::exponential:
      return rng.exponential(a);
    case Kind::normal:
      // The mean is not negative, so that at least every second draw is kept.
      for (;;) {
        const Duration d = Duration::seconds(a.seconds() + b.seconds() * standard_normal(rng));
        if (d >= Duration{}) return d;
      }
    case Kind::lognormal:
      return a.scaled(std::exp(shape * standard_normal(rng)));
    case Kind::gamma:
      return a.scaled(standard_gamma(shape, rng) / shape);
    case Kind::weibull:
      return a.scaled(std::pow(-std::log1p(-rng.unit()), 1 / shape));
    case Kind::constant:
    case Kind::uniform:
      break;
  }
  return a;
}

std::string to_string(const Law& law) {
  const std::string a = to_string(law.a);
  switch (law.kind) {
    case Law::Kind::constant:
      return a;
    case Law::Kind::uniform:
      return fmt::format("uniform {} {}", a, to_string(law.b));
    case Law::Kind::exponential:
      return fmt::format("exponential {}", a);
    case Law::Kind::normal:
      return fmt::format("normal {} {}", a, to_string(law.b));
    case Law::Kind::lognormal:
      return fmt::format("lognormal {} {}", a, law.shape);
    case Law::Kind::gamma:
      return fmt::format("gamma {} {}", a, law.shape);
    case Law::Kind::weibull:
      return fmt::format("weibull {} {}", a, law.shape);
  }
  return a;
}

Result<Law> parse_law(std::string_view text, Where where) {
  constexpr std::string_view names[] = {"constant",  "uniform", "exponential", "normal",
                                        "lognormal", "gamma",   "weibull"};
  const std::vector<std::string_view> words = words_of(text);
  const auto wrong = [&](std::string message) {
    return failure(where, std::move(message), fmt::format("write {}", hint));
  };
  if (words.empty()) return wrong("a length of time or a law is missing");
  if (words.size() == 1 || words[0].front() == '-' || (words[0].front() >= '0' && words[0].front() <= '9')) {
    Result<Duration> d = parse_duration(text, where);
    if (!d) return tl::unexpected(d.error());
    if (*d < Duration{}) return wrong(fmt::format("'{}' is negative", text));
    return Law::constant(*d);
  }
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (words[0] != names[i]) continue;
    Law law{static_cast<Law::Kind>(i), {}, {}, 0};
    const bool two_times = law.kind == Law::Kind::uniform || law.kind == Law::Kind::normal;
    const std::size_t wanted = law.kind <= Law::Kind::exponential && !two_times ? 2 : 3;
    if (words.size() != wanted)
      return wrong(fmt::format("'{}' takes {} value{}", names[i], wanted - 1, wanted == 2 ? "" : "s"));
    Result<Duration> a = parse_duration(words[1], where);
    if (!a) return tl::unexpected(a.error());
    law.a = *a;
    if (two_times) {
      Result<Duration> b = parse_duration(words[2], where);
      if (!b) return tl::unexpected(b.error());
      law.b = *b;
    } else if (wanted == 3) {
      const auto shape = positive_number(words[2]);
      // Within these no factor of the law's scale is infinite in doubles, whatever is drawn.
      const double most = law.kind == Law::Kind::lognormal ? 20 : 10'000, least = 0.01;
      if (!shape || *shape < least || *shape > most)
        return wrong(fmt::format("'{}' must be a number, {}..{}", words[2], least, most));
      law.shape = *shape;
      if (law.a == Duration{}) return wrong(fmt::format("'{}' must be above 0", words[1]));
    }
    if (law.a < Duration{} || law.b < Duration{}) return wrong(fmt::format("'{}' has a negative time", text));
    if (law.kind == Law::Kind::uniform && law.b < law.a) return wrong("the upper end is below the lower one");
    if (law.kind == Law::Kind::constant || (law.kind == Law::Kind::uniform && law.a == law.b))
      return Law::constant(law.a);
    return law;
  }
  return wrong(
      fmt::format("no law '{}'{}", words[0], did_you_mean(words[0], {std::begin(names), std::end(names)})));
}

}  // namespace retrygate
