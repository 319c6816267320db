// What the cases of reference/ do not hold: the other direction, and data without a ratio.
#include "stats/equivalence.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace retrygate::stats {
namespace {

const std::vector<double> shorter{3, 5, 4, 8, 6, 7}, longer{4, 9, 6, 6, 8, 9, 7};

// "shorter is not worse than longer where larger is better" is the question about -shorter and -longer where
// larger is worse.
TEST(NonInferiority, LargerIsBetter) {
  std::vector<double> minus_x, minus_y;
  for (const double v : shorter) minus_x.push_back(-v);
  for (const double v : longer) minus_y.push_back(-v);
  const NonInferiority better = noninferiority_welch(shorter, longer, 4, 0.05, Larger::better);
  const NonInferiority worse = noninferiority_welch(minus_x, minus_y, 4, 0.05, Larger::worse);
  EXPECT_DOUBLE_EQ(*better.p, *worse.p);
  EXPECT_DOUBLE_EQ(*better.bound, -*worse.bound);
  EXPECT_EQ(better.noninferior, worse.noninferior);
  EXPECT_GT(*noninferiority_welch(shorter, longer, 4, 0.05, Larger::worse).bound, better.estimate);
}

// The interval of level 1 - 2 alpha lies inside the margins exactly when the test says equivalent.
TEST(Equivalence, TestAndIntervalAgree) {
  for (const double margin : {1.0, 2.0, 2.9, 3.0, 3.1, 3.5, 4.0, 6.0}) {
    const auto sides = *tost_welch(shorter, longer, {-margin, margin}, 0.05).sides;
    EXPECT_EQ(sides.equivalent, sides.interval.low > -margin && sides.interval.high < margin) << margin;
  }
}

TEST(Fieller, WithoutSpreadOrWithoutADenominator) {
  const FiellerRatio zero = ratio_unpaired(shorter, std::vector<double>{-1, 1}, 0.95);
  EXPECT_EQ(zero.status, Status::undefined);
  EXPECT_FALSE(zero.estimate.has_value());
  const FiellerRatio constant =
      ratio_paired(std::vector<double>{2, 2, 2}, std::vector<double>{4, 4, 4}, 0.95);
  EXPECT_EQ(constant.status, Status::undefined);
  EXPECT_EQ(constant.estimate, 0.5);
  EXPECT_EQ(ratio_unpaired(std::vector<double>{1}, std::vector<double>{2}, 0.95).status, Status::undefined);
}

// A ratio does not depend on the units, however far apart they are.
TEST(Fieller, Units) {
  std::vector<double> tiny, huge;
  for (const double v : shorter) tiny.push_back(v * 0x1p-600);
  for (const double v : longer) huge.push_back(v * 0x1p600);
  // The limits are 0 in a double here; what decides about the set is not.
  const FiellerRatio plain = ratio_unpaired(shorter, longer, 0.95), far = ratio_unpaired(tiny, huge, 0.95);
  EXPECT_EQ(far.status, Status::ok);
  EXPECT_DOUBLE_EQ(*far.g, *plain.g);
  EXPECT_DOUBLE_EQ(*far.df, *plain.df);
  std::vector<double> small;
  for (const double v : longer) small.push_back(v * 0x1p-601);
  const FiellerRatio near = ratio_unpaired(tiny, small, 0.95);
  EXPECT_DOUBLE_EQ(near.interval->low, 2 * plain.interval->low);
  EXPECT_DOUBLE_EQ(near.interval->high, 2 * plain.interval->high);
}

}  // namespace
}  // namespace retrygate::stats
