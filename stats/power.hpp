// How sure a test is to find an effect of a given size, and how much data that takes. Every size n is a real
// number here; `whole` rounds it up.
#pragma once

#include <cstdint>

#include "stats/status.hpp"

namespace retrygate::stats {

enum class TDesign { one_sample, paired, two_sample };  // two_sample: n in each of two groups

// A t test that is to be planned. sd is that of the values, of the differences when paired; sd > 0.
// A one-sided test looks for an effect in the direction of delta.
struct TPlan {
  TDesign design = TDesign::two_sample;
  double delta = 0;  // true difference, in the unit of sd; its sign does not matter
  double sd = 1;
  double alpha = 0.05;  // level of the test, in (0, 1)
  bool two_sided = true;
  bool both_tails = true;  // count rejections on the wrong side too (R: strict), as pwr does
};
// n > 1 per group. Through the noncentral t law. Source: Cohen, "Statistical Power Analysis", 1988,
// chapter 2.
double power_t(const TPlan&, double n);
// Two groups of different size; `effect` is the difference in units of the common standard deviation, and
// the side of a one-sided test is the one above 0.
double power_t_unequal(double n1, double n2, double effect, double alpha, bool two_sided);

// The n, at least 2, at which the power is `power`; delta is not 0, alpha < power < 1.
double sample_size_t(const TPlan&, double power);
std::int64_t whole_sample_size_t(const TPlan&, double power);  // the least whole n with at least that power
double normal_sample_size(const TPlan&, double power);         // the same if sd were known: never more
double detectable_difference_t(TPlan, double n,
                               double power);  // the delta > 0 that has it; plan.delta unused

// Exact test of a probability p0 against the truth p1 with n trials. Equal tails of alpha / 2 when two-sided.
struct BinomialPower {
  std::int64_t critical_low = -1;  // rejects K <= critical_low; -1: never on this side
  std::int64_t critical_high = 0;  // rejects K >= critical_high; n + 1: never on this side
  double size = 0;                 // chance to reject when p0 is true
  double power = 0;                // when p1 is
};
BinomialPower power_binomial(std::int64_t n, double p0, double p1, double alpha, Alternative);

// Fisher's exact test of two groups, by going through all outcomes: rejects when p <= alpha.
struct TwoGroups {
  std::int64_t n1 = 1, n2 = 1;
  double p1 = 0, p2 = 0;
};
struct FisherPower {
  double two_sided = 0;
  double greater = 0;  // the first group's share is larger
};
FisherPower power_fisher(const TwoGroups&, double alpha);

// G. E. Noether, "Sample size determination for some common nonparametric tests", 1987. `p` is not 1/2.
enum class RankTest {
  mann_whitney,  // n is the total of both groups; p = P(X < Y) + P(X = Y) / 2
  signed_rank,   // p = P(D1 + D2 > 0) of two differences
  sign           // p = P(D > 0)
};
double sample_size_noether(RankTest, double p, double alpha, double power, bool two_sided,
                           double fraction_x = 0.5);  // fraction_x: share of the first group (mann_whitney)

// Two shares by the normal approximation, n in each group; p1 != p2, both in (0, 1). The other tail is left
// out, as in R's power.prop.test.
double power_two_proportions(double n, double p1, double p2, double alpha, bool two_sided);
double sample_size_two_proportions(double p1, double p2, double alpha, double power, bool two_sided);

}  // namespace retrygate::stats
