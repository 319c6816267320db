// What every single delay must keep.
#include <fmt/format.h>

#include "properties/bounds.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

std::string interval(const Support& s) {
  return fmt::format("[{:.0f}ns, {:.0f}ns]", static_cast<double>(s.lo), static_cast<double>(s.hi));
}

// A decorrelated delay depends on the one before: after a jump of the attempt number, or at the first
// retry, only the latter case is known.
bool known(const Contract& c, const Step& step) {
  return !c.jitter || c.jitter->kind != JitterKind::decorrelated || step.attempt == 1 || step.previous;
}

// Runs `judge` on the delay that follows the case's attempt, when there is one.
template <class Judge>
Finding each_delay(const Subject& subject, const Trial& trial, Judge judge) {
  return search(trial, [&](const Case& c) -> Complaint {
    const Walk done = walk(subject, c);
    const Step* step = done.wait_after(c.attempt);
    return step == nullptr ? Complaint{} : judge(*step);
  });
}

Finding survives(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) -> Complaint {
    const Walk done = walk(subject, c);
    if (done.raised) return fmt::format("the policy raised: {}", *done.raised);
    try {
      Slot client(subject.policy.client_bytes());
      subject.policy.start_client(client.get());
      CallUnderTest call(subject, c, client);
      const Decision after_success = call.succeed(1, Instant{c.started});
      if (!after_success.stops()) return "a call that succeeded is sent again";
    } catch (const std::exception& e) {
      return fmt::format("told of a success, the policy raised: {}", e.what());
    } catch (...) {
      return "told of a success, the policy raised something that is no std::exception";
    }
    return {};
  });
}

bool is_bounded(const Contract& c) {
  return c.cap || (c.growth && (*c.growth == GrowthKind::none || *c.growth == GrowthKind::constant));
}

Finding finite(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, [](const Step& step) -> Complaint {
    if (step.decision.delay() != Duration::max()) return {};
    return "the delay is without end";
  });
}

Finding non_negative(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, [](const Step& step) -> Complaint {
    if (step.decision.delay() >= Duration{}) return {};
    return fmt::format("the delay is {}", to_string(step.decision.delay()));
  });
}

Finding capped(const Subject& subject, const Trial& trial) {
  const auto cap = cap_of(subject.contract);
  return each_delay(subject, trial, [&](const Step& step) -> Complaint {
    if (static_cast<long double>(step.decision.delay().ns()) <= cap->hi + cap->slack) return {};
    return fmt::format("the delay is {}, above the cap's {}", to_string(step.decision.delay()),
                       to_string(Duration::ns(static_cast<std::int64_t>(cap->hi))));
  });
}

Finding in_bounds(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, [&](const Step& step) -> Complaint {
    if (!known(subject.contract, step)) return {};
    const auto support = support_of(subject.contract, step.attempt, step.previous);
    if (!support || support->holds(step.decision.delay())) return {};
    return fmt::format("the delay is {}, outside {}", to_string(step.decision.delay()), interval(*support));
  });
}

Finding grows(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, [&](const Step& step) -> Complaint {
    auto law = ceiling_of(subject.contract, step.attempt);
    if (!law) return {};
    if (subject.contract.cap)
      law->lo = law->hi = std::min(law->hi, static_cast<long double>(subject.contract.cap->ns()));
    if (law->holds(step.decision.delay())) return {};
    return fmt::format("the delay is {}, the law says {}", to_string(step.decision.delay()),
                       to_string(Duration::ns(static_cast<std::int64_t>(law->hi))));
  });
}

}  // namespace

void add_delays(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"survives", must, exact, "The policy answers every attempt number, and stops after a success.",
             "An exception in the delay computation replaces the error that the caller should see.",
             "hynek/stamina#104", [](const Contract&) { return true; }, &survives});
  shelf.add({"delay-finite", must, exact, "A bounded law never waits without end.",
             "A client that waits for ever looks like one that is still trying.",
             "marin-community/marin#2868", &is_bounded, &finite});
  shelf.add({"delay-non-negative", must, exact, "No delay is negative.",
             "Timers refuse a negative delay or fire at once: a retry storm.", "aws/aws-sdk-java#874",
             [](const Contract&) { return true; }, &non_negative});
  shelf.add({"cap-respected", must, exact, "No delay exceeds the cap, in the declared meaning of the cap.",
             "Callers size their own time limits by the cap.", "socketio/socket.io-client#531",
             [](const Contract& c) { return cap_of(c).has_value(); }, &capped});
  shelf.add({"delay-in-bounds", must, exact,
             "Every delay lies in the interval of its growth, jitter and cap.",
             "A delay outside is one that nobody planned for.", "failsafe-lib/failsafe#115",
             [](const Contract& c) { return support_of(c, 1, std::nullopt).has_value(); }, &in_bounds});
  shelf.add({"growth-law", must, exact, "Without jitter, delay n is min(cap, ceiling n).",
             "An exponent that is off by one doubles the load or halves the patience.", "avast/retry-go#127",
             [](const Contract& c) {
               return c.jitter && c.jitter->kind == JitterKind::none && ceiling_of(c, 1).has_value();
             },
             &grows});
}

}  // namespace retrygate
