// Evidence that may be looked at after every observation: the error stays below alpha however often one looks
// and whenever one stops.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stats/interval.hpp"

namespace retrygate::stats {

// After each observation: evidence against the null hypothesis as a logarithm (the ratio itself overflows),
// and the running minimum of its inverse, a p value that is valid at any stopping time.
struct Evidence {
  double log_ratio = 0;
  double always_valid_p = 1;
};
// The first n (from 1) at which always_valid_p <= alpha.
std::optional<std::size_t> first_rejection(std::span<const Evidence>, double alpha);

// Mixture SPRT of a mean with known spread: the alternative is N(theta0, tau^2). sigma, tau > 0.
// Source: H. Robbins, "Statistical methods related to the law of the iterated logarithm", 1970;
// R. Johari, P. Koomen, L. Pekelis and D. Walsh, "Always valid inference", 2022.
struct NormalMixture {
  double sigma = 1;  // of one observation
  double tau = 1;
  double theta0 = 0;
};
std::vector<Evidence> msprt_normal(const NormalMixture&, std::span<const double> x);
// Confidence sequence after each observation, each as it stands alone: their intersection is valid too.
std::vector<Interval> confidence_sequence(const NormalMixture&, std::span<const double> x, double alpha);

// Boundary for a sum of centred sub-Gaussian steps with variance v in all, two-sided, mixture over N(0,
// 1/rho). Source: Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic
// confidence sequences", 2021, equations 14 and 24.
double normal_mixture_rho(double v_opt, double alpha);  // the rho whose boundary is tightest near v_opt > 0
double normal_mixture_boundary(double v, double rho, double alpha);  // v >= 0

// Polynomial stitched boundary, one-sided, for sub-gamma steps of scale c (0: sub-Gaussian); same source,
// equation 10. m > 0 is where it begins, eta > 1 the ratio of epochs, s > 1 the power of their weights.
struct Stitching {
  double alpha = 0.05;
  double m = 1;
  double c = 0;
  double eta = 2;
  double s = 1.4;
  double k1() const;
  double k2() const;
};
double stitched_boundary(const Stitching&, double v);

// Evidence against "the chance of a win is p0", 0 < p0 < 1, with a Beta(a, b) prior on the alternative.
// Source: H. Robbins 1970; S. R. Howard et al. 2021, section 3.3.
struct BetaBinomial {
  double p0 = 0.5;
  double a = 1, b = 1;
};
std::vector<Evidence> beta_binomial_eprocess(const BetaBinomial&, const std::vector<bool>& wins);

// Wald's sequential probability ratio test of p0 against p1, both in (0, 1) and different.
// Source: A. Wald, "Sequential tests of statistical hypotheses", 1945.
struct Sprt {
  double p0 = 0.5, p1 = 0.6;
  double alpha = 0.05, beta = 0.05;  // chance of a wrong h1, of a wrong h0
  double upper() const;              // log likelihood ratio that accepts p1
  double lower() const;              // that accepts p0
};
enum class SprtDecision { go_on, accept_h0, accept_h1 };
struct SprtRun {
  std::vector<double> log_ratio;  // after each observation, also beyond the decision
  SprtDecision decision = SprtDecision::go_on;
  std::optional<std::size_t> decided_at;  // n, from 1
};
SprtRun sprt_bernoulli(const Sprt&, const std::vector<bool>& wins);

}  // namespace retrygate::stats
