#include "stats/paired_shares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace retrygate::stats {
namespace {

// Worked out in Python with SciPy 1.10: the likelihood under the difference maximised by bisection of its
// derivative, all tables of n pairs at least as far summed, the largest of 4000 shares "second only" within
// the Clopper-Pearson interval of level 1 - 1e-6, which was added.
TEST(PairedShares, ScoreAndExactTestByEnumeration) {
  struct Case {
    PairedShares s;
    double at, z, greater, less;
  };
  const Case cases[] = {{{20, 7, 1}, 0, 2.12132034355964, 0.02069573267, 0.9999077475},
                        {{20, 7, 1}, 0.1, 1.50312112781996, 0.08858884855, 0.9568265047},
                        {{44, 0, 1}, -0.1, 1.70856428594066, 0.05710989742, 0.9903032627},
                        {{44, 1, 0}, 0.05, -0.83005735663929, 0.8953270453, 0.3470777972},
                        {{30, 0, 0}, 0.1, -1.82574185835055, 1, 0.04239215828},
                        {{30, 12, 3}, 0.25, 0.421451412330342, 0.394619939, 0.6830872552},
                        {{50, 5, 9}, -0.2, 1.56415009225378, 0.06239356791, 0.9488025667},
                        {{50, 20, 4}, 0, 3.2659863237109, 0.0004817079719, 0.9998094827},
                        {{25, 25, 0}, 0.9, 1.14707866935281, 0.2773905731, 1},
                        {{40, 3, 2}, -0.05, 1.24733525135201, 0.1285131566, 0.9104433365}};
  for (const auto& [s, difference, z, greater, less] : cases) {
    SCOPED_TRACE(testing::Message() << s.pairs << " " << s.first_only << " " << s.second_only << " "
                                    << difference);
    EXPECT_NEAR(tango_score(s, difference), z, 1e-9);
    const PairedTest test = test_paired_shares(s, difference);
    EXPECT_TRUE(test.exact);
    EXPECT_NEAR(test.p_greater, greater, 2e-5 * greater);
    EXPECT_NEAR(test.p_less, less, 2e-5 * less);
  }
}

// With q the share of "second only" pairs and a difference: P(first, second of n) by logarithms of
// factorials.
double probability(std::int64_t n, std::int64_t first, std::int64_t second, double difference, double q) {
  const auto term = [](std::int64_t k, double p) {
    return k == 0 ? 0.0 : static_cast<double>(k) * std::log(p) - std::lgamma(static_cast<double>(k) + 1);
  };
  return std::exp(std::lgamma(static_cast<double>(n) + 1) + term(first, q + difference) + term(second, q) +
                  term(n - first - second, 1 - 2 * q - difference));
}

// Every outcome of 15 pairs: at no truth are more than 5 % rejected on either side.
TEST(PairedShares, TheExactTestKeepsItsLevelEverywhere) {
  constexpr std::int64_t n = 15;
  for (const double difference : {-0.3, 0.0, 0.1, 0.6}) {
    struct Outcome {
      std::int64_t first, second;
      PairedTest test;
    };
    std::vector<Outcome> all;
    for (std::int64_t first = 0; first <= n; ++first) {
      for (std::int64_t second = 0; first + second <= n; ++second)
        all.push_back({first, second, test_paired_shares({n, first, second}, difference)});
    }
    double most = 0;
    for (int i = 1; i < 60; ++i) {
      const double q =
          std::max(0.0, -difference) + ((1 - difference) / 2 - std::max(0.0, -difference)) * i / 60;
      double greater = 0, less = 0;
      for (const Outcome& o : all) {
        const double p = probability(n, o.first, o.second, difference, q);
        if (o.test.p_greater <= 0.05) greater += p;
        if (o.test.p_less <= 0.05) less += p;
      }
      most = std::max({most, greater, less});
    }
    EXPECT_LE(most, 0.05) << difference;
    EXPECT_GT(most, 0.02) << difference;  // and it is no empty test
  }
}

// What makes it enough to look at the difference itself: the score grows with either count.
TEST(PairedShares, TheScoreIsMonotone) {
  constexpr std::int64_t n = 20;
  for (const double difference : {-0.95, -0.2, 0.0, 0.05, 0.5, 1.0}) {
    for (std::int64_t first = 0; first <= n; ++first) {
      for (std::int64_t second = 0; first + second < n; ++second) {
        EXPECT_LE(tango_score({n, first, second}, difference),
                  tango_score({n, first + 1, second}, difference) + 1e-12)
            << difference << ' ' << first << ' ' << second;
        EXPECT_GE(tango_score({n, first, second}, difference) + 1e-12,
                  tango_score({n, first, second + 1}, difference))
            << difference << ' ' << first << ' ' << second;
      }
    }
  }
}

// No pair disagrees: (1 - bound)^200 = 0.05.
TEST(PairedShares, PairsThatAllAgreeBoundTheDifference) {
  const Interval i = paired_interval({200, 0, 0}, 0.9);
  EXPECT_NEAR(i.high, 1 - std::pow(0.05, 1 / 200.0), 1.1e-5);
  EXPECT_NEAR(i.low, -i.high, 1.1e-5);
}

TEST(PairedShares, IntervalsHoldWhatTheTestsDoNotReject) {
  for (const PairedShares s :
       {PairedShares{60, 12, 3}, PairedShares{60, 0, 1}, PairedShares{5000, 400, 350}}) {
    const Interval i = paired_interval(s, 0.9);
    EXPECT_GT(test_paired_shares(s, i.low + 2e-5).p_greater, 0.05);
    EXPECT_LE(test_paired_shares(s, i.low).p_greater, 0.05 + 1e-4);
    EXPECT_GT(test_paired_shares(s, i.high - 2e-5).p_less, 0.05);
    EXPECT_LE(test_paired_shares(s, i.high).p_less, 0.05 + 1e-4);
  }
  EXPECT_FALSE(test_paired_shares({5000, 400, 350}, 0).exact);
  // The ends of the possible.
  EXPECT_EQ(paired_interval({10, 10, 0}, 0.9).high, 1);
  EXPECT_EQ(paired_interval({1, 0, 1}, 0.9).low, -1);
}

}  // namespace
}  // namespace retrygate::stats
