// What holds between calls and between clients.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "properties/bounds.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

constexpr int clients = 2000;  // fixed beforehand: what a statistical invariant draws for each retry

bool jittered(const Contract& c) {
  return c.jitter && c.jitter->kind != JitterKind::none && support_of(c, 1, std::nullopt).has_value() &&
         (!c.max_attempts || *c.max_attempts > 1);
}

// Retries whose law is tested. A decorrelated delay depends on the one before, so only its first has
// one law for all clients.
std::vector<std::int64_t> retries(const Contract& c) {
  if (c.jitter->kind == JitterKind::decorrelated) return {1};
  return {1, 2, 4, 8};
}

// The delay of one retry for every client of a fleet that fails together.
std::vector<long double> fleet(const Subject& subject, std::uint64_t seed, std::int64_t retry) {
  std::vector<long double> delays;
  for (int i = 0; i < clients; ++i) {
    Case c;
    c.attempt = retry;
    c.seed = seed;
    c.client = static_cast<std::uint64_t>(i);
    const Walk done = walk(subject, c);
    if (const Step* step = done.wait_after(retry))
      delays.push_back(static_cast<long double>(step->decision.delay().ns()));
  }
  std::sort(delays.begin(), delays.end());
  return delays;
}

Finding failure_of(const Trial& trial, std::int64_t retry, std::string text) {
  text = fmt::format("retry {}, {} clients: {}", retry, clients, text);
  return {Verdict::fails, {}, {text, text, fmt::format("{}:{}", trial.seed, retry), {}}};
}

Finding too_few() {
  return {Verdict::unsure, "the policy stopped before enough delays were drawn, or its law is one point", {}};
}

// Dvoretzky, Kiefer and Wolfowitz with Massart's constant: P(sup |F_n - F| > e) <= 2 exp(-2 n e^2),
// whatever F is, steps included.
Finding jitter_law(const Subject& subject, const Trial& trial) {
  const auto numbers = retries(subject.contract);
  const double alpha = trial.alpha / static_cast<double>(numbers.size());
  const long double allowed = std::sqrt(std::log(2 / alpha) / (2.0 * clients));
  bool tested = false;
  for (const std::int64_t retry : numbers) {
    const auto law = law_of(subject.contract, retry, std::nullopt);
    if (!law) continue;
    const auto delays = fleet(subject, trial.seed, retry);
    if (delays.size() < clients) continue;
    tested = true;
    const long double slack = law->drawn.slack + law->tick;
    long double furthest = 0;
    for (std::size_t i = 0; i < delays.size(); ++i) {
      const long double x = delays[i];
      if (i + 1 == delays.size() || delays[i + 1] != x)
        furthest = std::max(furthest, static_cast<long double>(i + 1) / clients - law->below(x + slack));
      if (i == 0 || delays[i - 1] != x)
        furthest = std::max(furthest, law->below(x - 1 - slack) - static_cast<long double>(i) / clients);
    }
    if (furthest > allowed)
      return failure_of(trial, retry,
                        fmt::format("the delays lie {:.3f} from the declared law, {:.3f} is chance",
                                    static_cast<double>(furthest), static_cast<double>(allowed)));
  }
  return tested ? Finding{} : too_few();
}

// P(X >= k) of X ~ Binomial(n, p), summed term by term.
double binomial_at_least(int k, int n, double p) {
  if (k <= 0 || p >= 1) return 1;
  if (p <= 0) return 0;
  double sum = 0;
  for (int i = k; i <= n; ++i)
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
  return std::min(1.0, sum);
}

// No instant and no twentieth of the law's interval collects more clients than chance explains. The
// clients that a clamp puts at the cap belong to the law and are left out.
Finding fleet_spreads(const Subject& subject, const Trial& trial) {
  constexpr int bins = 20;
  const auto numbers = retries(subject.contract);
  const double alpha = trial.alpha / (2.0 * static_cast<double>(numbers.size()));
  bool tested = false;
  for (const std::int64_t retry : numbers) {
    const auto law = law_of(subject.contract, retry, std::nullopt);
    if (!law) continue;
    const long double width = law->drawn.hi - law->drawn.lo + law->tick;
    const long double points = width / law->tick;
    const long double edge = 2 * (law->drawn.slack + law->tick);
    if (points < 2 || width < 100 * edge) continue;
    const auto delays = fleet(subject, trial.seed, retry);
    if (delays.size() < clients) continue;
    tested = true;
    std::map<long double, int> same;
    std::vector<int> in_bin(bins);
    for (const long double d : delays) {
      if (d >= law->cut) continue;
      ++same[d];
      const long double place = (d - law->drawn.lo) / width * bins;
      ++in_bin[static_cast<std::size_t>(std::clamp(place, 0.0L, bins - 1.0L))];
    }
    const auto share = static_cast<double>(1.0L / bins + edge / width);
    const int fullest = *std::max_element(in_bin.begin(), in_bin.end());
    if (binomial_at_least(fullest, clients, share) < alpha / bins)
      return failure_of(trial, retry, fmt::format("{} come back within 1/{} of the interval", fullest, bins));
    const auto most = std::max_element(same.begin(), same.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == same.end()) continue;
    // A value may collect its two neighbours by rounding; the union is over all values.
    const auto p = static_cast<double>(3 / points);
    if (static_cast<double>(points) * binomial_at_least(most->second, clients, p) < alpha)
      return failure_of(trial, retry,
                        fmt::format("{} come back at the same instant, after {}", most->second,
                                    to_string(Duration::ns(static_cast<std::int64_t>(most->first)))));
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
        if (a != b)
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
  shelf.add({"jitter-law", must, statistical, "Delays are distributed as the declared jitter says.",
             "A law that is squeezed or shifted spreads a fleet less than it was sized for.",
             "echoVic/orca-agent#42", &jittered, &jitter_law});
  shelf.add({"fleet-spreads", must, statistical,
             "Clients that fail together come back spread over the interval of the law.",
             "A fleet that comes back at one instant brings the server down again.",
             "StarRocks/starrocks#74108", &jittered, &fleet_spreads});
  shelf.add({"synchronised-without-jitter", must, exact,
             "Without jitter, clients that fail together decide the same.",
             "Randomness that was not declared makes a simulation and a test of the client wrong.",
             "socketio/socket.io-client#1483",
             [](const Contract& c) { return c.jitter && c.jitter->kind == JitterKind::none; },
             &synchronised});
  shelf.add({"calls-isolated", must, exact, "A call decides as it would if it were alone.",
             "Shared counters make one call's failures the other's delays.", "cenkalti/backoff#183",
             [](const Contract&) { return true; }, &isolated});
}

}  // namespace retrygate
