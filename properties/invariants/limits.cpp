// When a policy must stop, and when it must not yet.
#include <fmt/format.h>

#include <algorithm>

#include "policies/retry_after.hpp"
#include "properties/bounds.hpp"
#include "properties/excuses.hpp"
#include "properties/header.hpp"
#include "properties/observe.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

// Failures of one kind, or of a new kind each time, some with a header: all of them count.
Walk of_any_kind(const Subject& subject, const Case& c, std::vector<std::int64_t>& with_header) {
  const std::vector<Status> kinds = kinds_of_failure(subject.contract);
  const bool mixed = pick(c, 1, 2) == 1;
  const auto header = harmless_header(subject.contract);
  return drive(subject, c, c.attempt, {[&](std::int64_t n, Instant now) {
                 const auto place = static_cast<std::size_t>(n) + 2;
                 Outcome outcome{kinds[pick(c, mixed ? place : 2, kinds.size())]};
                 if (header && outcome.status.kind() == Status::Kind::http && pick(c, place + 2000, 3) == 1) {
                   outcome.retry_after = parse_retry_after(*header, now);
                   outcome.retry_after_text = *header;
                   with_header.push_back(n);
                 }
                 return Scripted{outcome};
               }});
}

Finding attempts_exact(const Subject& subject, const Trial& trial) {
  const std::int64_t most = *subject.contract.max_attempts;
  const bool kinds_are_promised = subject.contract.retry_on.has_value();
  bool repeats = false, refuses = false;
  std::int64_t furthest = 0;  // attempt that was made
  std::optional<Stop> because;
  Finding found = search(
      trial,
      [&](Case c) -> Complaint {
        // The attempts around the limit matter most: any number beyond it stands for the last one.
        c.attempt = std::min(c.attempt, most);
        // A loop does not say why it ends: without a promise about kinds it may be one that it does not
        // repeat.
        const bool any_kind =
            pick(c, 0, 2) == 1 && c.attempt <= dense_to && (kinds_are_promised || !subject.loop);
        std::vector<std::int64_t> with_header;
        const Walk done = any_kind ? of_any_kind(subject, c, with_header) : walk(subject, c);
        if (done.steps.empty()) return {};
        const Step& end = done.steps.back();
        repeats = repeats || done.steps.size() > 1;
        if (end.attempt > furthest) {
          furthest = end.attempt;
          because = end.decision.stops() ? std::optional(end.decision.why()) : std::nullopt;
        }
        if (!end.decision.stops()) {
          if (end.attempt < most || done.raised) return {};
          const std::string with = with_header.empty()
                                       ? (any_kind ? "," : "")
                                       : fmt::format(", with Retry-After at {},", ranges(with_header, 6));
          return fmt::format("attempt {}{}{} is not the last, although {} are promised in all", end.attempt,
                             any_kind ? ", after failures of one kind or several" : "", with, most);
        }
        const Stop why = end.decision.why();
        refuses = refuses || why == Stop::not_retryable;
        if (end.attempt == most || excused(subject.contract, why, circumstances_of(subject.contract, c, end)))
          return {};
        // Which kinds are repeated is for all-retryable to say.
        if (any_kind ? why == Stop::not_retryable || subject.loop.has_value()
                     : why == Stop::not_retryable && !kinds_are_promised)
          return {};
        return fmt::format("stops after attempt {} of {} ({})", end.attempt, most, to_string(why));
      },
      Blame::several, {.first = {most, most - 1}});
  if (found.verdict != Verdict::holds || trial.replay) return found;
  if (most > 1 && !repeats && refuses && !kinds_are_promised)
    return {Verdict::unsure,
            "it repeats no failure that was tried: 'retry_on' in the contract says which ones it does",
            {}};
  if (furthest < most)
    return {Verdict::unsure,
            fmt::format("the last of {} attempts was not reached: none beyond {} was made{}", most, furthest,
                        because ? fmt::format(" (stop: {})", to_string(*because)) : ""),
            {}};
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
  const Status usual = retryable(subject), too_many = Status::http(429);
  const Status other = !contract.retry_on || contract.retry_on->contains(too_many) ? too_many : usual;
  return search(trial, [&](const Case& c) -> Complaint {
    const std::int64_t attempts = std::min<std::int64_t>(c.attempt, 8);
    const Scripted failure{{pick(c, 1, 2) == 1 ? other : usual},
                           limit.scaled(static_cast<double>(c.permille) / 1000.0) / attempts};
    Script script{[&](std::int64_t, Instant) { return failure; }};
    // The caller's own deadline is the same one, where it is told at all.
    if (contract.deadline && pick(c, 0, 2) == 1) script.deadline = *contract.deadline;
    for (const Step& step : drive(watched, c, attempts, script).steps) {
      const Duration used = step.ended - Instant{c.started};
      if (step.decision.stops()) {
        // Why a loop ends is not known. One attempt more, as long as these were, would still be in time.
        if (watched.loop || step.decision.why() != Stop::deadline) return {};
        const auto own = support_of(contract, step.attempt, step.previous);
        if (!own) return {};
        const long double needed =
            in_ns(used + failure.lasts + contract.tick) + own->hi + own->slack + own->above;
        if (needed >= in_ns(limit)) return {};
        return fmt::format(
            "the call that started at {} is given up for lack of time after attempt {}, {} into "
            "it: the limit is {}",
            to_string(c.started), step.attempt, to_string(used), to_string(limit));
      }
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
             "No wait is begun whose next attempt would start beyond the time limit, and no call is given up "
             "for lack of time before.",
             "The caller is gone by then: the wait and the attempt are wasted.", "ihrwein/backoff#42",
             [](const Subject& s) { return s.contract.elapsed || s.contract.deadline; },
             &deadline_respected});
}

}  // namespace retrygate
