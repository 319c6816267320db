// P(x < y) + P(x = y) / 2 without assuming equal variances: Brunner and Munzel's test.
// Sources: E. Brunner and U. Munzel, "The nonparametric Behrens-Fisher problem", 2000; permutation form:
// K. Neubert and E. Brunner, "A studentized permutation test for the non-parametric Behrens-Fisher problem",
// 2007.
#pragma once

#include <optional>
#include <span>

#include "stats/permutation.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

// `degenerate` when no rank varies (separated samples, all values equal): the statistic is 0 or infinite and
// the t law has no degrees of freedom; take the permutation form. `undefined` when a sample has one value.
struct BrunnerMunzel {
  Status status = Status::ok;
  double p_x_less_y = 0;  // the estimate
  double var_x = 0, var_y = 0;
  double statistic = 0;  // above 0 when y is larger
  std::optional<double> df, std_error;
  std::optional<double> p_value, p_less, p_greater;  // greater: x tends to be larger
  std::optional<double> p_normal;                    // two-sided, normal law instead of t
  std::optional<double> low, high;                   // of the estimate; not clipped to [0, 1]
};
BrunnerMunzel brunner_munzel(std::span<const double> x, std::span<const double> y, double level);

// The statistic under all exchanges of labels; counts.ge are those with y as large or larger. At least 2
// values in each sample.
PermutationTest brunner_munzel_permutation(std::span<const double> x, std::span<const double> y,
                                           const Draws& = {});

}  // namespace retrygate::stats
