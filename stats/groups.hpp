// Do k groups differ in mean, in spread, in rank?
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/status.hpp"

namespace retrygate::stats {

using Group = std::vector<double>;

struct GroupTest {
  Status status = Status::ok;
  std::optional<double> statistic;  // F; chi-square where there is no df2
  double df1 = 0;
  std::optional<double> df2;
  std::optional<double> p_value;
  std::optional<double> effect;  // share of the spread that lies between the groups
};

// Means, equal variances: F. Effect: eta squared. `undefined` without spread within the groups.
GroupTest anova(std::span<const Group>);

// Means, variances may differ. `undefined` when a group has no variance.
// Source: B. L. Welch, "On the comparison of several mean values: an alternative approach", 1951.
GroupTest welch_anova(std::span<const Group>);

// Spread: analysis of variance of the distances from the centre of the group. From the mean: Levene 1960;
// from the median, robust against skew: M. B. Brown and A. B. Forsythe, "Robust tests for the equality of
// variances", 1974.
enum class LeveneCentre { median, mean };
GroupTest levene(std::span<const Group>, LeveneCentre);

// Ranks, chi-square law, corrected for ties. Effect: epsilon squared, H / (n - 1). `degenerate` when all
// values are equal: p is 1. Source: W. H. Kruskal and W. A. Wallis, "Use of ranks in one-criterion variance
// analysis", 1952.
struct KruskalWallis {
  GroupTest test;
  double tie_correction = 0;
};
KruskalWallis kruskal_wallis(std::span<const Group>);

// Ranks within rows (blocks, seeds) of equal length at least 2. Effect: Kendall's W. `degenerate` when every
// row is tied throughout: p is 1. The F of Iman and Davenport is closer to its law than chi-square; it is not
// defined when all rows agree. Sources: M. Friedman 1937; R. L. Iman and J. M. Davenport 1980.
struct Friedman {
  GroupTest test;
  std::vector<double> rank_sums;  // of the columns
  std::optional<double> f, f_p_value;
};
Friedman friedman(std::span<const std::vector<double>> rows);

}  // namespace retrygate::stats
