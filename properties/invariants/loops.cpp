// What only the whole loop can keep: a policy decides, the loop around it waits and sends.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "properties/bounds.hpp"
#include "properties/observe.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

// How long after the cancellation a loop may still be busy: loops that look at a flag now and then look ten
// times a second.
constexpr Duration prompt = Duration::ms(100);

Surroundings always_failing(const Subject& subject, Duration lasts = {}) {
  Surroundings around;
  const Scripted failure{{retryable(subject)}, lasts};
  around.answer = [failure](std::int64_t, Instant) { return failure; };
  return around;
}

bool ends_by_attempts(const Subject& s) {
  return s.contract.max_attempts && *s.contract.max_attempts <= dense_to && (s.loop || s.policy.gates());
}

Finding no_wait_after_last(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) -> Complaint {
    const Observed trace = observe(subject, c, always_failing(subject));
    if (trace.endless || trace.raised || trace.slept.empty()) return {};
    const auto most = static_cast<std::size_t>(*subject.contract.max_attempts);
    const Slept& last = trace.slept.back();
    if (last.attempts < trace.sent.size() || trace.sent.size() < most || last.ended == last.started)
      return {};
    return fmt::format("{} attempts failed, the last one too, and it waits {} once more before it gives up",
                       trace.sent.size(), to_string(last.ended - last.started));
  });
}

Finding no_futile_wait(const Subject& subject, const Trial& trial) {
  const Duration limit = std::min(subject.contract.elapsed.value_or(Duration::max()),
                                  subject.contract.deadline.value_or(Duration::max()));
  return search(trial, [&](const Case& c) -> Complaint {
    const auto parts = static_cast<std::int64_t>(1 + pick(c, 0, 6));
    const Duration lasts = limit.scaled(static_cast<double>(c.permille) / 1000.0) / parts;
    Surroundings around = always_failing(subject, lasts);
    around.deadline = subject.contract.deadline;
    const Observed trace = observe(subject, c, around);
    if (trace.endless || trace.raised || trace.slept.empty()) return {};
    const auto most = static_cast<std::size_t>(
        std::min<std::int64_t>(subject.contract.max_attempts.value_or(1'000'000), 1'000'000));
    const Slept& last = trace.slept.back();
    if (last.attempts < trace.sent.size() || trace.sent.size() >= most || last.ended == last.started)
      return {};
    return fmt::format("{} into the call it waits {} although no attempt follows: the limit is {}",
                       to_string(last.started - Instant{c.started}), to_string(last.ended - last.started),
                       to_string(limit));
  });
}

Finding cancel_prompt(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) -> Complaint {
    const auto last = static_cast<std::int64_t>(10);
    Surroundings around;
    const Status failure = retryable(subject);
    around.answer = [&](std::int64_t n, Instant) {
      return Scripted{{n <= last ? failure : Status::http(200)}, Duration::ms(1)};
    };
    around.cancelled_sleep = 1 + pick(c, 0, 5);
    around.permille = std::min<std::int64_t>(c.permille, 999);
    const Observed trace = observe(subject, c, around);
    if (!trace.cancelled || trace.raised) return {};
    const Duration late = trace.returned - *trace.cancelled;
    const Slept& during = trace.slept[around.cancelled_sleep - 1];
    // A sleep that was broken off has told of the cancellation: nothing at all is sent after it.
    // One of no length may have ended by itself.
    const bool told = during.ended == *trace.cancelled && during.ended - during.started >= Duration::us(1);
    const auto later = std::count_if(trace.sent.begin(), trace.sent.end(), [&](const Sent& sent) {
      return told ? sent.started >= *trace.cancelled : sent.started > *trace.cancelled + prompt;
    });
    const Duration into = *trace.cancelled - during.started;
    if (later > 0)
      return fmt::format("cancelled {} into a wait after attempt {}, it sends {} times more", to_string(into),
                         during.attempts, later);
    if (late <= prompt) return {};
    return fmt::format("cancelled {} into a wait after attempt {}, it returns {} later", to_string(into),
                       during.attempts, to_string(late));
  });
}

// The same call with the wall clock set in the middle of a wait.
Complaint jumps_with_the_wall_clock(const Subject& subject, const Case& c) {
  constexpr std::array jumps{Duration::s(60), Duration::s(-60), Duration::s(3600), Duration::s(-3600),
                             Duration::s(86'400)};
  const auto last = static_cast<std::int64_t>(8);
  const Status failure = retryable(subject);
  Surroundings around;
  around.answer = [&](std::int64_t n, Instant) {
    return Scripted{{n <= last ? failure : Status::http(200)}, Duration::ms(1)};
  };
  const Observed still = observe(subject, c, around);
  around.jump_at_sleep = 1 + pick(c, 1, 4);
  around.jump = jumps.at(pick(c, 0, jumps.size()));
  const Observed jumped = observe(subject, c, around);
  if (still.raised || jumped.raised || still.endless) return {};
  const auto at =
      fmt::format("the wall clock is set by {} during wait {}", to_string(around.jump), around.jump_at_sleep);
  if (jumped.endless) return fmt::format("{}: the call does not end", at);
  if (still.sent.size() != jumped.sent.size())
    return fmt::format("{}: {} attempts instead of {}", at, jumped.sent.size(), still.sent.size());
  std::optional<Duration> previous;
  for (std::size_t i = 1; i < jumped.sent.size(); ++i) {
    const Duration wait = jumped.sent[i].started - jumped.sent[i - 1].ended;
    const Duration usual = still.sent[i].started - still.sent[i - 1].ended;
    const auto own = support_of(subject.contract, static_cast<std::int64_t>(i), previous);
    if (repeats(subject) ? wait != usual : own && !own->holds(wait))
      return fmt::format("{}: after attempt {} it waits {} instead of {}", at, i, to_string(wait),
                         to_string(usual));
    previous = wait;
  }
  return {};
}

// A policy sees no wall clock; what it decides must not depend on when the call started.
Complaint depends_on_the_start(const Subject& subject, const Case& c) {
  Case later = c;
  later.started = c.started + Duration::s(12'345) + Duration::us(678);
  const Walk a = walk(subject, c);
  const Walk b = walk(subject, later);
  for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    const Decision& one = a.steps[i].decision;
    const Decision& other = b.steps[i].decision;
    if (agree(subject, one, other, a.steps[i].attempt)) continue;
    return fmt::format("after attempt {} it decides '{}', and '{}' if the same call starts {} later",
                       a.steps[i].attempt, to_string(one), to_string(other),
                       to_string(later.started - c.started));
  }
  return {};
}

Finding clock_independent(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) -> Complaint {
    return subject.loop ? jumps_with_the_wall_clock(subject, c) : depends_on_the_start(subject, c);
  });
}

}  // namespace

void add_loops(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"no-wait-after-last", must, exact, "After the last attempt there is no wait.",
             "The caller waits for an error that is already known.",
             "aws-actions/configure-aws-credentials#1937", &ends_by_attempts, &no_wait_after_last});
  shelf.add({"no-futile-wait", should, exact,
             "No wait is begun that no attempt can follow within the time limit.",
             "The answer is known now; the caller gets it minutes later, as another error.",
             "hashicorp/go-retryablehttp#272",
             [](const Subject& s) {
               return (s.contract.elapsed || s.contract.deadline) && (s.loop || s.policy.gates());
             },
             &no_futile_wait});
  shelf.add({"cancel-prompt", must, exact, "A call that is cancelled while it waits returns then.",
             "A process that is shut down hangs for the length of a backoff.", "oracle/oci-go-sdk#133",
             [](const Subject& s) { return s.loop.has_value(); }, &cancel_prompt});
  shelf.add({"clock-independent", must, exact,
             "When a call starts, and a wall clock that is set, change no wait.",
             "A daylight saving change or an NTP step stalls retries for an hour, or ends them at once.",
             "oven-sh/bun#40009", [](const Subject& s) { return !s.contract.budget && !s.contract.breaker; },
             &clock_independent});
}

}  // namespace retrygate
