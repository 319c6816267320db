#include "sim/experiments/tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "policies/named.hpp"

namespace retrygate {

std::vector<Duration> failing_call(std::string_view policy, std::uint64_t seed, int limit) {
  const auto named = find_policy(policy, Where{"experiment", 0, 0});
  RG_ASSERT(named.has_value(), to_string(named.error()));
  const AnyPolicy& p = named->policy;
  alignas(std::max_align_t) std::byte client[client_slot_bytes];
  alignas(std::max_align_t) std::byte call[call_slot_bytes];
  p.start_client(client);
  p.start_call(call);
  const StreamKey key(Seed{seed}, Stream::policy);
  std::vector<Duration> delays;
  Attempt attempt;
  attempt.outcome.status = Status::http(503);
  while (static_cast<int>(delays.size()) < limit) {
    Rng rng = key.at(0, 0, static_cast<std::uint64_t>(attempt.number));
    const Decision d = p.after(client, call, attempt, rng);
    if (d.stops()) break;
    delays.push_back(d.delay());
    attempt.finished = attempt.finished + d.delay();
    ++attempt.number;
  }
  return delays;
}

Duration total(const std::vector<Duration>& delays) {
  Duration sum;
  for (const Duration d : delays) sum += d;
  return sum;
}

double tenacity_exponential_jitter(double initial, double max, double jitter, int attempt, double unit) {
  return std::max(0.0, std::min(std::ldexp(initial, attempt - 1) + jitter * unit, max));
}

}  // namespace retrygate
