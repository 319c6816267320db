// A retry decorator of 20 lines, and a checklist.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/claims.hpp"
#include "ci/claims_waits.hpp"
#include "sim/experiments/calls.hpp"
#include "sim/experiments/printed.hpp"
#include "sim/experiments/published.hpp"
#include "sim/run.hpp"

namespace retrygate::ci {
namespace {

std::vector<ClaimRow> tables(const Seeds& seeds) {
  std::vector<ClaimRow> rows;
  const auto ten = failing_call("exponential:base=500ms,cap=10s,max_attempts=8");
  const auto& f1 = published("4.1").figures;
  bool same = ten.back().seconds() == f1[3];
  for (std::size_t i = 0; i < 3; ++i) same &= ten.at(i).seconds() == f1[i];
  rows.push_back(judged("4.1", joined(ten), ok(same), "the ceilings of the full jitter"));

  const auto four = failing_call("exponential:base=500ms,cap=10s,max_attempts=4");
  const AnyPolicy full = policy_named("full-jitter:base=500ms,cap=10s,max_attempts=4");
  std::vector<double> waited;
  for (const std::uint64_t seed : seeds.values()) {
    for (std::uint64_t client = 0; client < 100; ++client)
      waited.push_back(total(failing_call(full, Seed{seed}, client)).seconds());
  }
  const Column sum = column(waited);
  rows.push_back(judged(
      "4.2",
      fmt::format("{} and {}; at most {} s of waiting, mean {:.3f} s, variance {:.3f} s^2", four.size() + 1,
                  four.size(), total(four).seconds(), sum.mean(), sum.variance()),
      ok(static_cast<double>(four.size()) == published("4.2").figures[1]), "by default the cap never binds"));

  const auto ceilings = decorator_ceilings(0.5, 2, 10, 8);
  const auto above = decorator_ceilings(20, 2, 10, 4);
  bool printed = true;
  for (std::size_t i = 0; i < ceilings.size(); ++i) printed &= ceilings[i] == ten[i].seconds();
  const DrawnLaw full_law = drawn_law("full-jitter:base=500ms,cap=10s,max_attempts=8", ten, 0, seeds);
  rows.push_back(
      judged("4.3", full_law.text, ok(full_law.fits && printed),
             fmt::format("the printed loop has the ceilings of 4.1; with base 20 s above max 10 s it takes "
                         "{} s each time",
                         above.front())));
  const DrawnLaw equal_law = drawn_law("equal-jitter:base=500ms,cap=10s,max_attempts=8", ten, 0.5, seeds);
  rows.push_back(
      judged("4.4", equal_law.text, ok(equal_law.fits), "described; the printed code has full jitter only"));
  return rows;
}

ClaimRow evenly(const Seeds& seeds) {
  constexpr std::int64_t clients = 1000;
  const Busiest storm = busiest("full-jitter:base=500ms,cap=10s,max_attempts=4", clients, 3, seeds);
  const double span = total(failing_call("exponential:base=500ms,cap=10s,max_attempts=4")).seconds();
  const double average = clients * 3 * 0.1 / span;
  return judged(
      "4.5",
      fmt::format("{} clients, busiest 0.1 s: {} retries against {:.3g} if they were even", clients,
                  give_or_take(storm.storm_100ms), average),
      storm.storm_100ms.mean() > 2 * average ? Word::imprecise : Word::ok,
      "as in 1.8: one wait is uniform, the sum of several is not (+- is two standard errors over the seeds)");
}

// The article has no code: its printed policy against a server that needs twice the caller's patience, so
// that every first result is missed.
Totals repeats(std::string_view memory) {
  constexpr std::string_view world = R"(
clients = 1000
idempotent = false
attempt_timeout = "50ms"
stages = [{}{{ kind = "service", time = "100ms" }}])";
  const auto table = parse_toml(fmt::format(world, memory), "4.9");
  RG_ASSERT(table, to_string(table.error()));
  const auto scenario = read_scenario("4.9", *table);
  RG_ASSERT(scenario, to_string(scenario.error()));
  const auto totals = run(policy_named("full-jitter:base=500ms,cap=10s,max_attempts=4"), *scenario, Seed{1});
  RG_ASSERT(totals, to_string(totals.error()));
  return *totals;
}

ClaimRow with_a_key() {
  const Totals keyed = repeats("{ kind = \"deduplication\" }, ");
  const Totals bare = repeats("");
  const Totals forgotten = repeats("{ kind = \"deduplication\", remember = \"1ms\" }, ");
  const bool once = keyed.duplicates == 0 && keyed.succeeded == keyed.calls && bare.duplicates > 0;
  return judged("4.9",
                fmt::format("with a key {} of {} calls succeed, {} are processed again; without {} and {}",
                            keyed.succeeded, keyed.calls, keyed.duplicates, bare.succeeded, bare.duplicates),
                !once                      ? Word::wrong
                : forgotten.duplicates > 0 ? Word::ok_if
                                           : Word::ok,
                "the server remembers a key for as long as repeats come; forgotten after 1 ms, requests are "
                "processed again. Ours is 100 ms of service for callers who wait 50 ms");
}

std::vector<ClaimRow> boundaries(const Seeds& seeds) {
  std::vector<ClaimRow> rows;
  const auto retried = [](std::string_view name) {
    return is_a(name, "TimeoutError") || is_a(name, "ConnectionError");
  };
  const auto word = [&](std::string_view name) { return retried(name) ? "yes" : "no"; };
  rows.push_back(judged(
      "4.6",
      fmt::format(
          "by default: requests.Timeout {}, requests.ConnectionError {}, requests.HTTPError {}, builtin "
          "ConnectionResetError {}",
          word("requests.Timeout"), word("requests.ConnectionError"), word("requests.HTTPError"),
          word("ConnectionResetError")),
      ok(retried("requests.Timeout") && retried("requests.HTTPError")),
      "the code knows no status codes, and the exceptions of requests do not derive from the builtin ones, "
      "so "
      "the defaults never retry it"));
  const LoopEnding four = retry_decorator(4), zero = retry_decorator(0);
  rows.push_back(
      judged("4.7",
             fmt::format("4 calls: the error of call {}; max_attempts=0: {} calls, {}", four.error_of_call,
                         zero.calls, zero.how == Ending::returns_none ? "returns None" : "raises"),
             ok(four.how == Ending::raises_the_last_error && four.error_of_call == 4),
             "a bare raise; max_attempts=0 goes by without a word"));
  const AnyPolicy limited = policy_named("full-jitter:base=500ms,cap=10s,max_attempts=4,deadline=3s");
  std::vector<double> waited;
  for (const std::uint64_t seed : seeds.values()) {
    for (std::uint64_t client = 0; client < 100; ++client)
      waited.push_back(total(failing_call(limited, Seed{seed}, client)).seconds());
  }
  const double longest = total(failing_call("exponential:base=500ms,cap=10s,max_attempts=4")).seconds();
  rows.push_back(judged(
      "4.8",
      fmt::format("waits of up to {} s; with deadline=3s of up to {:.3f} s", longest, column(waited).high()),
      Word::open,
      "the checklist asks for it and the printed code has no deadline to test; a retrygate policy has"));
  rows.push_back(with_a_key());
  rows.push_back(
      judged("4.10", "-", Word::open, "advice without code or figures: a review decides it, not a run"));
  return rows;
}

}  // namespace

std::vector<ClaimRow> decorator_claims(const Seeds& seeds) {
  std::vector<ClaimRow> rows = tables(seeds);
  rows.push_back(evenly(seeds));
  append(rows, boundaries(seeds));
  return rows;
}

}  // namespace retrygate::ci
