// What many calls of a policy draw: the law of one wait, and the busiest moments of a fleet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ci/claims.hpp"

namespace retrygate::ci {

// Are the waits of a policy uniform on [low c, c], retry by retry with ceilings c? 100 calls a seed.
struct DrawnLaw {
  bool fits = false;  // Kolmogorov-Smirnov at one in a million over all retries; no wait lies outside
  std::string text;   // bounds, moments, distance and p
};
DrawnLaw drawn_law(std::string_view policy, const std::vector<Duration>& ceilings, double low, const Seeds&);

// Most requests in a half-open window, over seeds. All clients start together and every attempt fails.
struct Busiest {
  Column first_10ms, first_100ms;  // the first wave of retries alone
  Column storm_100ms;              // all retries
  Column with_first_100ms;         // and the first attempts
};
Busiest busiest(std::string_view policy, std::int64_t clients, std::int64_t retries, const Seeds&);

// Calls until all clients have written the one row that they contend for (sim/experiments/occ.hpp).
Column contended_calls(std::string_view policy, std::int64_t clients, const Seeds&);

std::string give_or_take(const Column&);  // "226.8 +- 0.3": the mean and two standard errors

}  // namespace retrygate::ci
