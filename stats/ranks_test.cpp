#include "stats/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stats/arrangements.hpp"
#include "stats/mann_whitney.hpp"
#include "stats/signed_rank.hpp"

namespace retrygate::stats {
namespace {

// Whole numbers from 0 to most - 1, so that many are equal.
std::vector<double> drawn(Rng& rng, std::size_t n, std::uint64_t most) {
  std::vector<double> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(static_cast<double>(rng.below(most)));
  return all;
}

TEST(Midranks, Ties) {
  const std::vector<double> x{3, 1, 3, -2, 3, 1};
  const Midranks ranks = midranks(x);
  EXPECT_EQ(ranks.doubled, (std::vector<std::int64_t>{10, 5, 10, 2, 10, 5}));
  EXPECT_EQ(ranks.ties, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(ranks.tie_sum(), 6 + 24);
}

TEST(PairSums, EveryOrderStatisticOfRandomSamples) {
  Rng rng(Seed{5});
  for (int round = 0; round < 50; ++round) {
    const auto x = drawn(rng, 1 + rng.below(8), 7), y = drawn(rng, 1 + rng.below(8), 7);
    std::vector<double> differences, walsh;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (const double v : y) differences.push_back(x[i] - v);
      for (std::size_t j = i; j < x.size(); ++j) walsh.push_back((x[i] + x[j]) / 2);
    }
    std::sort(differences.begin(), differences.end());
    std::sort(walsh.begin(), walsh.end());
    const PairSums of_both = PairSums::differences(x, y), of_x = PairSums::walsh(x);
    ASSERT_EQ(of_both.size(), differences.size());
    ASSERT_EQ(of_x.size(), walsh.size());
    for (std::size_t k = 1; k <= differences.size(); ++k) EXPECT_EQ(of_both.smallest(k), differences[k - 1]);
    for (std::size_t k = 1; k <= walsh.size(); ++k) EXPECT_EQ(of_x.smallest(k), walsh[k - 1]);
  }
}

TEST(PairSums, LargestNumbersDoNotOverflow) {
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(PairSums::walsh(std::vector{most, most, most}).median(), most);
  EXPECT_EQ(PairSums::walsh(std::vector{-least, -least}).median(), -least);
}

// Every arrangement counted, against the law that is built up rank by rank.
TEST(MannWhitney, TiedLawAgainstEveryArrangement) {
  Rng rng(Seed{6});
  for (int round = 0; round < 60; ++round) {
    const std::size_t m = 1 + rng.below(5), n = 1 + rng.below(6);
    const auto x = drawn(rng, m, 4), y = drawn(rng, n, 4);
    std::vector<double> all = x;
    all.insert(all.end(), y.begin(), y.end());
    const Midranks ranks = midranks(all);
    const std::int64_t seen = std::accumulate(
        ranks.doubled.begin(), ranks.doubled.begin() + static_cast<std::ptrdiff_t>(m), std::int64_t{0});
    const auto mean = static_cast<std::int64_t>(m * (m + n + 1));
    double total = 0, less = 0, greater = 0, as_far = 0;
    for_each_labelling({m, n}, [&](const Labels& labels) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < labels.size(); ++i) sum += labels[i] == 0 ? ranks.doubled[i] : 0;
      ++total;
      less += sum <= seen;
      greater += sum >= seen;
      as_far += std::abs(sum - mean) >= std::abs(seen - mean);
    });
    const auto test = mann_whitney_exact(x, y);
    ASSERT_TRUE(test);
    EXPECT_NEAR(test->p_less, less / total, 1e-14);
    EXPECT_NEAR(test->p_greater, greater / total, 1e-14);
    EXPECT_NEAR(test->p_value_abs, as_far / total, 1e-14);
  }
}

TEST(MannWhitney, TailsOfLargeSamples) {
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(i);
    y.push_back(1000 + i);
  }
  // Separated: one arrangement of choose(400, 200).
  const auto test = mann_whitney_exact(x, y);
  ASSERT_TRUE(test);
  const double log_all = std::lgamma(401) - 2 * std::lgamma(201);
  EXPECT_NEAR(std::log(test->p_less), -log_all, 1e-10);
  EXPECT_EQ(test->p_greater, 1);
  EXPECT_NEAR(std::log(test->p_value), std::log(2) - log_all, 1e-10);
}

TEST(MannWhitney, TheMethodFollowsFromTheSizes) {
  Rng rng(Seed{8});
  const auto without = [&](std::size_t n) {
    std::vector<double> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(rng.unit());
    return all;
  };
  EXPECT_EQ(mann_whitney(without(49), without(49)).method, "exact");
  EXPECT_EQ(mann_whitney(without(200), without(200)).method, "exact");
  EXPECT_EQ(mann_whitney(drawn(rng, 49, 10), drawn(rng, 49, 10)).method, "exact");
  EXPECT_EQ(mann_whitney(without(2000), without(2000)).method, "normal");
  EXPECT_EQ(mann_whitney(drawn(rng, 1000, 100), drawn(rng, 1000, 100)).method, "normal");
  EXPECT_FALSE(mann_whitney_exact(without(5000), without(5000)));
  // Both laws of one comparison agree where both are at home.
  const auto x = without(200), y = without(200);
  EXPECT_NEAR(mann_whitney(x, y).p_value, mann_whitney_normal(x, y).p_value, 2e-3);
}

TEST(SignedRank, LongSamplesByTheExactLaw) {
  // All 1000 positive: one pattern of 2^1000.
  std::vector<double> x(1000);
  std::iota(x.begin(), x.end(), 1.0);
  const auto test = signed_rank_exact(x, Zeros::pratt);
  ASSERT_TRUE(test);
  EXPECT_DOUBLE_EQ(test->p_greater, std::ldexp(1.0, -1000));
  x.push_back(1001);
  EXPECT_FALSE(signed_rank_exact(x, Zeros::pratt));
  EXPECT_FALSE(pseudomedian(x, 0.95, Law::exact));
}

}  // namespace
}  // namespace retrygate::stats
