#include "stats/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "stats/limit_law.hpp"

namespace retrygate::stats {
namespace {

using std::numbers::pi;

void expect_near_relative(double got, double want, double tolerance) {
  EXPECT_NEAR(got, want, tolerance * want) << "want " << want;
}

// With two degrees of freedom the weighted chi-squares are exponentials, and the tails have closed forms by
// partial fractions: sum of (-1)^(j+1) (2j + 1) exp(-x j (j + 1) / 2), and twice the sum of
// (-1)^(j+1) exp(-(j pi)^2 x / 2).
TEST(LimitLaw, ClosedFormsOfTwoDegreesOfFreedom) {
  for (const double x : {0.3, 1.0, 2.0, 5.0, 20.0, 100.0, 600.0}) {
    double anderson = 0;
    for (int j = 60; j > 0; --j)
      anderson += (j % 2 == 1 ? 1 : -1) * (2 * j + 1) * std::exp(-x * j * (j + 1) / 2);
    expect_near_relative(weighted_chi_squares_sf(Weighting::anderson_darling, x, 2), anderson, 1e-9);
    double cramer = 0;
    for (int j = 60; j > 0; --j) cramer += (j % 2 == 1 ? 2 : -2) * std::exp(-pi * pi * j * j * x / 8);
    expect_near_relative(weighted_chi_squares_sf(Weighting::cramer_von_mises, x / 4, 2), cramer, 1e-9);
  }
}

// The sum over j of w_j chi-square(1) is, far out, sqrt(3) times the tail of its first term for Anderson and
// Darling's weights (Zolotarev 1961: the product of (1 - w_j / w_1)^(-1/2)), and sqrt(2) for Cramer and von
// Mises.
TEST(LimitLaw, FarTails) {
  const double x = 300;
  expect_near_relative(weighted_chi_squares_sf(Weighting::anderson_darling, x),
                       std::sqrt(3) * std::erfc(std::sqrt(x)), 0.01);
  expect_near_relative(weighted_chi_squares_sf(Weighting::cramer_von_mises, x / 9),
                       std::sqrt(2) * std::erfc(std::sqrt(x / 18) * pi), 0.01);
}

// Of one value each the statistic is the same in both orders: nothing is as rare as to be evidence.
TEST(CramerVonMisesTwoSample, OneValueEach) {
  const std::vector one{1.0}, other{2.0};
  EXPECT_EQ(cvm_two_sample(one, other, false, {}).p_limit, 1);
}

// Beyond every double, and at once: the tail of the first term is below 10^-43000.
TEST(LimitLaw, TailsThatNoDoubleHolds) {
  EXPECT_EQ(weighted_chi_squares_sf(Weighting::anderson_darling, 1e5), 0);
  EXPECT_GT(weighted_chi_squares_sf(Weighting::cramer_von_mises, 140), 0);  // erfc(sqrt(70) pi) is 1e-302
}

TEST(LimitLaw, TheTwoSeriesOfKolmogorovMeet) {
  expect_near_relative(kolmogorov_sf(std::nextafter(1.0, 0.0)), kolmogorov_sf(1), 1e-14);
  EXPECT_EQ(kolmogorov_sf(0), 1);
  EXPECT_EQ(weighted_chi_squares_sf(Weighting::anderson_darling, 0), 1);
}

TEST(KolmogorovSmirnov, SmallTailsKeepTheirDigits) {
  // Separated samples: two paths of choose(400, 200) reach D = 1.
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(i);
    y.push_back(500 + i);
  }
  const KolmogorovSmirnov test = ks_two_sample(x, y);
  EXPECT_EQ(test.method, "exact");
  EXPECT_NEAR(std::log(test.p_value), std::log(2) - (std::lgamma(401) - 2 * std::lgamma(201)), 1e-9);
  EXPECT_EQ(test.d_plus, 1);
  EXPECT_EQ(test.p_minus, 1);
}

TEST(KolmogorovSmirnov, OneUniformValue) {
  // P(D >= d) = 2 (1 - d) for a single value and d >= 1/2.
  const std::vector<double> x{0.875};
  EXPECT_NEAR(ks_uniform(x, {}).p_value, 0.25, 1e-15);
}

TEST(KolmogorovSmirnov, ManyValuesFallBackOnTheLimit) {
  std::vector<double> x;
  for (int i = 0; i < 400'000; ++i) x.push_back(std::pow((i + 0.5) / 400'000, 1.005));
  const KolmogorovSmirnov test = ks_uniform(x, {});
  EXPECT_EQ(test.method, "limit");
  EXPECT_EQ(test.p_value, test.p_limit);
}

TEST(AndersonDarling, BeyondTheBoundary) {
  const AndersonDarling test = ad_uniform(std::vector{0.5, 1.5}, {});
  EXPECT_EQ(test.statistic, std::numeric_limits<double>::infinity());
  EXPECT_EQ(test.p_value, 0);
}

TEST(ChiSquare, WhatIsImpossibleWasCounted) {
  const ChiSquare test = chi_square_fit(std::vector{3.0, 1.0}, std::vector{1.0, 0.0});
  EXPECT_EQ(test.statistic, std::numeric_limits<double>::infinity());
  EXPECT_EQ(test.p_value, 0);
  EXPECT_EQ(chi_square_fit(std::vector{0.0, 0.0}, std::vector{1.0, 1.0}).status, Status::undefined);
  EXPECT_EQ(chi_square_table(std::vector<std::vector<double>>{{1, 0}, {2, 0}}, false).status,
            Status::undefined);
}

TEST(ChiSquare, YatesCorrectionOfATwoByTwoTable) {
  // n (|ad - bc| - n/2)^2 / (product of the four sums), Yates 1934: 20 (|8 * 9 - 1 * 2| - 10)^2 / (9 11 10
  // 10).
  const ChiSquare test = chi_square_table(std::vector<std::vector<double>>{{8, 1}, {2, 9}}, true);
  EXPECT_NEAR(*test.statistic, 20.0 * 3600 / 9900, 1e-12);
}

TEST(KSampleAndersonDarling, NothingToCompare) {
  const std::vector<std::vector<double>> equal{{2, 2}, {2, 2, 2}};
  EXPECT_EQ(ad_k_sample(equal, true).status, Status::undefined);
}

}  // namespace
}  // namespace retrygate::stats
