#include "stats/factorial.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>

namespace retrygate::stats {
namespace {

constexpr FactorSet a = 1, b = 2, c = 4, d = 8, e = 16, f = 32;

TwoLevelDesign design(std::size_t factors, std::size_t runs) { return *two_level_design(factors, runs); }

// Box, Hunter and Hunter 2005, table 6.22.
TEST(TwoLevelDesign, PublishedResolutions) {
  const std::vector<std::array<std::size_t, 3>> published{
      {3, 4, 3},  {4, 8, 4},  {5, 16, 5}, {5, 8, 3}, {6, 32, 6}, {6, 16, 4}, {6, 8, 3},
      {7, 64, 7}, {7, 32, 4}, {7, 16, 4}, {7, 8, 3}, {8, 64, 5}, {8, 32, 4}, {8, 16, 4}};
  for (const auto& [factors, runs, resolution] : published)
    EXPECT_EQ(design(factors, runs).resolution, resolution) << factors << " in " << runs;
  EXPECT_FALSE(design(4, 16).resolution.has_value());
}

// 2^(6-2) with E = ABC, F = BCD: I = ABCE = BCDF = ADEF.
TEST(TwoLevelDesign, DefiningRelation) {
  const TwoLevelDesign six = design(6, 16);
  EXPECT_EQ((std::set<FactorSet>(six.defining.begin(), six.defining.end())),
            (std::set<FactorSet>{a | b | c | e, b | c | d | f, a | d | e | f}));
  EXPECT_EQ(six.aliases(a | b, 2), (std::vector<FactorSet>{c | e}));
  EXPECT_EQ(six.aliases(a | e, 2), (std::vector<FactorSet>{b | c, d | f}));
  EXPECT_TRUE(six.aliases(a, 2).empty());
}

// What makes every effect estimable by all runs: each column is balanced, each pair of columns orthogonal.
TEST(TwoLevelDesign, BalancedAndOrthogonal) {
  for (const auto& [factors, runs] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 2}, {2, 4}, {3, 8}, {4, 16}, {3, 4}, {4, 8}, {5, 8}, {6, 16}, {7, 8}, {8, 16}, {8, 32}}) {
    const TwoLevelDesign two = design(factors, runs);
    ASSERT_EQ(two.runs.size(), runs);
    for (FactorSet i = 1; i < 1U << factors; i <<= 1) {
      for (FactorSet j = i; j < 1U << factors; j <<= 1) {
        int sum = 0;
        for (const FactorSet run : two.runs) sum += ((run & i) != 0) == ((run & j) != 0) ? 1 : -1;
        EXPECT_EQ(sum, i == j ? static_cast<int>(runs) : 0);
      }
    }
    for (const FactorSet word : two.defining) {
      for (const FactorSet run : two.runs) EXPECT_EQ(std::popcount(word & ~run) % 2, 0);  // the + fraction
    }
  }
}

TEST(TwoLevelDesign, Errors) {
  const auto words = [](std::size_t factors, std::size_t runs) {
    const auto made = two_level_design(factors, runs);
    return made ? "" : to_string(made.error());
  };
  EXPECT_NE(words(4, 12).find("no design of 4 factors has 12 runs"), std::string::npos);
  EXPECT_NE(words(4, 4).find("possible: 8, 16"), std::string::npos);
  EXPECT_NE(words(9, 16).find("1 to 8"), std::string::npos);
}

// y = 10 + 3 a - 1 b + 0.5 a b with a, b in {-1, 1}: going from low to high changes it by twice as much.
TEST(Factorial, KnownModel) {
  const TwoLevelDesign two = design(2, 4);
  std::vector<std::vector<double>> responses;
  for (const FactorSet run : two.runs) {
    const double x = (run & a) != 0 ? 1 : -1, y = (run & b) != 0 ? 1 : -1;
    const double mean = 10 + 3 * x - y + 0.5 * x * y;
    responses.push_back({mean + 1, mean + 2, mean + 6});  // seeds are blocks: they shift all runs alike
  }
  const Experiment experiment = analyse(two, responses, 0.95);
  EXPECT_DOUBLE_EQ(experiment.mean, 13);
  ASSERT_EQ(experiment.effects.size(), 3);
  EXPECT_DOUBLE_EQ(experiment.effects[0].estimate, 6);
  EXPECT_DOUBLE_EQ(experiment.effects[1].estimate, -2);
  EXPECT_DOUBLE_EQ(experiment.effects[2].estimate, 1);
  EXPECT_EQ(experiment.effects[2].factors, a | b);
  EXPECT_FALSE(experiment.effects[0].interval.has_value());  // all seeds agree
  EXPECT_DOUBLE_EQ(curvature(responses, {11, 12, 16}, 0.95).estimate, 0);
}

// Seeds that agree up to rounding have no spread: no interval of width 1e-16 with p = 0.
TEST(Factorial, RoundingIsNoSpread) {
  const Experiment experiment = analyse(design(1, 2), {{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}}, 0.95);
  EXPECT_NEAR(experiment.effects[0].estimate, 0.3, 1e-15);
  EXPECT_FALSE(experiment.effects[0].interval.has_value());
  EXPECT_FALSE(experiment.effects[0].p.has_value());
}

// R 4.2.2: contrasts by seed -2.5, -1, -4.5 of a; t.test(c(-2.5, -1, -4.5)).
TEST(Factorial, IntervalOverSeeds) {
  const TwoLevelDesign one = design(1, 2);
  const Experiment experiment = analyse(one, {{5, 4, 9}, {2.5, 3, 4.5}}, 0.95);
  const Effect& effect = experiment.effects.front();
  EXPECT_NEAR(effect.estimate, -2.6666666666666667, 1e-14);
  EXPECT_NEAR(effect.interval->low, -7.0286691342342, 1e-12);
  EXPECT_NEAR(effect.interval->high, 1.6953358009009, 1e-12);
  EXPECT_NEAR(*effect.p, 0.11922898789891, 1e-13);
  EXPECT_EQ(effect.p, effect.p_adjusted);
}

// In a half fraction of 4 factors AB and CD are one: told once, with its alias.
TEST(Factorial, AliasesAreToldOnce) {
  const TwoLevelDesign half = design(4, 8);
  const Experiment experiment = analyse(half, std::vector<std::vector<double>>(8, {1.0, 2.0}), 0.95);
  ASSERT_EQ(experiment.effects.size(), 7);
  EXPECT_EQ(experiment.effects[4].factors, a | b);
  EXPECT_EQ(experiment.effects[4].aliases, (std::vector<FactorSet>{c | d}));
}

}  // namespace
}  // namespace retrygate::stats
