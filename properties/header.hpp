// The oracle's reading of a Retry-After header, and writing of its dates. Shares no code with policies/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policies/contract.hpp"
#include "properties/bounds.hpp"

namespace retrygate {

// How long a header asks to wait at `now`: digits are seconds (beyond the range: Duration::max()), an
// IMF-fixdate is a point of time whose past is 0. Anything else is malformed, which means absent.
// Source: RFC 9110, sections 5.6.7 and 10.2.3. Time 0 is the start of 2026, UTC.
std::optional<Duration> wait_asked(std::string_view header, Instant now);

// "Thu, 01 Jan 2026 00:00:10 GMT" for 10 s; whole seconds, rounded down.
std::string imf_fixdate(Instant);

// What a contract's Retry-After rule allows after a header that asks for `asked`.
struct Heeded {
  Support wait;          // where the delay may lie
  bool may_wait = true;  // false: the call has to end
  bool may_stop = true;  // false: the header is no reason to end it
};
// `own` is where the delay would lie without a header.
Heeded heeded(const Contract&, Duration asked, const Support& own);

}  // namespace retrygate
