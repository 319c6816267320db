// Clients that contend for one row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "ci/claims.hpp"
#include "sim/experiments/calls.hpp"
#include "sim/experiments/occ.hpp"
#include "sim/experiments/published.hpp"

namespace retrygate::ci {
namespace {

// The program's backoff of base 5 ms starts with exponent 1, so ours has base 10 ms.
enum Kind { exponential, decorrelated, equal, full, none };
constexpr std::array policies = {
    "exponential:base=10ms,cap=2s,max_attempts=1000000", "decorrelated:base=5ms,cap=2s,max_attempts=1000000",
    "equal-jitter:base=10ms,cap=2s,max_attempts=1000000", "full-jitter:base=10ms,cap=2s,max_attempts=1000000",
    "immediate:max_attempts=1000000"};
constexpr std::array sizes = {10, 50, 100, 150, 190};

struct Contended {
  std::array<Column, policies.size()> calls, time_s;
  std::array<std::vector<double>, policies.size()> calls_of, time_s_of;  // seed by seed
};

// Is a above b? By the 95 % interval of the difference seed by seed; nothing when it holds 0.
std::optional<bool> above(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  const Paired p = paired(differences);
  if (p.low > 0) return true;
  if (p.high < 0) return false;
  return std::nullopt;
}

// A claim that was made at 100 clients, looked at with more of them too.
Word at_both(std::optional<bool> hundred, std::optional<bool> most) {
  if (!hundred || !most) return Word::open;
  if (!*hundred) return Word::wrong;
  return *most ? Word::ok : Word::ok_if;
}
std::string decided(Word word, std::string why) {
  return word == Word::open ? "needs more seeds: the interval of the difference holds 0" : std::move(why);
}

Contended play(std::int64_t clients, const Seeds& seeds) {
  Contended study;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    Contention contention(policy_named(policies[p]), clients);
    std::vector<double> calls, time_s;
    for (const std::uint64_t seed : seeds.values()) {
      const OccTotals totals = contention.run(Seed{seed});
      calls.push_back(static_cast<double>(totals.calls));
      time_s.push_back(totals.time.seconds());
    }
    study.calls[p] = column(calls);
    study.time_s[p] = column(time_s);
    study.calls_of[p] = std::move(calls);
    study.time_s_of[p] = std::move(time_s);
  }
  return study;
}

std::string listed(const std::array<Column, policies.size()>& columns) {
  std::string text;
  for (const Column& c : columns) text += fmt::format("{}{:.5g}", text.empty() ? "" : ", ", c.mean());
  return text;
}

// Do both means agree? Five standard errors of their difference, with 100 published runs.
bool agree(const Column& ours, double theirs) {
  const double se = std::sqrt(ours.variance() * (1.0 / static_cast<double>(ours.values.size()) + 1.0 / 100));
  return std::abs(ours.mean() - theirs) < 5 * se;
}

ClaimRow table(std::size_t i, const Contended& at) {
  const std::string row = fmt::format("5.{}", i + 8);
  const auto& figures = published(row).figures;
  bool same = true;
  for (std::size_t p = 0; p < policies.size(); ++p)
    same &= agree(at.calls[p], figures[p]) && agree(at.time_s[p], figures[policies.size() + p]);
  return judged(row, fmt::format("{} calls; {} s", listed(at.calls), listed(at.time_s)), ok(same),
                "exponential, decorrelated, equal jitter, full jitter, no backoff; OK within five standard "
                "errors of the "
                "difference of the means");
}

}  // namespace

std::vector<ClaimRow> occ_contention_claims(const Seeds& seeds) {
  std::vector<Contended> studies;
  for (const int clients : sizes) studies.push_back(play(clients, seeds));
  const Contended &few = studies.front(), &hundred = studies[2], &most = studies.back();
  const auto calls = [](const Contended& at, Kind kind) { return at.calls[kind].mean(); };
  const auto time_s = [](const Contended& at, Kind kind) { return at.time_s[kind].mean(); };
  std::vector<ClaimRow> rows;

  const double times = calls(hundred, exponential) / calls(hundred, full);
  rows.push_back(judged("5.1",
                        fmt::format("{:.3g} times: {:.5g} instead of {:.5g} calls", times,
                                    calls(hundred, full), calls(hundred, exponential)),
                        ok(times > published("5.1").figures[0]), "mean over the seeds"));
  rows.push_back(
      judged("5.2",
             fmt::format("{:.3g} instead of {:.3g} s; without any backoff {:.3g} s", time_s(hundred, full),
                         time_s(hundred, exponential), time_s(hundred, none)),
             ok(time_s(hundred, full) < time_s(hundred, exponential)),
             "calls are saved at the price of time: retrying at once is fastest"));
  bool loser = true;
  for (const Contended& at : studies) {
    for (const Kind kind : {decorrelated, equal, full})
      loser &= calls(at, exponential) > calls(at, kind) && time_s(at, exponential) > time_s(at, kind);
  }
  rows.push_back(judged(
      "5.3",
      fmt::format("190 clients: {:.5g} calls in {:.4g} s; the worst with jitter {:.5g} calls, {:.3g} s",
                  calls(most, exponential), time_s(most, exponential),
                  std::max({calls(most, decorrelated), calls(most, equal), calls(most, full)}),
                  std::max({time_s(most, decorrelated), time_s(most, equal), time_s(most, full)})),
      ok(loser), "at 10, 50, 100, 150 and 190 clients"));
  bool alike = true;
  double furthest = 0;
  for (std::size_t i = 1; i < studies.size(); ++i) {  // from 50 clients on
    furthest = std::max(furthest, std::abs(calls(studies[i], equal) / calls(studies[i], full) - 1));
    alike &= calls(studies[i], decorrelated) > std::max(calls(studies[i], equal), calls(studies[i], full));
  }
  const bool always_more = calls(few, decorrelated) > std::max(calls(few, equal), calls(few, full));
  rows.push_back(
      judged("5.4",
             fmt::format("equal and full differ by at most {:.1f} % from 50 clients on; 10 clients: full "
                         "{:.4g}, equal {:.4g}, decorrelated {:.4g}",
                         100 * furthest, calls(few, full), calls(few, equal), calls(few, decorrelated)),
             !alike || furthest > .1 ? Word::wrong
             : always_more           ? Word::ok
                                     : Word::ok_if,
             "true from 50 clients on; of 10 clients decorrelated jitter asks least"));
  const auto more = [&](const Contended& at) { return 100 * (calls(at, equal) / calls(at, full) - 1); };
  const auto longer = [&](const Contended& at) { return 100 * (time_s(at, equal) / time_s(at, full) - 1); };
  const auto more_calls = [](const Contended& at) { return above(at.calls_of[equal], at.calls_of[full]); };
  const Word word5 = longer(hundred) > 10 && longer(most) > 10
                         ? at_both(more_calls(hundred), more_calls(most))
                         : Word::wrong;
  rows.push_back(judged(
      "5.5",
      fmt::format("{:+.1f} % calls and {:+.0f} % time with 100 clients, {:+.1f} % and {:+.0f} % with 190",
                  more(hundred), longer(hundred), more(most), longer(most)),
      word5,
      decided(word5,
              "the time in every case; the calls only up to about 150 clients, beyond them equal "
              "jitter makes slightly fewer")));
  const auto slower = [](const Contended& at) {
    return above(at.time_s_of[full], at.time_s_of[decorrelated]);
  };
  const Word word6 = calls(hundred, full) < calls(hundred, decorrelated)
                         ? at_both(slower(hundred), slower(most))
                         : Word::wrong;
  rows.push_back(
      judged("5.6",
             fmt::format("100 clients: {:.4g} and {:.4g} calls, {:.3g} and {:.3g} s; 190 clients: {:.3g} and "
                         "{:.3g} s",
                         calls(hundred, full), calls(hundred, decorrelated), time_s(hundred, full),
                         time_s(hundred, decorrelated), time_s(most, full), time_s(most, decorrelated)),
             word6,
             decided(word6,
                     "full, then decorrelated jitter; the time only up to about 100 clients, beyond them "
                     "full jitter is faster too")));
  const auto exponent = [&](Kind kind) {
    return std::log(calls(most, kind) / calls(studies[1], kind)) / std::log(190.0 / 50);
  };
  rows.push_back(
      judged("5.7",
             fmt::format("from 50 to 190 clients: N^{:.2f} without backoff, {:.2f} exponential, {:.2f} "
                         "decorrelated, {:.2f} equal, {:.2f} full jitter",
                         exponent(none), exponent(exponential), exponent(decorrelated), exponent(equal),
                         exponent(full)),
             exponent(full) > 1.9    ? Word::ok
             : exponent(full) > 1.05 ? Word::imprecise
                                     : Word::wrong,
             "more than linear with every policy, but at these sizes well below the square with jitter"));
  for (std::size_t i = 0; i < sizes.size(); ++i) rows.push_back(table(i, studies[i]));
  return rows;
}

}  // namespace retrygate::ci
