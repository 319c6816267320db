// When a policy stops: attempts, elapsed time, deadline, outcomes that are not worth another try.
#pragma once

#include <limits>
#include <optional>

#include "policies/classify.hpp"
#include "policies/contract.hpp"

namespace retrygate {

// What is done with a delay that would pass `elapsed`. Libraries differ; `stop` is what the contract means.
enum class AtElapsed : std::uint8_t {
  stop,   // no wait: the call ends
  clip,   // the wait is cut to what is left
  ignore  // tested before the wait alone: the last wait may pass it
};

struct Limits {
  std::int64_t max_attempts = std::numeric_limits<std::int64_t>::max();
  Duration elapsed = Duration::max();    // the next attempt must start within this of the call's start
  Duration deadline = Duration::max();   // the next attempt must start before this
  std::optional<RetryOn> retry_on = {};  // absent: every failure is retried
  bool idempotent_only = false;  // a request that is not idempotent is repeated only if surely not sent
  AtElapsed at_elapsed = AtElapsed::stop;
  bool operator==(const Limits&) const = default;
};

// Is this a failure that the policy would retry if nothing else forbade it?
[[gnu::always_inline]] inline bool worth_another_try(const Limits& limits, const Attempt& attempt) {
  const Status status = attempt.outcome.status;
  if (status.succeeded() || cancelled(status)) return false;
  if (limits.retry_on && !limits.retry_on->contains(status)) return false;
  return !limits.idempotent_only || attempt.idempotent || surely_not_sent(status);
}

// Why this attempt is the last whatever the delay would be, if it is.
[[gnu::always_inline]] inline std::optional<Stop> last(const Limits& limits, const Attempt& attempt) {
  if (attempt.outcome.status.succeeded()) return Stop::success;
  if (!worth_another_try(limits, attempt))
    return cancelled(attempt.outcome.status) ? Stop::cancelled : Stop::not_retryable;
  if (attempt.number >= limits.max_attempts) return Stop::attempts;
  return std::nullopt;
}

// Would an attempt of that call start too late at `next`?
inline bool too_late(const Limits& limits, Instant call_started, Instant deadline, Instant next) {
  const Duration since_call = next - call_started;
  return (limits.at_elapsed == AtElapsed::stop && since_call > limits.elapsed) ||
         (limits.deadline != Duration::max() && since_call >= limits.deadline) ||
         (deadline != Instant::never() && next >= deadline);
}

// Wait, unless the next attempt would then start too late.
[[gnu::always_inline]] inline Decision within_time(const Limits& limits, const Attempt& attempt,
                                                   Duration delay) {
  if (limits.elapsed == Duration::max() && limits.deadline == Duration::max() &&
      attempt.deadline == Instant::never()) [[likely]]
    return Decision::wait(delay);
  if (limits.at_elapsed != AtElapsed::stop && limits.elapsed != Duration::max()) {
    const Duration left = limits.elapsed - (attempt.finished - attempt.call_started);
    if (left <= Duration{}) return Decision::stop(Stop::deadline);
    if (limits.at_elapsed == AtElapsed::clip) delay = std::min(delay, left);
  }
  if (too_late(limits, attempt.call_started, attempt.deadline, attempt.finished + delay))
    return Decision::stop(Stop::deadline);
  return Decision::wait(delay);
}

}  // namespace retrygate
