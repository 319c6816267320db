#include "stats/scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace retrygate::stats {
namespace {

// One size a row, one seed a column.
Growth measured() {
  return {{100, 200, 400, 800, 1600},
          {{12.1, 11.4, 13.0}, {24.9, 27.3, 23.8}, {55.1, 49.7, 52.2}, {101, 118, 109}, {230, 214, 241}}};
}

// R 4.2.2: m <- lm(log(y) ~ log(n)); HC3 as solve(X'X) X' diag((e / (1 - h))^2) X solve(X'X); qt(.975, 13).
// The bend: p of z^2 in lm(log(y) ~ z + I(z^2)), z = log(n) - mean(log(n)), HC3, 12 degrees of freedom.
TEST(PowerLaw, AsRHasIt) {
  const PowerLaw law = power_law(measured(), 0.95);
  EXPECT_EQ(law.status, Status::ok);
  EXPECT_NEAR(law.exponent, 1.0570088497599, 1e-12);
  EXPECT_NEAR(law.scale, 0.093318739657356, 1e-13);
  EXPECT_NEAR(*law.std_error, 0.017075703688337, 1e-13);
  EXPECT_NEAR(law.interval->low, 1.0201190347245, 1e-12);
  EXPECT_NEAR(law.interval->high, 1.0938986647952, 1e-12);
  EXPECT_NEAR(*law.r_squared, 0.99732888402358, 1e-12);
  EXPECT_NEAR(*law.p_bend, 0.90579837956595, 1e-10);
}

TEST(PowerLaw, Exact) {
  Growth growth{{10, 100, 1000}, {}};
  for (const double size : growth.sizes) growth.values.push_back({3 * std::pow(size, 1.5)});
  const PowerLaw law = power_law(growth, 0.95);
  EXPECT_EQ(law.status, Status::perfect_fit);
  EXPECT_NEAR(law.exponent, 1.5, 1e-14);
  EXPECT_NEAR(law.scale, 3, 1e-12);
  ASSERT_EQ(law.local.size(), 2);
  EXPECT_NEAR(law.local[0], 1.5, 1e-14);
}

// y = n^2 / 100 from 100 on, flat before: no power law, and the bend says so.
TEST(PowerLaw, Bend) {
  Growth growth{{25, 50, 100, 200, 400, 800}, {}};
  int odd = 0;
  for (const double size : growth.sizes) {
    const double y = size <= 100 ? 100 : size * size / 100;
    growth.values.push_back({y * (odd % 2 == 0 ? 1.01 : 0.99), y});
    ++odd;
  }
  const PowerLaw law = power_law(growth, 0.95);
  EXPECT_LT(*law.p_bend, 1e-4);
  EXPECT_NEAR(law.local.front(), 0, 0.02);
  EXPECT_NEAR(law.local.back(), 2, 0.02);
}

TEST(PowerLaw, NoLawThroughZero) {
  const PowerLaw law = power_law({{1, 2}, {{0}, {1}}}, 0.95);
  EXPECT_EQ(law.status, Status::undefined);
  EXPECT_EQ(power_law({{1, 2}, {{1}, {2}}}, 0.95).status, Status::saturated);
}

// R 4.2.2: t.test(e2, e, paired = TRUE), e and e2 the slopes of lm(log(y) ~ log(n)) of each seed.
TEST(Exponents, PairedBySeed) {
  const Growth slower{{100, 200, 400, 800, 1600},
                      {{10, 12, 11}, {22, 21, 20}, {43, 46, 45}, {80, 88, 91}, {170, 171, 168}}};
  const ExponentDifference d = compare_exponents(measured(), slower, 0.95);
  EXPECT_EQ(d.status, Status::ok);
  EXPECT_NEAR(*d.estimate, -0.06294369854211, 1e-12);
  EXPECT_NEAR(d.interval->low, -0.10954941051243, 1e-11);
  EXPECT_NEAR(d.interval->high, -0.016337986571787, 1e-11);
  EXPECT_NEAR(*d.p, 0.028360507032671, 1e-11);
  EXPECT_EQ(compare_exponents(measured(), measured(), 0.95).status, Status::undefined);
}

TEST(Trend, Directions) {
  EXPECT_EQ(trend(measured()).direction, Direction::rises);
  EXPECT_EQ(trend({{1, 2, 3}, {{5}, {5}, {4}}}).direction, Direction::falls);
  EXPECT_EQ(trend({{1, 2}, {{5}, {5}}}).direction, Direction::level);
  // Of 1, 3, 2 the nearest rising curve is 1, 2.5, 2.5: it leaves 0.5 of the 2 that the means spread.
  const Trend t = trend({{1, 2, 3}, {{1}, {3}, {2}}});
  EXPECT_EQ(t.direction, Direction::neither);
  EXPECT_EQ(t.monotone, (std::vector<double>{1, 2.5, 2.5}));
  EXPECT_DOUBLE_EQ(t.explained, 0.75);
}

}  // namespace
}  // namespace retrygate::stats
