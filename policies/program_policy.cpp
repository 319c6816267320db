#include "policies/program_policy.hpp"

#include <algorithm>
#include <mutex>

namespace retrygate {

struct ProgramPolicy::Session {
  explicit Session(ExternalProgram running) : program(std::move(running)) {}

  std::mutex mutex;
  ExternalProgram program;
  std::int64_t clients = 0, calls = 0;
};

tl::expected<ProgramPolicy, ProtocolFault> ProgramPolicy::started(Seed seed, const Value* contract_text,
                                                                  ProcessLimits limits) const {
  auto program = ExternalProgram::start(command_, seed, contract_text, limits);
  if (!program) return tl::unexpected(std::move(program.error()));
  ProgramPolicy running = *this;
  running.session_ = std::make_shared<Session>(std::move(*program));
  return running;
}

ProgramPolicy::Session& ProgramPolicy::session() const {
  if (!session_) throw ProgramFault(to_string(*this) + ": the program is not running", false);
  return *session_;
}

Decision ProgramPolicy::ask(Client& client, Call& call, Question question) const {
  Session& s = session();
  const std::lock_guard one_at_a_time(s.mutex);
  if (client.number < 0) client.number = s.clients++;
  if (call.number < 0) {
    call.number = s.calls++;
    call.started = question.attempt.call_started;
  }
  question.client = client.number;
  question.call = call.number;
  // What a gate puts off ends later than whoever asks after attempts alone believes.
  client.now = std::max(client.now, question.attempt.finished);
  question.attempt.finished = client.now;
  const auto answers = s.program.ask({&question, 1});
  if (answers.empty()) throw ProgramFault(to_string(*this) + ": " + to_string(*s.program.fault()), true);
  return answers.front();
}

Decision ProgramPolicy::after(Client& client, Call& call, const Attempt& attempt, Rng& rng) const {
  // Whether it draws, nobody but the program knows: taken for drawing, no difference counts as exact.
  (void)rng.unit();
  if (call.admitted < attempt.number) {
    const Decision gate = ask_the_gate(client, call, attempt, rng);
    if (gate.stops()) return gate;
  }
  call.attempt = attempt.number;
  Question question{Question::Kind::ended, 0, 0, attempt};
  // A simulated server says how long, not in which words: whole seconds, rounded up.
  std::string header;
  Outcome& outcome = question.attempt.outcome;
  if (outcome.retry_after && outcome.retry_after_text.data() == nullptr) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t ns = std::max<std::int64_t>(0, outcome.retry_after->ns());
    header = std::to_string(ns / second + (ns % second > 0 ? 1 : 0));
    outcome.retry_after_text = header;
  }
  return ask(client, call, question);
}

Decision ProgramPolicy::before(Client& client, Call& call, const Sending& sending, Rng&) const {
  if (!session().program.introduction().can_before) {
    call.admitted = sending.attempt;
    return Decision::wait({});
  }
  Question question{Question::Kind::may_send};
  question.attempt.number = sending.attempt;
  question.attempt.call_started = sending.call_started;
  question.attempt.finished = sending.now;
  question.attempt.deadline = sending.deadline;
  const Decision decision = ask(client, call, question);
  if (decision == Decision::wait({})) call.admitted = sending.attempt;
  return decision;
}

Decision ProgramPolicy::ask_the_gate(Client& client, Call& call, const Attempt& attempt, Rng& rng) const {
  constexpr int put_off_most = 1000;
  Sending sending{attempt.number, attempt.finished, attempt.call_started, attempt.deadline};
  Decision gate = before(client, call, sending, rng);
  for (int times = 0; !gate.stops() && gate.delay() > Duration{} && times < put_off_most; ++times) {
    sending.now = client.now + gate.delay();
    gate = before(client, call, sending, rng);
  }
  const bool by_chance = contract_.budget && contract_.budget->kind == BudgetKind::sre_throttle;
  return gate.stops() && !by_chance ? gate : Decision::wait({});
}

void ProgramPolicy::abandoned(Client& client, Call& call, Instant now) const {
  if (!session().program.introduction().can_cancel || call.number < 0) return;
  Question question{Question::Kind::cancelled};
  question.attempt.number = call.attempt;
  question.attempt.call_started = call.started;
  question.attempt.finished = now;
  (void)ask(client, call, question);
}

Decision ProgramPolicy::cancel(Client& client, Call& call, const Attempt& attempt, Duration into) const {
  Question question{Question::Kind::cancelled, 0, 0, attempt};
  question.attempt.finished = attempt.finished + into;
  return ask(client, call, question);
}

const Introduction& ProgramPolicy::introduction() const { return session().program.introduction(); }
std::int64_t ProgramPolicy::asked() const { return session().program.asked(); }
std::optional<ProtocolFault> ProgramPolicy::fault() const { return session().program.fault(); }
std::optional<ProtocolFault> ProgramPolicy::finish() const { return session().program.finish(); }

}  // namespace retrygate
