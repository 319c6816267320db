// Wilcoxon's signed rank test with midranks.
#pragma once

#include <span>
#include <string_view>

namespace retrygate::stats {

struct SignedRank {
  double v_plus = 0;                                  // sum of the ranks of the positive differences
  double p_less = 1, p_greater = 1, p_two_sided = 1;  // greater: differences tend to be above 0
  std::string_view method;                            // "exact" or "normal"
  bool degenerate = false;                            // every difference is 0: p is 1
};

inline constexpr std::size_t signed_rank_exact_limit = 60;  // at most so many differences: the exact law

// Zeros are ranked and then left out (Pratt 1959), ties share midranks. The exact law is that of the
// midranks under sign flips; above the limit the normal one with continuity correction 1/2.
SignedRank signed_rank(std::span<const double> differences);

}  // namespace retrygate::stats
