// The shipped suite `ladder`: what is certain about each step, on fewer seeds than the suite has.
#include <gtest/gtest.h>

#include <algorithm>

#include "ci/gate.hpp"

namespace retrygate::ci {
namespace {

const std::vector<ComparisonRow>& ladder_rows() {
  static const std::vector<ComparisonRow> all = [] {
    Suite suite = *find_suite("ladder");
    for (CompareTask& task : suite.compare) task.seeds = {1, 12};
    return run_gate(suite, GateOptions{})->report.comparisons;
  }();
  return all;
}

ComparisonRow step_of(std::string_view scenario, std::string_view candidate, std::string_view metric) {
  const auto at = std::find_if(ladder_rows().begin(), ladder_rows().end(), [&](const ComparisonRow& r) {
    return r.scenario == scenario && r.candidate == candidate && r.metric == metric;
  });
  RG_ASSERT(at != ladder_rows().end(), metric);
  return *at;
}

TEST(Ladder, EveryStepHasItsSignsAgainstAServerThatRecovers) {
  const auto of = [](std::string_view candidate, std::string_view metric) {
    return step_of("outage-then-limit", candidate, metric);
  };
  // The figures without jitter are arithmetic (sim/run_test.cpp): 2400 requests at once and nobody
  // succeeds; 7.5 requests a call and all succeed by 5.55 s; 9.2 and 40 give up.
  EXPECT_EQ(of("fixed", "gave_up").baseline_mean, 200);
  EXPECT_EQ(of("fixed", "gave_up").candidate_mean, 0);
  EXPECT_EQ(of("fixed", "completion_s").baseline_mean, 60);
  EXPECT_DOUBLE_EQ(of("fixed", "completion_s").candidate_mean.value(), 5.55);
  EXPECT_EQ(of("exponential", "gave_up").candidate_mean, 40);
  EXPECT_DOUBLE_EQ(of("exponential", "amplification").candidate_mean.value(), 9.2);
  EXPECT_EQ(of("exponential", "peak_1s").candidate_mean, 800);
  // Jitter: all succeed with fewer requests, while its first waves overlap.
  EXPECT_EQ(of("full-jitter", "gave_up").candidate_mean, 0);
  EXPECT_LT(of("full-jitter", "completion_s").high.value(), -0.5);  // relative
  EXPECT_LT(of("full-jitter", "amplification").high.value(), 0);
  EXPECT_GT(of("full-jitter", "peak_100ms").low.value(), 0);
}

TEST(Ladder, OnlyFewerRetriesEmptyAQueueThatStaysFull) {
  const auto of = [](std::string_view candidate, std::string_view metric) {
    return step_of("metastable-queue", candidate, metric);
  };
  // 85 % of the capacity times more than 1 / 0.85 requests a call is more than the server can do: it stays
  // full.
  for (const char* waiting : {"fixed", "exponential", "full-jitter"}) {
    EXPECT_EQ(of(waiting, "collapse").candidate_mean, 1) << waiting;
    EXPECT_EQ(of(waiting, "recovery_s").candidate_mean, 30) << waiting;  // the horizon: never
    EXPECT_EQ(step_of("metastable-queue", waiting, "collapse").effect, 0) << waiting;
  }
  // Doubling waits put requests off until after the end; jitter halves the waits again.
  EXPECT_LT(of("exponential", "amplification").high.value(), 0);
  EXPECT_GT(of("full-jitter", "amplification").low.value(), 0);
  // One retry per ten calls: at most 1.1 requests a call, 94 % of the capacity, and the queue empties.
  EXPECT_EQ(of("jitter-and-budget", "collapse").candidate_mean, 0);
  EXPECT_LE(of("jitter-and-budget", "amplification").candidate_mean.value(), 1.1);
  EXPECT_LT(of("jitter-and-budget", "recovery_s").candidate_mean.value(), 15);
  // A breaker sends less still, and some calls fail that would have succeeded.
  EXPECT_LT(of("jitter-budget-and-breaker", "peak_1s").high.value(), 0);
  EXPECT_LT(of("jitter-budget-and-breaker", "success_rate").high.value(), 0);
}

}  // namespace
}  // namespace retrygate::ci
