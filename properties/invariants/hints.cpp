// What a server's Retry-After does to the wait.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policies/retry_after.hpp"
#include "properties/bounds.hpp"
#include "properties/excuses.hpp"
#include "properties/header.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

bool heeds(const Subject& s) {
  return s.contract.retry_after && *s.contract.retry_after != RetryAfterRule::ignore &&
         (!s.contract.max_attempts || *s.contract.max_attempts > 1);
}

// A status that carries the header and is retried.
Status hinting(const Case& c, const Subject& subject) {
  const Contract& contract = subject.contract;
  const std::array usual{Status::http(503), Status::http(429)};
  const Status chosen = usual.at(pick(c, 11, usual.size()));
  for (const Status status : {chosen, usual[0], usual[1]}) {
    if (!contract.retry_on || contract.retry_on->contains(status)) return status;
  }
  return retryable(subject);
}

// A call that failed as often as the case says, the last time with a header.
struct Hinted {
  std::string header;
  std::optional<Duration> asked;  // what the header means; nothing when it is malformed
  Step step;
  Decision decision = Decision::stop(Stop::success);  // of this step
  Support own{0, without_end, 0};                     // where the delay lies without a header
  bool own_known = false;
};

// Nothing if the call ended before. `header` is given the instant at which the last attempt ended, and may
// send none. What a policy is told of a header is read by the parser of policies/, what it should have done
// by the oracle.
template <class Header>
std::optional<Hinted> hinted(const Subject& subject, const Case& c, Header header) {
  const Contract& contract = subject.contract;
  Hinted h;
  constexpr std::int64_t far = 40, early = 8;  // where most of the growth is
  const std::int64_t last = std::min(contract.max_attempts ? *contract.max_attempts - 1 : far, far);
  const std::int64_t attempt = std::min(pick(c, 12, 2) == 1 ? (c.attempt - 1) % early + 1 : c.attempt, last);
  const Scripted plain{{retryable(subject)}};
  const Walk done = drive(subject, c, attempt, {[&](std::int64_t n, Instant now) -> Scripted {
                            if (n < attempt) return plain;
                            const std::optional<std::string> sent = header(now);
                            if (!sent) return {{hinting(c, subject)}};
                            h.header = *sent;
                            h.asked = wait_asked(h.header, now);
                            return {{hinting(c, subject), parse_retry_after(h.header, now), h.header}};
                          }});
  if (done.steps.empty() || done.steps.back().attempt < attempt) return std::nullopt;
  h.step = done.steps.back();
  h.decision = h.step.decision;
  const auto own = support_of(contract, attempt, h.step.previous);
  const bool known =
      own && (contract.jitter->kind != JitterKind::decorrelated || h.step.previous || attempt == 1);
  if (known) h.own = *own;
  h.own_known = known;
  return h;
}

// The call ended, and the header is what ended it: without one it would have gone on, and it is not for lack
// of time, of a budget or of a breaker's permission.
bool ended_by_header(const Subject& subject, const Case& c, const Hinted& h, const Support& allowed) {
  Circumstances now = circumstances_of(subject.contract, c, h.step);
  now.longest_wait = std::min(without_end, std::max(now.longest_wait, allowed.hi + allowed.slack));
  // A loop does not say why: an excuse that it may have is granted.
  if (subject.loop ? excuse(subject.contract, now).has_value()
                   : excused(subject.contract, h.decision.why(), now))
    return false;
  const auto plain = hinted(subject, c, [](Instant) { return std::optional<std::string>(); });
  return plain && !plain->decision.stops();
}

// Whole seconds up to a day, the rule's own limit and what lies beside it.
std::string seconds_header(const Case& c, const Contract& contract) {
  const std::array<std::int64_t, 9> seconds{1, 2, 3, 7, 10, 30, 60, 3600, 86400};
  const std::size_t n = pick(c, 0, seconds.size() + (contract.retry_after_max ? 3 : 0));
  if (n < seconds.size()) return std::to_string(seconds[n]);
  const std::int64_t most = contract.retry_after_max->ns() / 1'000'000'000;
  return std::to_string(std::max<std::int64_t>(1, most + static_cast<std::int64_t>(n - seconds.size()) - 1));
}

std::string described(const Hinted& h) {
  return fmt::format("attempt {} ended with Retry-After '{}': {}", h.step.attempt, h.header,
                     to_string(h.decision));
}

// A timer that cannot hold the wait is a reason to end the call or to wait less.
bool beyond_the_timer(const Contract& c, Duration asked) { return c.timer_max && asked > *c.timer_max; }

Finding not_early(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const auto h = hinted(subject, c, [&](Instant) { return seconds_header(c, subject.contract); });
      if (!h || h->decision.stops() || beyond_the_timer(subject.contract, *h->asked)) return {};
      const Heeded rule = heeded(subject.contract, *h->asked, Support{0, without_end, 0});
      const auto delay = in_ns(h->decision.delay());
      if (delay >= rule.wait.lo - in_ns(subject.contract.tick)) return {};
      return fmt::format("{}, earlier than the server asked; {}", described(*h),
                         allowance(subject.contract, h->asked, h->own));
    });
  });
}

Finding bounded(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const auto h = hinted(subject, c, [&](Instant) { return seconds_header(c, subject.contract); });
      if (!h) return {};
      const Heeded rule = heeded(subject.contract, *h->asked, h->own);
      if (h->decision.stops()) {
        if (rule.may_stop || beyond_the_timer(subject.contract, *h->asked) ||
            !ended_by_header(subject, c, *h, rule.wait))
          return {};
        return described(*h) + "; " + allowance(subject.contract, h->asked, h->own);
      }
      if (!rule.may_wait) return described(*h) + "; " + allowance(subject.contract, h->asked, h->own);
      const auto delay = in_ns(h->decision.delay());
      const long double slack = h->own.slack + h->own.above + in_ns(subject.contract.tick);
      if (delay <= rule.wait.hi + slack) return {};
      return fmt::format("{}, longer than the rule allows; {}", described(*h),
                         allowance(subject.contract, h->asked, h->own));
    });
  });
}

// Texts that servers have sent. The malformed ones mean that there is no header.
std::string any_header(const Case& c, Instant now) {
  static const std::vector<std::string_view> texts = [] {
    std::vector<std::string_view> all{"10", "1",    "3",   "120", "010",
                                      " ",  " 10 ", "\t7", "3 0", "Thursday, 1-Jan-26 00:00:10 GMT"};
    all.insert(all.end(), malformed_headers.begin(), malformed_headers.end());
    return all;
  }();
  constexpr std::array forms{DateForm::fixed, DateForm::rfc850, DateForm::asctime};
  const std::size_t n = pick(c, 1, texts.size() + 2 * forms.size());
  if (n < texts.size()) return std::string(texts[n]);
  const std::size_t date = n - texts.size();
  const DateForm form = forms.at(date / 2);
  return http_date(date % 2 == 0 ? now + Duration::s(11) : Instant{}, form);  // or past, or now
}

Finding parsed(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const auto h = hinted(subject, c, [&](Instant now) { return any_header(c, now); });
      if (!h) return {};
      const Contract& contract = subject.contract;
      const Heeded rule = h->asked ? heeded(contract, *h->asked, h->own) : Heeded{h->own};
      if (h->asked && beyond_the_timer(contract, *h->asked)) return {};
      if (h->decision.stops()) {
        if (rule.may_stop || !ended_by_header(subject, c, *h, rule.wait)) return {};
      } else {
        if (!h->asked && !h->own_known) return {};
        const auto delay = in_ns(h->decision.delay());
        const long double slack = h->own.slack + h->own.above + in_ns(contract.tick);
        if (delay >= rule.wait.lo - slack && delay <= rule.wait.hi + slack) return {};
      }
      return described(*h) + "; " + allowance(contract, h->asked, h->own);
    });
  });
}

// A header of 0 is no invitation to come back at once, again and again.
Finding zero(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const auto h = hinted(subject, c, [](Instant) { return std::string("0"); });
      if (!h || !h->own_known || h->decision.stops()) return {};
      const auto delay = in_ns(h->decision.delay());
      if (delay >= h->own.lo - h->own.slack) return {};
      return fmt::format("{}, sooner than without a header ({})", described(*h), to_string(h->own));
    });
  });
}

// Where the rule is to wait for the header and not for the longer of the two, and without a delay of its
// own to fall back on, zero means zero by declaration.
bool has_a_floor(const Subject& s) {
  if (!heeds(s) || *s.contract.retry_after == RetryAfterRule::max) return false;
  const auto own = support_of(s.contract, 1, std::nullopt);
  return own && own->lo > own->slack;
}

}  // namespace

void add_hints(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"retry-after-parsed", must, exact,
             "Retry-After is digits (seconds) or a date; anything else counts as absent.",
             "A header read in milliseconds, or as not a number, turns a polite client into a storm.",
             "ktorio/ktor#2762", &heeds, &parsed});
  shelf.add(
      {"retry-after-not-early", must, exact, "No attempt starts before the server's Retry-After is over.",
       "An early attempt is refused again, and some servers lengthen the ban.", "cyanheads/mcp-ts-core#285",
       [](const Subject& s) { return heeds(s) && *s.contract.retry_after != RetryAfterRule::max; },
       &not_early});
  shelf.add({"retry-after-bounded", must, exact,
             "A wait for Retry-After is no longer than the rule says, and never above retry_after_max.",
             "One header of a day parks a client for a day.", "hashicorp/go-retryablehttp#247", &heeds,
             &bounded});
  shelf.add({"retry-after-zero", should, exact,
             "Retry-After: 0 does not make the client come back sooner than its own delay.",
             "A server that always answers 0 gets thousands of requests per second from one client.",
             "kubescape/kubevuln#754", &has_a_floor, &zero});
}

}  // namespace retrygate
