// The oracle's reading of a Retry-After header, and writing of its dates. Shares no code with policies/.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "policies/contract.hpp"
#include "properties/bounds.hpp"

namespace retrygate {

// How long a header asks to wait at `now`: digits are seconds (beyond the range: Duration::max()), a date in
// one of the three forms of HTTP is a point of time whose past is 0. Anything else is malformed, which means
// absent. Source: RFC 9110, sections 5.5, 5.6.7 and 10.2.3. Time 0 is the start of 2026, UTC.
std::optional<Duration> wait_asked(std::string_view header, Instant now);

// What servers have sent that is none of these: such a header counts as absent.
inline constexpr std::array<std::string_view, 13> malformed_headers{"1.5",
                                                                    "-5",
                                                                    "+3",
                                                                    "",
                                                                    "NaN",
                                                                    "1000abc",
                                                                    "0x1",
                                                                    "1e3",
                                                                    "\xef\xbc\x93",
                                                                    "soon",
                                                                    "infinity",
                                                                    "3, 5",
                                                                    "Wed, 99 Foo 2026 07:28:00 GMT"};

// The longest wait that a header may ask for: beyond it the contract lets a policy clip, ignore or end.
Duration longest_header(const Contract&);
// One that this contract gives a policy no reason to end the call for, nor to run out of time.
std::optional<std::string_view> harmless_header(const Contract&);

enum class DateForm : std::uint8_t { fixed, rfc850, asctime };
// For 10 s, rounded down to whole seconds: "Thu, 01 Jan 2026 00:00:10 GMT", "Thursday, 01-Jan-26 00:00:10
// GMT" or "Thu Jan  1 00:00:10 2026".
std::string http_date(Instant, DateForm = DateForm::fixed);

// What a contract's Retry-After rule allows after a header that asks for `asked`.
struct Heeded {
  Support wait;           // where the delay may lie
  bool may_wait = true;   // false: the call has to end
  bool may_stop = false;  // false: the header is no reason to end it
};
// `own` is where the delay would lie without a header: after one of 0 it may lie there under every rule, so
// that nobody has to come back at once.
Heeded heeded(const Contract&, Duration asked, const Support& own);

// For people: what the header says, what the rule makes of it, and where the delay may lie. Without `asked`
// it is malformed. "the header asks for 1h, above retry_after_max = 5m: 'floor' allows 5m, or the end of the
// call"
std::string allowance(const Contract&, std::optional<Duration> asked, const Support& own);

}  // namespace retrygate
