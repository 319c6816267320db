#include "sim/experiments/calls.hpp"

#include <algorithm>
#include <cstddef>

#include "policies/named.hpp"

namespace retrygate {

AnyPolicy policy_named(std::string_view text) {
  const auto named = find_policy(text, Where{"experiment", 0, 0});
  RG_ASSERT(named.has_value(), to_string(named.error()));
  return named->policy;
}

std::vector<Duration> failing_call(const AnyPolicy& policy, Seed seed, std::uint64_t client,
                                   std::size_t limit) {
  alignas(std::max_align_t) std::byte client_slot[client_slot_bytes];
  alignas(std::max_align_t) std::byte call_slot[call_slot_bytes];
  policy.start_client(client_slot);
  policy.start_call(call_slot);
  const StreamKey key(seed, Stream::policy);
  std::vector<Duration> delays;
  Attempt attempt;
  attempt.outcome.status = Status::http(503);
  while (delays.size() < limit) {
    Rng rng = key.at(client, 0, static_cast<std::uint64_t>(attempt.number));
    const Decision d = policy.after(client_slot, call_slot, attempt, rng);
    if (d.stops()) break;
    delays.push_back(d.delay());
    attempt.finished = attempt.finished + d.delay();
    ++attempt.number;
  }
  return delays;
}

std::vector<Duration> failing_call(std::string_view policy) { return failing_call(policy_named(policy)); }

bool retries_after(const AnyPolicy& policy, Status status) {
  alignas(std::max_align_t) std::byte client_slot[client_slot_bytes];
  alignas(std::max_align_t) std::byte call_slot[call_slot_bytes];
  policy.start_client(client_slot);
  policy.start_call(call_slot);
  Attempt attempt;
  attempt.outcome.status = status;
  Rng rng(Seed{1});
  return !policy.after(client_slot, call_slot, attempt, rng).stops();
}

Duration total(const std::vector<Duration>& delays) {
  Duration sum;
  for (const Duration d : delays) sum += d;
  return sum;
}

std::vector<std::int64_t> arrivals(const AnyPolicy& policy, std::int64_t clients, Seed seed,
                                   Attempts attempts) {
  std::vector<std::int64_t> instants;
  for (std::int64_t client = 0; client < clients; ++client) {
    const auto delays = failing_call(policy, seed, static_cast<std::uint64_t>(client),
                                     static_cast<std::size_t>(attempts.last - 1));
    Duration now;
    for (std::int64_t attempt = 1; attempt <= attempts.last; ++attempt) {
      if (attempt >= attempts.first) instants.push_back(now.ns());
      if (static_cast<std::size_t>(attempt) > delays.size()) break;
      now += delays[static_cast<std::size_t>(attempt - 1)];
    }
  }
  std::sort(instants.begin(), instants.end());
  return instants;
}

}  // namespace retrygate
