// Fisher's exact test of a table of two rows and two columns, with the odds ratio that belongs to it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/interval.hpp"

namespace retrygate::stats {

// Counts, none negative, not all 0. Rows are the groups, columns yes and no.
struct TwoByTwo {
  std::int64_t a = 0, b = 0;
  std::int64_t c = 0, d = 0;
};

// The law of `a` when the margins of the table are given and the odds ratio is `odds`: noncentral
// hypergeometric. Probabilities are products of exact ratios of neighbours, started at the likeliest one, so
// that both tails keep their relative precision.
class MarginLaw {
 public:
  explicit MarginLaw(TwoByTwo);

  std::int64_t lowest() const { return lowest_; }    // of `a`
  std::int64_t highest() const { return highest_; }  // of `a`

  double at_most(std::int64_t a, double odds) const;   // P(A <= a)
  double at_least(std::int64_t a, double odds) const;  // P(A >= a)
  double mean(double odds) const;
  // P of all values that are at most as probable as `a` (within 1e-7 relative), at odds ratio 1.
  double by_probability(std::int64_t a) const;

 private:
  std::vector<double> law(double odds) const;

  TwoByTwo table_;
  std::int64_t lowest_, highest_;
};

struct FisherTest {
  double p_two_sided = 1;  // by probability, the rule of R and SciPy
  double p_less = 1;       // odds ratio below 1
  double p_greater = 1;
  std::optional<double> odds_sample;  // a d / (b c); infinite when b c = 0; none when 0 / 0
  std::optional<double>
      odds_conditional;  // maximum likelihood given the margins; none when they leave no choice
  Interval odds;         // exact two-sided interval of the conditional odds ratio
};
// 0 < level < 1. Source: R. A. Fisher, "The logic of inductive inference", 1935; Cornfield 1956.
FisherTest fisher_exact(TwoByTwo, double level);

}  // namespace retrygate::stats
