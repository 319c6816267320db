#include "ci/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policies/base/error.hpp"
#include "sim/experiments/flaky.hpp"
#include "sim/experiments/tables.hpp"
#include "stats/distributions.hpp"
#include "stats/resample.hpp"

namespace retrygate::ci {
namespace {

double percent(const FlakyRow& row) {
  return 100.0 * static_cast<double>(row.successes) / static_cast<double>(FlakyResult::requests);
}
double attempts_per_request(const FlakyRow& row) {
  return static_cast<double>(row.attempts) / static_cast<double>(FlakyResult::requests);
}
std::string printed(const FlakyRow& row) {  // the script's own columns
  return fmt::format("{:.1f} % / {:.2f} / {:.1f} ms / p95 {:.0f} ms", percent(row), attempts_per_request(row),
                     row.mean_ms, row.p95_ms);
}

struct Paired {
  double mean = 0;
  double low = 0;
  double high = 0;
  int below = 0;  // seeds with a negative difference
  std::size_t n = 0;
};

// Mean difference with its two-sided 95 % t interval.
Paired paired(const std::vector<double>& d) {
  const stats::Studentized s = stats::estimate({std::vector<double>(d.size()), d, false});
  const double half = stats::student_quantile(0.975, static_cast<double>(d.size() - 1)) * s.se;
  const auto below = std::count_if(d.begin(), d.end(), [](double x) { return x < 0; });
  return {s.effect, s.effect - half, s.effect + half, static_cast<int>(below), d.size()};
}

std::string in_words(const Paired& p, std::string_view unit) {
  return fmt::format("{:+.3f} {} [{:+.3f}, {:+.3f}], lower in {} of {} seeds", p.mean, unit, p.low, p.high,
                     p.below, p.n);
}

std::string same(bool yes) { return yes ? "OK" : "WRONG"; }

std::string joined(const std::vector<Duration>& delays) {
  std::string text;
  for (const Duration d : delays) text += (text.empty() ? "" : " ") + to_string(d);
  return text;
}

}  // namespace

std::vector<ClaimRow> reproduce_flaky(std::uint64_t first, std::uint64_t last) {
  RG_ASSERT(first < last, fmt::format("seeds {}..{}", first, last));
  const FlakyResult l = flaky(42, FlakyVariant::literal);
  const FlakyResult c = flaky(42, FlakyVariant::corrected);
  std::vector<double> literal;
  std::vector<double> success;
  std::vector<double> latency;
  std::vector<double> retry_gain;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const FlakyResult a = flaky(seed, FlakyVariant::literal);
    const FlakyResult b = flaky(seed, FlakyVariant::corrected);
    literal.push_back(percent(a.rows[2]) - percent(a.rows[1]));
    success.push_back(percent(b.rows[2]) - percent(b.rows[1]));
    latency.push_back(b.rows[2].mean_ms - b.rows[1].mean_ms);
    retry_gain.push_back(percent(b.rows[0]) - std::min(percent(b.rows[1]), percent(b.rows[2])));
  }
  const Paired as_printed = paired(literal);
  const Paired mended = paired(success);
  const Paired faster = paired(latency);
  const Paired gain = paired(retry_gain);

  std::vector<ClaimRow> rows;
  const auto add = [&](std::string claim, std::string published, std::string ours, std::string verdict,
                       std::string why) {
    rows.push_back({"flaky-service", std::move(claim), std::move(published), std::move(ours),
                    std::move(verdict), std::move(why)});
  };
  const auto outages = fmt::format("{}, {:.1f} %", l.outages, 100 * l.down_fraction);
  add("3.1 outages and time down", "24, 10.6 %", outages, same(outages == "24, 10.6 %"),
      fmt::format("the sum counts overlaps twice; the union is {:.4f} %", 100 * l.covered_fraction));
  const std::string figures[] = {"88.9 % / 1.00 / 20.0 ms / p95 20 ms", "99.7 % / 1.02 / 21.7 ms / p95 20 ms",
                                 "99.9 % / 1.02 / 21.3 ms / p95 20 ms"};
  for (std::size_t i = 0; i < 3; ++i)
    add(fmt::format("3.{} {} as printed", i + 2, l.rows[i].policy), figures[i], printed(l.rows[i]),
        same(printed(l.rows[i]) == figures[i]),
        fmt::format("the printed script, CPython's generator, seed 42; {} successes, mean {} ms",
                    l.rows[i].successes, l.rows[i].mean_ms));
  add("3.5 the same failures for all three policies", "identical",
      fmt::format("{}, {}, {} draws", l.rows[0].draws, l.rows[1].draws, l.rows[2].draws),
      same(l.rows[0].draws == l.rows[1].draws && l.rows[1].draws == l.rows[2].draws),
      "one stream is used in turn, so each policy meets other random failures");
  const double least = 1 + static_cast<double>(FlakyResult::requests - l.rows[0].successes) /
                               static_cast<double>(FlakyResult::requests);
  add("3.6 attempts per request", "1.02",
      fmt::format("{:.4f} fixed, {:.4f} backoff", attempts_per_request(c.rows[1]),
                  attempts_per_request(c.rows[2])),
      same(attempts_per_request(l.rows[1]) >= least),
      fmt::format(
          "with that share of first failures at least {:.3f}; the outage cursor never goes back: {} of "
          "{} (fixed) and {} of {} (backoff) attempts inside an outage were told 'up'",
          least, l.rows[1].answered_up, l.rows[1].truly_down, l.rows[2].answered_up, l.rows[2].truly_down));
  add("3.7 p95 is 20 ms for all, retries cost no latency", "20 / 20 / 20 ms",
      fmt::format("{:.1f} / {:.1f} / {:.1f} ms", c.rows[0].p95_ms, c.rows[1].p95_ms, c.rows[2].p95_ms),
      same(c.rows[1].p95_ms <= 20 && c.rows[2].p95_ms <= 20),
      fmt::format("with a correct outage test the means are {:.2f} and {:.2f} ms", c.rows[1].mean_ms,
                  c.rows[2].mean_ms));
  add("3.8 backoff succeeds more often than fixed", "+0.2 points", in_words(mended, "points"),
      same(mended.low > 0),
      fmt::format("as printed {}; with a correct outage test the order turns round; latency {}",
                  in_words(as_printed, "points"), in_words(faster, "ms")));
  add("3.9 whether to retry matters more than how", "88.9 -> 99 %", in_words(gain, "points without retries"),
      same(gain.high < -std::abs(mended.mean)), "no retry against the worse of the two, correct outage test");
  return rows;
}

std::vector<ClaimRow> reproduce_tables() {
  std::vector<ClaimRow> rows;
  const auto fixed = failing_call("fixed:base=2s,max_attempts=5");
  rows.push_back({"random-backoff", "1.1 fixed 2 s, retries=5", "5 calls, 4 sleeps",
                  fmt::format("{} calls, {} sleeps", fixed.size() + 1, fixed.size()), same(fixed.size() == 4),
                  "'retries' counts calls"});
  const auto six = failing_call("exponential:base=500ms,cap=30s,max_attempts=6");
  rows.push_back({"random-backoff", "1.2 exponential base .5 cap 30, six values", ".5 1 2 4 8 16 s",
                  fmt::format("{}; {} in total", joined(six), to_string(total(six))),
                  joined(six) == "500ms 1s 2s 4s 8s" ? "OK" : "WRONG",
                  "the sixth value is printed but never slept: six calls have five waits"});
  const auto long_run = failing_call("exponential:base=500ms,cap=100000s,max_attempts=12");
  rows.push_back({"random-backoff", "1.9 the 10th retry waits 512 s without a cap", "512s",
                  to_string(long_run.at(9)), same(long_run.at(9) == Duration::s(512)),
                  fmt::format("off by one: retry 11 waits {}", to_string(long_run.at(10)))});
  const double low = tenacity_exponential_jitter(.5, 30, 1, 7, 0);
  const double high = tenacity_exponential_jitter(.5, 30, 1, 7, 1);
  rows.push_back({"random-backoff", "1.10 tenacity: min(max, initial*2^n) + U(0, jitter)",
                  "30 .. 31 s at the cap", fmt::format("{} .. {} s", low, high),
                  same(low < high && high > 30),
                  "tenacity 8.2.1 caps after the jitter: at the cap all clients wait exactly max"});
  const auto tenacity = failing_call("exponential:base=500ms,max_attempts=5");
  rows.push_back({"random-backoff", "1.12 stop_after_attempt(5)", "5 calls, 4 sleeps",
                  fmt::format("{} calls, {} sleeps", tenacity.size() + 1, tenacity.size()),
                  same(tenacity.size() == 4), "the same counting as retries=5"});
  const auto four = failing_call("exponential:base=200ms,max_attempts=4");
  // What the total leaves for each call: four calls around three exponential waits, five around four
  // constant ones.
  const auto constant = failing_call("fixed:base=200ms,max_attempts=5");
  const Duration a_call = (Duration::ms(1523) - total(four)) / 4;
  const Duration a_call_if_constant = (Duration::ms(1523) - total(constant)) / 5;
  rows.push_back(
      {"rate-limited-fleet", "2.1 total of the column 'fixed interval'", "1523 ms",
       fmt::format("{} of exponential waits, {} a call", to_string(total(four)), to_string(a_call)),
       a_call > Duration{} && a_call < a_call_if_constant ? "IMPRECISE" : "WRONG",
       fmt::format("the column is exponential without jitter: a fixed interval would need {} a call",
                   to_string(a_call_if_constant))});
  rows.push_back({"rate-limited-fleet", "2.7 retry n starts at t0 + base*2^n", "400 ms for n = 1",
                  to_string(four.at(0)), same(four.at(0) == Duration::ms(400)),
                  "base*2^n is the n-th wait counted from 0, not an instant"});
  const auto js = failing_call("exponential:base=200ms,cap=100000s,max_attempts=6");
  rows.push_back({"rate-limited-fleet", "2.8 ceilings with max=5", "200 400 800 1600 3200 ms",
                  fmt::format("{}; {} calls", joined(js), js.size() + 1),
                  same(joined(js) == "200ms 400ms 800ms 1.6s 3.2s"), "max counts retries here: six calls"});
  const auto ten = failing_call("exponential:base=500ms,cap=10s,max_attempts=8");
  rows.push_back({"decorator", "4.1 waits .5, 1, 2, capped at 10 s", ".5 1 2 .. 10 s", joined(ten),
                  same(joined(ten) == "500ms 1s 2s 4s 8s 10s 10s"), "ceilings of the full jitter"});
  const auto deco = failing_call("exponential:base=500ms,cap=10s,max_attempts=4");
  rows.push_back({"decorator", "4.2 max_attempts=4", "4 calls, 3 sleeps",
                  fmt::format("{} calls, {} sleeps", deco.size() + 1, deco.size()), same(deco.size() == 3),
                  fmt::format("at most {} of waiting; the cap never binds", to_string(total(deco)))});
  return rows;
}

}  // namespace retrygate::ci
