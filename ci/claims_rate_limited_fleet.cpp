// 20 clients whose first three attempts get 429 and whose fourth succeeds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ci/claims.hpp"
#include "sim/experiments/calls.hpp"
#include "sim/experiments/printed.hpp"
#include "sim/experiments/published.hpp"

namespace retrygate::ci {
namespace {

constexpr std::uint64_t runs_a_seed = 50;  // a run is 80 requests; the statistics want thousands
const std::string none = "exponential:base=200ms,cap=100000s,max_attempts=6";
const std::string full = "full-jitter:base=200ms,cap=100000s,max_attempts=6";
const std::string equal = "equal-jitter:base=200ms,cap=100000s,max_attempts=6";
const std::string constant = "fixed:base=200ms,max_attempts=6";
constexpr std::int64_t clients = 20;

std::string middle(const Column& c) {
  return fmt::format("{:.0f} [{:.0f}, {:.0f}]", c.quantile(.5), c.quantile(.05), c.quantile(.95));
}

Column scaled(Column c, double factor) {
  for (double& x : c.values) x *= factor;
  return c;
}

// ms between the first and the last client's attempt of that number.
Column spread_of(const std::string& policy_text, std::int64_t attempt, const Seeds& seeds) {
  const AnyPolicy policy = policy_named(policy_text);
  std::vector<double> spreads;
  for (const std::uint64_t seed : seeds.values()) {
    const auto instants = arrivals(policy, clients, Seed{seed}, {attempt, attempt});
    spreads.push_back(Duration::ns(instants.back() - instants.front()).seconds() * 1000);
  }
  return column(spreads);
}

std::vector<ClaimRow> totals(const Played& fleet) {
  const auto ms = [&](const std::string& policy) { return scaled(fleet(policy, "completion_s"), 1000); };
  const double exponential = ms(none).mean();
  const double fixed = ms(constant).mean();
  const double t21 = published("2.1").figures[0], t22 = published("2.2").figures[0];
  const Column jittered = ms(full);
  const double percentile = jittered.share_up_to(t22);
  const bool window = fleet(full, "attempts_mean").low() < 4;  // does anybody succeed before attempt 4?
  return {
      judged("2.1",
             fmt::format("{:.6g} ms with exponential waits, {:.6g} ms with a fixed interval", exponential,
                         fixed),
             std::abs(fixed - t21) < 1         ? Word::ok
             : std::abs(exponential - t21) < 1 ? Word::imprecise
                                               : Word::wrong,
             "the column is exponential without jitter: waits of 200, 400 and 800 ms around four calls of "
             "30.75 ms"),
      judged("2.2",
             fmt::format("median {} ms; {} is percentile {:.0f}", middle(jittered), t22, 100 * percentile),
             ok(percentile > .025 && percentile < .975), "an ordinary run; [5 %, 95 %] over the runs"),
      judged(
          "2.6",
          fmt::format(
              "every call needs 4 attempts; full jitter is never slower ({} of runs), {:.0f} ms faster on "
              "average; equal jitter {} ms",
              fmt::format("{:.0f} %", 100 * jittered.share_up_to(exponential)), exponential - jittered.mean(),
              middle(ms(equal))),
          ok(window),
          "the total is shorter, but not for that reason: there is no success window, and a jittered wait is "
          "never longer than its ceiling"),
  };
}

std::vector<ClaimRow> crowds(const Played& fleet, const Seeds& seeds) {
  const double spread3 = published("2.3").figures[1];
  const Column second = spread_of(full, 3, seeds), third = spread_of(full, 4, seeds);
  const auto plausible = [&](const Column& c) {
    const double p = c.share_up_to(spread3);
    return p > .025 && p < .975;
  };
  const Column& peak = fleet(full, "retry_peak_10ms");
  const double claimed = published("2.4").figures[1], ratio = published("2.5").figures[0];
  std::string shares;
  for (int k = 3; k <= 6; ++k) shares += fmt::format("{}{:.2f}", k == 3 ? "" : ", ", peak.share_of(k));
  const double sync = fleet(none, "retry_peak_10ms").mean();
  double mode = peak.low();
  for (double k = peak.low(); k <= peak.high(); ++k) {
    if (peak.share_of(k) > peak.share_of(mode)) mode = k;
  }
  const Column& equal_peak = fleet(equal, "retry_peak_10ms");
  const AnyPolicy equal_policy = policy_named(equal);
  double least = 1;
  for (const std::uint64_t seed : seeds.values())
    least = std::min(least, failing_call(equal_policy, Seed{seed}, 0, 1).front().seconds() / 0.2);
  return {
      judged(
          "2.3",
          fmt::format(
              "full jitter: third call {} ms, {} is percentile {:.0f}; after three waits {} ms, percentile "
              "{:.1f}; without jitter {:.0f} ms",
              middle(second), spread3, 100 * second.share_up_to(spread3), middle(third),
              100 * third.share_up_to(spread3), spread_of(none, 4, seeds).high()),
          plausible(third)    ? Word::ok
          : plausible(second) ? Word::ok_if
                              : Word::wrong,
          "true if round 3 is the third call, so that rounds count the first one; the 5 ms are the network"),
      judged("2.4",
             fmt::format("retries: {:.0f} and {}, P(3, 4, 5, 6) = {}; with the first call {} and {}", sync,
                         middle(peak), shares, spread(fleet(none, "peak_10ms")),
                         spread(fleet(full, "peak_10ms"))),
             sync == published("2.4").figures[0] && peak.share_of(claimed) > .05 &&
                     fleet(full, "peak_10ms").low() == clients
                 ? Word::ok_if
                 : Word::wrong,
             "true if first calls are left out, which the article does not say"),
      judged("2.5",
             fmt::format("{:.3g} most often; {:.2g} to {:.3g} between the 5th and the 95th percentile",
                         sync / mode, sync / peak.quantile(.95), sync / peak.quantile(.05)),
             ok(sync / mode == ratio), "the most frequent ratio of one that varies from run to run"),
      judged("2.10",
             fmt::format(
                 "equal jitter peaks at {}, full at {} in 10 ms; its shortest wait is {:.3f} of the ceiling",
                 middle(equal_peak), middle(peak), least),
             ok(equal_peak.mean() > peak.mean() && least >= 0.5), "[5 %, 95 %] over the runs"),
  };
}

// The text promises, the code decides: both are those of the preset that replays the article's code.
ClaimRow what_is_retried() {
  const AnyPolicy code = policy_named("article-002-retry");
  const auto promised = code.contract().retry_on;
  RG_ASSERT(promised, "the preset promises what the article's text says");
  std::vector<std::string_view> coded, missing, in_neither;
  for (const std::string_view kind :
       {"429", "503", "connection-reset", "timeout", "400", "401", "403", "404"}) {
    const Status status = *parse_status(kind);
    const bool said = promised->contains(status), done = retries_after(code, status);
    if (done) coded.push_back(kind);
    if (said && !done) missing.push_back(kind);
    if (!said && !done) in_neither.push_back(kind);
  }
  return judged("2.13",
                fmt::format("the code retries: {}; it leaves out: {}", fmt::join(coded, ", "),
                            fmt::join(missing, ", ")),
                missing.empty() ? Word::ok : Word::inconsistent,
                fmt::format("{} are not retried in either", fmt::join(in_neither, ", ")));
}

std::vector<ClaimRow> printed_code() {
  std::vector<ClaimRow> rows;
  const auto js = failing_call(none);
  rows.push_back(
      judged("2.7", fmt::format("t0 + {:.0f} ms and the length of a call", js.at(0).seconds() * 1000),
             ok(js.at(0).seconds() * 1000 == published("2.7").figures[0]),
             "base 2^n is the n-th wait counted from 0, not an instant: retry n starts at t0 + base "
             "(2^n - 1) and n calls"));
  const auto& ceilings = published("2.8").figures;
  bool same = true;
  for (std::size_t i = 0; i < 3; ++i) same &= js.at(i).seconds() * 1000 == ceilings[i];
  rows.push_back(judged("2.8", fmt::format("{}; {} calls", joined(js), js.size() + 1), ok(same),
                        "the code has no cap; max counts retries, so an error is sent six times"));
  const LoopRun longest = longest_run({.max = 20}, Duration::us(30'750));
  const LoopRun usual = longest_run({}, Duration::us(30'750));
  rows.push_back(
      judged("2.9",
             fmt::format("up to {:.0f} ms with max=20; {:.0f} ms with max=5", longest.total.seconds() * 1000,
                         usual.total.seconds() * 1000),
             ok(longest.total <= Duration::s(15)),
             "it is tested before the sleep, so a call may go on for one more wait and call; with max=5 "
             "it never binds"));
  const auto after = [](std::optional<std::string_view> header) {
    const auto number = javascript_number(header);
    return number && std::isfinite(*number) ? fmt::format("{:g} ms", node_timeout_ms(*number * 1000))
                                            : "jitter";
  };
  rows.push_back(judged(
      "2.11",
      fmt::format("no header: {}; '3': {}; an HTTP date: {}; '-5': {}; '9999999': {}", after(std::nullopt),
                  after("3"), after("Wed, 21 Oct 2026 07:28:00 GMT"), after("-5"), after("9999999")),
      ok(after(std::nullopt) == "jitter"),
      "Number(null) is 0 and finite, so without a header nobody waits; setTimeout makes 1 ms of "
      "what is below 1 or above 2^31 - 1. Obeying it exactly brings all clients back together"));
  const SleepRun late = printed_sleeps(Duration::ms(200), 1, Duration::ms(-1));
  const SleepRun many = printed_sleeps(Duration::ms(200), 12, std::nullopt);
  rows.push_back(
      judged("2.12",
             fmt::format("aborted beforehand: sleeps {}; after 12 sleeps {} listeners are left",
                         to_string(late.slept), many.listeners),
             ok(late.slept == Duration{} && many.listeners == 0),
             "the abort event does not come again; the listener is removed only when it is called"));
  rows.push_back(what_is_retried());
  return rows;
}

}  // namespace

std::vector<ClaimRow> rate_limited_fleet_claims(const Seeds& seeds) {
  const bool room = seeds.last < std::numeric_limits<std::uint64_t>::max() / (2 * runs_a_seed);
  const Seeds more{seeds.first, room ? seeds.first + runs_a_seed * seeds.count() - 1 : seeds.last};
  const Played fleet("rate-limited-fleet", {}, {none, full, equal, constant}, more);
  std::vector<ClaimRow> rows = totals(fleet);
  append(rows, crowds(fleet, more));
  append(rows, printed_code());
  return rows;
}

}  // namespace retrygate::ci
