// Retry-After: from the header's text to a wait, and what the wait does to the policy's own delay.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "policies/contract.hpp"

namespace retrygate {

// Virtual time 0 is 2026-01-01T00:00:00Z; this is its count of seconds since 1970-01-01 (20454 days).
inline constexpr std::int64_t epoch_unix_s = 1'767'225'600;

// The header's value (RFC 9110, section 10.2.3) read at `now`, when the attempt ended: delay-seconds
// (digits only), or an HTTP-date in any of the three forms of section 5.6.7. A date in the past is a wait
// of 0, more seconds than a Duration holds are Duration::max(). Anything else - a sign, a fraction, a unit,
// nothing at all, a byte that is not ASCII, a day that its month has not - is malformed, which means absent.
// Spaces and tabs around the value are no part of it (section 5.5). The name of the day must be one, but
// need not fit the date.
std::optional<Duration> parse_retry_after(std::string_view text, Instant now);

// A point of virtual time as an IMF-fixdate, cut to the second: "Thu, 01 Jan 2026 00:00:00 GMT". Between the
// years 1734 and 2318: what an Instant holds.
std::string to_http_date(Instant);

// What is done with a header above the limit.
enum class AboveLimit : std::uint8_t {
  stop,  // the call ends
  clip,  // waits for the limit: early
  own    // the header is ignored: the policy's own delay, early
};

struct RetryAfter {
  RetryAfterRule rule = RetryAfterRule::ignore;
  Duration limit = Duration::max();  // retry_after_max
  AboveLimit above = AboveLimit::stop;
  std::optional<RetryOn> only_on = {};  // statuses whose header is read; absent: all
  bool skip_zero = false;               // a header of 0 is ignored
  bool operator==(const RetryAfter&) const = default;
};

// The wait before the next attempt; nothing when the call ends because the server asks for more than the
// policy is willing to wait. `own` is the policy's own delay.
inline std::optional<Duration> heed(const RetryAfter& use, const Outcome& outcome, Duration own) {
  if (!outcome.retry_after || use.rule == RetryAfterRule::ignore) return own;
  if (use.only_on && !use.only_on->contains(outcome.status)) return own;
  Duration asked = *outcome.retry_after;
  if (use.skip_zero && asked == Duration{}) return own;
  if (asked > use.limit) {
    if (use.rule == RetryAfterRule::exact_or_stop || use.above == AboveLimit::stop) return std::nullopt;
    if (use.above == AboveLimit::own) return own;
    asked = use.limit;
  }
  switch (use.rule) {
    case RetryAfterRule::floor:
      return std::max(own, asked);
    case RetryAfterRule::max:
      return std::min(own, asked);
    default:
      return asked;
  }
}

}  // namespace retrygate
