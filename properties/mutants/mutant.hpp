// Known-bad policies: each is a fault that users reported, with the numbers of the report, and names the
// invariant that must find it.
#pragma once

#include <string_view>

#include "policies/preset.hpp"

namespace retrygate {

struct Mutant {
  std::string_view id;
  std::string_view killed_by;  // an invariant's id
  std::string_view report;     // owner/repository#number
  AnyPolicy policy;
};

const Shelf<Mutant>& mutants();

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

// Exponential growth with a hard cap; max() is no cap.
inline Contract exponential(Duration base, double factor, Duration cap, JitterKind jitter, double ratio = 0,
                            Duration most = {}) {
  Contract c;
  c.growth = GrowthKind::exponential;
  c.base = base;
  c.factor = factor;
  if (cap != Duration::max()) c.cap = cap;
  c.jitter = Jitter{jitter, ratio, most};
  return c;
}

}  // namespace retrygate
