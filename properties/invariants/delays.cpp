// What every single delay must keep.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policies/retry_after.hpp"
#include "properties/bounds.hpp"
#include "properties/header.hpp"
#include "properties/observe.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

// A decorrelated delay depends on the one before: after a jump of the attempt number, or at the first
// retry, only the latter case is known.
bool known(const Contract& c, const Step& step) {
  return !c.jitter || c.jitter->kind != JitterKind::decorrelated || step.attempt == 1 || step.previous;
}

// Where nothing says in which interval a delay lies, every other promise about it is tried after histories,
// too; else that is for delay-in-bounds.
bool has_interval(const Subject& s) { return support_of(s.contract, 1, std::nullopt).has_value(); }

// What a call has been through that is no part of the delay that follows: attempts that took their time, a
// header that is over, failures of other kinds.
struct History {
  Duration lasts = {};         // every attempt
  std::int64_t hinted_at = 0;  // the attempt with the header; 0: none
  std::string_view header = {};
  std::vector<Status> kinds = {};  // of the attempts, one after the other and again; empty: as usual

  bool plain() const { return lasts == Duration{} && hinted_at == 0 && kinds.empty(); }
  Status kind(std::int64_t attempt) const {
    return kinds[static_cast<std::size_t>(attempt - 1) % kinds.size()];
  }
};

History history_of(const Subject& subject, const Case& c) {
  const Contract& contract = subject.contract;
  if (c.attempt > dense_to) return {};
  // Calls that run out of time on the way show nothing.
  const Duration limit =
      std::min(contract.elapsed.value_or(Duration::max()), contract.deadline.value_or(Duration::max()));
  History past;
  switch (pick(c, 20, 5)) {
    case 1:
      past.lasts = std::min(limit / 50, attempt_lengths.at(pick(c, 21, attempt_lengths.size())));
      break;
    case 2: {
      // A chained delay goes on from one of its own.
      if (chained(contract) || c.attempt == 1 || !contract.retry_after) break;
      const Duration most = std::min(longest_header(contract), limit / 4);
      past.hinted_at = 1 + static_cast<std::int64_t>(pick(c, 22, static_cast<std::size_t>(c.attempt - 1)));
      past.header = most >= Duration::s(7) ? "7" : most >= Duration::s(1) ? "1" : "0";
      break;
    }
    case 3:
    case 4: {
      // All of one kind, or each of another one than the attempt before.
      past.kinds = kinds_of_failure(contract);
      const std::size_t first = pick(c, 23, past.kinds.size());
      std::rotate(past.kinds.begin(), past.kinds.begin() + static_cast<std::ptrdiff_t>(first),
                  past.kinds.end());
      if (pick(c, 24, 2) == 0) past.kinds.erase(past.kinds.begin() + 1, past.kinds.end());
      break;
    }
    default:
      break;
  }
  return past;
}

// The call that the case means, after this history.
Walk walk(const Subject& subject, const Case& c, const History& past) {
  if (past.plain()) return walk(subject, c);
  const Status usual = Status::http(503);
  const bool speaks_http = !subject.contract.retry_on || subject.contract.retry_on->contains(usual);
  return drive(
      subject, c, c.attempt, {[&](std::int64_t n, Instant now) -> Scripted {
        if (!past.kinds.empty()) return {{past.kind(n)}};
        if (n != past.hinted_at) return {{retryable(subject)}, past.lasts};
        return {{speaks_http ? usual : retryable(subject), parse_retry_after(past.header, now), past.header}};
      }});
}

// "after attempt 3, each of 7s,"
std::string after(const Step& step, const History& past) {
  std::string text = fmt::format("after attempt {}", step.attempt);
  if (past.lasts != Duration{}) text += fmt::format(", each of {},", to_string(past.lasts));
  if (past.hinted_at != 0)
    text += fmt::format(", the {}. of which had brought Retry-After '{}',", past.hinted_at, past.header);
  if (past.kinds.empty()) return text;
  if (past.kinds.size() == 1 && step.attempt > 1)
    return text + fmt::format(", all of which ended with {},", to_string(past.kinds.front()));
  text += fmt::format(", which ended with {},", to_string(past.kind(step.attempt)));
  if (step.attempt > 1)
    text += fmt::format(" the one before with {},", to_string(past.kind(step.attempt - 1)));
  return text;
}

// Runs `judge` on the delay that follows the case's attempt, when there is one; where kinds of failures are
// tried, on all delays that come before, too.
template <class Judge>
Finding each_delay(const Subject& subject, const Trial& trial, bool with_histories, Judge judge) {
  return search(trial,
                [&](const Case& c) -> std::optional<Wrong> {
                  const History past = with_histories ? history_of(subject, c) : History{};
                  const Walk done = walk(subject, c, past);
                  const auto complaint = [&](const Step& step) -> std::optional<Wrong> {
                    if (step.decision.stops()) return {};
                    const Complaint why = judge(step, c, past);
                    if (!why) return {};
                    return Wrong(after(step, past) + " " + *why, step.attempt);
                  };
                  if (past.kinds.empty()) {
                    const Step* step = done.wait_after(c.attempt);
                    return step == nullptr ? std::nullopt : complaint(*step);
                  }
                  for (const Step& step : done.steps) {
                    if (auto wrong = complaint(step)) return wrong;
                  }
                  return {};
                },
                Blame::attempt, {.last = last_retry(subject)});
}

// A loop hands on what its last attempt brought, and sends no more after a success.
Complaint seen_by_the_caller(const Subject& subject, const Case& c) {
  const std::int64_t succeeds = 1 + static_cast<std::int64_t>(pick(c, 0, 8));
  Surroundings around;
  const Status failure = retryable(subject);
  // Of several kinds, so that the last one is known from the others.
  const std::array others{Status::http(503), Status::http(500), Status::http(429)};
  around.answer = [&](std::int64_t n, Instant) {
    const Status other = others.at(pick(c, 30 + static_cast<std::size_t>(n), others.size()));
    const bool repeated = !subject.contract.retry_on || subject.contract.retry_on->contains(other);
    return Scripted{{n >= succeeds ? Status::http(200) : repeated ? other : failure}, Duration::ms(1)};
  };
  const Observed trace = observe(subject, c, around);
  if (trace.endless) return "the loop does not end";
  for (std::size_t i = 0; i + 1 < trace.sent.size(); ++i) {
    if (trace.sent[i].outcome.status.succeeded()) return "a call that succeeded is sent again";
  }
  if (trace.sent.empty() || !trace.result) return {};
  const Status last = trace.sent.back().outcome.status;
  if (trace.result->status == last) return {};
  return fmt::format("the last attempt ended with {}, and the caller sees {}", to_string(last),
                     to_string(trace.result->status));
}

Finding survives(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) -> Complaint {
    const Walk done = walk(subject, c);
    if (done.raised) {
      const auto told = static_cast<std::int64_t>(done.steps.size()) + 1;
      return fmt::format("told that attempt {} failed, it raised: {}",
                         c.attempt <= dense_to ? told : c.attempt, *done.raised);
    }
    if (subject.loop) return seen_by_the_caller(subject, c);
    // A success ends the call, the first attempt's and a later one's.
    const std::int64_t last = std::clamp<std::int64_t>(subject.contract.max_attempts.value_or(40), 1, 40);
    const std::int64_t at = (c.attempt - 1) % last + 1;
    const Status success = successes_of_http().at(pick(c, 0, successes_of_http().size()));
    const Status failure = retryable(subject);
    const Walk told = drive(
        subject, c, at, {[&](std::int64_t n, Instant) { return Scripted{{n < at ? failure : success}}; }});
    if (told.raised) return fmt::format("told that attempt {} succeeded, it raised: {}", at, *told.raised);
    const Step* sent_again = told.wait_after(at);
    if (sent_again == nullptr) return {};
    return fmt::format("attempt {} ended with {}, a success, and the call is sent again", at,
                       to_string(success));
  });
}

bool is_bounded(const Subject& s) {
  const Contract& c = s.contract;
  return c.cap || (c.growth && (*c.growth == GrowthKind::none || *c.growth == GrowthKind::constant));
}

Finding finite(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, !has_interval(subject),
                    [](const Step& step, const Case&, const History&) -> Complaint {
                      if (step.decision.delay() != Duration::max()) return {};
                      return "the delay is without end";
                    });
}

Finding non_negative(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, !has_interval(subject),
                    [](const Step& step, const Case&, const History&) -> Complaint {
                      if (step.decision.delay() >= Duration{}) return {};
                      return fmt::format("the delay is {}", to_string(step.decision.delay()));
                    });
}

Finding capped(const Subject& subject, const Trial& trial) {
  const auto cap = cap_of(subject.contract);
  return each_delay(subject, trial, !has_interval(subject),
                    [&](const Step& step, const Case&, const History&) -> Complaint {
                      if (in_ns(step.decision.delay()) <= cap->hi + cap->slack) return {};
                      return fmt::format("the delay is {}, above the cap's {}",
                                         to_string(step.decision.delay()),
                                         to_string(Duration::ns(static_cast<std::int64_t>(cap->hi))));
                    });
}

Finding in_bounds(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, true, [&](const Step& step, const Case&, const History&) -> Complaint {
    if (!known(subject.contract, step)) return {};
    const auto support = support_of(subject.contract, step.attempt, step.previous);
    if (!support || support->holds(step.decision.delay())) return {};
    return fmt::format("the delay is {}, {}", to_string(step.decision.delay()), outside(*support));
  });
}

Finding grows(const Subject& subject, const Trial& trial) {
  return each_delay(subject, trial, !has_interval(subject),
                    [&](const Step& step, const Case&, const History&) -> Complaint {
                      const auto law = support_of(subject.contract, step.attempt, std::nullopt);  // one point
                      if (!law || law->holds(step.decision.delay())) return {};
                      return fmt::format("the delay is {}, the law says {}", to_string(step.decision.delay()),
                                         to_string(Duration::ns(static_cast<std::int64_t>(law->hi))));
                    });
}

// Where chance alone could explain one delay, that many clients are asked: a fair law of two or more points
// gives all of them the lowest one, or the lower half, with a probability of at most 2^-64.
constexpr int clients_asked = 64;

template <class Test>
bool all_clients(const Subject& subject, Case c, const History& past, std::int64_t attempt, Test test) {
  c.attempt = attempt;
  for (int i = 0; i < clients_asked; ++i) {
    c.client += 1;
    const Walk done = walk(subject, c, past);
    const Step* step = done.wait_after(attempt);
    if (step == nullptr || !test(step->decision.delay())) return false;
  }
  return true;
}

Finding not_zero(const Subject& subject, const Trial& trial) {
  const auto tick = in_ns(subject.contract.tick);
  const auto judge = [&](const Step& step, const Case& c, const History& past) -> Complaint {
    if (step.decision.delay() != Duration{} || !known(subject.contract, step)) return {};
    const auto own = support_of(subject.contract, step.attempt, step.previous);
    if (!own || own->hi < 1) return {};
    if (own->lo >= tick) return fmt::format("the delay is 0, where {} is configured", to_string(*own));
    const auto is_zero = [](Duration d) { return d == Duration{}; };
    if (!all_clients(subject, c, past, step.attempt, is_zero)) return {};
    return fmt::format("the delay of {} clients is 0, where {} is configured", clients_asked,
                       to_string(*own));
  };
  return each_delay(subject, trial, true, judge);
}

bool has_a_delay(const Subject& s) {
  const auto own = support_of(s.contract, 1, std::nullopt);
  return own && own->hi >= 1;  // ns, whatever the tick makes of it
}

// The first retry whose ceiling reaches the cap; nothing if none of the first 2000 does.
std::optional<std::int64_t> first_capped(const Contract& c) {
  if (!c.cap || (c.jitter && c.jitter->kind == JitterKind::decorrelated)) return std::nullopt;
  for (std::int64_t n = 1; n <= 2000; ++n) {
    const auto ceiling = ceiling_of(c, n);
    if (!ceiling) return std::nullopt;
    if (ceiling->lo >= static_cast<long double>(c.cap->ns())) return n;
  }
  return std::nullopt;
}

bool reaches_cap(const Subject& s) {
  const auto first = first_capped(s.contract);
  return first && (!s.contract.max_attempts || *first < *s.contract.max_attempts);
}

// From the first retry at the cap on: the call goes on, and its delays stay up there.
Finding cap_goes_on(const Subject& subject, const Trial& trial) {
  const Contract& contract = subject.contract;
  const std::int64_t first = *first_capped(contract);
  return search(trial, [&](Case c) -> Complaint {
    // Counted from the cap, which may lie beyond what every subject is taken to.
    const std::int64_t last = contract.max_attempts ? *contract.max_attempts - 1 : std::int64_t{1} << 31;
    const std::int64_t reach = trial.jumps ? last : std::min(last, dense_to);
    if (first > reach) return {};
    c.attempt = std::min(first + c.attempt - 1, reach);
    const Walk done = walk(subject, c);
    if (done.raised || done.steps.empty()) return {};
    const Step& end = done.steps.back();
    if (end.decision.stops()) {
      if (!contract.max_attempts || end.decision.why() != Stop::attempts || end.attempt < first) return {};
      return fmt::format("the cap is reached at retry {}, and the call ends after attempt {} of {}", first,
                         end.attempt, *contract.max_attempts);
    }
    const auto own = support_of(contract, end.attempt, end.previous);
    if (!own || end.decision.delay() < Duration{}) return {};
    const auto delay = in_ns(end.decision.delay());
    const auto fallen = [&](std::string_view whose) {
      return fmt::format("the cap is reached at retry {}; at retry {} {} {} again", first, end.attempt, whose,
                         to_string(end.decision.delay()));
    };
    if (delay < own->lo - own->slack) return fallen("the delay is");
    const long double half = own->lo + (own->hi - own->lo) / 2 - own->slack;
    const auto is_low = [&](Duration d) { return in_ns(d) < half; };
    if (!is_low(end.decision.delay()) || !all_clients(subject, c, {}, c.attempt, is_low)) return {};
    return fallen(fmt::format("{} clients wait less than half of it, one of them", clients_asked));
  });
}

// With a Retry-After that no 32-bit timer of milliseconds holds, where the subject heeds one.
Finding fits_timer(const Subject& subject, const Trial& trial) {
  const Contract& contract = subject.contract;
  const bool heeds = contract.retry_after && *contract.retry_after != RetryAfterRule::ignore;
  const std::array<std::string_view, 3> headers{"2147484", "86400", "9999999999"};
  return search(trial, [&](const Case& c) -> Complaint {
    const auto judge = [&](Duration delay, std::int64_t attempt, const std::string& what) -> Complaint {
      if (delay <= *contract.timer_max) return {};
      return fmt::format("after attempt {}{} the delay is {}, the timer holds {}", attempt, what,
                         to_string(delay), to_string(*contract.timer_max));
    };
    if (heeds && c.choice % 2 == 1) {
      const std::string_view header = headers.at(pick(c, 0, headers.size()));
      const Walk told = drive(subject, c, 1, {[&](std::int64_t, Instant now) -> Scripted {
                                return {{retryable(subject), parse_retry_after(header, now), header}};
                              }});
      const Step* hinted = told.wait_after(1);
      if (hinted == nullptr) return {};
      return judge(hinted->decision.delay(), 1, fmt::format(" with Retry-After '{}'", header));
    }
    const Walk done = walk(subject, c);
    const Step* step = done.wait_after(c.attempt);
    return step == nullptr ? Complaint{} : judge(step->decision.delay(), c.attempt, "");
  });
}

bool at_an_edge(const Contract& c) {
  const Duration least = std::max(c.tick, Duration::ns(1));
  return (c.base && *c.base <= least) || (c.base && c.cap && *c.cap <= *c.base) ||
         (c.jitter && c.jitter->kind == JitterKind::additive && c.jitter->most <= least) ||
         (c.jitter && c.jitter->kind == JitterKind::proportional && c.base &&
          c.base->scaled(c.jitter->ratio) <= least) ||
         (c.factor && *c.factor == 1);
}

// The settings under which delays vanish or intervals become points: each must still give a delay that its
// own contract allows. Of a replica that is listed as leaving its law or its cap, none that is negative.
Finding degenerate(const Subject& subject, const Trial& trial) {
  const bool lawless = std::any_of(
      subject.deviations.begin(), subject.deviations.end(),
      [](const Deviation& d) { return d.invariant == "delay-in-bounds" || d.invariant == "cap-respected"; });
  std::vector<Subject> edges;
  if (at_an_edge(subject.contract)) edges.push_back({"its own settings", subject.policy, subject.contract});
  for (const Variant& v : subject.variants) edges.push_back({v.settings, v.policy, v.policy.contract()});
  const auto at = [&](const Subject& edge, const Case& c) -> Complaint {
    const Walk done = walk(edge, c);
    if (done.raised) return fmt::format("with {} the policy raised: {}", edge.name, *done.raised);
    const Step* step = done.wait_after(c.attempt);
    if (step == nullptr || !known(edge.contract, *step)) return {};
    const Duration delay = step->decision.delay();
    const auto say = [&](const std::string& expected) {
      return fmt::format("with {} the delay after attempt {} is {}{}", edge.name, c.attempt, to_string(delay),
                         expected);
    };
    if (delay < Duration{}) return say("");
    const auto own = support_of(edge.contract, step->attempt, step->previous);
    if (lawless || !own || own->holds(delay)) return {};
    return say(", " + outside(*own));
  };
  return search(trial, [&](const Case& c) -> Complaint {
    for (const Subject& edge : edges) {
      if (auto wrong = at(edge, c)) return wrong;
    }
    return {};
  });
}

}  // namespace

void add_delays(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"survives", must, exact, "The policy answers every attempt number, and stops after a success.",
             "An exception in the delay computation replaces the error that the caller should see.",
             "hynek/stamina#104", [](const Subject&) { return true; }, &survives});
  shelf.add({"delay-finite", must, exact, "A bounded law never waits without end.",
             "A client that waits for ever looks like one that is still trying.",
             "marin-community/marin#2868", &is_bounded, &finite});
  shelf.add({"delay-non-negative", must, exact, "No delay is negative.",
             "Timers refuse a negative delay or fire at once: a retry storm.", "aws/aws-sdk-java#874",
             [](const Subject&) { return true; }, &non_negative});
  shelf.add({"cap-respected", must, exact, "No delay exceeds the cap, in the declared meaning of the cap.",
             "Callers size their own time limits by the cap.", "socketio/socket.io-client#531",
             [](const Subject& s) { return cap_of(s.contract).has_value(); }, &capped});
  shelf.add({"delay-in-bounds", must, exact,
             "Every delay lies in the interval of its growth, jitter and cap.",
             "A delay outside is one that nobody planned for.", "failsafe-lib/failsafe#115", &has_interval,
             &in_bounds});
  shelf.add({"growth-law", must, exact, "Without jitter, delay n is min(cap, ceiling n).",
             "An exponent that is off by one doubles the load or halves the patience.", "avast/retry-go#127",
             [](const Subject& s) {
               return s.contract.jitter && s.contract.jitter->kind == JitterKind::none &&
                      ceiling_of(s.contract, 1).has_value();
             },
             &grows});
  shelf.add({"delay-not-zero", must, exact, "Where a delay is configured, it is not 0.",
             "Half a second in whole seconds is 0: a hot loop that nobody configured.",
             "open-feature/dotnet-sdk-contrib#699", &has_a_delay, &not_zero});
  shelf.add({"degenerate-settings", must, exact,
             "Without a delay, with 1 ns, and with a cap as low as the base, delays stay within their law.",
             "Tests set delays to 0, and a draw from an empty interval raises.",
             "langchain4j/langchain4j#5722",
             [](const Subject& s) { return !s.variants.empty() || at_an_edge(s.contract); }, &degenerate});
  shelf.add({"cap-goes-on", must, exact, "Reaching the cap neither ends the call nor starts the delays anew.",
             "A client that gives up at the cap is gone in a long outage; one that starts anew storms it.",
             "kubernetes/kubernetes#131122", &reaches_cap, &cap_goes_on});
  shelf.add({"fits-timer", must, exact, "No wait is longer than the platform's timer can hold.",
             "A timer of 32 bits fires at once instead of after 25 days.",
             "fluent/fluent-logger-forward-node#44",
             [](const Subject& s) { return s.contract.timer_max.has_value(); }, &fits_timer});
}

}  // namespace retrygate
