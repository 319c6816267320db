// Are differences symmetric about 0? Wilcoxon's signed rank test, the pseudomedian, and the sign test.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "stats/mann_whitney.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

// Pratt: zeros are ranked and then left out, so that they take the low ranks. Wilcoxon: left out first.
enum class Zeros { pratt, wilcoxon };

struct SignedRank {
  Status status = Status::ok;  // degenerate: every difference is 0, p is 1
  std::string_view method;     // "exact" or "normal"
  double v_plus = 0;           // sum of the ranks of the positive differences
  double v_minus = 0;
  std::size_t n_used = 0, n_zero = 0;
  double p_less = 1, p_greater = 1, p_two_sided = 1;  // greater: differences tend to be above 0
};

inline constexpr std::size_t signed_rank_exact_limit = 60;  // at most so many differences: the exact law

// Ties share midranks. The exact law is that of the midranks under sign flips, up to the limit; beyond it the
// normal one with continuity correction 1/2.
SignedRank signed_rank(std::span<const double> differences);
// The law is symmetric, so that p by distance from the mean is the same. Nothing beyond 1000 differences.
// Source: J. W. Pratt, "Remarks on zeros and ties in the Wilcoxon signed rank procedures", 1959.
std::optional<SignedRank> signed_rank_exact(std::span<const double> differences, Zeros);

struct NormalSignedRank {
  NormalRankTest test;
  std::size_t n_used = 0, n_zero = 0;
};
NormalSignedRank signed_rank_normal(std::span<const double> differences, Zeros);

// Median of all means of two differences, i <= j, with the interval that the test does not reject; zeros
// stay. Nothing beyond 1000 differences with the exact law, which is that without ties. Source: Hodges and
// Lehmann 1963.
std::optional<Shift> pseudomedian(std::span<const double> differences, double level, Law);

// Zeros are left out of p and kept for the interval of the median.
struct SignTest {
  Status status = Status::ok;  // degenerate: every difference is 0
  std::size_t positive = 0, n_used = 0, n_zero = 0;
  double p_less = 1, p_greater = 1, p_value = 1;
  double median = 0;
  double low = 0, high = 0;  // order statistics; infinite when the level is out of reach
  double level_achieved = 0;
  std::size_t order_index = 0;  // 0: out of reach
};
SignTest sign_test(std::span<const double> differences, double level);

}  // namespace retrygate::stats
