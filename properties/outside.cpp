#include "properties/outside.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>

#include "properties/bounds.hpp"
#include "properties/header.hpp"
#include "properties/spread.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

// How one attempt of a scripted call ends.
struct Ending {
  Status status = Status::http(503);
  std::optional<std::string> header = {};
  Duration not_before = {};  // the attempt ends at least so long after the start of the call
};

// A call that is put to the program: it is told of endings until it stops or has been told of `attempts`.
struct Errand {
  std::int64_t attempts = 1;
  std::function<Ending(std::int64_t attempt, Instant started)> ending;
  Duration pause = {};  // before the call begins
  bool idempotent = true;
  std::optional<Duration> deadline = {};
  std::vector<std::int64_t> numbers = {};  // instead of 1, 2, 3 ...: jumps
};

// Calls one after another. Lanes run beside each other, one attempt of each at a time: that makes a batch.
struct Lane {
  std::int64_t client = 0;
  std::int64_t first_call = 0;
  std::vector<Errand> calls;
};

// Virtual time stands still after that long: no program has to know dates beyond it.
constexpr Instant end_of_time{Duration::s(60 * 365 * 86'400LL)};

// Puts lanes to programs, and writes down what they answer.
class Conductor {
 public:
  Conductor(std::string command, OutsideOptions options)
      : command_(std::move(command)), options_(std::move(options)) {}

  std::optional<ProtocolFault> start() {
    auto program = ExternalProgram::start(command_, options_.seed, options_.contract_text, options_.limits);
    if (!program) return program.error();
    program_.emplace(std::move(*program));
    introduction_ = program_->introduction();
    return std::nullopt;
  }

  const Introduction& introduction() const { return introduction_; }
  const std::vector<ProtocolFault>& faults() const { return faults_; }
  std::int64_t decisions() const { return decisions_; }

  // After a fault the rest of these lanes is not tried, and the next ones meet a fresh process.
  void run(const std::vector<Lane>& lanes, Trace& into) {
    constexpr std::size_t faults_most = 3;  // it has shown what it is
    if (!program_ && (faults_.size() >= faults_most || start())) return;
    perform(*program_, lanes, into);
    if (!program_->fault()) return;
    faults_.push_back(*program_->fault());
    decisions_ += program_->asked();
    program_.reset();
  }

  void finish() {
    if (!program_) return;
    if (const auto fault = program_->finish()) faults_.push_back(*fault);
    decisions_ += program_->asked();
    program_.reset();
  }

  // The same lanes for fresh processes with seeds of their own, all alive at once.
  std::vector<Trace> run_fresh(std::size_t processes, const std::vector<Lane>& lanes) {
    std::vector<ExternalProgram> all;
    for (std::size_t i = 0; i < processes; ++i) {
      const Seed seed{detail::mix(options_.seed.value, i + 1)};
      if (auto program = ExternalProgram::launch(command_, seed, options_.contract_text, options_.limits))
        all.push_back(std::move(*program));
    }
    std::vector<Trace> traces;
    for (ExternalProgram& program : all) {
      std::optional<ProtocolFault> fault = program.greet();
      if (!fault) {
        perform(program, lanes, traces.emplace_back());
        fault = program.finish();
      }
      decisions_ += program.asked();
      if (fault) faults_.push_back(*fault);
    }
    return traces;
  }

 private:
  struct Place {
    const Lane* lane;
    std::size_t call = 0;       // of the lane
    std::size_t attempt = 0;    // of the call, from 0
    std::size_t traced = 0;     // where its call is written down
    Instant call_started, now;  // now: when the next attempt starts
    std::string header;
  };

  static Question question(Place& p, Trace& into) {
    const Errand& script = p.lane->calls[p.call];
    if (p.attempt == 0) {
      p.now = std::min(p.now + script.pause, end_of_time);
      p.call_started = p.now;
      p.traced = into.calls.size();
      into.calls.push_back({std::to_string(p.lane->client),
                            std::to_string(p.lane->first_call + static_cast<std::int64_t>(p.call)),
                            {}});
    }
    const std::int64_t number =
        script.numbers.empty() ? static_cast<std::int64_t>(p.attempt) + 1 : script.numbers[p.attempt];
    const Instant started = p.now;
    const Ending ending = script.ending(number, started);
    p.now = std::min(std::max(started, p.call_started + ending.not_before), end_of_time);
    TracedAttempt a;
    a.number = number;
    a.started = started;
    a.ended = p.now;
    a.status = ending.status;
    a.has_header = ending.header.has_value();
    a.header = ending.header.value_or("");
    a.idempotent = script.idempotent;
    if (script.deadline) a.deadline = p.call_started + *script.deadline;
    Question q;
    q.client = p.lane->client;
    q.call = p.lane->first_call + static_cast<std::int64_t>(p.call);
    q.attempt = {number, {ending.status, {}, {}}, script.idempotent, p.call_started, a.ended, a.deadline};
    if (ending.header) {
      p.header = *ending.header;
      q.attempt.outcome.retry_after_text = p.header;
    }
    into.calls[p.traced].attempts.push_back(std::move(a));
    return q;
  }

  // Writes the decision down and goes to the next attempt or call. False at the end of the lane.
  static bool advance(Place& p, const Decision& decision, Trace& into) {
    TracedAttempt& a = into.calls[p.traced].attempts.back();
    a.followed = Followed{decision.stops(), decision.delay(),
                          decision.stops() ? std::optional(decision.why()) : std::nullopt};
    const Errand& script = p.lane->calls[p.call];
    const auto told = static_cast<std::int64_t>(++p.attempt);
    const auto most =
        script.numbers.empty() ? script.attempts : static_cast<std::int64_t>(script.numbers.size());
    if (!decision.stops()) p.now = std::min(p.now + std::max(Duration{}, decision.delay()), end_of_time);
    if (!decision.stops() && told < most) return true;
    p.attempt = 0;
    return ++p.call < p.lane->calls.size();
  }

  static void perform(ExternalProgram& program, const std::vector<Lane>& lanes, Trace& into) {
    std::vector<Place> active;
    for (const Lane& lane : lanes) active.push_back({&lane, 0, 0, 0, {}, {}, {}});
    while (!active.empty() && !program.fault()) {
      std::vector<Question> questions;
      questions.reserve(active.size());
      for (Place& p : active) questions.push_back(question(p, into));
      const std::vector<Decision> decisions = program.ask(questions);
      std::vector<Place> next;
      next.reserve(active.size());
      for (std::size_t i = 0; i < decisions.size(); ++i) {
        if (advance(active[i], decisions[i], into)) next.push_back(std::move(active[i]));
      }
      active = std::move(next);
    }
  }

  std::string command_;
  OutsideOptions options_;
  std::optional<ExternalProgram> program_;
  Introduction introduction_;
  std::vector<ProtocolFault> faults_;
  std::int64_t decisions_ = 0;
};

// What is put to a program. Every lane has clients of its own.
class Plan {
 public:
  explicit Plan(const Contract& contract) : contract_(contract), failure_(retryable(contract)) {}

  // Many clients that fail together.
  std::vector<Lane> fleet() {
    const bool jittered = contract_.jitter && contract_.jitter->kind != JitterKind::none;
    return fresh(jittered ? draws_wanted : 64, {fails(8)});
  }
  // The first attempts of the clients of a fresh process.
  std::vector<Lane> first_attempts() const {
    std::vector<Lane> lanes;
    for (std::int64_t i = 0; i < 250; ++i) lanes.push_back({i, 0, {fails(2)}});
    return lanes;
  }
  // Every outcome, with and without leave to repeat; and successes after failures.
  std::vector<Lane> outcomes() {
    std::vector<Lane> lanes;
    std::vector<Status> statuses = {Status::http(200), Status::http(204)};
    for (const int code : {300, 304, 400, 401, 403, 404, 405, 408, 409, 410, 413, 418, 421, 422,
                           423, 425, 429, 431, 451, 500, 501, 502, 503, 504, 505, 507, 508, 511})
      statuses.push_back(Status::http(code));
    // A policy for HTTP alone need not know gRPC's words.
    const bool speaks_grpc = contract_.retry_on && contract_.retry_on->speaks_about(Status::Kind::grpc);
    for (int code = 0; speaks_grpc && code <= 16; ++code) statuses.push_back(Status::grpc(code));
    for (int e = 0; e <= static_cast<int>(TransportError::cancelled); ++e)
      statuses.push_back(Status::transport(static_cast<TransportError>(e)));
    for (const Status status : statuses) {
      for (const bool idempotent : {true, false}) {
        Errand once{1, [status](std::int64_t, Instant) { return Ending{status}; }};
        once.idempotent = idempotent;
        add(lanes, {std::move(once)});
      }
    }
    for (const std::int64_t at : {2, 3, 5}) add(lanes, {succeeds(at)});
    return lanes;
  }
  // Headers that servers have sent, at the first and at a later attempt. The malformed ones mean that there
  // is none.
  std::vector<Lane> headers() {
    std::vector<Lane> lanes;
    std::vector<std::string> texts = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "7",
                                      "10",
                                      "30",
                                      "60",
                                      "120",
                                      "007",
                                      "3600",
                                      "86400",
                                      "2147484",
                                      "9999999999",
                                      "1.5",
                                      "-5",
                                      "+3",
                                      "",
                                      "NaN",
                                      "1000abc",
                                      "0x1",
                                      "1e3",
                                      "\xef\xbc\x93",
                                      "soon",
                                      "infinity",
                                      "3, 5",
                                      "Wed, 99 Foo 2026 07:28:00 GMT"};
    if (contract_.retry_after_max) {
      const std::int64_t most = contract_.retry_after_max->ns() / 1'000'000'000;
      for (const std::int64_t s : {most - 1, most, most + 1})
        texts.push_back(std::to_string(std::max<std::int64_t>(1, s)));
    }
    for (const Status status : {Status::http(503), Status::http(429), failure_}) {
      if (contract_.retry_on && !contract_.retry_on->contains(status)) continue;
      for (const std::int64_t at : {std::int64_t{1}, std::int64_t{4}}) {
        for (const std::string& text : texts)
          add(lanes, {hinted(at, status, [text](Instant) { return text; })});
        for (const std::int64_t s : {-3600, 0, 2, 11, 90})
          add(lanes, {hinted(at, status, [s](Instant now) {
                return http_date(Instant{std::max(Duration{}, now.since_start + Duration::s(s))});
              })});
      }
    }
    return lanes;
  }
  // Attempts that end ever closer to the time limit, and beyond it.
  std::vector<Lane> time_limits() {
    std::vector<Lane> lanes;
    if (!contract_.elapsed && !contract_.deadline) return lanes;
    const Duration limit =
        std::min(contract_.elapsed.value_or(Duration::max()), contract_.deadline.value_or(Duration::max()));
    for (std::int64_t permille = 0; permille < 1300; permille += 10) {
      for (const std::int64_t attempts : {1, 2, 8}) {
        Errand call{attempts, [=, this](std::int64_t n, Instant) {
                      Ending e{failure_};
                      e.not_before = limit.scaled(static_cast<double>(permille * n) / 1000.0 /
                                                  static_cast<double>(attempts));
                      return e;
                    }};
        call.deadline = contract_.deadline;
        add(lanes, {std::move(call)});
      }
    }
    return lanes;
  }
  // Clients that are used again after a failure and after a success, and by two calls at once.
  std::vector<Lane> reuse() {
    std::vector<Lane> lanes;
    for (int i = 0; i < 32; ++i)
      add(lanes, {fails(3 + i % 4), succeeds(2 + i % 5), fails(4), succeeds(1), fails(4)});
    for (int i = 0; i < 32; ++i) {
      add(lanes, {fails(6)});
      Lane beside{lanes.back().client, 100, {fails(6), fails(2)}};
      beside.calls.front().pause = Duration::ms(i);
      lanes.push_back(std::move(beside));
    }
    return lanes;
  }
  // Long calls, each attempt number in turn.
  std::vector<Lane> sequences() {
    std::vector<Lane> lanes;
    for (int i = 0; i < 64; ++i) {
      Errand call = fails(70);
      call.pause = Duration::s(i);
      add(lanes, {std::move(call)});
    }
    for (int i = 0; i < 8; ++i) add(lanes, {fails(dense_to)});
    return lanes;
  }
  // Attempt numbers that no client reaches, for a program that lets them be skipped.
  std::vector<Lane> jumps() {
    std::vector<Lane> lanes;
    for (const std::int64_t n : {std::int64_t{10'000}, std::int64_t{1'000'000}, std::int64_t{1} << 31}) {
      Errand call = fails(9);
      call.numbers = {1, 2, 3, 4, 5, 6, 7, 8, n};
      add(lanes, {std::move(call)});
    }
    return lanes;
  }

  static constexpr std::int64_t dense_to = 1100;

 private:
  Errand fails(std::int64_t attempts) const {
    return {attempts, [status = failure_](std::int64_t, Instant) { return Ending{status}; }};
  }
  Errand succeeds(std::int64_t at) const {
    return {at, [status = failure_, at](std::int64_t n, Instant) {
              return Ending{n < at ? status : Status::http(200)};
            }};
  }
  template <class Text>
  Errand hinted(std::int64_t at, Status status, Text text) const {
    return {at, [=, this](std::int64_t n, Instant now) {
              return n < at ? Ending{failure_} : Ending{status, text(now)};
            }};
  }
  void add(std::vector<Lane>& lanes, std::vector<Errand> calls) {
    lanes.push_back({clients_++, 0, std::move(calls)});
  }
  std::vector<Lane> fresh(std::size_t n, const std::vector<Errand>& calls) {
    std::vector<Lane> lanes;
    for (std::size_t i = 0; i < n; ++i) add(lanes, calls);
    return lanes;
  }

  const Contract& contract_;
  Status failure_;
  std::int64_t clients_ = 0;
};

bool wanted(const OutsideOptions& options, std::string_view id) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), id) != options.only.end();
}

// One check of one subject accuses a faithful one at most this often, all statistical invariants together.
double alpha_of_one() {
  constexpr double alpha_of_a_subject = 1e-9;
  const auto statistical = std::count_if(invariants().begin(), invariants().end(), [](const Invariant& i) {
    return i.evidence == Evidence::statistical;
  });
  return alpha_of_a_subject / static_cast<double>(std::max<std::ptrdiff_t>(1, statistical));
}

// A row for every invariant that a recording decides; the others by name. That a program failed is told even
// if nobody asked whether it survives.
std::vector<VerdictRow> rows_of(const std::string& name, const Recording& recording, const Contract& contract,
                                const OutsideOptions& options, std::vector<std::string>& not_tried) {
  std::vector<VerdictRow> rows;
  const double alpha = alpha_of_one();
  for (const Invariant& invariant : invariants()) {
    const bool died = invariant.id == "survives" && recording.cut_short;
    if (!died && !wanted(options, invariant.id)) continue;
    if (!decided_by_recording(invariant.id)) {
      not_tried.emplace_back(invariant.id);
      // Asked for by name, it must not be passed over in silence.
      if (!options.only.empty())
        rows.push_back({name, &invariant, Verdict::unsure, "it cannot be tried on this kind of subject", {}});
      continue;
    }
    Finding finding = judge(invariant.id, recording, contract, alpha);
    rows.push_back(
        {name, &invariant, finding.verdict, std::move(finding.note), std::move(finding.counterexample)});
  }
  return rows;
}

}  // namespace

tl::expected<OutsideResult, ProtocolFault> check_program(const std::string& name, const std::string& command,
                                                         const Contract& contract,
                                                         const OutsideOptions& options) {
  Conductor conductor(command, options);
  if (auto fault = conductor.start()) return tl::unexpected(std::move(*fault));
  Recording recording;
  Plan plan(contract);
  // What is likeliest to kill a program comes last.
  for (const auto& lanes :
       {plan.fleet(), plan.reuse(), plan.outcomes(), plan.time_limits(), plan.headers(), plan.sequences()})
    conductor.run(lanes, recording.trace);
  if (conductor.introduction().jumps) conductor.run(plan.jumps(), recording.trace);
  conductor.finish();
  recording.cut_short = !conductor.faults().empty();
  constexpr std::size_t fresh_processes = 8;
  if (contract.jitter && contract.jitter->kind != JitterKind::none &&
      wanted(options, "processes-independent"))
    recording.processes = conductor.run_fresh(fresh_processes, plan.first_attempts());

  OutsideResult result;
  std::vector<std::string> not_tried;
  result.rows = rows_of(name, recording, contract, options, not_tried);
  result.decisions = conductor.decisions();
  for (VerdictRow& row : result.rows) {
    if (row.invariant->id == "survives" && !conductor.faults().empty()) {
      row.verdict = Verdict::fails;
      const std::string text = to_string(conductor.faults().front());
      row.counterexample = {text, text, {}, {}};
    }
    if (row.verdict == Verdict::fails && !conductor.introduction().seeded)
      row.note = "the program draws from a source of its own: the case may not come again";
  }
  result.notes.push_back(fmt::format("{}: {} decisions in {} processes", name, result.decisions,
                                     recording.processes.size() + 1 + conductor.faults().size()));
  result.notes.push_back(fmt::format(
      "attempts tried: 1..{} in sequence{}{}", Plan::dense_to,
      conductor.introduction().jumps ? ", 10000, 1000000, 2147483648"
                                     : "; not tried: 10000, 1000000, 2147483648 (it does not allow jumps)",
      contract.max_attempts ? fmt::format("; as far as its {} attempts go", *contract.max_attempts) : ""));
  if (!not_tried.empty())
    result.notes.push_back(
        fmt::format("not tried, a program cannot be asked for it: {}", fmt::join(not_tried, ", ")));
  return result;
}

OutsideResult check_trace(const std::string& name, Trace trace, const Contract& contract,
                          const OutsideOptions& options) {
  OutsideResult result;
  std::vector<std::string> not_tried;
  const Recording recording{std::move(trace), {}, false};
  result.rows = rows_of(name, recording, contract, options, not_tried);
  if (!not_tried.empty())
    result.notes.push_back(
        fmt::format("not tried, a recording cannot show it: {}", fmt::join(not_tried, ", ")));
  return result;
}

}  // namespace retrygate
