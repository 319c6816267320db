// When a policy stops: attempts, elapsed time, deadline, outcomes that are not worth another try.
#pragma once

#include <limits>
#include <optional>

#include "policies/contract.hpp"

namespace retrygate {

struct Limits {
  std::int64_t max_attempts = std::numeric_limits<std::int64_t>::max();
  Duration elapsed = Duration::max();   // the next attempt must start within this of the call's start
  Duration deadline = Duration::max();  // the next attempt must start before this
  std::optional<RetryOn> retry_on;      // absent: every failure is retried
  bool idempotent_only = false;
  bool operator==(const Limits&) const = default;
};

// Why this attempt is the last whatever the delay would be, if it is.
inline std::optional<Stop> last(const Limits& limits, const Attempt& attempt) {
  if (attempt.outcome.status.succeeded()) return Stop::success;
  if (limits.retry_on && !limits.retry_on->contains(attempt.outcome.status)) return Stop::not_retryable;
  if (limits.idempotent_only && !attempt.idempotent) return Stop::not_retryable;
  if (attempt.number >= limits.max_attempts) return Stop::attempts;
  return std::nullopt;
}

// Wait, unless the next attempt would then start too late.
inline Decision within_time(const Limits& limits, const Attempt& attempt, Duration delay) {
  const Instant next = attempt.finished + delay;
  const Duration since_call = next - attempt.call_started;
  if (since_call > limits.elapsed) return Decision::stop(Stop::deadline);
  if (limits.deadline != Duration::max() && since_call >= limits.deadline)
    return Decision::stop(Stop::deadline);
  if (attempt.deadline != Instant::never() && next >= attempt.deadline) return Decision::stop(Stop::deadline);
  return Decision::wait(delay);
}

}  // namespace retrygate
