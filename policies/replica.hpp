// Replicas of what libraries ship: a recipe reads a library's own parameter names and gives a composition,
// or, where none has the law, a function that draws the delay.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "policies/composed.hpp"
#include "policies/preset.hpp"

namespace retrygate {

// What most libraries count in.
inline constexpr Duration ms = Duration::ms(1);

// The parameters of a law that is a function; what each means is the function's business.
struct Numbers {
  Duration base;
  Duration cap = Duration::max();
  Duration extra = {};
  double factor = 2;
  double ratio = 0;
  std::int64_t count = 0;
  bool operator==(const Numbers&) const = default;
};

struct Drawing {
  std::int64_t n;       // of the retry, from 1
  Duration previous;    // the delay before, 0 before the first retry
  std::uint64_t& kept;  // what else the law keeps of its call; 0 at first
  const Attempt& attempt;
  Rng& rng;
};
using DrawDelay = Duration (*)(const Numbers&, const Drawing&);

// A law for `Guarded` that no composition has.
struct ReplicaLaw {
  std::string name;
  Numbers numbers;
  DrawDelay draw;
  Limits limit;
  Guards guard;
  Contract promised;  // by the library's documentation
  struct Memory {
    Duration previous;
    std::uint64_t kept = 0;
  };
  Duration delay(Memory& memory, const Attempt& attempt, Rng& rng) const {
    return memory.previous = draw(numbers, {attempt.number, memory.previous, memory.kept, attempt, rng});
  }
  const Limits& limits() const { return limit; }
  const Guards& guards() const { return guard; }
  Contract contract() const { return promised; }
  bool operator==(const ReplicaLaw&) const = default;
  friend std::string to_string(const ReplicaLaw& p);
};

// Reads one preset's parameters; what is left of the table is for the caller's finish(). Every preset also
// takes max_attempts (the first try counts) and deadline.
class Recipe {
 public:
  explicit Recipe(Reader& reader) : reader_(reader) {}

  Duration duration(std::string_view key, Duration otherwise);  // not negative
  double number(std::string_view key, double otherwise, double least = 0, double most = 1e9);
  bool flag(std::string_view key, bool otherwise);

  Parts parts;  // filled by the preset
  AnyPolicy compose();
  const Limits& limits();  // the parts' own, max_attempts and deadline read over them
  // The same with a law of its own; of the parts, limits, guards and tick count. `promise` is what is
  // documented of growth, jitter and cap.
  AnyPolicy draw(std::string_view name, const Numbers&, DrawDelay, Contract promise = {});
  // What is documented, where the code does something else; applied to either.
  std::function<void(Contract&)> documented;

 private:
  Reader& reader_;
  std::string shown_;  // " base 100ms cap 5s": the parameters as read
};

// -- words of the presets' recipes --

inline Jitter no_jitter() { return {}; }
inline Jitter full_jitter() { return {JitterKind::full, 0, {}}; }
inline Jitter equal_jitter() { return {JitterKind::equal, 0, {}}; }
inline Jitter plus_minus(double ratio) {
  return ratio > 0 ? Jitter{JitterKind::proportional, ratio, {}} : Jitter{};
}
inline Jitter up_to(Duration most) {
  return most > Duration{} ? Jitter{JitterKind::additive, 0, most} : Jitter{};
}
Parts exponential(Duration base, double factor, Jitter, Duration cap = Duration::max(),
                  CapKind = CapKind::hard);
Parts no_delay();
// The contract's delay keys alone.
Contract exponential_promise(Duration base, double factor, Jitter, Duration cap, CapKind = CapKind::hard);
Contract cap_promise(Duration cap, CapKind = CapKind::hard);

Limits attempts(std::int64_t, std::optional<RetryOn> = {});
inline Limits retries(std::int64_t n, std::optional<RetryOn> on = {}) {
  return attempts(n + 1, std::move(on));
}
Limits without_limit(std::optional<RetryOn> = {});
// "429 5xx timeout UNAVAILABLE"; "connection" stands for every transport error but `cancelled`.
RetryOn on(std::string_view words);

Budget aws_quota(double capacity = 500, double cost = 5, double timeout_cost = 10);
Budget ratio_budget(double ratio, double reserve_per_s, Duration window);

// min(cap, base * factor^(n-1)).
Duration capped_ceiling(const Numbers&, std::int64_t n);
// Evenly over [lo, hi) at that tick, or the point lo.
Duration evenly(Duration lo, Duration hi, Rng&, Duration tick = Duration::ns(1));
Duration evenly_closed(Duration lo, Duration hi, Rng&, Duration tick = Duration::ns(1));
// Cut to whole ticks.
Duration cut(Duration, Duration tick);

}  // namespace retrygate
