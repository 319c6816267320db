// What the parts cost: a decision, a run, a test, a check. `ci/run-bench parts`; compare two builds with
// --benchmark_out and Google Benchmark's compare.py.
#include <benchmark/benchmark.h>

#include <cmath>

#include "policies/composed.hpp"
#include "policies/named.hpp"
#include "properties/check.hpp"
#include "sim/run.hpp"
#include "stats/decide.hpp"
#include "stats/permutation.hpp"
#include "stats/signed_rank.hpp"

namespace retrygate {
namespace {

NamedPolicy policy(const char* reference) { return *find_policy(reference, {}); }

// One decision through AnyPolicy, its random numbers included.
void decision(benchmark::State& state, const char* reference) {
  const AnyPolicy p = policy(reference).policy;
  alignas(std::max_align_t) std::byte client[client_slot_bytes], call[call_slot_bytes];
  p.start_client(client);
  p.start_call(call);
  const StreamKey key(Seed{1}, Stream::policy);
  Attempt attempt;
  attempt.outcome.status = Status::http(503);
  std::uint64_t i = 0;
  for (auto _ : state) {
    attempt.number = static_cast<std::int64_t>(i % 11) + 1;
    Rng rng = key.at(i, 0, i % 11);
    benchmark::DoNotOptimize(p.after(client, call, attempt, rng));
    ++i;
  }
}
BENCHMARK_CAPTURE(decision, immediate, "immediate");
BENCHMARK_CAPTURE(decision, exponential, "exponential");
BENCHMARK_CAPTURE(decision, full_jitter, "full-jitter");
BENCHMARK_CAPTURE(decision, decorrelated, "decorrelated");

// One run of a scenario; items are requests.
void one_run(benchmark::State& state, const char* scenario_id, const char* reference) {
  const NamedPolicy p = policy(reference);
  const Scenario scenario = *find_scenario(scenario_id, {});
  std::uint64_t seed = 0;
  std::int64_t requests = 0;
  for (auto _ : state) {
    const auto totals = run(p.policy, scenario, Seed{++seed});
    requests += totals->requests;
  }
  state.SetItemsProcessed(requests);
}
BENCHMARK_CAPTURE(one_run, storm_full_jitter, "outage-then-limit", "full-jitter");
BENCHMARK_CAPTURE(one_run, storm_decorrelated, "outage-then-limit", "decorrelated");
BENCHMARK_CAPTURE(one_run, lan_full_jitter, "outage-then-limit-lan", "full-jitter");
BENCHMARK_CAPTURE(one_run, rate_limited, "rate-limited-fleet", "exponential");
BENCHMARK_CAPTURE(one_run, flaky, "flaky-service", "full-jitter")->Unit(benchmark::kMillisecond);

// 8 metrics of two policies over 200 seeds, with skew.
std::vector<stats::Question> questions() {
  Rng rng(Seed{1});
  std::vector<stats::Question> all(8);
  for (stats::Question& q : all) {
    for (int i = 0; i < 200; ++i) {
      q.pairs.baseline.push_back(-std::log(1 - rng.unit()));
      q.pairs.candidate.push_back(-std::log(1 - rng.unit()));
    }
    q.margin = 0.1;
  }
  return all;
}

void bootstrap(benchmark::State& state) {
  std::vector<stats::Pairs> pairs;
  for (const stats::Question& q : questions()) pairs.push_back(q.pairs);
  for (auto _ : state) benchmark::DoNotOptimize(stats::bootstrap_t(pairs, 10'000, Seed{1}));
}
BENCHMARK(bootstrap)->Unit(benchmark::kMillisecond);

void decide(benchmark::State& state) {
  const auto asked = questions();
  for (auto _ : state) benchmark::DoNotOptimize(stats::decide(asked, Seed{1}));
}
BENCHMARK(decide)->Unit(benchmark::kMillisecond);

void signed_rank(benchmark::State& state) {
  std::vector<double> d = questions()[0].pairs.baseline;
  d.resize(static_cast<std::size_t>(state.range(0)));
  for (double& v : d) v -= 1;
  for (auto _ : state) benchmark::DoNotOptimize(stats::signed_rank(d));
}
BENCHMARK(signed_rank)->Arg(20)->Arg(60)->Arg(200);

void sign_flips(benchmark::State& state) {
  std::vector<double> d = questions()[0].pairs.baseline;
  d.resize(static_cast<std::size_t>(state.range(0)));
  for (double& v : d) v -= 1;
  for (auto _ : state) benchmark::DoNotOptimize(stats::flip_signs(d, stats::Centre::mean));
}
BENCHMARK(sign_flips)->Arg(20)->Arg(200)->Unit(benchmark::kMillisecond);

void check_subject(benchmark::State& state, const char* reference) {
  const NamedPolicy p = policy(reference);
  const Subject subject{p.name, p.policy, p.policy.contract()};
  for (auto _ : state) benchmark::DoNotOptimize(check(subject));
}
BENCHMARK_CAPTURE(check_subject, exponential, "exponential")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_subject, full_jitter, "full-jitter")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace retrygate

BENCHMARK_MAIN();
