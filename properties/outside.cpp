#include "properties/outside.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "policies/program_policy.hpp"
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
  Duration lasts = {};       // and after its own
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

// An attempt of a call of a client, as the plan numbers them.
struct CallPlace {
  std::int64_t client = 0, call = 0, attempt = 1;
};

// A fault, and the questions that it left without an answer, if there are any: the first one is what the
// program was about to answer, if it answers line by line.
struct Broken {
  ProtocolFault fault;
  std::vector<CallPlace> unanswered;
};

// Puts lanes to programs, and writes down what they answer.
class Conductor {
 public:
  Conductor(std::string command, const OutsideOptions& options)
      : command_(std::move(command)), options_(options), effort_(effort_of(options.cases)) {}

  std::optional<ProtocolFault> start() {
    auto program = ExternalProgram::start(command_, options_.seed, options_.contract_text, options_.limits);
    if (!program) return program.error();
    program_.emplace(std::move(*program));
    introduction_ = program_->introduction();
    return std::nullopt;
  }

  const Introduction& introduction() const { return introduction_; }
  const std::vector<Broken>& faults() const { return faults_; }
  std::int64_t decisions() const { return decisions_ - asked_the_gate_; }
  bool exhausted() const { return exhausted_; }  // the decisions did not suffice for all that was planned

  // It kept silent once. Asking it again would cost the same time again and again.
  bool silent() const {
    return std::any_of(faults_.begin(), faults_.end(), [](const Broken& b) { return b.fault.late; });
  }

  // After a fault the rest of these lanes is not tried, and the next ones meet a fresh process; after silence
  // nothing is tried.
  void run(const std::vector<Lane>& lanes, Trace& into) {
    constexpr std::size_t faults_most = 3;  // it has shown what it is
    if (silent() || (!program_ && (faults_.size() >= faults_most || start()))) return;
    perform(*program_, lanes, into);
    if (!program_->fault()) return;
    faults_.push_back({*program_->fault(), std::exchange(unanswered_, {})});
    decisions_ += program_->asked();
    program_.reset();
  }

  void finish() {
    if (!program_) return;
    if (const auto fault = program_->finish()) faults_.push_back({*fault, {}});
    decisions_ += program_->asked();
    program_.reset();
  }

  // The same lanes for fresh processes with seeds of their own, all alive at once.
  std::vector<FreshProcess> run_fresh(std::size_t processes, const std::vector<Lane>& lanes) {
    std::vector<std::pair<Seed, ExternalProgram>> all;
    for (std::size_t i = 0; i < processes; ++i) {
      const Seed seed = fresh_seed(options_.seed, i);
      if (auto program = ExternalProgram::launch(command_, seed, options_.contract_text, options_.limits))
        all.emplace_back(seed, std::move(*program));
    }
    std::vector<FreshProcess> seen;
    for (auto& [seed, program] : all) {
      if (silent()) break;
      std::optional<ProtocolFault> fault = program.greet();
      if (!fault) {
        perform(program, lanes, seen.emplace_back(FreshProcess{seed}).trace);
        fault = program.finish();
      }
      decisions_ += program.asked();
      if (fault) faults_.push_back({*fault, {}});
      unanswered_.clear();
    }
    return seen;
  }

 private:
  struct Place {
    const Lane* lane;
    std::size_t call = 0;       // of the lane
    std::size_t attempt = 0;    // of the call, from 0
    std::size_t traced = 0;     // where its call is written down
    Instant call_started, now;  // now: when the next attempt starts
    std::string header;
    bool begun = false;     // its call has been asked about
    bool over = false;      // all attempts of its call are told: only the gate is still asked
    int times_put_off = 0;  // by the gate
  };

  static std::int64_t number_of(const Place& p) {
    const Errand& script = p.lane->calls[p.call];
    if (script.numbers.empty()) return static_cast<std::int64_t>(p.attempt) + 1;
    return p.over ? script.numbers.back() + 1 : script.numbers[p.attempt];
  }
  static Instant start_of(const Place& p) {
    return p.begun ? p.now : std::min(p.now + p.lane->calls[p.call].pause, end_of_time);
  }
  static void begin(Place& p) {
    p.now = start_of(p);
    if (!p.begun) p.call_started = p.now;
    p.begun = true;
  }
  // The call is over. False at the end of the lane.
  static bool next_call(Place& p) {
    p.attempt = 0;
    p.begun = p.over = false;
    p.times_put_off = 0;
    return ++p.call < p.lane->calls.size();
  }
  // When the attempt ends that it is to be told of next.
  static Instant due(const Place& p) {
    const Instant started = start_of(p), call_started = p.begun ? p.call_started : started;
    return end_of(p.lane->calls[p.call].ending(number_of(p), started), started, call_started);
  }
  static Instant end_of(const Ending& e, Instant started, Instant call_started) {
    return std::min(std::max(started + e.lasts, call_started + e.not_before), end_of_time);
  }

  // Of the calls that one client makes at once only that goes on whose attempt ends first, so that no client
  // ever sees time go back. The others are returned.
  static std::vector<Place> put_off(std::vector<Place>& active) {
    std::map<std::int64_t, std::pair<Instant, std::size_t>> first;  // by client
    for (std::size_t i = 0; i < active.size(); ++i) {
      const std::pair now{due(active[i]), i};
      const auto [at, fresh] = first.try_emplace(active[i].lane->client, now);
      if (!fresh && now.first < at->second.first) at->second = now;
    }
    std::vector<Place> going, waiting;
    for (std::size_t i = 0; i < active.size(); ++i)
      (first.at(active[i].lane->client).second == i ? going : waiting).push_back(std::move(active[i]));
    active = std::move(going);
    return waiting;
  }

  static Question question(Place& p, Trace& into) {
    const Errand& script = p.lane->calls[p.call];
    begin(p);
    if (p.attempt == 0) {
      p.traced = into.calls.size();
      into.calls.push_back({std::to_string(p.lane->client),
                            std::to_string(p.lane->first_call + static_cast<std::int64_t>(p.call)),
                            {}});
    }
    const std::int64_t number = number_of(p);
    const Instant started = p.now;
    const Ending ending = script.ending(number, started);
    p.now = end_of(ending, started, p.call_started);
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
  static bool advance(Place& p, const Decision& decision, bool has_gate, Trace& into) {
    TracedAttempt& a = into.calls[p.traced].attempts.back();
    a.followed = Followed{decision.stops(), decision.delay(),
                          decision.stops() ? std::optional(decision.why()) : std::nullopt};
    const Errand& script = p.lane->calls[p.call];
    const auto told = static_cast<std::int64_t>(++p.attempt);
    const auto most =
        script.numbers.empty() ? script.attempts : static_cast<std::int64_t>(script.numbers.size());
    if (!decision.stops()) p.now = std::min(p.now + std::max(Duration{}, decision.delay()), end_of_time);
    if (!decision.stops() && told < most) return true;
    p.over = !decision.stops() && has_gate;
    return p.over || next_call(p);
  }

  // Asks a program that can "before" about the attempts that are due. What may be sent stays in `active`;
  // what is put off, and the next call after a refusal, goes into `later`. A refusal is what followed the
  // attempt before.
  void ask_the_gate(ExternalProgram& program, std::vector<Place>& active, std::vector<Place>& later,
                    Trace& into) {
    constexpr int put_off_most = 1000;
    std::vector<Question> questions;
    for (Place& p : active) {
      begin(p);
      const Errand& script = p.lane->calls[p.call];
      Question q{Question::Kind::may_send, p.lane->client,
                 p.lane->first_call + static_cast<std::int64_t>(p.call)};
      q.attempt = {number_of(p), {}, script.idempotent, p.call_started, p.now};
      if (script.deadline) q.attempt.deadline = p.call_started + *script.deadline;
      questions.push_back(q);
    }
    const std::vector<Decision> answers = program.ask(questions);
    asked_the_gate_ += static_cast<std::int64_t>(questions.size());
    note_fault(questions, answers.size());
    std::vector<Place> going;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      Place& p = active[i];
      const Decision& answer = answers[i];
      if (answer.stops()) {
        if (p.attempt > 0) {
          TracedAttempt& before = into.calls[p.traced].attempts.back();
          before.followed = Followed{true, p.now - before.ended, answer.why()};
        }
        if (next_call(p)) later.push_back(std::move(p));
      } else if (p.over) {
        if (next_call(p)) later.push_back(std::move(p));
      } else if (answer.delay() <= Duration{}) {
        going.push_back(std::move(p));
      } else if (++p.times_put_off <= put_off_most) {
        p.now = std::min(p.now + answer.delay(), end_of_time);
        later.push_back(std::move(p));
      }
    }
    active = std::move(going);
  }

  void note_fault(const std::vector<Question>& questions, std::size_t answered) {
    if (answered >= questions.size() || !unanswered_.empty()) return;
    for (std::size_t i = answered; i < questions.size(); ++i)
      unanswered_.push_back({questions[i].client, questions[i].call, questions[i].attempt.number});
  }

  void perform(ExternalProgram& program, const std::vector<Lane>& lanes, Trace& into) {
    std::vector<Place> active;
    for (const Lane& lane : lanes) active.push_back({&lane, 0, 0, 0, {}, {}, {}});
    std::set<std::int64_t> clients;
    for (const Lane& lane : lanes) clients.insert(lane.client);
    const bool at_once = clients.size() < lanes.size();
    while (!active.empty() && !program.fault()) {
      std::vector<Place> waiting;
      if (at_once) waiting = put_off(active);
      const std::int64_t left = effort_.decisions - (decisions_ + program.asked() - asked_the_gate_);
      if (left < static_cast<std::int64_t>(active.size())) {
        exhausted_ = true;
        if (left <= 0) return;
        active.resize(static_cast<std::size_t>(left));
      }
      if (program.introduction().can_before) ask_the_gate(program, active, waiting, into);
      std::vector<Question> questions;
      questions.reserve(active.size());
      for (Place& p : active) questions.push_back(question(p, into));
      const std::vector<Decision> decisions = program.ask(questions);
      note_fault(questions, decisions.size());
      std::vector<Place> next = std::move(waiting);
      next.reserve(next.size() + active.size());
      for (std::size_t i = 0; i < decisions.size(); ++i) {
        if (advance(active[i], decisions[i], program.introduction().can_before, into))
          next.push_back(std::move(active[i]));
      }
      active = std::move(next);
    }
  }

  std::string command_;
  const OutsideOptions& options_;
  Effort effort_;
  std::optional<ExternalProgram> program_;
  Introduction introduction_;
  std::vector<Broken> faults_;
  std::vector<CallPlace> unanswered_;  // of the batch in which it broke off
  std::int64_t decisions_ = 0;         // of programs that have ended, questions before a send included
  std::int64_t asked_the_gate_ = 0;    // before a send
  bool exhausted_ = false;
};

// What is put to a program. Every lane has clients of its own.
class Plan {
 public:
  Plan(const Contract& contract, int cases)
      : contract_(contract), effort_(effort_of(cases)), failure_(retryable(contract)) {
    // What is likeliest to kill a program comes last.
    for (auto& lanes : {fleet(), reuse(), slow_attempts(), outcomes(), time_limits(), headers(),
                        after_headers(), sequences()})
      phases_.push_back(lanes);
    jumps_ = jumps();
  }

  std::vector<std::vector<Lane>> phases(bool with_jumps) const {
    auto all = phases_;
    if (with_jumps) all.push_back(jumps_);
    return all;
  }
  // The first attempts of the clients of a fresh process.
  std::vector<Lane> first_attempts() const {
    const std::int64_t clients = effort_.draws / 8;
    std::vector<Lane> lanes;
    const std::int64_t attempts = std::max<std::int64_t>(2, retry_to_compare(contract_).value_or(1));
    for (std::int64_t i = 0; i < clients; ++i) lanes.push_back({i, 0, {fails(attempts)}});
    return lanes;
  }
  // One attempt with what came before it in its call, and, if wanted, all that its client did before.
  std::vector<Lane> only(const CallPlace& place, bool with_history) const {
    std::vector<Lane> some;
    for (const auto& lanes : phases(true)) {
      for (const Lane& lane : lanes) {
        if (lane.client != place.client) continue;
        if (holds(lane, place))
          some.push_back(up_to(lane, place, with_history));
        else if (with_history)
          some.push_back(lane);
      }
    }
    return some;
  }
  // The same for many attempts at once, without what came before their calls.
  std::vector<Lane> alone(const std::vector<CallPlace>& places) const {
    std::map<std::int64_t, std::vector<const Lane*>> of_client;
    const auto all = phases(true);
    for (const auto& lanes : all) {
      for (const Lane& lane : lanes) of_client[lane.client].push_back(&lane);
    }
    std::vector<Lane> some;
    for (const CallPlace& place : places) {
      for (const Lane* lane : of_client[place.client]) {
        if (holds(*lane, place)) some.push_back(up_to(*lane, place, false));
      }
    }
    return some;
  }

 private:
  static bool holds(const Lane& lane, const CallPlace& place) {
    const std::int64_t at = place.call - lane.first_call;
    return at >= 0 && at < static_cast<std::int64_t>(lane.calls.size());
  }
  // The call of this attempt ends with it.
  static Lane up_to(Lane lane, const CallPlace& place, bool with_history) {
    lane.calls.resize(static_cast<std::size_t>(place.call - lane.first_call) + 1);
    Errand& last = lane.calls.back();
    last.attempts = std::min(last.attempts, place.attempt);
    std::erase_if(last.numbers, [&](std::int64_t n) { return n > place.attempt; });
    if (!with_history) {
      lane.first_call = place.call;
      lane.calls.erase(lane.calls.begin(), lane.calls.end() - 1);
    }
    return lane;
  }
  // Many clients that fail together.
  std::vector<Lane> fleet() {
    const bool jittered = contract_.jitter && contract_.jitter->kind != JitterKind::none;
    // What a decorrelated law keeps of a delay above the cap shows after that delay, and not before it.
    const std::int64_t attempts = chained(contract_) && contract_.cap ? 12 : 8;
    // Without jitter so many that a table of the calls under way may overflow.
    return fresh(jittered ? static_cast<std::size_t>(effort_.draws) : 512, {fails(attempts)});
  }
  // Every outcome, with and without leave to repeat; and successes after failures.
  std::vector<Lane> outcomes() {
    std::vector<Lane> lanes;
    std::vector<Status> statuses = successes_of_http();
    for (const Status s : failures_of_http()) statuses.push_back(s);
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
    // A header makes no failure one to retry, and no request one that may be repeated.
    const std::string hint(harmless_header(contract_).value_or("1"));
    for (const Status status : failures_of_http()) {
      for (const bool idempotent : {true, false}) {
        if (!contract_.retry_on && (idempotent || !contract_.idempotent_only.value_or(false))) continue;
        Errand hinted_once = hinted(1, status, [hint](Instant) { return hint; });
        hinted_once.idempotent = idempotent;
        add(lanes, {std::move(hinted_once)});
      }
    }
    // The same later in a call; and a request that may not be repeated, after an attempt that never left.
    for (const Status status : statuses) {
      add(lanes,
          {Errand{3, [=, this](std::int64_t n, Instant) { return Ending{n < 3 ? failure_ : status}; }}});
      Errand unsafe{2, [=](std::int64_t n, Instant) {
                      return Ending{n < 2 ? Status::transport(TransportError::connect_refused) : status};
                    }};
      unsafe.idempotent = false;
      add(lanes, {std::move(unsafe)});
    }
    for (const std::int64_t at : {2, 3, 5}) add(lanes, {succeeds(at)});
    // Failures of one kind, and of a new kind each time: all of them count.
    const std::vector<Status> kinds = kinds_of_failure(contract_);
    const std::int64_t length = std::min<std::int64_t>(
        effort_.attempts, std::min<std::int64_t>(contract_.max_attempts.value_or(20), 200) + 3);
    for (const Status kind : kinds)
      add(lanes, {Errand{length, [kind](std::int64_t, Instant) { return Ending{kind}; }}});
    if (kinds.size() > 1)
      add(lanes, {Errand{length, [kinds](std::int64_t n, Instant) {
                           return Ending{kinds[static_cast<std::size_t>(n) % kinds.size()]};
                         }}});
    return lanes;
  }
  // Headers that servers have sent, at the first and at a later attempt. The malformed ones mean that there
  // is none.
  std::vector<Lane> headers() {
    std::vector<Lane> lanes;
    std::vector<std::string> texts = {"0",  "1",   "2",   "3",    "7",     "10",      "30",
                                      "60", "120", "010", "3600", "86400", "2147484", "9999999999"};
    texts.insert(texts.end(), malformed_headers.begin(), malformed_headers.end());
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
        // A date that 31 bits of seconds since 1970 do not hold, and one that 32 do not.
        for (const std::int64_t s : {-3600LL, 0LL, 2LL, 11LL, 90LL, 400'000'000LL, 2'600'000'000LL})
          add(lanes, {hinted(at, status, [s](Instant now) { return date_in(now, s, DateForm::fixed); })});
        // Whoever reads dates has to read the two old forms, too (RFC 9110, section 5.6.7).
        for (const DateForm form : {DateForm::rfc850, DateForm::asctime}) {
          for (const std::int64_t s : {-3600, 11, 90})
            add(lanes, {hinted(at, status, [s, form](Instant now) { return date_in(now, s, form); })});
        }
      }
    }
    return lanes;
  }
  // So many seconds from now, and not before time 0.
  static std::string date_in(Instant now, std::int64_t s, DateForm form) {
    return http_date(Instant{std::max(Duration{}, now.since_start + Duration::s(s))}, form);
  }
  // Calls that go on after a header, or have one at every attempt; and their clients, which are used again.
  std::vector<Lane> after_headers() {
    std::vector<Lane> lanes;
    if (!contract_.retry_after) return lanes;
    const Duration most = contract_.retry_after_max.value_or(Duration::max());
    constexpr std::int64_t always = 0;
    const std::int64_t length =
        std::min(effort_.attempts, std::min<std::int64_t>(contract_.max_attempts.value_or(10), 40) + 2);
    for (const Status status : {Status::http(503), Status::http(429)}) {
      if (contract_.retry_on && !contract_.retry_on->contains(status)) continue;
      for (const std::int64_t seconds : {0, 1, 7, 120}) {
        if (Duration::s(seconds) > most) continue;
        for (const std::int64_t at : {std::int64_t{1}, std::int64_t{3}, always}) {
          const auto ending = [=, this, text = std::to_string(seconds)](std::int64_t n, Instant) {
            return n == at || at == always ? Ending{status, text} : Ending{failure_};
          };
          add(lanes, {Errand{length, ending}, fails(4)});
        }
      }
    }
    return lanes;
  }
  // Attempts that take their time, which is no part of the delay after them.
  std::vector<Lane> slow_attempts() {
    std::vector<Lane> lanes;
    if (contract_.elapsed || contract_.deadline) return lanes;  // see time_limits
    for (int i = 0; i < 4; ++i) {
      for (const Duration lasts : attempt_lengths)
        add(lanes, {Errand{8, [=, this](std::int64_t, Instant) {
                             Ending e{failure_};
                             e.lasts = lasts;
                             return e;
                           }}});
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
        call.pause = Duration::s(3 * permille);  // a call of time 0 alone could not tell now from elapsed
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
    // So many that a law that is another one from some attempt on shows there, see spread.hpp.
    for (int i = 0; i < 64; ++i) {
      Errand call = fails(i % 4 == 0 ? std::min<std::int64_t>(effort_.attempts, 258) : 70);
      call.pause = Duration::s(i);
      add(lanes, {std::move(call)});
    }
    for (int i = 0; i < 8; ++i) add(lanes, {fails(effort_.attempts)});
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
  Effort effort_;
  Status failure_;
  std::int64_t clients_ = 0;
  std::vector<std::vector<Lane>> phases_;
  std::vector<Lane> jumps_;
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

// A row for every wanted invariant that a recording decides; the others go into `undecided`. That a program
// failed is told even if nobody asked whether it survives.
std::vector<VerdictRow> rows_of(const std::string& name, const Recording& recording, const Contract& contract,
                                const OutsideOptions& options, std::vector<const Invariant*>& undecided) {
  std::vector<VerdictRow> rows;
  const double alpha = alpha_of_one();
  const Judge judge(recording, contract);
  for (const Invariant& invariant : invariants()) {
    const bool died = invariant.id == "survives" && recording.cut_short;
    if (!died && !wanted(options, invariant.id)) continue;
    if (!decided_by_recording(invariant.id)) {
      undecided.push_back(&invariant);
      continue;
    }
    Finding finding = judge(invariant.id, alpha);
    rows.push_back(
        {name, &invariant, finding.verdict, std::move(finding.note), std::move(finding.counterexample), {}});
  }
  return rows;
}

// What was asked for by name must not be passed over in silence. The rows are then in the order of their ids.
void add_unsure(const std::string& name, const std::vector<const Invariant*>& untried,
                const OutsideOptions& options, std::vector<VerdictRow>& rows) {
  for (const Invariant* invariant : untried) {
    if (!options.only.empty())
      rows.push_back(
          {name, invariant, Verdict::unsure, "it cannot be tried on this kind of subject", {}, {}});
  }
  std::sort(rows.begin(), rows.end(),
            [](const VerdictRow& a, const VerdictRow& b) { return a.invariant->id < b.invariant->id; });
}

std::string ids_of(const std::vector<const Invariant*>& some) {
  std::vector<std::string_view> ids;
  for (const Invariant* invariant : some) ids.push_back(invariant->id);
  return fmt::format("{}", fmt::join(ids, ", "));
}

// CLIENT.CALL.ATTEMPT, the call alone; with ".1" after all that its client did before.
struct Alone {
  CallPlace place;
  bool with_history = false;
};
std::string to_string(const Alone& a) {
  return fmt::format("{}.{}.{}{}", a.place.client, a.place.call, a.place.attempt, a.with_history ? ".1" : "");
}
std::optional<Alone> parse_alone(std::string_view text) {
  std::array<std::int64_t, 4> numbers{};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (count < numbers.size()) {
    const auto [next, fault] = std::from_chars(at, end, numbers[count]);
    if (fault != std::errc{} || numbers[count] < 0) return std::nullopt;
    ++count;
    if (next == end) {
      if (count < 3) return std::nullopt;
      return Alone{{numbers[0], numbers[1], numbers[2]}, numbers[3] == 1};
    }
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

// One program, what it is asked and what becomes of it.
class ProgramCheck {
 public:
  ProgramCheck(const std::string& name, const std::string& command, const Contract& contract,
               const OutsideOptions& options)
      : name_(name),
        command_(command),
        contract_(contract),
        options_(options),
        plan_(contract, options.cases) {}

  tl::expected<OutsideResult, ProtocolFault> all() {
    Conductor conductor(command_, options_);
    if (auto fault = conductor.start()) return tl::unexpected(std::move(*fault));
    const Introduction said = conductor.introduction();
    Recording recording;
    for (const auto& lanes : plan_.phases(said.jumps)) conductor.run(lanes, recording.trace);
    conductor.finish();
    recording.cut_short = !conductor.faults().empty();
    if (contract_.jitter && contract_.jitter->kind != JitterKind::none && !conductor.silent() &&
        wanted(options_, "processes-independent"))
      recording.processes = conductor.run_fresh(effort_of(options_.cases).processes, plan_.first_attempts());

    OutsideResult result;
    std::vector<const Invariant*> undecided;
    result.rows = rows_of(name_, recording, contract_, options_, undecided);
    std::vector<Broken> faults = conductor.faults();
    result.decisions = conductor.decisions();
    std::size_t processes = recording.processes.size() + 1 + conductor.faults().size();
    if (faults.empty()) {
      const std::int64_t asked = ask_one_by_one(said, undecided, result.rows, faults);
      result.decisions += asked;
      processes += asked > 0 ? 1 : 0;
    }
    for (VerdictRow& row : result.rows) {
      if (row.invariant->id == "survives" && !faults.empty())
        row = judged(*row.invariant, faults, said.seeded);
      if (row.verdict == Verdict::fails && row.counterexample.token.empty())
        explain(row, said, conductor.silent());
    }
    result.coverage = coverage(conductor, said, undecided, result.decisions, processes);
    add_unsure(name_, undecided, options_, result.rows);
    return result;
  }

  tl::expected<OutsideResult, ProtocolFault> one(const Token& token) {
    const Invariant& invariant = *invariants().find(token.invariant);
    OutsideResult result;
    result.coverage.tried = "the one case of the token";
    if (const auto alone = parse_alone(token.place)) {
      auto row = asked_alone(invariant, *alone);
      if (!row) return tl::unexpected(std::move(row.error()));
      result.rows.push_back(std::move(*row));
      return result;
    }
    if (token.place.empty() || !answered_one_by_one(token.invariant)) return all();
    const auto program = running();
    if (!program) return tl::unexpected(program.error());
    try {
      result.rows.push_back(replay(token, asked_alone_of(*program), options_));
    } catch (const ProgramFault&) {
      return tl::unexpected(*program->fault());
    }
    return result;
  }

 private:
  // What broke first; silence after everything else.
  VerdictRow judged(const Invariant& survives, const std::vector<Broken>& faults, bool seeded) const {
    const auto loud =
        std::find_if(faults.begin(), faults.end(), [](const Broken& b) { return !b.fault.late; });
    const Broken& shown = loud == faults.end() ? faults.front() : *loud;
    std::optional<CallPlace> place;
    if (!shown.unanswered.empty()) place = shown.unanswered.front();
    if (shown.unanswered.size() > 1 && seeded && !shown.fault.late)
      place = culprit(shown.unanswered).value_or(*place);
    return died(survives, shown.fault, place);
  }
  // One that writes the answers to a whole batch at once is silent about all of those before the one that it
  // dies of. Asked one by one it dies of that one.
  std::optional<CallPlace> culprit(const std::vector<CallPlace>& suspects) const {
    Conductor conductor(command_, options_);
    if (conductor.start()) return std::nullopt;
    Trace unused;
    for (const Lane& lane : plan_.alone(suspects)) {
      conductor.run({lane}, unused);
      const auto& faults = conductor.faults();
      if (!faults.empty() && !faults.front().unanswered.empty()) return faults.front().unanswered.front();
    }
    return std::nullopt;
  }

  // What depends on the order of many calls, or on the gate before a send: one question after the other.
  static constexpr std::string_view cancellation = "cancel-prompt";
  static constexpr std::array<std::string_view, 2> behind_the_gate{"no-wait-after-last", "no-futile-wait"};
  static constexpr std::array<std::string_view, 5> of_many_calls{
      "budget-conserved", "breaker-states", "instances-isolated", "reset-not-early", "clock-independent"};
  template <class Ids>
  static bool among(const Ids& ids, std::string_view id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }
  static bool answered_one_by_one(std::string_view id) {
    return id == cancellation || among(behind_the_gate, id) || among(of_many_calls, id);
  }
  static bool can_answer(const Introduction& said, std::string_view id) {
    return id == cancellation ? said.can_cancel
                              : among(of_many_calls, id) || (among(behind_the_gate, id) && said.can_before);
  }

  tl::expected<ProgramPolicy, ProtocolFault> running() const {
    return ProgramPolicy(command_, contract_).started(options_.seed, options_.contract_text, options_.limits);
  }
  Subject asked_alone_of(const ProgramPolicy& running) const {
    Subject subject = subject_of(name_, running);
    subject.keyed = false;
    subject.jumps = running.introduction().jumps;
    return subject;
  }

  // A call that is cancelled in the middle of a wait has to end.
  VerdictRow cancelled(const ProgramPolicy& running) const {
    VerdictRow row{name_, invariants().find(cancellation), Verdict::holds, {}, {}, {}};
    Rng unused{Seed{1}};
    bool waits = false;
    for (std::int64_t last = 1; last <= 5; ++last) {
      ProgramPolicy::Client client;
      ProgramPolicy::Call call;
      Attempt attempt;
      attempt.outcome.status = retryable(contract_);
      for (; attempt.number <= last; ++attempt.number) {
        const Decision decision = running.after(client, call, attempt, unused);
        if (decision.stops()) break;
        const Duration wait = std::max(Duration{}, decision.delay());
        if (attempt.number < last) {
          attempt.finished = attempt.finished + wait;
          continue;
        }
        waits = true;
        const Decision answer = running.cancel(client, call, attempt, wait / 2);
        if (answer.stops()) break;
        const std::string text = fmt::format(
            "cancelled {} into the wait of {} after attempt {}, it answers '{}' and not with a stop",
            to_string(wait / 2), to_string(wait), last, to_string(answer));
        row.verdict = Verdict::fails;
        row.counterexample = {text, text, {}, {}, {}, {}};
        return named(std::move(row));
      }
    }
    if (!waits) row = {name_, row.invariant, Verdict::unsure, "it never waits", {}, {}};
    return row;
  }

  // Adds the rows of what can be asked so, and takes it out of `undecided`. Returns how much was asked.
  std::int64_t ask_one_by_one(const Introduction& said, std::vector<const Invariant*>& undecided,
                              std::vector<VerdictRow>& rows, std::vector<Broken>& faults) const {
    const auto first =
        std::stable_partition(undecided.begin(), undecided.end(),
                              [&](const Invariant* invariant) { return !can_answer(said, invariant->id); });
    const std::vector<const Invariant*> asked(first, undecided.end());
    if (asked.empty()) return 0;
    const auto program = running();
    if (!program) {
      faults.push_back({program.error(), {}});
      return 0;
    }
    undecided.erase(first, undecided.end());
    // A case is some hundred questions, and each of them waits for the answer to the one before it.
    Options options = options_;
    options.cases = std::max(1, options_.cases * 24 / 200);
    // Of a seeded program a smaller case is a case as good as any: it has failed before our eyes.
    if (said.seeded) options.shrinks = 80;
    const Subject subject = asked_alone_of(*program);
    for (const Invariant* invariant : asked) {
      VerdictRow row{name_, invariant, Verdict::holds, {}, {}, {}};
      try {
        row = invariant->id == cancellation ? cancelled(*program) : check_one(*invariant, subject, options);
      } catch (const ProgramFault&) {
        // As every fault of the program: said below.
      }
      // An answer that did not come is no proof of anything else.
      if (program->fault())
        row = {name_, invariant, Verdict::unsure, "the program broke off while it was asked", {}, {}};
      rows.push_back(std::move(row));
    }
    if (const auto fault = program->finish()) faults.push_back({*fault, {}});
    if (!faults.empty()) return program->asked();
    for (VerdictRow& row : rows) {
      const bool here = std::find(asked.begin(), asked.end(), row.invariant) != asked.end();
      if (here && row.verdict == Verdict::fails && !fails_alone(row))
        row.note = said.seeded ? "asked alone, of a fresh process, the case did not fail again"
                               : "the program draws from a source of its own: the case may not come again";
    }
    return program->asked();
  }

  // Does the case of this row fail in a process that is told of nothing else?
  bool fails_alone(const VerdictRow& row) const {
    const auto token = parse_token(row.counterexample.token);
    const auto program = token ? running() : tl::unexpected(ProtocolFault{});
    if (!program) return false;
    try {
      return token->place.empty() ||
             replay(*token, asked_alone_of(*program), options_).verdict == Verdict::fails;
    } catch (const ProgramFault&) {
      return false;
    }
  }

  VerdictRow died(const Invariant& survives, const ProtocolFault& fault,
                  const std::optional<CallPlace>& place) const {
    const std::string text = to_string(fault);
    VerdictRow row{name_, &survives, Verdict::fails, {}, {text, text, {}, {}, {}, {}}, {}};
    if (place) row.counterexample.place = to_string(Alone{*place});
    return row;
  }

  // What one invariant makes of one attempt, asked of a fresh process.
  tl::expected<VerdictRow, ProtocolFault> asked_alone(const Invariant& invariant, const Alone& alone) const {
    Conductor conductor(command_, options_);
    if (auto fault = conductor.start()) return tl::unexpected(std::move(*fault));
    Recording recording;
    conductor.run(plan_.only(alone.place, alone.with_history), recording.trace);
    conductor.finish();
    recording.cut_short = !conductor.faults().empty();
    if (invariant.id == "survives" && !conductor.faults().empty()) {
      VerdictRow row = died(invariant, conductor.faults().front().fault, std::nullopt);
      row.counterexample.place = to_string(alone);
      return named(std::move(row));
    }
    Finding finding = Judge(recording, contract_)(invariant.id, alpha_of_one());
    // Alone it is the only one of its kind: what could not be compared has not failed.
    VerdictRow row{
        name_, &invariant, finding.verdict, std::move(finding.note), std::move(finding.counterexample), {}};
    row.counterexample.place = to_string(alone);
    return named(std::move(row));
  }

  VerdictRow named(VerdictRow row) const {
    if (row.verdict == Verdict::fails)
      name_case(row.counterexample, name_, {std::string(row.invariant->id), options_.seed, options_.cases});
    return row;
  }

  // The least case, its token, and what is not sure about it.
  void explain(VerdictRow& row, const Introduction& said, bool silent) const {
    Counterexample& found = row.counterexample;
    if (options_.first_failure) options_.first_failure(*row.invariant, found.unshrunk);
    const auto alone = parse_alone(found.place);
    found.place.clear();
    if (silent) {
      row = named(std::move(row));  // one that keeps silent is asked no more
      return;
    }
    if (!said.seeded) {
      row.note = "the program draws from a source of its own: the case may not come again";
    } else if (alone) {
      for (const bool with_history : {false, true}) {
        auto again = asked_alone(*row.invariant, {alone->place, with_history});
        if (!again || again->verdict != Verdict::fails) continue;
        again->counterexample.unshrunk = found.unshrunk;
        again->counterexample.elsewhere = found.elsewhere;
        row = std::move(*again);
        return;
      }
    }
    row = named(std::move(row));
  }

  Coverage coverage(const Conductor& conductor, const Introduction& said,
                    const std::vector<const Invariant*>& undecided, std::int64_t decisions,
                    std::size_t processes) const {
    const Effort effort = effort_of(options_.cases);
    const std::int64_t most = contract_.max_attempts.value_or(std::numeric_limits<std::int64_t>::max());
    Coverage c;
    c.tried = fmt::format(
        "attempts 1..{} in sequence{}; {} decisions in {} processes", std::min(effort.attempts, most),
        said.jumps && most > effort.attempts ? ", 10000, 1000000, 2147483648" : "", decisions, processes);
    if (most <= effort.attempts)
      c.not_tried.push_back(fmt::format("attempts beyond its {}", most));
    else if (!said.jumps)
      c.not_tried.push_back(fmt::format(
          "attempts beyond {} (the program does not say \"jumps\"; --cases raises it)", effort.attempts));
    if (conductor.exhausted())
      c.not_tried.push_back(
          fmt::format("what goes beyond {} decisions (--cases raises it)", effort.decisions));
    if (conductor.silent()) c.not_tried.push_back("all that would have come after its silence");
    std::vector<const Invariant*> gate, cancel, others;
    for (const Invariant* one : undecided) {
      const bool about_the_gate = among(behind_the_gate, one->id) && !said.can_before;
      const bool about_cancelling = one->id == cancellation && !said.can_cancel;
      (about_the_gate ? gate : about_cancelling ? cancel : others).push_back(one);
    }
    const auto left_out = [&](const std::vector<const Invariant*>& some, std::string_view why) {
      if (!some.empty()) c.not_tried.push_back(fmt::format("{} ({})", ids_of(some), why));
    };
    left_out(gate, "it does not say that it \"can\":[\"before\"]");
    left_out(cancel, "it does not say that it \"can\":[\"cancel\"]");
    left_out(others, conductor.faults().empty() ? "a program cannot be asked for it" : "it had broken off");
    if (!options_.only.empty()) c.not_tried.push_back("the other invariants (--only)");
    return c;
  }

  const std::string& name_;
  const std::string& command_;
  const Contract& contract_;
  const OutsideOptions& options_;
  Plan plan_;
};

}  // namespace

Effort effort_of(int cases) {
  const auto part = [cases](std::int64_t whole, std::int64_t least) {
    return std::max(least, whole * cases / 200);
  };
  return {part(60'000, 100), part(1100, 8), part(2000, 8), static_cast<std::size_t>(part(8, 2))};
}

tl::expected<OutsideResult, ProtocolFault> check_program(const std::string& name, const std::string& command,
                                                         const Contract& contract,
                                                         const OutsideOptions& options) {
  std::vector<VerdictRow> still_failing;
  std::vector<Token> mended;
  for (const Token& token : options.saved) {
    if (!wanted(options, token.invariant)) continue;
    if (repeats_all(token, options)) {
      mended.push_back(token);
      continue;
    }
    auto again = replay_program(token, name, command, contract, options);
    if (!again) return again;
    for (VerdictRow& row : again->rows) {
      if (row.verdict == Verdict::fails)
        still_failing.push_back(std::move(row));
      else
        mended.push_back(token);
    }
  }
  auto result = ProgramCheck(name, command, contract, options).all();
  if (!result) return result;
  for (VerdictRow& row : result->rows) {
    for (VerdictRow& saved : still_failing) {
      if (saved.invariant != row.invariant) continue;
      saved.counterexample.elsewhere = row.counterexample.elsewhere;
      row = std::move(saved);
    }
    for (const Token& token : mended) {
      if (token.invariant == row.invariant->id && row.verdict == Verdict::holds) row.mended = token;
    }
  }
  return result;
}

tl::expected<OutsideResult, ProtocolFault> replay_program(const Token& token, const std::string& name,
                                                          const std::string& command,
                                                          const Contract& contract,
                                                          const OutsideOptions& options) {
  OutsideOptions same = options;
  same.seed = token.seed;
  same.cases = token.cases;
  same.only = {token.invariant};
  same.saved.clear();
  same.first_failure = {};
  return ProgramCheck(name, command, contract, same).one(token);
}

OutsideResult check_trace(const std::string& name, Trace trace, const Contract& contract,
                          const OutsideOptions& options) {
  OutsideResult result;
  std::vector<const Invariant*> not_shown;
  const Recording recording{std::move(trace), {}, false};
  result.rows = rows_of(name, recording, contract, options, not_shown);
  std::int64_t most = 0;
  std::size_t attempts = 0;
  for (const TracedCall& call : recording.trace.calls) {
    attempts += call.attempts.size();
    for (const TracedAttempt& a : call.attempts) most = std::max(most, a.number);
  }
  result.coverage.tried = fmt::format("{} recorded calls, {} attempts, none beyond number {}",
                                      recording.trace.calls.size(), attempts, most);
  result.coverage.not_tried.push_back("what the recorded client did not meet");
  if (!not_shown.empty())
    result.coverage.not_tried.push_back(fmt::format("{} (a recording cannot show it)", ids_of(not_shown)));
  add_unsure(name, not_shown, options, result.rows);
  return result;
}

}  // namespace retrygate
