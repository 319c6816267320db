// 10,000 requests to a service with Poisson outages: as printed, mended, and with common random numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/claims.hpp"
#include "sim/experiments/flaky.hpp"
#include "sim/experiments/published.hpp"

namespace retrygate::ci {
namespace {

constexpr double requests = FlakyResult::requests;

double percent(const FlakyRow& row) { return 100.0 * static_cast<double>(row.successes) / requests; }
double attempts_per_request(const FlakyRow& row) { return static_cast<double>(row.attempts) / requests; }
double points(const FlakyResult& r) { return percent(r.rows[2]) - percent(r.rows[1]); }  // backoff - fixed
double faster(const FlakyResult& r) { return r.rows[2].mean_ms - r.rows[1].mean_ms; }

// The script's own columns, rounded as it prints them.
std::string printed(double success, double attempts, double mean, double p95) {
  return fmt::format("{:.1f} %, {:.2f}, {:.1f} ms, {:.0f} ms", success, attempts, mean, p95);
}

struct Study {
  Paired as_printed, as_printed_ms;
  Paired mended, mended_ms;
  Paired common;
  Paired gain;             // no retry against the worse of the two
  Paired often, often_ms;  // ten times the failures
  Column outages, down_percent;
};

Study study(const Seeds& seeds) {
  std::vector<double> literal, literal_ms, mended, mended_ms, common, gain, often, often_ms, outages, down;
  for (const std::uint64_t seed : seeds.values()) {
    const FlakyResult a = flaky(seed, FlakyVariant::literal);
    const FlakyResult b = flaky(seed, FlakyVariant::corrected);
    const FlakyResult ten = flaky(seed, FlakyVariant::corrected, 0.1);
    literal.push_back(points(a));
    literal_ms.push_back(faster(a));
    mended.push_back(points(b));
    mended_ms.push_back(faster(b));
    common.push_back(points(flaky(seed, FlakyVariant::common)));
    gain.push_back(percent(b.rows[0]) - std::min(percent(b.rows[1]), percent(b.rows[2])));
    often.push_back(points(ten));
    often_ms.push_back(faster(ten));
    outages.push_back(static_cast<double>(a.outages));
    down.push_back(100 * a.down_fraction);
  }
  return {paired(literal), paired(literal_ms), paired(mended),   paired(mended_ms), paired(common),
          paired(gain),    paired(often),      paired(often_ms), column(outages),   column(down)};
}

std::string of_seeds(const Paired& p) { return fmt::format("lower in {} of {} seeds", p.below, p.n); }

std::vector<ClaimRow> as_printed(const FlakyResult& l) {
  std::vector<ClaimRow> rows;
  const auto& f1 = published("3.1").figures;
  rows.push_back(judged(
      "3.1", fmt::format("{}, {} %", l.outages, 100 * l.down_fraction),
      ok(static_cast<double>(l.outages) == f1[0] && std::abs(100 * l.down_fraction - f1[1]) <= .05),
      fmt::format("the printed script with CPython's generator, seed 42; the sum counts overlaps twice, "
                  "the union is {:.4f} %",
                  100 * l.covered_fraction)));
  for (std::size_t i = 0; i < l.rows.size(); ++i) {
    const FlakyRow& row = l.rows[i];
    const std::string number = fmt::format("3.{}", i + 2);
    const auto& f = published(number).figures;
    rows.push_back(judged(
        number,
        fmt::format("{:.2f} %, {:.4f}, {} ms, {} ms", percent(row), attempts_per_request(row), row.mean_ms,
                    row.p95_ms),
        ok(printed(percent(row), attempts_per_request(row), row.mean_ms, row.p95_ms) ==
           printed(f[0], f[1], f[2], f[3])),
        fmt::format("to the last printed digit: {} successes in {} attempts", row.successes, row.attempts)));
  }
  rows.push_back(
      judged("3.5", fmt::format("{}, {} and {} draws", l.rows[0].draws, l.rows[1].draws, l.rows[2].draws),
             ok(l.rows[0].draws == l.rows[1].draws && l.rows[1].draws == l.rows[2].draws),
             "the outages are the same, but one stream is used in turn: each policy meets other failures"));
  return rows;
}

std::vector<ClaimRow> mended(const FlakyResult& l, const FlakyResult& c, const Study& s) {
  std::vector<ClaimRow> rows;
  const double least = 1 + (requests - static_cast<double>(l.rows[0].successes)) / requests;
  rows.push_back(judged(
      "3.6",
      fmt::format("{:.4f} fixed, {:.4f} backoff with a correct outage test", attempts_per_request(c.rows[1]),
                  attempts_per_request(c.rows[2])),
      ok(attempts_per_request(l.rows[1]) >= least),
      fmt::format(
          "by the first failures it is at least {:.3f}. The script's outage cursor only moves forward: one "
          "retry looks past an outage, and later arrivals inside it are told 'up', {} of {} (fixed) and {} "
          "of "
          "{} (backoff)",
          least, l.rows[1].answered_up, l.rows[1].truly_down, l.rows[2].answered_up, l.rows[2].truly_down)));
  rows.push_back(judged(
      "3.7",
      fmt::format("p95 {:.0f}, {:.1f} and {:.1f} ms, means {:.2f} and {:.2f} ms with retries",
                  c.rows[0].p95_ms, c.rows[1].p95_ms, c.rows[2].p95_ms, c.rows[1].mean_ms, c.rows[2].mean_ms),
      ok(c.rows[1].p95_ms <= published("3.7").figures[0] && c.rows[2].p95_ms <= published("3.7").figures[0]),
      "with a correct outage test, seed 42"));
  rows.push_back(
      judged("3.8",
             fmt::format("{}, {}; {}, {}. As printed {}, {}; {}. With common random numbers {}, {}",
                         in_words(s.mended, "points"), of_seeds(s.mended), in_words(s.mended_ms, "ms"),
                         of_seeds(s.mended_ms), in_words(s.as_printed, "points"), of_seeds(s.as_printed),
                         in_words(s.as_printed_ms, "ms"), in_words(s.common, "points"), of_seeds(s.common)),
             ok(s.mended.low > 0),
             "backoff against fixed. With a correct outage test the order of success turns round, whether "
             "the printed stream "
             "is used in turn or every policy meets the same failures: fixed waits 300 ms in all, backoff "
             "280 on average, and "
             "an outage is outlived by the longer span"));
  rows.push_back(judged("3.9", fmt::format("{} without retries", in_words(s.gain, "points")),
                        ok(s.gain.high < -std::abs(s.mended.mean)),
                        "against the worse of the two policies, correct outage test"));
  rows.push_back(
      judged("3.10",
             fmt::format("{} instead of {}; success {}", in_words(s.often_ms, "ms"),
                         in_words(s.mended_ms, "ms"), in_words(s.often, "points")),
             ok(s.often_ms.high < s.mended_ms.low),
             "failures of 10 % outside outages instead of 1 %; backoff still succeeds less often"));
  // Each instant is down unless no outage covers it: Poisson starts every 2 s, mean length 275 ms.
  const double stationary = 100 * (1 - std::exp(-275.0 / 2000));
  rows.push_back(judged(
      "3.11",
      fmt::format("{:.2f} % by closed form; {:.1f} % summed over {:.2f} outages on average, {} to {} %",
                  stationary, s.down_percent.mean(), s.outages.mean(),
                  fmt::format("{:.1f}", s.down_percent.low()), fmt::format("{:.1f}", s.down_percent.high())),
      s.down_percent.holds(published("3.11").figures[0]) ? Word::imprecise : Word::wrong,
      fmt::format("seed 42 is a mild one, percentile {:.0f}: the model's own figure is higher",
                  100 * s.down_percent.share_up_to(100 * l.down_fraction))));
  rows.push_back(
      judged("3.12",
             fmt::format("every first success takes {} ms (p99 without retries), whatever the load",
                         c.rows[0].p99_ms),
             ok(c.rows[0].p99_ms != 20), "the code has no capacity: no request waits for another"));
  const auto& f4 = published("3.4").figures;
  const FlakyRow& backoff = l.rows[2];
  rows.push_back(judged(
      "3.13",
      fmt::format("with the operator: {}",
                  printed(percent(backoff), attempts_per_request(backoff), backoff.mean_ms, backoff.p95_ms)),
      printed(percent(backoff), attempts_per_request(backoff), backoff.mean_ms, backoff.p95_ms) ==
              printed(f4[0], f4[1], f4[2], f4[3])
          ? Word::wrong
          : Word::open,
      "as printed, 2 (a - 1) calls a number, a TypeError: ** was lost in print; with it 3.4 comes out to the "
      "digit"));
  rows.push_back(judged(
      "3.14",
      fmt::format("{:.2f} and {:.2f} ms over all requests; {:.2f} and {:.2f} ms of successes",
                  c.rows[1].mean_all_ms, c.rows[2].mean_all_ms, c.rows[1].mean_ms, c.rows[2].mean_ms),
      c.rows[1].mean_all_ms > c.rows[1].mean_ms ? Word::imprecise : Word::ok,
      "the script averages successes only, so giving up early looks fast; correct outage test, seed 42"));
  return rows;
}

}  // namespace

std::vector<ClaimRow> flaky_service_claims(const Seeds& seeds) {
  const FlakyResult literal = flaky(42, FlakyVariant::literal);
  std::vector<ClaimRow> rows = as_printed(literal);
  append(rows, mended(literal, flaky(42, FlakyVariant::corrected), study(seeds)));
  return rows;
}

}  // namespace retrygate::ci
