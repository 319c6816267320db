// Formulas of waits, and what a fleet makes of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ci/claims.hpp"
#include "ci/claims_waits.hpp"
#include "sim/experiments/calls.hpp"
#include "sim/experiments/printed.hpp"
#include "sim/experiments/published.hpp"

namespace retrygate::ci {
namespace {

std::string calls_and_sleeps(const std::vector<Duration>& delays) {
  return fmt::format("{} and {}", delays.size() + 1, delays.size());
}

std::vector<ClaimRow> tables() {
  std::vector<ClaimRow> rows;
  const auto fixed = failing_call("fixed:base=2s,max_attempts=5");
  rows.push_back(judged("1.1", calls_and_sleeps(fixed), ok(fixed.size() == 4), "'retries' counts calls"));
  const auto six = failing_call("exponential:base=500ms,cap=30s,max_attempts=6");
  const auto seven = failing_call("exponential:base=500ms,cap=30s,max_attempts=7");
  bool same = true;
  for (std::size_t n = 0; n < seven.size(); ++n) same &= seven[n].seconds() == published("1.2").figures[n];
  rows.push_back(
      judged("1.2", joined(seven), ok(same),
             fmt::format("the sixth is printed but never slept: six calls have {} waits, {} in all; "
                         "the cap never binds",
                         six.size(), to_string(total(six)))));
  return rows;
}

ClaimRow law(std::string_view row, std::string_view kind, double low, const Seeds& seeds, std::string why) {
  const DrawnLaw law = drawn_law(fmt::format("{}:base=500ms,cap=30s,max_attempts=6", kind),
                                 failing_call("exponential:base=500ms,cap=30s,max_attempts=6"), low, seeds);
  return judged(row, law.text, ok(law.fits), std::move(why));
}

// Late waits of a decorrelated chain: the last two of 60.
struct Late {
  std::vector<double> last, before;
};
Late late(const AnyPolicy& policy, const Seeds& seeds) {
  Late chain;
  for (const std::uint64_t seed : seeds.values()) {
    for (std::uint64_t client = 0; client < 200; ++client) {
      const auto delays = failing_call(policy, Seed{seed}, client, 60);
      chain.before.push_back(delays[58].seconds());
      chain.last.push_back(delays[59].seconds());
    }
  }
  return chain;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const double mx = column(x).mean(), my = column(y).mean();
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

std::vector<ClaimRow> decorrelated(const Seeds& seeds) {
  const double base = 0.5, cap = 30;
  const Late chain = late(policy_named("decorrelated:base=500ms,cap=30s,max_attempts=61"), seeds);
  const AnyPolicy uncapped = policy_named("decorrelated:base=500ms,cap=100000s,max_attempts=6");
  std::vector<std::vector<double>> waits(4);
  for (const std::uint64_t seed : seeds.values()) {
    for (std::uint64_t client = 0; client < 200; ++client) {
      const auto delays = failing_call(uncapped, Seed{seed}, client, 4);
      for (std::size_t n = 0; n < waits.size(); ++n) waits[n].push_back(delays[n].seconds());
    }
  }
  bool fits = true;
  std::string means;
  for (std::size_t n = 0; n < waits.size(); ++n) {
    const Column c = column(waits[n]);
    const double expected = base * (2 * std::pow(1.5, static_cast<double>(n + 1)) - 1);
    fits &= std::abs(c.mean() - expected) < 5 * c.standard_error();
    fits &= c.low() >= base && c.high() <= base * std::pow(3.0, static_cast<double>(n + 1)) + 1e-9;
    means += fmt::format("{}{:.3f}", n == 0 ? "" : ", ", c.mean());
  }
  const Column end = column(chain.last);
  const double n = static_cast<double>(end.values.size());
  const double atom = end.share_of(cap);
  const double together = correlation(chain.before, chain.last);
  return {
      judged("1.5",
             fmt::format(
                 "mean waits {} s; in the long run {:.3f} s, variance {:.2f} s^2, {:.2f} % exactly at the "
                 "cap (standard error {:.3f} s)",
                 means, end.mean(), end.variance(), 100 * atom, end.standard_error()),
             ok(fits),
             "wait n lies in [base, base 3^n] and has mean base (2 * 1.5^n - 1) until the cap binds"),
      judged(
          "1.6",
          fmt::format("correlation of neighbouring late waits {:.3f}; {:.1f} % of them are the cap itself",
                      together, 100 * atom),
          together > 5 / std::sqrt(n) || atom > 0 ? Word::imprecise : Word::ok,
          "each wait is drawn from the one before: a Markov chain, with an atom at the cap that all clients "
          "share")};
}

ClaimRow steady(const Seeds& seeds) {
  const auto clients = static_cast<std::int64_t>(published("1.8").figures[0]);
  const auto at = [&](std::string_view kind) {
    return busiest(fmt::format("{}:base=500ms,cap=30s,max_attempts=5", kind), clients, 4, seeds);
  };
  const Busiest full = at("full-jitter");
  const double steady_wave = static_cast<double>(clients) * 0.1 / 0.5;
  const double span = total(failing_call("exponential:base=500ms,cap=30s,max_attempts=5")).seconds();
  const double average = static_cast<double>(clients) * 4 * 0.1 / span;
  return judged(
      "1.8",
      fmt::format(
          "busiest 0.1 s: {} in the first wave (steady: {:.0f}), {} in the storm (steady: {:.0f}), {} with "
          "the first attempts; busiest 10 ms of the first wave {}. Storm with other jitter: none {:.0f}, "
          "equal "
          "{:.0f}, decorrelated {:.0f}",
          give_or_take(full.first_100ms), steady_wave, give_or_take(full.storm_100ms), average,
          give_or_take(full.with_first_100ms), give_or_take(full.first_10ms),
          at("exponential").storm_100ms.mean(), at("equal-jitter").storm_100ms.mean(),
          at("decorrelated").storm_100ms.mean()),
      full.storm_100ms.mean() > 2 * average ? Word::imprecise : Word::ok,
      "one wait is uniform, the sum of several is not: the waves overlap near the start (+- is two standard "
      "errors "
      "over the seeds)");
}

ClaimRow best_jitter(const Seeds& seeds) {
  const Played storm("outage-then-limit", {}, {"full-jitter", "equal-jitter", "decorrelated"}, seeds);
  const double full = storm("full-jitter", "requests").mean();
  const double equal = storm("equal-jitter", "requests").mean();
  const double decorrelated = storm("decorrelated", "requests").mean();
  // The cited study's own policies, see claims_occ_contention.cpp.
  constexpr int clients = 100;
  const double row_full =
      contended_calls("full-jitter:base=10ms,cap=2s,max_attempts=1000000", clients, seeds).mean();
  const double row_equal =
      contended_calls("equal-jitter:base=10ms,cap=2s,max_attempts=1000000", clients, seeds).mean();
  const double row_decorrelated =
      contended_calls("decorrelated:base=5ms,cap=2s,max_attempts=1000000", clients, seeds).mean();
  const bool in_storm = full <= equal && full <= decorrelated;
  const bool on_row = row_full <= row_equal && row_full <= row_decorrelated;
  return judged(
      "1.7",
      fmt::format(
          "requests in the retry storm: full {:.5g}, equal {:.5g}, decorrelated {:.5g}; on one row that {} "
          "clients contend for: {:.4g}, {:.4g}, {:.4g}",
          full, equal, decorrelated, clients, row_full, row_equal, row_decorrelated),
      in_storm && on_row   ? Word::ok
      : in_storm || on_row ? Word::ok_if
                           : Word::wrong,
      "true if calls contend for one row, as in the study that the article cites; where a server refuses "
      "above a limit, full jitter asks most, because it waits least");
}

std::vector<ClaimRow> libraries() {
  std::vector<ClaimRow> rows;
  const auto long_run = failing_call("exponential:base=500ms,cap=100000s,max_attempts=12");
  rows.push_back(judged("1.9", to_string(long_run.at(9)),
                        ok(long_run.at(9).seconds() == published("1.9").figures[0]),
                        fmt::format("off by one: the exponent of retry n is n - 1, and {} is retry 11",
                                    to_string(long_run.at(10)))));
  const auto wait = [](int attempt, double unit) {
    return tenacity_exponential_jitter(.5, 30, 1, attempt, unit);
  };
  rows.push_back(judged(
      "1.10",
      fmt::format("{} to {} s; at attempt 6 {} to {} s", wait(7, 0), wait(7, 1), wait(6, 0), wait(6, 1)),
      ok(wait(7, 0) == published("1.10").figures[0] && wait(7, 1) == published("1.10").figures[1]),
      "tenacity 8.2.1 caps after the jitter (its docstring says so): from attempt 7 on all clients "
      "wait exactly max"));
  rows.push_back(judged(
      "1.11", fmt::format("first wait {} to {} s by tenacity, 0 to 0.5 s by hand", wait(1, 0), wait(1, 1)),
      ok(wait(1, 0) == 0 && wait(1, 1) == 0.5),
      "additive jitter, not full jitter; tenacity's full jitter is wait_random_exponential(multiplier=.5, "
      "max=30)"));
  const auto five = failing_call("exponential:base=500ms,max_attempts=5");
  rows.push_back(
      judged("1.12", calls_and_sleeps(five), ok(five.size() == 4),
             "the same counting as retries=5; tenacity's attempt_number starts at 1, the article's n at 0"));
  return rows;
}

std::vector<ClaimRow> edges() {
  std::vector<ClaimRow> rows;
  // raise_for_status raises HTTPError for 400 .. 599; the examples catch RequestException.
  const bool retries_400 = is_a("requests.HTTPError", "requests.RequestException");
  rows.push_back(judged("1.13",
                        fmt::format("the examples catch RequestException: HTTP 400 is {}",
                                    retries_400 ? "retried" : "not retried"),
                        retries_400 ? Word::inconsistent : Word::ok,
                        "the comment names two statuses, the set five, should_retry is never called, and the "
                        "examples retry what the text says never to retry"));
  const bool timeout_caught = is_a("TimeoutError", "aiohttp.ClientError");
  rows.push_back(judged(
      "1.14", fmt::format("a timeout is {}", timeout_caught ? "retried" : "not retried"), ok(timeout_caught),
      "ClientTimeout raises asyncio.TimeoutError, which is no aiohttp.ClientError (3.8.4)"));
  const LoopEnding none = with_backoff(0);
  int overflow = 0;
  while (std::isfinite(std::ldexp(1.0, overflow))) ++overflow;
  rows.push_back(
      judged("1.15",
             fmt::format("retries=0: {} calls, {}; base*2**n raises OverflowError from n = {} on", none.calls,
                         none.how == Ending::raises_type_error ? "TypeError" : "returns", overflow),
             none.how == Ending::raises_type_error ? Word::wrong : Word::ok,
             "'raise last_exc' raises None; the power is made before min() can cap it (Python integers "
             "grow, a float ends below 2^1024)"));
  rows.push_back(judged("1.16", "-", Word::open,
                        "the article gives neither threshold nor time: nothing to compare with"));
  return rows;
}

}  // namespace

std::vector<ClaimRow> random_backoff_claims(const Seeds& seeds) {
  std::vector<ClaimRow> rows = tables();
  append(rows, {law("1.3", "full-jitter", 0, seeds,
                    "mean c/2, variance c^2/12; the function's parameter jitter=1.0 is never used"),
                law("1.4", "equal-jitter", 0.5, seeds, "mean 3c/4, variance c^2/48")});
  append(rows, decorrelated(seeds));
  append(rows, {best_jitter(seeds), steady(seeds)});
  append(rows, libraries());
  append(rows, edges());
  return rows;
}

}  // namespace retrygate::ci
