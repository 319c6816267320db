// What the cases of reference/ do not hold: times that differ by rounding, curves that end level.
#include "stats/survival.hpp"

#include <gtest/gtest.h>

namespace retrygate::stats {
namespace {

// R's survival 3.5-3: quantile(survfit(Surv(c(1, 2, 3, 4), c(1, 1, 0, 0)) ~ 1), c(.25, .5, .75)).
TEST(Survival, LevelToTheEnd) {
  const SurvivalCurve curve = kaplan_meier(
      std::vector<Lifetime>{{1, true}, {2, true}, {3, false}, {4, false}}, 0.95, SurvivalScale::log);
  EXPECT_EQ(curve.quantile(0.25), 1.5);
  EXPECT_EQ(curve.quantile(0.5), 3.0);  // between the last event and the last time
  EXPECT_EQ(curve.quantile(0.75), std::nullopt);
  EXPECT_EQ(curve.quantile_low(0.75), 2.0);
  EXPECT_EQ(curve.quantile_high(0.5), std::nullopt);
}

// 0.1 + 0.2 and 0.3 are one time; R's survfit says so too (timefix).
TEST(Survival, TimesThatDifferByRounding) {
  const SurvivalCurve curve = kaplan_meier(std::vector<Lifetime>{{0.1 + 0.2, true}, {0.3, true}, {1, false}},
                                           0.95, SurvivalScale::plain);
  ASSERT_EQ(curve.steps.size(), 1);
  EXPECT_EQ(curve.steps[0].events, 2);
  EXPECT_DOUBLE_EQ(curve.steps[0].survival, 1.0 / 3);
  // In nanoseconds a difference of one is real, however small the numbers are in seconds.
  EXPECT_EQ(
      kaplan_meier(std::vector<Lifetime>{{1e-9, true}, {2e-9, true}}, 0.95, SurvivalScale::log).steps.size(),
      2);
}

// Without censoring the restricted mean is the mean of min(time, tau).
TEST(Survival, RestrictedMeanWithoutCensoring) {
  const SurvivalCurve curve =
      kaplan_meier(std::vector<Lifetime>{{1, true}, {4, true}, {10, true}}, 0.95, SurvivalScale::log);
  EXPECT_DOUBLE_EQ(restricted_mean(curve, 6).mean, (1 + 4 + 6) / 3.0);
  EXPECT_DOUBLE_EQ(restricted_mean(curve, 20).mean, 5);
  EXPECT_TRUE(restricted_mean(curve, 20).beyond_last_time);
}

// A group that is never at risk when something happens adds no degree of freedom and no NaN.
TEST(LogRank, GroupThatIsGoneBeforeTheFirstEvent) {
  const std::vector<GroupedLifetime> lives{
      {{5, true}, 0, 0}, {{7, true}, 0, 0}, {{6, true}, 1, 0}, {{8, false}, 1, 0}, {{1, false}, 2, 0}};
  const LogRank with = log_rank(lives, 3, 0);
  const LogRank without = log_rank(std::span(lives).first(4), 2, 0);
  EXPECT_EQ(with.dof, 1);
  EXPECT_NEAR(*with.chi_square, *without.chi_square, 1e-14);
  EXPECT_NEAR(*with.p, *without.p, 1e-14);
}

}  // namespace
}  // namespace retrygate::stats
