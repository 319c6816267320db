// Does x tend to be larger than y? Mann and Whitney's test, the shift by Hodges and Lehmann, and the effect
// as a probability.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "stats/status.hpp"

namespace retrygate::stats {

struct MannWhitney {
  Status status = Status::ok;
  std::string_view method;  // "exact", "normal"
  double statistic = 0;     // pairs with x > y, half of those with x = y
  double u_y = 0;           // the same with x and y exchanged
  double rank_sum_x = 0;
  double p_less = 1, p_greater = 1;  // greater: x tends to be larger
  double p_value = 1;                // twice the smaller, at most 1
  double p_value_abs = 1;            // as far from the mean of the law
};

// The permutation law of the midranks: exact with and without ties. Nothing when it would take more than
// about ten seconds or a gigabyte.
std::optional<MannWhitney> mann_whitney_exact(std::span<const double> x, std::span<const double> y);

struct NormalRankTest {
  Status status = Status::ok;  // degenerate: all values are equal, p is 1
  double statistic = 0, mean = 0, variance = 0;
  double z = 0;  // with a continuity correction of 1/2
  double p_value = 1, p_less = 1, p_greater = 1;
  double z_no_continuity = 0, p_value_no_continuity = 1;
};
// From a statistic and the mean and variance of its law.
NormalRankTest normal_rank_test(double statistic, double mean, double variance);

// Normal law with the variance of the midranks.
NormalRankTest mann_whitney_normal(std::span<const double> x, std::span<const double> y);

// Exact while it takes tens of milliseconds (without ties up to about 350 + 350 values, with 100 + 100), else
// normal; the method says which. Depends on sizes and on whether there are ties, not on the outcome.
MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y);

// Median of all differences x - y, with the interval that the test does not reject.
// Source: J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", 1963.
struct Shift {
  std::string_view method;
  double estimate = 0, low = 0, high = 0;
  std::optional<double> level_achieved;  // exact law only; below the level asked for when it is out of reach
  std::uint64_t order_index = 0;         // the interval ends at the k-th smallest and k-th largest
};
enum class Law { exact, normal };
// The exact law is that without ties. It is nothing when that takes too long.
std::optional<Shift> hodges_lehmann(std::span<const double> x, std::span<const double> y, double level, Law);

// P(x > y) + P(x = y) / 2 as a12 (Vargha and Delaney), and 2 a12 - 1 as Cliff's delta. Intervals of delta:
// Fisher's z with the variance of the null law (as effectsize), and N. Cliff, "Answering ordinal questions
// with ordinal data using ordinal statistics", 1996, asymmetric, from the unbiased variance.
struct OrdinalEffect {
  std::uint64_t greater = 0, equal = 0, less = 0;  // pairs
  double a12 = 0, delta = 0;
  double fisher_low = 0, fisher_high = 0;
  std::optional<double> cliff_variance;         // needs 2 values in each sample
  std::optional<double> cliff_low, cliff_high;  // not for separated samples
};
OrdinalEffect ordinal_effect(std::span<const double> x, std::span<const double> y, double level);

}  // namespace retrygate::stats
