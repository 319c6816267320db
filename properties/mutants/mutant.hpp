// Known-bad policies: each is a fault that users reported, with the numbers of the report, and names the
// invariant that must find it.
#pragma once

#include <functional>
#include <string_view>
#include <variant>
#include <vector>

#include "properties/invariant.hpp"

namespace retrygate {

struct Mutant {
  std::string_view id;
  std::string_view kind;       // of fault, one of fault_kinds()
  std::string_view killed_by;  // an invariant's id
  std::string_view report;     // owner/repository#number
  std::variant<AnyPolicy, AnyLoop> faulty;
  // Further invariants that the same fault breaks, and why it does.
  std::vector<std::string_view> also = {};
  std::string_view because = {};
  std::vector<Deviation> deviations = {};
  std::function<AnyPolicy(std::uint64_t process)> fresh = {};
  bool keyed = true;
};
const Shelf<Mutant>& mutants();

// What users' reports were about, 39 kinds.
inline const std::vector<std::string_view>& fault_kinds() {
  static const std::vector<std::string_view> kinds{"attempts_off_by_one",
                                                   "budget",
                                                   "cancellation_ignored",
                                                   "cap_before_jitter",
                                                   "cap_ignored",
                                                   "cap_terminates_or_wraps",
                                                   "circuit_breaker_interplay",
                                                   "clock",
                                                   "deadline_overshoot",
                                                   "decorrelated_state",
                                                   "does_not_retry_retryable",
                                                   "exponent_wrong",
                                                   "float_overflow",
                                                   "infinite_retry",
                                                   "integer_overflow",
                                                   "jitter_frozen_at_cap",
                                                   "jitter_lower_bound_zero",
                                                   "jitter_negative_or_below_base",
                                                   "jitter_not_applied",
                                                   "jitter_zero_crash",
                                                   "no_jitter_thundering_herd",
                                                   "non_idempotent_retried",
                                                   "not_reset_after_success",
                                                   "reset_too_early",
                                                   "retries_non_retryable",
                                                   "retry_after_ignored",
                                                   "retry_after_parse",
                                                   "retry_after_treated_as_max",
                                                   "retry_after_uncapped",
                                                   "retry_after_unit",
                                                   "retry_after_zero_storm",
                                                   "retry_amplification",
                                                   "rng_seed",
                                                   "rounds_to_zero",
                                                   "sleep_after_last_attempt",
                                                   "thread_safety_shared_state",
                                                   "timer_overflow",
                                                   "unit_ms_vs_s",
                                                   "xor_as_power"};
  return kinds;
}

inline Subject subject_of(const Mutant& mutant) {
  Subject subject =
      std::visit([&](const auto& p) { return subject_of(std::string(mutant.id), p); }, mutant.faulty);
  subject.deviations = mutant.deviations;
  subject.fresh = mutant.fresh;
  subject.keyed = subject.keyed && mutant.keyed;
  return subject;
}

// A stateless policy whose delay is one function; it stops where its contract says.
template <class Delay>
struct Faulty {
  Contract promise;
  Delay delay;
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (promise.max_attempts && a.number >= *promise.max_attempts) return Decision::stop(Stop::attempts);
    return Decision::wait(delay(a.number, rng));
  }
  Contract contract() const { return promise; }
  bool operator==(const Faulty& other) const { return promise == other.promise; }
  friend std::string to_string(const Faulty& p) { return p.promise.name; }
};
// A function without captures as a value.
using DelayFunction = Duration (*)(std::int64_t retry, Rng& rng);
inline AnyPolicy faulty(Contract promise, DelayFunction delay) {
  return Faulty<DelayFunction>{std::move(promise), delay};
}

// Memory of a mutant, for whatever it keeps.
struct Notes {
  Duration last;
  Instant at;
  std::int64_t count = 0;
  double tokens = 0;
};

// A policy that is one function of everything it is told.
struct Misjudges {
  using Decide = Decision (*)(const Contract&, Notes& client, Notes& call, const Attempt&, Rng&);
  Contract promise;
  Decide decide;
  using Client = Notes;
  using Call = Notes;
  Decision after(Client& client, Call& call, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (promise.max_attempts && a.number >= *promise.max_attempts) return Decision::stop(Stop::attempts);
    return decide(promise, client, call, a, rng);
  }
  Contract contract() const { return promise; }
  bool operator==(const Misjudges& other) const { return promise == other.promise && decide == other.decide; }
  friend std::string to_string(const Misjudges& p) { return p.promise.name; }
};

inline constexpr Duration uncapped = Duration::max();
// Exponential growth with a hard cap, if any.
inline Contract exponential(Duration base, double factor, Duration cap, JitterKind jitter, double ratio = 0,
                            Duration most = {}) {
  Contract c;
  c.growth = GrowthKind::exponential;
  c.base = base;
  c.factor = factor;
  if (cap != uncapped) c.cap = cap;
  c.jitter = Jitter{jitter, ratio, most};
  return c;
}

// The same delay every time.
inline Contract constant(Duration base, JitterKind jitter = JitterKind::none, double ratio = 0) {
  Contract c;
  c.growth = base == Duration{} ? GrowthKind::none : GrowthKind::constant;
  if (base != Duration{}) c.base = base;
  c.jitter = Jitter{jitter, ratio, {}};
  return c;
}

}  // namespace retrygate
