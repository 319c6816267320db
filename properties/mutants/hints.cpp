// Faults around Retry-After.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

using enum RetryAfterRule;

Contract heeding(RetryAfterRule rule, Duration base, Duration cap = Duration::max(), Duration most = {}) {
  Contract c = exponential(base, 2, cap, JitterKind::none);
  c.retry_after = rule;
  if (most != Duration{}) c.retry_after_max = most;
  return c;
}

Duration own(const Contract& c, const Attempt& a) {
  const Duration grown = c.base->scaled(std::exp2(static_cast<double>(a.number - 1)));
  return c.cap ? std::min(*c.cap, grown) : grown;
}

Decision dropped(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  return Decision::wait(own(c, a));
}

// 6, 12, 18 s after a 429, whatever the header says.
Decision steps_of_six(const Contract&, Notes&, Notes&, const Attempt& a, Rng&) {
  return Decision::wait(Duration::s(6) * a.number);
}

// What parseInt makes of a text: the digits in front, or nothing.
std::optional<std::int64_t> parse_int(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// A date is no number, so the timer is given NaN and fires at once.
Decision nan_fires_at_once(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (!a.outcome.retry_after && a.outcome.retry_after_text.empty()) return Decision::wait(own(c, a));
  const auto seconds = parse_int(a.outcome.retry_after_text);
  return Decision::wait(seconds ? std::max(own(c, a), Duration::s(*seconds)) : Duration::ms(1));
}

// A date is not understood, and what is not understood is not retried.
Decision date_ends_the_call(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (a.outcome.retry_after_text.find(':') != std::string_view::npos)
    return Decision::stop(Stop::not_retryable);
  return Decision::wait(std::max(own(c, a), a.outcome.retry_after.value_or(Duration{})));
}

// Number("1000abc") is NaN and becomes 0.
Decision garbage_is_zero(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (a.outcome.retry_after) return Decision::wait(std::max(own(c, a), *a.outcome.retry_after));
  return Decision::wait(a.outcome.retry_after_text.empty() ? own(c, a) : Duration{});
}

// float() reads "1.5", "NaN" and "-5", and min and max keep the NaN.
Decision floats_accepted(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (a.outcome.retry_after) return Decision::wait(std::max(own(c, a), *a.outcome.retry_after));
  const std::string text(a.outcome.retry_after_text);
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || end == text.c_str()) return Decision::wait(own(c, a));
  return Decision::wait(std::isnan(seconds) ? Duration{} : Duration::seconds(std::abs(seconds)));
}

// The hint of 30 s is clamped to the backoff's own limit of 8 s.
Decision clamped_to_the_cap(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (!a.outcome.retry_after) return Decision::wait(own(c, a));
  return Decision::wait(std::min(*c.cap, std::max(own(c, a), *a.outcome.retry_after)));
}

// The header's way goes past every limit.
Decision header_verbatim(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  return Decision::wait(a.outcome.retry_after.value_or(own(c, a)));
}

// Seconds read as milliseconds.
Decision as_milliseconds(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (!a.outcome.retry_after) return Decision::wait(own(c, a));
  return Decision::wait(*a.outcome.retry_after / 1000);
}

// A header of 0 is taken instead of the delay, and starts the backoff anew.
Decision zero_restarts(const Contract& c, Notes&, Notes& call, const Attempt& a, Rng&) {
  if (a.outcome.retry_after == Duration{}) {
    call.count = a.number;
    return Decision::wait({});
  }
  Attempt since = a;
  since.number -= call.count;
  return Decision::wait(std::max(a.outcome.retry_after.value_or(Duration{}), own(c, since)));
}

// No floor below the hint.
Decision no_floor(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (!a.outcome.retry_after) return Decision::wait(own(c, a));
  return Decision::wait(*a.outcome.retry_after == Duration{} ? Duration{}
                                                             : std::max(own(c, a), *a.outcome.retry_after));
}

// 100 ms * 2^25 is beyond 2^31 - 1 ms.
Decision beyond_32_bits(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  return Decision::wait(own(c, a));
}

}  // namespace

void add_hints(Shelf<Mutant>& shelf) {
  const Duration timer = Duration::ms(2'147'483'647);
  shelf.add({"header-dropped",
             "retry_after_ignored",
             "retry-after-not-early",
             "cyanheads/mcp-ts-core#285",
             Misjudges{heeding(exact, Duration::ms(1000)), &dropped},
             {"retry-after-bounded", "retry-after-parsed"},
             "valid headers are misread too; an exact rule allows no longer wait either"});
  Contract sixes = constant(Duration::s(6));
  sixes.growth = GrowthKind::linear;
  sixes.retry_after = floor;
  shelf.add({"steps-of-six",
             "retry_after_ignored",
             "retry-after-not-early",
             "mautrix/meta#321",
             Misjudges{sixes, &steps_of_six},
             {"retry-after-parsed"},
             "valid headers are misread too"});
  shelf.add({"header-not-considered",
             "retry_after_ignored",
             "retry-after-not-early",
             "softonic/axios-retry#72",
             Misjudges{heeding(floor, Duration::ms(200)), &dropped},
             {"retry-after-parsed"},
             "valid headers are misread too"});
  shelf.add({"date-is-nan", "retry_after_parse", "retry-after-parsed", "elizaOS/eliza#22162",
             Misjudges{heeding(floor, Duration::s(1)), &nan_fires_at_once}});
  shelf.add({"date-ends-the-call", "retry_after_parse", "retry-after-parsed", "MCPJam/inspector#5091",
             Misjudges{heeding(floor, Duration::s(1)), &date_ends_the_call}});
  shelf.add({"garbage-is-zero", "retry_after_parse", "retry-after-parsed",
             "open-telemetry/opentelemetry-js#7010",
             Misjudges{heeding(floor, Duration::s(1)), &garbage_is_zero}});
  shelf.add({"floats-accepted", "retry_after_parse", "retry-after-parsed", "appwrite/mcp#121",
             Misjudges{heeding(floor, Duration::ms(500)), &floats_accepted}});
  shelf.add({"hint-clamped-to-cap",
             "retry_after_treated_as_max",
             "retry-after-not-early",
             "macanderson/stella#361",
             Misjudges{heeding(floor, Duration::s(1), Duration::s(8)), &clamped_to_the_cap},
             {"retry-after-parsed"},
             "valid headers are misread too"});
  shelf.add({"header-limited-by-max-delay",
             "retry_after_treated_as_max",
             "retry-after-not-early",
             "nansen-ai/nansen-cli#651",
             Misjudges{heeding(floor, Duration::s(1), Duration::s(30)), &clamped_to_the_cap},
             {"retry-after-parsed"},
             "valid headers are misread too"});
  shelf.add({"wait-max-not-applied",
             "retry_after_uncapped",
             "retry-after-bounded",
             "hashicorp/go-retryablehttp#247",
             Misjudges{heeding(exact, Duration::s(1), Duration::s(30), Duration::s(30)), &header_verbatim},
             {"retry-after-parsed", "retry-after-zero"},
             "valid headers are misread too; a header of 0 is taken literally"});
  shelf.add({"header-skips-the-limit",
             "retry_after_uncapped",
             "retry-after-bounded",
             "adamayoung/TMDb#324",
             Misjudges{heeding(exact, Duration::s(1), Duration::s(30), Duration::s(30)), &header_verbatim},
             {"retry-after-parsed", "retry-after-zero"},
             "valid headers are misread too; a header of 0 is taken literally"});
  shelf.add({"seconds-as-milliseconds",
             "retry_after_unit",
             "retry-after-parsed",
             "Azure/azure-sdk-for-net#5268",
             Misjudges{heeding(exact, Duration::ms(800)), &as_milliseconds},
             {"retry-after-not-early", "retry-after-zero"},
             "a shorter wait is an early one; a header of 0 is taken literally"});
  shelf.add({"five-is-five-milliseconds",
             "retry_after_unit",
             "retry-after-parsed",
             "ktorio/ktor#2762",
             Misjudges{heeding(exact, Duration::s(1)), &as_milliseconds},
             {"retry-after-not-early", "retry-after-zero"},
             "a shorter wait is an early one; a header of 0 is taken literally"});
  shelf.add({"zero-restarts",
             "retry_after_zero_storm",
             "retry-after-zero",
             "kubescape/kubevuln#754",
             Misjudges{heeding(floor, Duration::s(1)), &zero_restarts},
             {"retry-after-parsed", "reset-not-early"},
             "valid headers are misread too; the delays begin anew after it"});
  shelf.add({"zero-without-a-floor",
             "retry_after_zero_storm",
             "retry-after-zero",
             "macanderson/stella#361",
             Misjudges{heeding(floor, Duration::ms(500)), &no_floor},
             {"retry-after-parsed"},
             "valid headers are misread too"});
  Contract without_cap = heeding(ignore, Duration::ms(100));
  without_cap.timer_max = timer;
  shelf.add(
      {"beyond-32-bits",
       "timer_overflow",
       "fits-timer",
       "softonic/axios-retry exponentialDelay",
       Misjudges{without_cap, &beyond_32_bits},
       {"delay-in-bounds", "growth-law"},
       "such a delay lies outside the interval, which ends at what the timer holds; without jitter the law "
       "is one delay"});
  Contract header = heeding(exact, Duration::ms(800), Duration::s(64));
  header.timer_max = timer;
  shelf.add({"header-overflows-the-timer",
             "timer_overflow",
             "fits-timer",
             "Azure/azure-sdk-for-js#39130",
             Misjudges{header, &header_verbatim},
             {"retry-after-zero"},
             "a header of 0 is taken literally"});
}

}  // namespace retrygate
