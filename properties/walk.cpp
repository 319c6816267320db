#include "properties/walk.hpp"

#include <algorithm>
#include <exception>

namespace retrygate {

Status retryable(const Contract& c) {
  const Status usual = Status::http(503);
  if (!c.retry_on || c.retry_on->contains(usual)) return usual;
  if (!c.retry_on->statuses.empty()) return c.retry_on->statuses.front();
  return c.retry_on->classes.empty() ? usual : Status::http(c.retry_on->classes.front() * 100);
}

const Step* Walk::wait_after(std::int64_t attempt) const {
  if (steps.empty() || steps.back().attempt != attempt || steps.back().decision.stops()) return nullptr;
  return &steps.back();
}

CallUnderTest::CallUnderTest(const Subject& subject, const Case& c, Slot& client)
    : subject_(subject),
      case_(c),
      client_(client),
      call_(subject.policy.call_bytes()),
      key_(Seed{c.seed}, Stream::policy),
      failure_(retryable(subject.contract)) {
  subject_.policy.start_call(call_.get());
}

Decision CallUnderTest::tell(std::int64_t attempt, Instant now, const Told& how) {
  Attempt told;
  told.number = attempt;
  told.outcome = how.outcome;
  told.idempotent = how.idempotent;
  told.call_started = Instant{case_.started};
  told.finished = now;
  if (how.deadline) told.deadline = told.call_started + *how.deadline;
  Rng rng = key_.at(case_.client, case_.call, static_cast<std::uint64_t>(attempt));
  return subject_.policy.after(client_.get(), call_.get(), told, rng);
}

Decision CallUnderTest::ask(std::int64_t attempt, Instant now) {
  if (!subject_.policy.gates()) return Decision::wait({});
  // The gate has draws of its own; its decision is asked for again and again.
  Rng rng = StreamKey(Seed{case_.seed}, Stream::policy, 1)
                .at(case_.client, case_.call, static_cast<std::uint64_t>(now.since_start.ns()));
  return subject_.policy.before(client_.get(), call_.get(), attempt, now, rng);
}

Slot fresh_client(const Subject& subject) {
  Slot client(subject.policy.client_bytes());
  subject.policy.start_client(client.get());
  return client;
}

Walk walk(const Subject& subject, const Case& c) {
  constexpr std::int64_t before_a_jump = 8;
  Walk done;
  Slot client = fresh_client(subject);
  CallUnderTest call(subject, c, client);
  Instant now{c.started};
  std::optional<Duration> previous;
  try {
    for (std::int64_t n = 1; n <= c.attempt; ++n) {
      if (c.attempt > dense_to && n > before_a_jump && n < c.attempt) {
        n = c.attempt;
        previous.reset();
      }
      const Decision decision = call.fail(n, now);
      done.steps.push_back({n, decision, previous});
      if (decision.stops()) break;
      previous = decision.delay();
      now = now + std::max(Duration{}, decision.delay());
    }
  } catch (const std::exception& e) {
    done.raised = e.what();
  } catch (...) {
    done.raised = "something that is no std::exception";
  }
  return done;
}

}  // namespace retrygate
