// The oracle: where the delay of retry n may lie, from the contract alone. Written with long doubles and
// closed forms; shares no code with the policies (policies/backoff.hpp, policies/jitter.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/contract.hpp"

namespace retrygate {

// Nanoseconds with 64 bits of mantissa: every Duration is exact.
inline long double in_ns(Duration d) { return static_cast<long double>(d.ns()); }

// A closed interval of delays in nanoseconds, kept as long doubles (64 bits of mantissa: every int64 is
// exact). `slack` is what rounding to the tick and to doubles may add on either side, `above` what the
// rounding of the delay before may add to it at the upper end.
struct Support {
  long double lo = 0, hi = 0, slack = 1, above = 0;
  bool holds(Duration d) const {
    const auto x = in_ns(d);
    return x >= lo - slack && x <= hi + slack + above;
  }
};

std::string to_string(const Support&);  // "[100ms, 1.5s]"; "1s" for a point
std::string outside(const Support&);    // "outside [100ms, 1.5s]"; "not 1s"

// The largest Duration.
inline constexpr long double without_end = 9223372036854775807.0L;

// Does every delay depend on the one before it?
bool chained(const Contract&);

// The ceiling of retry n >= 1 before jitter and cap; saturates at the largest Duration. Nothing when no
// growth is promised.
std::optional<Support> ceiling_of(const Contract&, std::int64_t n);

// `previous` is the delay of the retry before (decorrelated jitter, of both versions). What is longer than
// the platform's timer can hold is cut to that. Nothing when growth or jitter, or a number they need, is not
// promised.
std::optional<Support> support_of(const Contract&, std::int64_t n, std::optional<Duration> previous);

// The largest delay that the cap allows, jitter included; the timer may hold less. Nothing when no cap is
// promised.
std::optional<Support> cap_of(const Contract&);

// A delay drawn from [lo, hi], then cut at `cut`.
struct DelayLaw {
  Support drawn;
  long double cut;
  long double below(long double x) const;  // P(delay <= x), on the lattice of ticks
  long double tick = 1;
  // P(the delay lies in the lowest part `share` of the interval), and its largest density. Absent: evenly.
  long double (*shape)(long double share) = nullptr;
  long double densest = 1;
};

// The declared law of retry n where the contract leaves no choice: a hard cap that cuts into a
// proportional or additive interval may be kept in several ways, and a timer that cuts into any, so there is
// none there. Of decorrelated-v2
// the first retry alone: a later one depends on all the delays before it.
std::optional<DelayLaw> law_of(const Contract&, std::int64_t n, std::optional<Duration> previous);

}  // namespace retrygate
