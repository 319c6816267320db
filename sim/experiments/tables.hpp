// Delay tables that the articles print, computed from the built-in policies.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "policies/base/units.hpp"

namespace retrygate {

// The delays of one call whose every attempt fails with 503 and takes no time; ends when the policy
// stops or after `limit` delays. `policy` is what find_policy reads; it must name a policy without
// fault, else this is a mistake of ours.
std::vector<Duration> failing_call(std::string_view policy, std::uint64_t seed = 1, int limit = 64);

Duration total(const std::vector<Duration>& delays);

// tenacity 8.2.1 wait_exponential_jitter as its source and docstring have it:
// max(0, min(initial * 2^(attempt-1) + U(0, jitter), max)). Seconds; `unit` in [0, 1).
double tenacity_exponential_jitter(double initial, double max, double jitter, int attempt, double unit);

}  // namespace retrygate
