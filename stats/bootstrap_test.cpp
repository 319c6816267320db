#include "stats/bootstrap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace retrygate::stats {
namespace {

using Kind = Functional::Kind;

std::vector<double> skewed(std::size_t n, std::uint64_t seed) {
  Rng rng(Seed{seed});
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(-std::log(1 - rng.unit()));
  return x;
}

TEST(Bootstrap, ReplicatesDoNotDependOnThreads) {
  const auto x = skewed(40, 1), y = skewed(30, 2);
  const ResampleLaw one = drawn_law(x, {Kind::median}, {3000, Seed{4}, 1});
  const ResampleLaw of_two = drawn_law(x, y, {{Kind::mean}, Contrast::ratio}, {3000, Seed{4}, 1});
  for (const unsigned threads : {2U, 3U, 0U}) {
    const ResampleLaw other = drawn_law(x, {Kind::median}, {3000, Seed{4}, threads});
    EXPECT_EQ(other.mean(), one.mean());
    EXPECT_EQ(other.quantile(0.3), one.quantile(0.3));
    EXPECT_EQ(drawn_law(x, y, {{Kind::mean}, Contrast::ratio}, {3000, Seed{4}, threads}).sd(), of_two.sd());
    EXPECT_EQ(studentized_mean(x, 0.9, {3000, Seed{4}, threads})->low,
              studentized_mean(x, 0.9, {3000, Seed{4}, 1})->low);
  }
  EXPECT_NE(drawn_law(x, {Kind::median}, {3000, Seed{5}, 1}).mean(), one.mean());
}

// The mean of a resample has the variance m2 / n^2, whatever the sample; all resamples are 9^9 here.
TEST(Bootstrap, AllResamplesOfAMean) {
  const auto x = skewed(9, 3);
  const auto law = ideal_law(x, {Kind::mean});
  ASSERT_TRUE(law);
  const Moments m = moments(x);
  EXPECT_NEAR(law->mean(), m.mean.value(), 1e-13);
  EXPECT_NEAR(law->sd(), std::sqrt(m.m2) / 9, 1e-13);
  EXPECT_FALSE(ideal_law(skewed(10, 3), {Kind::mean}));
}

// The two ways to the law of an odd median: by the binomial law and by counting multisets (a quantile of type
// 7 at 1/2 is the median and has no binomial form here).
TEST(Bootstrap, AllResamplesOfAMedianInTwoWays) {
  const auto x = skewed(7, 4);
  const auto binomial = ideal_law(x, {Kind::median}), counted = ideal_law(x, {Kind::quantile, 0.5});
  ASSERT_TRUE(binomial && counted);
  ASSERT_EQ(binomial->size(), counted->size());
  for (const double v : x) {
    EXPECT_NEAR(binomial->less(v), counted->less(v), 1e-13);
    EXPECT_NEAR(binomial->equal(v), counted->equal(v), 1e-13);
  }
}

TEST(Bootstrap, DrawnLawsComeNearTheIdealOne) {
  const auto x = skewed(8, 5);
  const auto ideal = ideal_law(x, {Kind::variance});
  const ResampleLaw drawn = drawn_law(x, {Kind::variance}, {100'000, Seed{6}, 1});
  ASSERT_TRUE(ideal);
  EXPECT_NEAR(drawn.mean(), ideal->mean(), 5 * ideal->sd() / std::sqrt(1e5));
  for (const double p : {0.1, 0.5, 0.9}) {
    // Five standard errors of a share.
    EXPECT_NEAR(ideal->less(drawn.quantile(p)), p,
                5 * std::sqrt(p * (1 - p) / 1e5) + ideal->equal(drawn.quantile(p)));
  }
}

// An affine map of the data maps the intervals of a mean.
TEST(Bootstrap, ScaleAndOffset) {
  const auto x = skewed(20, 7);
  const BootstrapIntervals plain =
      intervals(drawn_law(x, {Kind::mean}), jackknife(x, {Kind::mean}).estimate, 0, 0.9);
  for (const double scale : {1e-300, 1e300}) {
    std::vector<double> y;
    for (const double v : x) y.push_back(v * scale);
    const BootstrapIntervals b =
        intervals(drawn_law(y, {Kind::mean}), jackknife(y, {Kind::mean}).estimate, 0, 0.9);
    EXPECT_NEAR(b.percentile.low / scale, plain.percentile.low, 1e-12);
    EXPECT_NEAR(*b.bca_high / scale, *plain.bca_high, 1e-12);
    EXPECT_NEAR(b.se / scale, plain.se, 1e-12);
  }
  std::vector<double> far;
  for (const double v : x) far.push_back(v + 1e9);
  const auto ends = studentized_mean(x, 0.9), of_far = studentized_mean(far, 0.9);
  EXPECT_NEAR(of_far->low - 1e9, ends->low, 1e-5);
}

TEST(Bootstrap, ConstantsAreDegenerate) {
  const std::vector<double> x(6, 0.1);
  EXPECT_EQ(jackknife(x, {Kind::mean}).status, Status::degenerate);
  const ResampleLaw law = drawn_law(x, {Kind::mean});
  EXPECT_EQ(intervals(law, 0.1, 0, 0.95).status, Status::degenerate);
  EXPECT_EQ(law.quantile(0.025), 0.1);
  EXPECT_FALSE(studentized_mean(x, 0.95));
}

TEST(Bootstrap, AnEstimateBesideAllReplicatesHasNoBca) {
  const BootstrapIntervals b = intervals(ResampleLaw::drawn({1, 2, 3}), 7, 0, 0.9);
  EXPECT_EQ(b.status, Status::undefined);
  EXPECT_FALSE(b.z0 || b.bca_low);
  EXPECT_GT(b.percentile.high, 2);
}

}  // namespace
}  // namespace retrygate::stats
