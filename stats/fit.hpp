// Do samples follow one law, or a given one? Kolmogorov-Smirnov, Anderson-Darling, Cramer-von Mises,
// chi-square.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stats/permutation.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

// D of both sides and p of both: d_plus is the largest distance of the first distribution function above the
// second (values of x tend to be smaller), d_minus below.
struct KolmogorovSmirnov {
  std::string_view method;  // "exact" or "limit": where p_value comes from
  double statistic = 0, d_plus = 0, d_minus = 0;
  double p_value = 1;
  std::optional<double> p_plus, p_minus;  // exact law only
  double p_limit = 1, p_plus_limit = 1, p_minus_limit = 1;
};

enum class FitLaw { automatic, exact, limit };

// Two samples. The exact law is conditional on the ties (paths that may leave the band only between different
// values), found by counting the paths that do, so that small tails keep their digits. Automatic: exact up to
// m n = 4 million.
KolmogorovSmirnov ks_two_sample(std::span<const double> x, std::span<const double> y,
                                FitLaw = FitLaw::automatic);

// One sample against the uniform law on [a, b], a < b; values outside count as its ends. Exact two-sided p:
// G. Marsaglia, W. W. Tsang, J. Wang, "Evaluating Kolmogorov's distribution", 2003, while that takes less
// than about a second, and twice the one-sided one where both sides together are less likely than 10^-5;
// one-sided: Z. W. Birnbaum and F. H. Tingey, 1951. Ties are treated as if the law of the data were
// continuous.
struct Range {
  double a = 0, b = 1;
};
KolmogorovSmirnov ks_uniform(std::span<const double> x, const Range&, FitLaw = FitLaw::automatic);

// A^2 against the uniform law on [a, b]. A value on the boundary or beyond it makes A^2 infinite and p 0.
// Sources: T. W. Anderson and D. A. Darling, "A test of goodness of fit", 1954; correction for finite n: G.
// and J. Marsaglia, "Evaluating the Anderson-Darling distribution", 2004 (it never falls below about 0.0006 /
// n and is off for n < 8).
struct AndersonDarling {
  double statistic = 0;
  double p_value = 1;   // limit law
  double p_finite = 1;  // corrected for n
};
AndersonDarling ad_uniform(std::span<const double> x, const Range&);

// k samples. Version 1 looks at the distribution functions right of the values, version 2 at midranks; t is
// the statistic less its mean k - 1, in its standard deviations. `undefined` when all values are equal or
// there are fewer than 4. Source: F. W. Scholz and M. A. Stephens, "K-sample Anderson-Darling tests", 1987.
struct KSampleAndersonDarling {
  Status status = Status::ok;
  double a2 = 0, a2_midrank = 0, sigma = 0, t = 0, t_midrank = 0;
  double p_limit = 1, p_limit_midrank = 1;
  std::optional<PermutationTest> labels, labels_midrank;  // p_greater is p
};
// `permute`: also find p by exchanging labels (exact up to 10^6 arrangements, else drawn).
KSampleAndersonDarling ad_k_sample(std::span<const std::vector<double>> groups, bool permute,
                                   const Draws& = {});

// Two samples, midranks; limit law after Anderson's match of mean and variance, or p_greater of exchanged
// labels. Source: T. W. Anderson, "On the distribution of the two-sample Cramer-von Mises criterion", 1962.
struct CramerVonMises {
  double statistic = 0;
  double p_limit = 1;
  std::optional<PermutationTest> labels;
};
CramerVonMises cvm_two_sample(std::span<const double> x, std::span<const double> y, bool permute,
                              const Draws& = {});

// Counts against probabilities, which are divided by their sum; and independence in a table of counts, for 2
// x 2 with Yates's correction on request. `undefined` without a count, with a single cell, or with an empty
// row or column.
struct ChiSquare {
  Status status = Status::ok;
  std::optional<double> statistic, p_value;  // infinite and 0 when what is impossible was counted
  double df = 0;
  double min_expected = 0;  // below about 5 the law is rough
};
ChiSquare chi_square_fit(std::span<const double> counts, std::span<const double> probabilities);
ChiSquare chi_square_table(std::span<const std::vector<double>> rows, bool yates);

}  // namespace retrygate::stats
