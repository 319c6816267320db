// The faults that gates have and nobody notices: one that cannot fail, a test that is blind to what is asked,
// and clients counted as if they were independent. Each shows the fault in what others do, and that ours is
// without it.
#include <gtest/gtest.h>

#include <cmath>

#include "ci/gate.hpp"
#include "ci/suite.hpp"
#include "sim/sweep.hpp"
#include "stats/decide.hpp"
#include "stats/distributions.hpp"
#include "stats/mann_whitney.hpp"
#include "stats/sample.hpp"
#include "stats/student.hpp"

namespace retrygate::ci {
namespace {

double gaussian(Rng& rng) { return stats::normal_quantile(rng.unit() + 0x1p-54); }

stats::Question question_about(std::vector<double> baseline, std::vector<double> candidate, double margin,
                               bool relative) {
  stats::Question q;
  q.pairs = {std::move(baseline), std::move(candidate), relative};
  q.margin = margin;
  return q;
}

stats::Answer answer_to(const stats::Question& q) {
  return stats::decide(std::vector{q}, Seed{1})->front().answer;
}

// Every metric of the shipped suite, made worse than its margin in every seed of the real pipeline, fails;
// left alone it passes. A gate that reads the wrong column, or turns a sign, cannot do both.
TEST(NotBlind, EveryMarginOfTheShippedSuiteCanFail) {
  const auto suite = find_suite("");
  ASSERT_TRUE(suite);
  for (const CompareTask& task : suite->compare) {
    std::vector<std::string> ids;
    std::vector<std::uint64_t> seeds;
    for (const Margin& margin : task.margins) ids.push_back(margin.metric);
    for (std::uint64_t seed = 1; seed <= 100; ++seed) seeds.push_back(seed);
    const auto table = sweep({task.baseline}, {task.scenarios.front()}, seeds, ids);
    ASSERT_TRUE(table);
    const double horizon = task.scenarios.front().horizon.seconds();
    for (std::size_t m = 0; m < ids.size(); ++m) {
      const Margin& margin = task.margins[m];
      const bool lower = find_metric(ids[m])->better == Better::lower;
      std::vector<double> same, worse;
      for (std::size_t i = 0; i < seeds.size(); ++i) {
        const double value = table->cells[0].samples[m][i].value_or(horizon);
        const double change = (margin.relative ? *margin.amount * value : *margin.amount) * 1.5;
        same.push_back(value);
        // Not by the same amount everywhere.
        worse.push_back(value + (lower ? 1 : -1) * change * (i % 2 == 0 ? 0.9 : 1.1));
      }
      if (margin.relative && stats::mean(same) == 0) continue;
      stats::Question q = question_about(same, worse, *margin.amount, margin.relative);
      q.lower_is_better = lower;
      EXPECT_EQ(answer_to(q), stats::Answer::fail) << ids[m];
      std::swap(q.pairs.baseline, q.pairs.candidate);
      EXPECT_EQ(answer_to(q), stats::Answer::pass) << ids[m];
    }
  }
}

// One seed of ten ends in a disaster, the others are a little better: ranks see an improvement, users do not.
TEST(NotBlind, RanksDoNotSeeATailAndWeDo) {
  Rng rng(Seed{3});
  std::vector<double> b, c;
  for (int i = 0; i < 200; ++i) {
    b.push_back(10 + gaussian(rng));
    c.push_back(b.back() + (i % 10 == 0 ? 30 + gaussian(rng) : -0.3 + 0.1 * gaussian(rng)));
  }
  EXPECT_GT(stats::mann_whitney(c, b).p_greater, 0.05);  // blind: not worse, as far as it can tell
  stats::Question q = question_about(b, c, 1, false);
  EXPECT_EQ(answer_to(q), stats::Answer::fail);
  q.method = stats::Deciding::signed_rank;
  EXPECT_EQ(answer_to(q), stats::Answer::pass);  // whoever names ranks asks about the middle, and is told so
}

// The same mean with three times the spread: no test of place can see it, the 99th percentile of every seed
// does. The shipped suite therefore asks for an extreme of every run.
TEST(NotBlind, SpreadIsSeenByMetricsOfTheTail) {
  Rng rng(Seed{4});
  std::vector<double> mean_b, mean_c, p99_b, p99_c, pool_b, pool_c;
  for (int seed = 0; seed < 60; ++seed) {
    std::vector<double> b, c;
    for (int call = 0; call < 400; ++call) {
      b.push_back(1 + 0.1 * gaussian(rng));
      c.push_back(1 + 0.3 * gaussian(rng));
    }
    pool_b.insert(pool_b.end(), b.begin(), b.begin() + 20);
    pool_c.insert(pool_c.end(), c.begin(), c.begin() + 20);
    mean_b.push_back(stats::mean(b));
    mean_c.push_back(stats::mean(c));
    p99_b.push_back(stats::sorted(b)[395]);
    p99_c.push_back(stats::sorted(c)[395]);
  }
  EXPECT_GT(stats::mann_whitney(pool_c, pool_b).p_greater, 0.01);
  EXPECT_EQ(answer_to(question_about(mean_b, mean_c, 0.1, true)), stats::Answer::pass);
  EXPECT_EQ(answer_to(question_about(p99_b, p99_c, 0.1, true)), stats::Answer::fail);
  const auto suite = find_suite("");
  ASSERT_TRUE(suite);
  for (const CompareTask& task : suite->compare) {
    EXPECT_TRUE(std::any_of(task.margins.begin(), task.margins.end(), [](const Margin& m) {
      return m.metric == "completion_s" || m.metric.starts_with("peak_") || m.metric.ends_with("p99_s");
    })) << task.baseline.name;
  }
}

// Twenty storms of 200 clients that share their storm's fate. Clients as units make 4000 values of 20: their
// test cries wolf most of the time, although nothing differs. Ours counts storms. 200 runs: 27 or fewer false
// alarms at 5 % with probability 1 - 1e-5 (binomial).
TEST(NotBlind, SeedsAreTheUnitAndClientsAreNot) {
  int by_clients = 0, by_seeds = 0;
  constexpr int runs = 200;
  for (int run = 0; run < runs; ++run) {
    Rng rng = StreamKey(Seed{5}, Stream::generator).at(static_cast<std::uint64_t>(run));
    std::vector<double> clients_b, clients_c, b, c;
    for (int seed = 0; seed < 20; ++seed) {
      for (auto* arm : {&clients_b, &clients_c}) {
        const double fate = gaussian(rng);
        for (int client = 0; client < 200; ++client) arm->push_back(10 + fate + gaussian(rng));
      }
      const auto last = [](const std::vector<double>& x) { return stats::mean({x.end() - 200, x.end()}); };
      b.push_back(last(clients_b));
      c.push_back(last(clients_c));
    }
    by_clients +=
        *stats::t_welch(clients_c, clients_b, {0, stats::Alternative::greater, 0.95}).p_value <= 0.05;
    by_seeds += answer_to(question_about(b, c, 0, false)) == stats::Answer::fail;
  }
  EXPECT_GT(by_clients, runs / 3);
  EXPECT_LE(by_seeds, 27);
  // And the pipeline counts seeds: 200 clients a storm, 40 storms.
  const auto policy = find_policy("full-jitter", {}), other = find_policy("equal-jitter", {});
  Suite suite;
  suite.compare.push_back({*policy,
                           {*other},
                           {*find_scenario("outage-then-limit", {})},
                           {1, 40},
                           {*parse_margin("latency_mean_s", "10%", {})},
                           {}});
  const auto gate = run_gate(suite, {});
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->report.comparisons.at(0).seeds, 40u);
}

}  // namespace
}  // namespace retrygate::ci
