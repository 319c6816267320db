// Limit laws of goodness of fit statistics: tails of infinite weighted sums of chi-squares.
#pragma once

namespace retrygate::stats {

// P(sqrt(n) D > x), Kolmogorov's law.
double kolmogorov_sf(double x);

// P(Q > x) for Q the sum over j = 1, 2, .. of w_j times a chi-square with `dof` degrees of freedom;
// w_j = 1 / (j (j + 1)) is Anderson and Darling's law, w_j = 1 / (j pi)^2 that of Cramer and von Mises.
// Exact to about 12 digits, also far in the tail.
enum class Weighting { anderson_darling, cramer_von_mises };
double weighted_chi_squares_sf(Weighting, double x, double dof = 1);

}  // namespace retrygate::stats
