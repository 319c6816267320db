// What the cases of reference/ do not reach: ties up to rounding, plans whose answer is known beforehand.
#include <gtest/gtest.h>

#include <cmath>

#include "stats/distributions.hpp"
#include "stats/power.hpp"
#include "stats/proportions.hpp"

namespace retrygate::stats {
namespace {

// With p0 = 1/3 two trials have 0 and 1 successes equally often, 4/9 each; in doubles they differ.
TEST(BinomialTest, EqualUpToRounding) { EXPECT_DOUBLE_EQ(binomial_test({1, 2}, 1.0 / 3).p_two_sided, 1); }

TEST(BinomialTest, CertainHypotheses) {
  EXPECT_EQ(binomial_test({0, 5}, 0).p_two_sided, 1);
  EXPECT_EQ(binomial_test({1, 5}, 0).p_two_sided, 0);
  EXPECT_EQ(binomial_test({5, 5}, 1).p_two_sided, 1);
  EXPECT_EQ(binomial_test({4, 5}, 1).p_less, 0);
}

// P(K <= 4) of 5 fair coins is 31/32 exactly: the quantile there is 4, not 5 because of rounding.
TEST(BinomialQuantile, ExactStep) {
  EXPECT_EQ(binomial_quantile(31.0 / 32, 5, 0.5), 4);
  EXPECT_EQ(binomial_quantile(0.025, 100, 0.95), 90);  // R: qbinom(0.025, 100, 0.95)
  EXPECT_EQ(binomial_quantile(1, 5, 0.5), 5);
  EXPECT_EQ(binomial_quantile(0, 5, 0.5), 0);
}

// The size that has exactly the power asked for is found again, whichever way rounding went.
TEST(SampleSize, FindsTheSizeAgain) {
  TPlan plan;
  plan.delta = 0.8;
  for (std::int64_t n = 3; n <= 60; ++n)
    EXPECT_EQ(whole_sample_size_t(plan, power_t(plan, static_cast<double>(n))), n);
}

// A one-sided test of one probability: 0.5^5 = 1/32 is the size of "all five", and alpha = 1/32 rejects.
TEST(BinomialPower, LevelReachedExactly) {
  const BinomialPower power = power_binomial(5, 0.5, 0.9, 1.0 / 32, Alternative::greater);
  EXPECT_EQ(power.critical_high, 5);
  EXPECT_DOUBLE_EQ(power.size, 1.0 / 32);
  EXPECT_NEAR(power.power, std::pow(0.9, 5), 1e-15);
}

}  // namespace
}  // namespace retrygate::stats
