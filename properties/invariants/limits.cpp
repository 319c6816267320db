// When a policy must stop, and when it must not yet.
#include <fmt/format.h>

#include <algorithm>

#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

Finding attempts_exact(const Subject& subject, const Trial& trial) {
  const std::int64_t most = *subject.contract.max_attempts;
  const bool timed = subject.contract.elapsed || subject.contract.deadline;
  return search(trial, [&](Case c) -> Complaint {
    // The attempts around the limit matter most: any number beyond it stands for the last one.
    c.attempt = std::min(c.attempt, most);
    const Walk done = walk(subject, c);
    if (done.steps.empty()) return {};
    const Step& end = done.steps.back();
    if (!end.decision.stops()) {
      if (end.attempt < most || done.raised) return {};
      return fmt::format("attempt {} is not the last, although {} are promised", end.attempt, most);
    }
    if (end.attempt == most || (timed && end.decision.why() == Stop::deadline)) return {};
    return fmt::format("stops after attempt {} of {} ({})", end.attempt, most, to_string(end.decision.why()));
  });
}

// Attempts 1..8 of a call spread over a part of the limit, the last one at c.permille of it.
Finding deadline_respected(const Subject& subject, const Trial& trial) {
  const Duration elapsed = subject.contract.elapsed.value_or(Duration::max());
  const Duration deadline = subject.contract.deadline.value_or(Duration::max());
  const Duration limit = std::min(elapsed, deadline);
  return search(trial, [&](const Case& c) -> Complaint {
    const std::int64_t attempts = std::min<std::int64_t>(c.attempt, 8);
    Slot client(subject.policy.client_bytes());
    subject.policy.start_client(client.get());
    try {
      CallUnderTest call(subject, c, client);
      for (std::int64_t n = 1; n <= attempts; ++n) {
        const Duration used =
            limit.scaled(static_cast<double>(c.permille * n) / 1000.0 / static_cast<double>(attempts));
        const Decision decision = call.fail(n, Instant{c.started} + used);
        if (decision.stops()) return {};
        const Duration next = used + decision.delay();
        if (next > elapsed || next >= deadline)
          return fmt::format(
              "{} into the call attempt {} is followed by a wait of {}: beyond the limit of {}",
              to_string(used), n, to_string(decision.delay()), to_string(limit));
      }
    } catch (...) {
      return {};  // that is for `survives` to say
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
