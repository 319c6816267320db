#include "properties/walk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>

#include "properties/bounds.hpp"
#include "properties/excuses.hpp"
#include "properties/observe.hpp"

namespace retrygate {

Status retryable(const Contract& c) {
  const Status usual = Status::http(503);
  if (!c.retry_on || c.retry_on->contains(usual)) return usual;
  if (!c.retry_on->statuses.empty()) return c.retry_on->statuses.front();
  return c.retry_on->classes.empty() ? usual : Status::http(c.retry_on->classes.front() * 100);
}

Status retryable(const Subject& subject) {
  return subject.failure ? *subject.failure : retryable(subject.contract);
}

Status seen_to_retry(const Subject& subject) {
  const Status usual = retryable(subject.contract);
  if (!subject.contract.retry_on || subject.loop) return usual;
  std::vector<Status> promised{usual};
  const auto& statuses = subject.contract.retry_on->statuses;
  promised.insert(promised.end(), statuses.begin(), statuses.end());
  for (const Status status : promised) {
    Slot client = fresh_client(subject);
    Slot call(subject.policy.call_bytes());
    subject.policy.start_call(call.get());
    Attempt first;
    first.outcome.status = status;
    Rng rng{Seed{1}};
    try {
      if (subject.policy.after(client.get(), call.get(), first, rng) != Decision::stop(Stop::not_retryable))
        return status;
    } catch (...) {
      return usual;  // that is for `survives` to say
    }
  }
  return usual;
}

std::vector<Status> kinds_of_failure(const Contract& c) {
  std::vector<Status> kinds;
  for (const Status s :
       {Status::http(503), Status::http(429), Status::http(500), Status::grpc(14), Status::grpc(8),
        Status::transport(TransportError::connection_reset), Status::transport(TransportError::truncated),
        Status::transport(TransportError::timeout), Status::transport(TransportError::connect_refused)}) {
    if (!c.retry_on || c.retry_on->contains(s)) kinds.push_back(s);
  }
  if (kinds.empty()) kinds.push_back(retryable(c));
  return kinds;
}

bool never_arrived(Status s) {
  using enum TransportError;
  const std::array never_left{dns, connect_refused, connect_timeout, tls};
  return std::any_of(never_left.begin(), never_left.end(),
                     [&](TransportError e) { return s == Status::transport(e); });
}

namespace {

template <std::size_t N>
std::vector<Status> of_http(const std::array<int, N>& codes) {
  std::vector<Status> all;
  for (const int code : codes) all.push_back(Status::http(code));
  return all;
}

}  // namespace

const std::vector<Status>& successes_of_http() {
  static const auto all = of_http(std::array{200, 201, 202, 203, 204, 205, 206, 207, 226, 299});
  return all;
}

const std::vector<Status>& failures_of_http() {
  static const auto all = of_http(std::array{
      300, 301, 302, 303, 304, 307, 308, 399,                                                         //
      400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418,  //
      421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499,                                          //
      500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511, 520, 522, 524, 529, 599});
  return all;
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
      failure_(retryable(subject)) {
  subject_.policy.start_call(call_.get());
}

Decision CallUnderTest::tell(std::int64_t attempt, Instant now, const Told& how) {
  constexpr int put_off_most = 1000;
  for (int times = 0; subject_.policy.gates() && admitted_ < attempt && times < put_off_most; ++times) {
    const Decision gate = ask(attempt, now);
    if (gate.stops()) break;
    now = now + std::max(Duration{}, gate.delay());
  }
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
  const Decision gate =
      subject_.policy.before(client_.get(), call_.get(), {attempt, now, Instant{case_.started}}, rng);
  if (gate == Decision::wait({})) admitted_ = attempt;
  return gate;
}

bool repeats(const Subject& s) {
  return s.keyed || (s.contract.jitter && s.contract.jitter->kind == JitterKind::none);
}

bool agree(const Subject& subject, const Decision& a, const Decision& b, std::int64_t attempt) {
  if (repeats(subject)) return a == b;
  const auto out_of_time = [](const Decision& d) { return d.stops() && d.why() == Stop::deadline; };
  if (a.stops() || b.stops()) return a.stops() == b.stops() || out_of_time(a) || out_of_time(b);
  const auto own = support_of(subject.contract, attempt, std::nullopt);
  return !own || attempt > 1 || own->holds(b.delay());
}

Slot fresh_client(const Subject& subject) {
  Slot client(subject.policy.client_bytes());
  subject.policy.start_client(client.get());
  return client;
}

namespace {

// What a loop did, in the words of a policy: a send after an attempt is a wait, its absence a stop.
Walk drive_loop(const Subject& subject, const Case& c, std::int64_t last, const Script& script) {
  Surroundings around;
  around.idempotent = script.idempotent;
  around.deadline = script.deadline;
  around.answer = [&](std::int64_t n, Instant at) {
    return n > last ? Scripted{{Status::http(200)}, {}} : script.answer(n, at);
  };
  const Observed trace = observe(subject, c, around);
  Walk done;
  std::optional<Duration> previous;
  for (std::size_t i = 0; i < trace.sent.size() && static_cast<std::int64_t>(i) < last; ++i) {
    const Sent& sent = trace.sent[i];
    Step step{static_cast<std::int64_t>(i) + 1, sent.started, sent.ended, Decision::stop(Stop::attempts),
              previous};
    if (i + 1 < trace.sent.size()) {
      previous = trace.sent[i + 1].started - sent.ended;
      step.decision = Decision::wait(*previous);
    } else if (trace.raised || trace.endless) {
      break;  // it decided nothing after this one
    } else if (sent.outcome.status.succeeded()) {
      step.decision = Decision::stop(Stop::success);
    } else {
      // A loop does not say why: an excuse that it may have is granted.
      const auto why = excuse(subject.contract, circumstances_of(subject.contract, c, step));
      step.decision = Decision::stop(why.value_or(Stop::attempts));
    }
    done.steps.push_back(step);
  }
  done.raised = trace.raised;
  return done;
}

}  // namespace

Walk drive(const Subject& subject, const Case& c, std::int64_t last, const Script& script) {
  if (subject.loop) return drive_loop(subject, c, last, script);
  Walk done;
  Slot client = fresh_client(subject);
  CallUnderTest call(subject, c, client);
  Instant now{c.started};
  std::optional<Duration> previous;
  try {
    for (std::int64_t n = 1; n <= last; ++n) {
      const Instant started = now;
      const Scripted scripted = script.answer(n, started);
      now = now + scripted.lasts;
      const Decision decision = call.tell(n, now, {scripted.outcome, script.idempotent, script.deadline});
      done.steps.push_back({n, started, now, decision, previous});
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

Walk walk(const Subject& subject, const Case& c) {
  constexpr std::int64_t before_a_jump = 8;
  const Scripted failure{{retryable(subject)}, {}};
  const Script failing{[&](std::int64_t, Instant) { return failure; }};
  if (c.attempt <= dense_to || subject.loop) return drive(subject, c, c.attempt, failing);
  Walk done;
  Slot client = fresh_client(subject);
  CallUnderTest call(subject, c, client);
  Instant now{c.started};
  std::optional<Duration> previous;
  try {
    for (std::int64_t n = 1;; n = n == before_a_jump ? c.attempt : n + 1) {
      if (n == c.attempt) previous.reset();
      const Decision decision = call.fail(n, now);
      done.steps.push_back({n, now, now, decision, previous});
      if (decision.stops() || n == c.attempt) break;
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

std::optional<std::int64_t> last_retry(const Subject& subject) {
  constexpr std::int64_t calls_watched = 8, to_spare = 4;
  const Contract& contract = subject.contract;
  std::optional<std::int64_t> last;
  if (contract.max_attempts) last = *contract.max_attempts - 1;
  if (!contract.elapsed && !contract.deadline) return last;
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < calls_watched; ++i) {
    Case c;
    c.attempt = dense_to;
    c.client = static_cast<std::uint64_t>(i);
    seen = std::max(seen, static_cast<std::int64_t>(walk(subject, c).steps.size()));
  }
  if (seen >= dense_to) return last;
  return std::min(seen + to_spare, last.value_or(dense_to));
}

std::optional<std::string> Sequence::run(const Command& command) {
  if (over_) return {};
  over_ = true;  // unless it is seen to end
  return unless_raised([&]() -> std::optional<std::string> {
    bool over = false;
    if (auto wrong = play(command, over)) return fmt::format("{}: {}", fmt::join(told_, ", then "), *wrong);
    over_ = over;
    return {};
  });
}

}  // namespace retrygate
