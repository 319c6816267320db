// When a policy must stop, and when it must not yet.
#include <fmt/format.h>

#include <algorithm>

#include "properties/excuses.hpp"
#include "properties/observe.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

Finding attempts_exact(const Subject& subject, const Trial& trial) {
  const std::int64_t most = *subject.contract.max_attempts;
  std::int64_t furthest = 0;  // attempt that was made
  std::optional<Stop> because;
  Finding found = search(
      trial,
      [&](Case c) -> Complaint {
        // The attempts around the limit matter most: any number beyond it stands for the last one.
        c.attempt = std::min(c.attempt, most);
        const Walk done = walk(subject, c);
        if (done.steps.empty()) return {};
        const Step& end = done.steps.back();
        if (end.attempt > furthest) {
          furthest = end.attempt;
          because = end.decision.stops() ? std::optional(end.decision.why()) : std::nullopt;
        }
        if (!end.decision.stops()) {
          if (end.attempt < most || done.raised) return {};
          return fmt::format("attempt {} is not the last, although {} are promised", end.attempt, most);
        }
        if (end.attempt == most ||
            excused(subject.contract, end.decision.why(), circumstances_of(subject.contract, c, end)))
          return {};
        return fmt::format("stops after attempt {} of {} ({})", end.attempt, most,
                           to_string(end.decision.why()));
      },
      {most, most - 1});
  if (found.verdict == Verdict::holds && furthest < most) {
    found = {Verdict::unsure,
             fmt::format("the last of {} attempts was not reached: none beyond {} was made{}", most, furthest,
                         because ? fmt::format(" (stop: {})", to_string(*because)) : ""),
             {}};
  }
  return found;
}

// Attempts 1..8 of a call that take parts of the limit, together c.permille of it. What a gate does before a
// send counts too: then the whole loop is watched.
Finding deadline_respected(const Subject& subject, const Trial& trial) {
  const Contract& contract = subject.contract;
  const Duration elapsed = contract.elapsed.value_or(Duration::max());
  const Duration deadline = contract.deadline.value_or(Duration::max());
  const Duration limit = std::min(elapsed, deadline);
  Subject watched = subject;
  if (!subject.loop && subject.policy.gates()) watched.loop = loop_of(subject);
  // An answer that asks for less load is what a gate delays sends after.
  const Status usual = retryable(contract), too_many = Status::http(429);
  const Status other = !contract.retry_on || contract.retry_on->contains(too_many) ? too_many : usual;
  return search(trial, [&](const Case& c) -> Complaint {
    const std::int64_t attempts = std::min<std::int64_t>(c.attempt, 8);
    const Scripted failure{{pick(c, 1, 2) == 1 ? other : usual},
                           limit.scaled(static_cast<double>(c.permille) / 1000.0) / attempts};
    Script script{[&](std::int64_t, Instant) { return failure; }};
    // The caller's own deadline is the same one, where it is told at all.
    if (contract.deadline && pick(c, 0, 2) == 1) script.deadline = *contract.deadline;
    for (const Step& step : drive(watched, c, attempts, script).steps) {
      if (step.decision.stops()) return {};
      const Duration used = step.ended - Instant{c.started};
      const Duration next = used + step.decision.delay();
      if (next > elapsed || next >= deadline)
        return fmt::format("{} into the call attempt {} is followed by a wait of {}: beyond the limit of {}",
                           to_string(used), step.attempt, to_string(step.decision.delay()), to_string(limit));
    }
    return {};
  });
}

}  // namespace

void add_limits(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"attempts-exact", must, exact, "Exactly max_attempts attempts are made, the first one included.",
             "One more is load that was not planned; one less gives up on a call that would succeed.",
             "takezoe/scala-retry#1", [](const Subject& s) { return s.contract.max_attempts.has_value(); },
             &attempts_exact});
  shelf.add({"deadline-respected", must, exact,
             "No wait is begun whose next attempt would start beyond the time limit.",
             "The caller is gone by then: the wait and the attempt are wasted.", "ihrwein/backoff#42",
             [](const Subject& s) { return s.contract.elapsed || s.contract.deadline; },
             &deadline_respected});
}

}  // namespace retrygate
