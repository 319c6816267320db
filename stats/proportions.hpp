// Shares: intervals and exact tests for one and for two proportions.
#pragma once

#include <cstdint>

#include "stats/interval.hpp"

namespace retrygate::stats {

// 0 <= successes <= trials, trials >= 1.
struct Share {
  std::int64_t successes = 0;
  std::int64_t trials = 1;
  double value() const { return static_cast<double>(successes) / static_cast<double>(trials); }
};

// Two-sided intervals for the probability behind a share; 0 < level < 1.
Interval clopper_pearson(Share, double level);  // exact: never below the level (Clopper and Pearson 1934)
Interval wilson(Share, double level);           // score interval without continuity correction (1927)
Interval agresti_coull(Share, double level);    // Wald around z^2/2 added successes (1998); may leave [0, 1]
Interval jeffreys_quantiles(Share, double level);  // quantiles of Beta(k + 1/2, n - k + 1/2)
// The same with the ends 0 and 1 when no or every trial was a success, else it could not cover them.
// Source: Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", 2001.
Interval jeffreys(Share, double level);

struct BinomialTest {
  double p_two_sided = 1;  // all outcomes at most as probable as the one seen
  double p_central = 1;    // twice the smaller tail, at most 1: agrees with the intervals
  double p_less = 1;       // P(K <= k)
  double p_greater = 1;    // P(K >= k)
};
// Exact test of "the probability is p0", 0 <= p0 <= 1. Outcomes within 1e-7 (relative) are as probable.
BinomialTest binomial_test(Share, double p0);

// Interval for p1 - p2 of two independent shares: method 10 of R. G. Newcombe, "Interval estimation for the
// difference between independent proportions", 1998 (Wilson limits, no continuity correction).
Interval newcombe_difference(Share first, Share second, double level);

// Paired yes/no outcomes: only the pairs that disagree tell which side is better.
struct Discordant {
  std::int64_t first_only = 0;   // yes on the first side alone
  std::int64_t second_only = 0;  // yes on the second side alone
  std::int64_t total() const { return first_only + second_only; }
};
struct McNemar {
  double p_exact = 1;     // binomial, twice the smaller tail
  double p_mid = 1;       // the same with half the probability of what was seen (Fagerland 2013)
  double chi_square = 0;  // 1 degree of freedom
  double p_asymptotic = 1;
  double chi_square_corrected = 0;  // with Edwards' continuity correction
  double p_corrected = 1;
};
McNemar mcnemar(Discordant);  // at least one pair that disagrees

// `events` in `exposure` units of time: the rate's exact interval (Garwood 1936). exposure > 0.
struct Rate {
  std::int64_t events = 0;
  double exposure = 1;
};
Interval poisson_interval(Rate, double level);

struct RateRatio {
  double ratio = 0;  // infinite when the second rate has no events
  double p = 1;      // two-sided, by probability as in binomial_test
  Interval interval;
};
// Given the sum of events, the first count is binomial; at least one event in all.
// Source: Przyborowski and Wilenski, "Homogeneity of results in testing samples from Poisson series", 1940.
RateRatio compare_rates(Rate first, Rate second, double ratio0, double level);

}  // namespace retrygate::stats
