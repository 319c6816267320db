// What the policies of the articles decide when every attempt fails: delay tables, and when the clients
// of a fleet that starts together come back.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "policies/policy.hpp"

namespace retrygate {

// `text` is what find_policy reads; it must name a policy without fault, else this is a mistake of ours.
AnyPolicy policy_named(std::string_view text);

// The delays of one call whose every attempt fails with 503 and takes no time; ends when the policy
// stops or after `limit` delays.
std::vector<Duration> failing_call(const AnyPolicy&, Seed seed = {1}, std::uint64_t client = 0,
                                   std::size_t limit = 64);
std::vector<Duration> failing_call(std::string_view policy);

// Does it send again after a first attempt, of an idempotent request, that ended so?
bool retries_after(const AnyPolicy&, Status);

Duration total(const std::vector<Duration>& delays);

// The instants (ns from the common start, sorted) at which `clients` clients send when all attempts
// fail at once. Attempts first_attempt .. last_attempt, counted from 1.
struct Attempts {
  std::int64_t first = 1, last = 64;
};
std::vector<std::int64_t> arrivals(const AnyPolicy&, std::int64_t clients, Seed, Attempts);

}  // namespace retrygate
