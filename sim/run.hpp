// One policy, one scenario, one seed -> totals and a digest of everything that happened.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "policies/base/rng.hpp"
#include "policies/policy.hpp"
#include "sim/scenario.hpp"

namespace retrygate {

inline constexpr std::array peak_windows = {Duration::ms(10), Duration::ms(100), Duration::s(1)};

struct Totals {
  std::int64_t calls = 0;  // that started before the horizon
  std::int64_t succeeded = 0;
  std::int64_t gave_up = 0;     // ended without success
  std::int64_t unfinished = 0;  // cut off by the horizon
  std::int64_t requests = 0;    // that reached the server, behind the front
  std::int64_t retries = 0;     // of them, not first attempts
  std::int64_t attempts_max = 0;
  std::array<std::int64_t, peak_windows.size()> peak{};
  std::array<std::int64_t, peak_windows.size()> retry_peak{};
  Duration last_success;    // when its caller knew
  Duration last_end;        // of the last call that ended
  double latency_mean = 0;  // seconds, of the successful calls from start to success; 0 if none
  Duration latency_p95;     // nearest rank; 0 if none
  std::uint64_t policy_draws = 0;
  std::uint64_t digest = 0;
  bool operator==(const Totals&) const = default;
};

// At equal times slots free first, then replies reach their callers, then requests arrive; among equals
// by client and attempt. Policy draws are those of StreamKey(seed, Stream::policy, policy_salt) at
// (client, call, attempt). It is an error if a call makes 100,000 attempts without time advancing;
// `name` is what the message calls the policy (its definition when empty).
Result<Totals> run(const AnyPolicy&, const Scenario&, Seed, std::uint64_t policy_salt = 0,
                   std::string_view name = {});

// The most times in any window [t, t + w) that begins at one of them. `sorted` nanoseconds, w > 0.
std::int64_t busiest_window(std::span<const std::int64_t> sorted, Duration w);

}  // namespace retrygate
