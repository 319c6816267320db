// Permutation tests: what if the labels, or the signs, were dealt at random?
// Source: R. A. Fisher, "The Design of Experiments", 1935; Monte Carlo p = (b + 1) / (B + 1): Phipson and
// Smyth, "Permutation p-values should never be zero", 2010.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "stats/arrangements.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

// How many arrangements have a statistic as large, as small, as far from 0 as the one seen.
struct Counts {
  std::uint64_t total = 0, ge = 0, le = 0, abs_ge = 0;
  Counts& operator+=(const Counts& other) {
    total += other.total;
    ge += other.ge;
    le += other.le;
    abs_ge += other.abs_ge;
    return *this;
  }
  // Statistics that differ by at most `slack` are equal: the same sum in another order differs in its last
  // bits.
  void add(double statistic, double seen, double slack) {
    ++total;
    ge += statistic >= seen - slack;
    le += statistic <= seen + slack;
    abs_ge += statistic >= std::abs(seen) - slack || statistic <= -std::abs(seen) + slack;
  }
};

struct PermutationTest {
  std::string_view method;  // "all arrangements" or "random arrangements"
  bool all = true;          // every arrangement was counted; else `counts.total` were drawn
  double statistic = 0;
  Counts counts;
  double p_less = 1, p_greater = 1;
  double p_value = 1;      // twice the smaller of the two, at most 1
  double p_value_abs = 1;  // as far from 0; the same for symmetric laws
};

enum class Centre { mean, median };

inline constexpr std::size_t permutation_exact_limit = 36;  // so many values: all arrangements of means
inline constexpr std::uint64_t permutation_visit_limit =
    1'000'000;  // so many arrangements of other statistics

// Centre of x minus centre of y when the labels are exchangeable. The law of means is exact for up to 36
// values in all (both halves of the values are enumerated and put together), that of medians for up to 10^6
// arrangements; beyond that it is drawn.
PermutationTest permute_difference(std::span<const double> x, std::span<const double> y, Centre,
                                   const Draws& = {});

// Centre of the differences when each is symmetric about 0, zeros included. Subtract the margin first to test
// against one. Exact as above, with 2^n arrangements.
PermutationTest flip_signs(std::span<const double> differences, Centre, const Draws& = {});

// From counts to p values.
PermutationTest conclude(double statistic, const Counts&, bool all);

// A statistic of labels under all dealings of things to groups of these sizes, at most 256 groups; exact up
// to 10^6 dealings, else drawn. The statistic is called on several threads.
template <class Statistic>
PermutationTest permute_labels(const std::vector<std::size_t>& sizes, double seen, double slack,
                               const Statistic& statistic, const Draws& draws) {
  Counts counts;
  const bool all = labellings(sizes) <= permutation_visit_limit;
  if (all) {
    for_each_labelling(sizes, [&](const Labels& labels) { counts.add(statistic(labels), seen, slack); });
  } else {
    counts = over_draws<Counts>(draws, [&](Rng& rng, std::uint64_t of_piece, Counts& sum) {
      Labels labels = labels_of(sizes);
      for (std::uint64_t draw = 0; draw < of_piece; ++draw) {
        choose_at_random(labels, labels.size() - 1, rng);
        sum.add(statistic(labels), seen, slack);
      }
    });
  }
  return conclude(seen, counts, all);
}

}  // namespace retrygate::stats
