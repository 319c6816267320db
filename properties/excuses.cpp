#include "properties/excuses.hpp"

#include <algorithm>

namespace retrygate {
namespace {

bool out_of_time(const Contract& c, const Circumstances& now) {
  const long double next = in_ns(now.used) + now.longest_wait;
  const auto passes = [&](std::optional<Duration> limit) { return limit && next >= in_ns(*limit); };
  return passes(c.elapsed) || passes(c.deadline) || passes(now.deadline);
}

// Counted without what comes back with time and successes: a client that was refused had used up as much.
bool may_be_spent(const Budget& b, const Circumstances& now) {
  const auto made = static_cast<double>(now.retries) + 1;
  switch (b.kind) {
    case BudgetKind::token_bucket:
      return made * b.cost > b.capacity;
    case BudgetKind::aws_quota:
      return made * std::max(b.cost, b.timeout_cost) > b.capacity;
    case BudgetKind::grpc_throttle:
      return 2 * static_cast<double>(now.failures) >= b.capacity;
    case BudgetKind::ratio:
      return made > b.ratio;  // of one call
    case BudgetKind::aws_adaptive:
    case BudgetKind::sre_throttle:
      return true;  // one failure may do
  }
  return true;
}

bool may_be_open(const Breaker& b, const Circumstances& now) {
  const std::int64_t counted = b.unit == BreakerUnit::attempt ? now.failures : now.failed_calls;
  const double needed = b.failures > 0 ? static_cast<double>(b.failures)
                                       : b.failure_ratio * static_cast<double>(b.window_calls);
  return static_cast<double>(counted) >= needed - 1e-9;
}

}  // namespace

long double longest_wait(const Contract& c, std::int64_t n, std::optional<Duration> previous) {
  const bool known = !chained(c) || n == 1 || previous;
  auto most = known ? support_of(c, n, previous) : std::nullopt;
  if (!most) most = cap_of(c);
  long double longest = most ? most->hi + most->slack + most->above : without_end;
  if (c.timer_max) longest = std::min(longest, in_ns(*c.timer_max));
  return longest;
}

Circumstances circumstances_of(const Contract& c, const Case& of, const Step& last) {
  return {last.ended - Instant{of.started}, longest_wait(c, last.attempt, last.previous), last.attempt,
          last.attempt - 1};
}

std::optional<Stop> excuse(const Contract& c, const Circumstances& now) {
  if (out_of_time(c, now)) return Stop::deadline;
  if (c.budget && may_be_spent(*c.budget, now)) return Stop::budget;
  if (c.breaker && may_be_open(*c.breaker, now)) return Stop::breaker;
  return std::nullopt;
}

bool excused(const Contract& c, Stop why, const Circumstances& now) {
  switch (why) {
    case Stop::deadline:
      return out_of_time(c, now);
    case Stop::budget:
      return c.budget && may_be_spent(*c.budget, now);
    case Stop::breaker:
      return c.breaker && may_be_open(*c.breaker, now);
    default:
      return false;
  }
}

}  // namespace retrygate
