// What holds between calls and between clients.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "properties/bounds.hpp"
#include "properties/spread.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

constexpr int clients = 2000;  // fixed beforehand: what a statistical invariant draws for each retry

bool jittered(const Subject& s) {
  const Contract& c = s.contract;
  return c.jitter && c.jitter->kind != JitterKind::none && support_of(c, 1, std::nullopt).has_value() &&
         (!c.max_attempts || *c.max_attempts > 1);
}

using ByRetry = std::map<std::int64_t, std::vector<Step>>;

// These retries of every client of a fleet that fails together, as far as each of them comes.
ByRetry fleet(const Subject& subject, std::uint64_t seed, const std::vector<std::int64_t>& retries) {
  ByRetry steps;
  for (int i = 0; i < clients; ++i) {
    Case c;
    c.attempt = *std::max_element(retries.begin(), retries.end());
    c.seed = seed;
    c.client = static_cast<std::uint64_t>(i);
    for (const Step& step : walk(subject, c).steps) {
      if (!step.decision.stops() && std::binary_search(retries.begin(), retries.end(), step.attempt))
        steps[step.attempt].push_back(step);
    }
  }
  return steps;
}

// Those that come to a retry might be the fast ones, where time is limited: a law is tested on all.
bool all_came(const std::vector<Step>& steps) { return steps.size() >= clients; }

// Sorted.
std::vector<long double> delays_of(const std::vector<Step>& steps) {
  std::vector<long double> delays;
  for (const Step& step : steps) delays.push_back(in_ns(step.decision.delay()));
  std::sort(delays.begin(), delays.end());
  return delays;
}

Finding failure_of(std::int64_t retry, std::string text) {
  text = fmt::format("retry {}, {} clients: {}", retry, clients, text);
  return {Verdict::fails, {}, {text, text, {}, {}, {}, {}}};
}

Finding too_few() {
  return {Verdict::unsure, "the policy stopped before enough delays were drawn, or its law is one point", {}};
}

// A chained delay is tested with the delay before it; any other one is drawn anew, whatever the one before
// was.
std::vector<Drawn> drawn(const Contract& contract, std::int64_t retry, const std::vector<Step>& steps) {
  std::vector<Drawn> draws;
  const auto one_law = chained(contract) ? std::nullopt : law_of(contract, retry, std::nullopt);
  for (const Step& step : steps) {
    const auto law = one_law ? one_law : law_of(contract, retry, step.previous);
    if (law) draws.push_back({in_ns(step.decision.delay()), *law});
  }
  return draws;
}

Finding jitter_law(const Subject& subject, const Trial& trial) {
  const double alpha = share_of_a_law(trial.alpha);
  bool tested = false;
  const ByRetry all = fleet(subject, trial.seed, retries_with_a_law());
  AfterCap after_cap;
  for (std::size_t i = 0; i < clients; ++i) {
    for (const auto& [retry, steps] : all) {
      if (all_came(steps)) after_cap.add(subject.contract, steps[i].previous, steps[i].decision.delay());
    }
  }
  if (const auto why = after_cap.far_from_law(alpha))
    return {Verdict::fails, {}, {*why, *why, {}, {}, {}, {}}};
  for (const auto& [retry, steps] : all) {
    const auto draws = drawn(subject.contract, retry, steps);
    if (!all_came(steps) || draws.size() < clients) continue;
    tested = true;
    if (const auto why = far_from_law(draws, alpha)) return failure_of(retry, *why);
    Positions positions(subject.contract, retry);
    for (const Step& step : steps) {
      if (step.previous) positions.add(*step.previous, step.decision.delay());
    }
    if (const auto why = positions.dependent(alpha))
      return failure_of(retry, fmt::format("with retry {} of the same call: {}", retry - 1, *why));
  }
  return tested ? Finding{} : too_few();
}

Finding fleet_spreads(const Subject& subject, const Trial& trial) {
  const auto numbers = retries_of_one_law(subject.contract);
  const double alpha = trial.alpha / static_cast<double>(numbers.size());
  bool tested = false, narrow = false;
  for (const auto& [retry, steps] : fleet(subject, trial.seed, numbers)) {
    const auto law = law_of(subject.contract, retry, std::nullopt);
    if (!law || !all_came(steps)) continue;
    if (!can_spread(*law)) {
      narrow = true;
      continue;
    }
    tested = true;
    if (const auto why = herds(delays_of(steps), *law, alpha)) return failure_of(retry, *why);
  }
  if (tested) return {};
  return narrow ? Finding{Verdict::not_promised, std::string(too_narrow), {}} : too_few();
}

// The wait before retry `retry` of one client, whose call starts at `started`.
std::optional<long double> delay_of(const Subject& subject, Case c, std::int64_t retry) {
  c.attempt = retry;
  const Walk done = walk(subject, c);
  const Step* step = done.wait_after(retry);
  if (step == nullptr) return std::nullopt;
  return in_ns(step->decision.delay());
}

// Draws `clients` pairs for each of the first retries; draw(i) gives both sides of pair i.
template <class Draw>
Finding independent(const Subject& subject, const Trial& trial, std::string_view whose, Draw draw) {
  bool tested = false;
  auto numbers = retries_of_one_law(subject.contract);
  numbers.resize(std::min<std::size_t>(2, numbers.size()));
  for (const std::int64_t retry : numbers) {
    const auto law = law_of(subject.contract, retry, std::nullopt);
    if (!law || law->drawn.hi - law->drawn.lo < 2 * law->tick) continue;
    Pairs pairs;
    for (int i = 0; i < clients; ++i) {
      const auto pair = draw(i, retry);
      if (!pair) break;
      pairs.first.push_back(pair->first);
      pairs.second.push_back(pair->second);
    }
    if (pairs.first.size() < clients) continue;
    tested = true;
    const auto found = dependence(pairs, *law, trial.alpha / static_cast<double>(numbers.size()));
    if (found) return failure_of(retry, fmt::format("{}: {}", whose, *found));
  }
  return tested ? Finding{} : too_few();
}

using Pair = std::optional<std::pair<long double, long double>>;
Pair both(std::optional<long double> a, std::optional<long double> b) {
  if (!a || !b) return std::nullopt;
  return std::pair{*a, *b};
}

// The first retries of every client of a fleet that fails together, as many as all of them come to.
std::vector<std::vector<long double>> sequences(const Subject& subject, std::uint64_t seed) {
  std::vector<std::int64_t> numbers(8);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::vector<std::vector<long double>> all(clients);
  for (const auto& [retry, steps] : fleet(subject, seed, numbers)) {
    if (!all_came(steps)) break;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].push_back(in_ns(steps[i].decision.delay()));
  }
  return all;
}

// Two clients of one process whose calls fail at the same instant, another instant for each pair; and many at
// one instant, each by all that it waits.
Finding instances_independent(const Subject& subject, const Trial& trial) {
  if (const auto few = few_sequences(sequences(subject, trial.seed), subject.contract, trial.alpha / 2))
    return {Verdict::fails, {}, {*few, *few, {}, {}, {}, {}}};
  Trial rest = trial;
  rest.alpha /= 2;
  return independent(subject, rest, "two clients that fail at the same time", [&](int i, std::int64_t retry) {
    Case a;
    a.seed = trial.seed;
    a.client = static_cast<std::uint64_t>(2 * i);
    a.started = Duration::us(1'234'567) * i;
    Case b = a;
    b.client += 1;
    return both(delay_of(subject, a, retry), delay_of(subject, b, retry));
  });
}

// The same clients in so many processes that a generator of few streams gives two of them the same one.
Finding fresh_processes(const Subject& subject, const Trial& trial) {
  const auto retry = retry_to_compare(subject.contract);
  if (!retry) return {};
  constexpr std::size_t processes = 8;
  constexpr std::uint64_t clients_of_one = 250;
  std::vector<std::vector<long double>> all(processes);
  for (std::size_t p = 0; p < processes; ++p) {
    Subject copy = subject;
    copy.policy = subject.fresh(fresh_seed(Seed{trial.suite_seed}, p).value);
    for (std::uint64_t i = 0; i < clients_of_one; ++i) {
      Case c;
      c.seed = detail::mix(trial.seed, p + 1);
      c.client = i;
      if (const auto delay = delay_of(copy, c, *retry)) all[p].push_back(*delay);
    }
  }
  const auto alike = two_alike(all, *law_of(subject.contract, *retry, std::nullopt), trial.alpha);
  if (!alike) return {};
  const std::string text = fmt::format("retry {}: the same clients of processes {} and {} of {}: {}", *retry,
                                       alike->one + 1, alike->other + 1, processes, alike->why);
  return {Verdict::fails, {}, {text, text, {}, {}, {}, {}}};
}

// The same client number in two processes that start at the same time.
Finding processes_independent(const Subject& subject, const Trial& trial) {
  if (!subject.keyed && !subject.fresh)
    return {Verdict::unsure,
            "the subject draws from a generator of its own, and nothing gives it another process",
            {}};
  const auto process = [&](std::uint64_t number) {
    Subject copy = subject;
    if (subject.fresh) copy.policy = subject.fresh(number);
    return copy;
  };
  const Subject one = process(1);
  const Subject two = process(2);
  Trial rest = trial;
  if (subject.fresh) {
    rest.alpha /= 2;
    if (Finding few = fresh_processes(subject, rest); few.verdict == Verdict::fails) return few;
  }
  return independent(subject, rest, "the same client of two processes", [&](int i, std::int64_t retry) {
    Case a;
    a.seed = trial.seed;
    a.client = static_cast<std::uint64_t>(i);
    Case b = a;
    b.seed = detail::mix(trial.seed, 2);
    return both(delay_of(one, a, retry), delay_of(two, b, retry));
  });
}

// The first retry at the cap. A law with an atom there by declaration is left alone.
std::optional<std::int64_t> first_at_cap(const Contract& c) {
  if (!c.cap || !c.jitter || c.jitter->kind == JitterKind::none || c.cap_kind == CapKind::clamp)
    return std::nullopt;
  const bool decorrelated =
      c.jitter->kind == JitterKind::decorrelated || c.jitter->kind == JitterKind::decorrelated_v2;
  // Nor is one that the timer cuts.
  if (decorrelated || (c.timer_max && cap_of(c)->hi > static_cast<long double>(c.timer_max->ns())))
    return std::nullopt;
  for (std::int64_t n = 1; n <= 200; ++n) {
    const auto ceiling = ceiling_of(c, n);
    if (!ceiling) return std::nullopt;
    if (ceiling->lo >= static_cast<long double>(c.cap->ns()))
      return !c.max_attempts || n < *c.max_attempts ? std::optional(n) : std::nullopt;
  }
  return std::nullopt;
}

// However a hard cap is kept, no single delay may collect a tenth of the clients. A faithful law gives one
// value at most a hundredth, or its share of the lattice.
Finding alive_at_cap(const Subject& subject, const Trial& trial) {
  const std::int64_t first = *first_at_cap(subject.contract) + 1;
  const std::int64_t last = subject.contract.max_attempts.value_or(first + 1) - 1;
  std::vector<std::int64_t> numbers{std::min(first, last)};
  for (const std::int64_t retry : retries_with_a_law()) {
    if (retry > first) numbers.push_back(retry);
  }
  const long double tick = std::max(1.0L, in_ns(subject.contract.tick));
  const double alpha = trial.alpha / static_cast<double>(numbers.size());
  bool tested = false;
  for (const auto& [retry, steps] : fleet(subject, trial.seed, numbers)) {
    const auto own = support_of(subject.contract, retry, std::nullopt);
    if (!own) continue;
    // A hard cap may be kept by an interval as narrow as a tenth of the one that is declared.
    const auto share = static_cast<double>(std::max(0.01L, 30 * tick / (own->hi - own->lo + tick)));
    // A tenth of the clients shows an atom among those that came; all are counted, so that who came late
    // makes no share larger.
    if (share > 0.03 || steps.size() < clients / 10) continue;
    tested = true;
    const auto delays = delays_of(steps);
    int most = 0, run = 0;
    for (std::size_t i = 0; i < delays.size(); ++i) {
      run = i > 0 && delays[i] == delays[i - 1] ? run + 1 : 1;
      most = std::max(most, run);
    }
    if (collects(most, clients, share) < alpha)
      return failure_of(retry, fmt::format("{} wait exactly the same time at the cap", most));
  }
  return tested ? Finding{} : too_few();
}

Finding synchronised(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) -> Complaint {
    Case other = c;
    other.client = c.client + 1;
    other.seed = c.seed + 1;
    const Walk a = walk(subject, c);
    const Walk b = walk(subject, other);
    for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
      if (a.steps[i].decision == b.steps[i].decision) continue;
      return fmt::format("after attempt {} one client decides '{}', another '{}'", a.steps[i].attempt,
                         to_string(a.steps[i].decision), to_string(b.steps[i].decision));
    }
    return {};
  });
}

// A call alone, and the same call between the attempts of another one of the same client.
Finding isolated(const Subject& subject, const Trial& trial) {
  return search(trial, [&](const Case& c) -> Complaint {
    const std::int64_t attempts = std::min<std::int64_t>(c.attempt, 70);
    Case other_case = c;
    other_case.call = c.call + 1;
    Slot alone_client(subject.policy.client_bytes());
    Slot shared_client(subject.policy.client_bytes());
    subject.policy.start_client(alone_client.get());
    subject.policy.start_client(shared_client.get());
    try {
      CallUnderTest alone(subject, c, alone_client);
      CallUnderTest mixed(subject, c, shared_client);
      CallUnderTest other(subject, other_case, shared_client);
      bool other_runs = true;
      const Instant now{c.started};
      for (std::int64_t n = 1; n <= attempts; ++n) {
        if (other_runs) other_runs = !other.fail(n, now).stops();
        const Decision a = alone.fail(n, now);
        const Decision b = mixed.fail(n, now);
        if (!agree(subject, a, b, n))
          return fmt::format("attempt {}: alone '{}', beside another call of the client '{}'", n,
                             to_string(a), to_string(b));
        if (a.stops()) break;
      }
    } catch (...) {
      return {};  // that is for `survives` to say
    }
    return {};
  });
}

}  // namespace

void add_fleet(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"jitter-law", must, statistical,
             "Delays are distributed as the declared jitter says, each drawn anew.",
             "A law that is squeezed or shifted spreads a fleet less than it was sized for.",
             "echoVic/orca-agent#42", &jittered, &jitter_law});
  shelf.add({"fleet-spreads", must, statistical,
             "Clients that fail together come back spread over the interval of the law.",
             "A fleet that comes back at one instant brings the server down again.",
             "StarRocks/starrocks#74108", &jittered, &fleet_spreads});
  shelf.add({"jitter-alive-at-cap", must, statistical, "At the cap delays are still spread.",
             "A long outage takes every client to the cap: there they must not fall into step.",
             "ferd/backoff#8", [](const Subject& s) { return first_at_cap(s.contract).has_value(); },
             &alive_at_cap});
  shelf.add({"instances-independent", must, statistical,
             "Two clients that fail at the same time wait for times that have nothing to do with each other.",
             "Jitter seeded by the clock is the same for all who fail together.", "gabrielkoerich/orch#1959",
             &jittered, &instances_independent});
  shelf.add({"processes-independent", must, statistical, "Two processes draw different jitter.",
             "A generator that nobody seeded gives every process of a fleet the same delays.",
             "cenkalti/backoff#42", &jittered, &processes_independent});
  shelf.add(
      {"synchronised-without-jitter", must, exact,
       "Without jitter, clients that fail together decide the same.",
       "Randomness that was not declared makes a simulation and a test of the client wrong.",
       "socketio/socket.io-client#1483",
       [](const Subject& s) { return s.contract.jitter && s.contract.jitter->kind == JitterKind::none; },
       &synchronised});
  shelf.add({"calls-isolated", must, exact, "A call decides as it would if it were alone.",
             "Shared counters make one call's failures the other's delays.", "cenkalti/backoff#183",
             // A budget and a breaker are shared by the calls of a client: that is what they are for.
             [](const Subject& s) { return !s.loop && !s.contract.budget && !s.contract.breaker; },
             &isolated});
}

}  // namespace retrygate
