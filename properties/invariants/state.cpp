// What a client remembers from one attempt, call and client to the next.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "properties/bounds.hpp"
#include "properties/observe.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

// A budget or a breaker is shared by the calls of a client: that is what it is for.
bool remembers_by_contract(const Subject& s) { return s.contract.budget || s.contract.breaker; }

// The waits of one call that fails `failures` times and then succeeds, as decisions.
std::vector<Decision> waits_of(AnyLoop::Client& client, const Case& c, Status failure,
                               std::int64_t failures) {
  Surroundings around;
  around.answer = [&](std::int64_t n, Instant) {
    return Scripted{{n <= failures ? failure : Status::http(200)}, Duration::ms(1)};
  };
  const Observed trace = observe(client, c, around);
  std::vector<Decision> waits;
  for (std::size_t i = 0; i < trace.sent.size() && !trace.sent[i].outcome.status.succeeded(); ++i) {
    waits.push_back(i + 1 < trace.sent.size()
                        ? Decision::wait(trace.sent[i + 1].started - trace.sent[i].ended)
                        : Decision::stop(Stop::attempts));
  }
  return waits;
}

// What a client decides about one call, when it has made others before. Each call is its own attempts in a
// row: `failures` of them fail, the next one succeeds.
struct Calls {
  explicit Calls(const Subject& s)
      : subject(s), client(s.loop ? s.loop->client() : nullptr), slot(fresh_client(s)) {}

  std::vector<Decision> make(const Case& c, std::int64_t failures) {
    const Status failure = retryable(subject);
    if (client) return waits_of(*client, c, failure, failures);
    CallUnderTest call(subject, c, slot);
    std::vector<Decision> all;
    Instant now{c.started};
    for (std::int64_t n = 1; n <= failures; ++n) {
      all.push_back(call.fail(n, now));
      if (all.back().stops()) return all;
      now = now + std::max(Duration{}, all.back().delay());
    }
    call.succeed(failures + 1, now);
    return all;
  }

  const Subject& subject;
  std::unique_ptr<AnyLoop::Client> client;
  Slot slot;
};

Complaint differ(const Subject& subject, const std::vector<Decision>& alone,
                 const std::vector<Decision>& after, std::string_view history) {
  for (std::size_t i = 0; i < std::min(alone.size(), after.size()); ++i) {
    if (agree(subject, alone[i], after[i], static_cast<std::int64_t>(i) + 1)) continue;
    return fmt::format("failure {} of a fresh client's call: '{}'; {}: '{}'", i + 1, to_string(alone[i]),
                       history, to_string(after[i]));
  }
  return {};
}

// Calls of one client, one after the other. After each that has succeeded, the next one is what it would be
// for a client that has made none.
class Resets final : public Sequence {
 public:
  Resets(const Subject& subject, const Case& c) : used_(subject), next_(c) {}

 private:
  Complaint play(const Command& command, bool&) override {
    if (command.kind == 5) {
      constexpr std::array<Duration, Command::choices> lengths{Duration::ms(1), Duration::s(1),
                                                               Duration::s(60), Duration::s(3600)};
      const Duration pause = lengths.at(command.how);
      told_.push_back("a pause of " + to_string(pause));
      next_.started = next_.started + pause;
      return {};
    }
    constexpr std::array<std::int64_t, Command::choices> most{1, 2, 5, 40};
    const auto& limit = used_.subject.contract.max_attempts;
    const bool to_its_end = command.kind == 4;
    const std::int64_t failures =
        to_its_end || !limit ? most.at(command.how) : std::min(most.at(command.how), *limit - 1);
    const auto decisions = used_.make(next_, failures);
    ++next_.call;
    const bool gave_up = !decisions.empty() && decisions.back().stops();
    told_.push_back(fmt::format("a call that fails {} {} and then {}", decisions.size(),
                                decisions.size() == 1 ? "time" : "times", gave_up ? "gives up" : "succeeds"));
    if (gave_up) return {};
    Calls fresh(used_.subject);
    const auto alone = fresh.make(next_, looked_at);
    const auto after = used_.make(next_, looked_at);
    ++next_.call;
    return differ(used_.subject, alone, after, "of the next call");
  }

  static constexpr std::int64_t looked_at = 3;  // failures
  Calls used_;
  Case next_;
};

Finding reset_after_success(const Subject& subject, const Trial& trial) {
  constexpr int calls_at_most = 6;
  return search_sequences(trial, calls_at_most,
                          [&](const Case& c) { return std::make_unique<Resets>(subject, c); });
}

Finding instances_isolated(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const std::int64_t failures = std::min<std::int64_t>(c.attempt, 40);
      Case other = c;
      other.client = c.client + 1;
      if (subject.loop) {
        Calls alone(subject), one(subject), two(subject);
        const auto first = alone.make(c, 3);
        two.make(other, failures);
        return differ(subject, first, one.make(c, 3), "after another client's call that failed");
      }
      Slot alone_client = fresh_client(subject);
      Slot one_client = fresh_client(subject);
      Slot other_client = fresh_client(subject);
      CallUnderTest alone(subject, c, alone_client);
      std::vector<Decision> first, beside;
      const Instant now{c.started};
      for (std::int64_t n = 1; n <= failures && (first.empty() || !first.back().stops()); ++n)
        first.push_back(alone.fail(n, now));
      CallUnderTest one(subject, c, one_client);
      CallUnderTest two(subject, other, other_client);
      bool other_runs = true;
      for (std::int64_t n = 1; n <= failures && (beside.empty() || !beside.back().stops()); ++n) {
        if (other_runs) other_runs = !two.fail(n, now).stops();
        beside.push_back(one.fail(n, now));
      }
      return differ(subject, first, beside, "beside another client's call");
    });
  });
}

// A call in which every failure is another one: connections that were made and lost, attempts of 40 minutes,
// a Retry-After of 0. None of them is a success, so the delay goes on growing.
Walk mixed(const Subject& subject, const Case& c, std::int64_t attempt) {
  const Contract& contract = subject.contract;
  const auto kinds = kinds_of_failure(subject.contract);
  const bool heeds = contract.retry_after && *contract.retry_after != RetryAfterRule::ignore;
  const bool timed = contract.elapsed || contract.deadline;
  return drive(subject, c, attempt, {[&](std::int64_t n, Instant) {
                 const auto place = static_cast<std::size_t>(n) * 4;
                 Scripted s{{kinds[pick(c, place, kinds.size())]}};
                 constexpr std::array<std::int64_t, 4> lengths{0, 5, 40'000, 2'400'000};  // ms
                 if (!timed) s.lasts = Duration::ms(lengths.at(pick(c, place + 1, lengths.size())));
                 if (heeds && n < attempt && pick(c, place + 2, 3) == 1 &&
                     s.outcome.status.kind() == Status::Kind::http) {
                   s.outcome.retry_after = Duration{};
                   s.outcome.retry_after_text = "0";
                 }
                 return s;
               }});
}

Finding reset_not_early(const Subject& subject, const Trial& trial) {
  constexpr int clients_asked = 64;  // all in the lower half of a fair interval: 2^-64
  return search(trial, [&](const Case& c) -> Complaint {
    const std::int64_t attempt = std::min<std::int64_t>(c.attempt, 40);
    // Where the delay lies below what this attempt's law allows, or in its lower half.
    const auto low = [&](const Walk& done, bool half) -> const Step* {
      const Step* step = done.wait_after(attempt);
      if (step == nullptr || step->decision.delay() < Duration{}) return nullptr;
      const auto own = support_of(subject.contract, attempt, step->previous);
      if (!own) return nullptr;
      const auto delay = in_ns(step->decision.delay());
      const long double least = half ? own->lo + (own->hi - own->lo) / 2 - own->slack : own->lo - own->slack;
      return delay < least ? step : nullptr;
    };
    const auto kinds = kinds_of_failure(subject.contract);
    const auto last_of = [&](const Case& one) {
      return kinds[pick(one, static_cast<std::size_t>(attempt) * 4, kinds.size())];
    };
    const auto say = [&](const Step& step, std::string_view whose) {
      return fmt::format(
          "{} attempts failed, the last one with {} after others of any kind; {} {}, as if there had been a "
          "success (the law says {})",
          attempt, to_string(last_of(c)), whose, to_string(step.decision.delay()),
          to_string(*support_of(subject.contract, attempt, step.previous)));
    };
    // A delay that is as low in a call of plain failures was not reset by anything here.
    const auto plain = [&](Case other, bool half) {
      other.attempt = attempt;
      return low(walk(subject, other), half) != nullptr;
    };
    const Walk done = mixed(subject, c, attempt);
    if (const Step* step = low(done, false))
      return plain(c, false) ? Complaint{} : say(*step, "the delay is");
    const Step* first = low(done, true);
    if (first == nullptr) return {};
    bool plain_are_low = plain(c, true);
    Case other = c;
    for (int i = 0; i < clients_asked; ++i) {
      other.client += 1;
      if (low(mixed(subject, other, attempt), true) == nullptr) return {};
      plain_are_low = plain_are_low && plain(other, true);
    }
    if (plain_are_low) return {};
    return say(*first, fmt::format("{} clients wait less than half of it, one of them", clients_asked));
  });
}

bool grows(const Subject& s) {
  const auto first = support_of(s.contract, 1, std::nullopt);
  const auto later = support_of(s.contract, 4, std::nullopt);
  // The lower half of a decorrelated-v2 interval is the likelier one: 64 clients in it are no proof.
  const bool fair = s.contract.jitter && s.contract.jitter->kind != JitterKind::decorrelated_v2;
  return fair && first && later && later->hi > first->hi && !remembers_by_contract(s);
}

// How many retries a budget allows for so many calls within so long a time, at most.
std::optional<double> retries_allowed(const Contract& c, double calls, Duration within) {
  if (!c.budget) return std::nullopt;
  const Budget& b = *c.budget;
  switch (b.kind) {
    case BudgetKind::token_bucket:
      return (b.capacity + b.refill_per_s * within.seconds()) / b.cost;
    case BudgetKind::ratio:
      return b.ratio * calls + b.reserve_per_s * (within.seconds() + b.window.seconds());
    case BudgetKind::grpc_throttle:
      return b.capacity / 2;
    case BudgetKind::aws_quota:
      return b.capacity / std::min(b.cost, b.timeout_cost > 0 ? b.timeout_cost : b.cost);
    case BudgetKind::aws_adaptive:
    case BudgetKind::sre_throttle:
      return std::nullopt;  // these slow the sends down and do not count the retries
  }
  return std::nullopt;
}

// A storm: every request fails, and what arrives at the server is counted, whatever layers send it.
Finding amplification(const Subject& subject, const Trial& trial) {
  const Contract& contract = subject.contract;
  constexpr std::int64_t enough = 3000;  // requests, after which they succeed
  const Status failure = retryable(subject);
  return search(trial, [&](Case c) -> Complaint {
    const auto client = loop_of(subject).client();
    const std::int64_t calls = std::min<std::int64_t>(c.attempt, 20);
    std::int64_t requests = 0;
    Duration within;
    for (std::int64_t i = 0; i < calls; ++i, ++c.call) {
      Surroundings around;
      around.answer = [&](std::int64_t, Instant) {
        return Scripted{{++requests > enough ? Status::http(200) : failure}};
      };
      const Observed trace = observe(*client, c, around);
      if (trace.raised || trace.endless) return {};
      within = within + (trace.returned - Instant{c.started});
      c.started = trace.returned.since_start;
    }
    // Without a limit of attempts a call may go on until the server lets it succeed.
    if (contract.max_attempts && requests > *contract.max_attempts * calls)
      return fmt::format("{} {} {} requests, {} at most are promised", calls,
                         calls == 1 ? "call makes" : "calls make", requests, *contract.max_attempts * calls);
    const auto allowed = retries_allowed(contract, static_cast<double>(calls), within);
    const auto retries = static_cast<double>(requests - calls);
    if (requests > enough || !allowed || retries <= *allowed + 1e-6) return {};
    return fmt::format("{} calls make {} retries, the budget allows {}", calls, retries, *allowed);
  });
}

}  // namespace

void add_state(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"reset-after-success", must, exact, "After a success the next failure waits like the first.",
             "One bad night and every later blip waits for minutes.",
             "TheSpaghettiDetective/OctoPrint-Obico#9",
             [](const Subject& s) { return !remembers_by_contract(s); }, &reset_after_success});
  shelf.add({"reset-not-early", must, exact, "Nothing but a success starts the delays anew.",
             "A connection that is accepted and dropped resets the backoff: a reconnect every few seconds, "
             "for ever.",
             "FreeTAKTeam/LXMF-rs#493", &grows, &reset_not_early});
  shelf.add({"instances-isolated", must, exact, "A client decides as it would if it were the only one.",
             "A global counter makes one endpoint's failures the delays of all.", "lestrrat-go/backoff#1",
             [](const Subject&) { return true; }, &instances_isolated});
  shelf.add({"amplification-bounded", must, exact,
             "In a storm no more requests arrive than the attempts and the budget of the calls allow.",
             "Layers that each retry multiply: 4 times 3 is 12.", "HKUDS/nanobot#2760",
             [](const Subject& s) {
               return (s.contract.max_attempts && *s.contract.max_attempts <= dense_to) ||
                      retries_allowed(s.contract, 1, {}).has_value();
             },
             &amplification});
}

}  // namespace retrygate
