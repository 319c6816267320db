#include "stats/permutation.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace retrygate::stats {
namespace {

// `ones` times 1, then `others` times `other`.
std::vector<double> two_values(std::size_t ones, std::size_t others, double other) {
  std::vector<double> all(ones, 1.0);
  all.insert(all.end(), others, other);
  return all;
}

// P(X >= least), X binomial(n, 1/2).
double binomial_tail(std::uint64_t n, std::uint64_t least) {
  double sum = 0;
  for (std::uint64_t k = least; k <= n; ++k)
    sum += std::ldexp(static_cast<double>(choose(n, k)), -static_cast<int>(n));
  return sum;
}

// A probability drawn B times lies within 5 standard errors in all but one of a million runs.
void expect_drawn(double got, double exact, double draws) {
  EXPECT_NEAR(got, exact, 5 * std::sqrt(exact * (1 - exact) / draws) + 1 / draws);
}

TEST(SignFlips, AllArrangementsUpToTheLimit) {
  const std::vector<double> x(permutation_exact_limit, 0.1);
  const PermutationTest test = flip_signs(x, Centre::mean);
  EXPECT_TRUE(test.all);
  EXPECT_EQ(test.counts.total, std::uint64_t{1} << permutation_exact_limit);
  EXPECT_EQ(test.counts.ge, 1);
  EXPECT_EQ(test.counts.abs_ge, 2);
  EXPECT_DOUBLE_EQ(test.p_greater, std::ldexp(1.0, -static_cast<int>(permutation_exact_limit)));
}

TEST(SignFlips, DrawnOnesFollowTheBinomialLaw) {
  for (const std::size_t minus : {14U, 18U, 20U, 30U}) {
    const auto x = two_values(50 - minus, minus, -1);
    const PermutationTest test = flip_signs(x, Centre::mean);
    EXPECT_FALSE(test.all);
    expect_drawn(test.p_greater, binomial_tail(50, 50 - minus), 1e5);
    expect_drawn(test.p_less, binomial_tail(50, minus), 1e5);
  }
}

TEST(SignFlips, MedianOfDrawnOnes) {
  // Of 51 values of size 1 the median is 1 when at least 26 keep their sign.
  const PermutationTest test = flip_signs(std::vector<double>(51, 1.0), Centre::median);
  EXPECT_FALSE(test.all);
  expect_drawn(test.p_greater, 0.5, 1e5);
}

TEST(Labels, AllArrangementsUpToTheLimit) {
  const std::size_t half = permutation_exact_limit / 2;
  std::vector<double> x, y;
  for (std::size_t i = 0; i < half; ++i) {
    x.push_back(100 + static_cast<double>(i));
    y.push_back(static_cast<double>(i * i) / 100);
  }
  const PermutationTest test = permute_difference(x, y, Centre::mean);
  EXPECT_TRUE(test.all);
  EXPECT_EQ(test.counts.total, choose(2 * half, half));
  EXPECT_EQ(test.counts.ge, 1);
  EXPECT_EQ(test.counts.le, test.counts.total);
}

TEST(Labels, DrawnOnesFollowTheHypergeometricLaw) {
  // 30 ones and 40 zeros; 20 of the 70 are x, of which `ones` are 1.
  for (const std::size_t ones : {6U, 9U, 12U}) {
    const auto x = two_values(ones, 20 - ones, 0), y = two_values(30 - ones, 20 + ones, 0);
    double tail = 0;
    for (std::size_t k = ones; k <= 20; ++k) {
      tail += static_cast<double>(choose(30, k)) * static_cast<double>(choose(40, 20 - k)) /
              static_cast<double>(choose(70, 20));
    }
    const PermutationTest test = permute_difference(x, y, Centre::mean);
    EXPECT_FALSE(test.all);
    expect_drawn(test.p_greater, tail, 1e5);
    // The larger sample is not drawn; the same law all the same.
    expect_drawn(permute_difference(y, x, Centre::mean).p_less, tail, 1e5);
  }
}

TEST(Labels, MedianOfDrawnOnes) {
  // 25 of 50 zeros and ones each: the median of 25 is 1 when at least 13 are, and then the other's is 0.
  const auto x = two_values(13, 12, 0), y = two_values(12, 13, 0);
  const PermutationTest test = permute_difference(x, y, Centre::median);
  EXPECT_FALSE(test.all);
  EXPECT_EQ(test.statistic, 1);
  expect_drawn(test.p_greater, 0.5, 1e5);
}

TEST(Draws, TheSameOnAnyNumberOfThreads) {
  const auto x = two_values(30, 21, -0.5), y = two_values(30, 30, -0.7);
  const PermutationTest flips = flip_signs(x, Centre::mean, {10'000, Seed{7}, 1}),
                        labels = permute_difference(x, y, Centre::median, {10'000, Seed{7}, 1});
  for (const unsigned threads : {2U, 5U, 0U}) {
    EXPECT_EQ(flip_signs(x, Centre::mean, {10'000, Seed{7}, threads}).counts.ge, flips.counts.ge);
    EXPECT_EQ(permute_difference(x, y, Centre::median, {10'000, Seed{7}, threads}).counts.ge,
              labels.counts.ge);
  }
  EXPECT_EQ(flips.counts.total, 10'000);
  EXPECT_NE(flip_signs(x, Centre::mean, {10'000, Seed{8}, 1}).counts.ge, flips.counts.ge);
}

TEST(Draws, NeverAPOfZero) {
  const PermutationTest test = flip_signs(std::vector<double>(100, 1.0), Centre::mean, {999, Seed{1}, 1});
  EXPECT_DOUBLE_EQ(test.p_greater, 1.0 / 1000);
}

TEST(Choose, Saturates) {
  EXPECT_EQ(choose(5, 2), 10);
  EXPECT_EQ(choose(67, 33), 14226520737620288370U);
  EXPECT_EQ(choose(200, 100), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace retrygate::stats
