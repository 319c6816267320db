// Distributions as plain functions; Boost.Math stays behind this wall. Tails are computed as tails. Arguments
// inside the stated ranges never give NaN; outside they are a mistake of the caller. Where a series does not
// reach its accuracy, or a value lies beyond a double, OutOfReach is thrown: `run` (procedure.hpp) makes an
// error of the case of it.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace retrygate::stats {

struct OutOfReach : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double normal_sf(double z);                           // P(Z > z)
double normal_quantile(double p);                     // 0 < p < 1
double student_sf(double t, double dof);              // P(T > t), dof > 0
double student_quantile(double p, double dof);        // 0 < p < 1, dof > 0
double student_upper_quantile(double q, double dof);  // t with P(T > t) = q, 0 < q < 1

// Student's t around a noncentrality: the law of (Z + delta) / sqrt(chi-square(dof) / dof).
double noncentral_t_cdf(double t, double dof, double delta);  // P(T <= t)
double noncentral_t_sf(double t, double dof, double delta);   // P(T > t)

double chi_square_sf(double x, double dof);              // P(X > x), x >= 0, dof > 0
double chi_square_quantile(double p, double dof);        // 0 <= p < 1
double chi_square_upper_quantile(double q, double dof);  // the x with P(X > x) = q, 0 < q <= 1
double f_sf(double f, double dof1, double dof2);         // P(F > f), f >= 0

double beta_quantile(double p, double a, double b);        // 0 <= p <= 1; a, b > 0
double beta_upper_quantile(double q, double a, double b);  // the x with P(X > x) = q

// k successes of n with probability p. Any k; n >= 0; 0 <= p <= 1.
double binomial_pmf(std::int64_t k, std::int64_t n, double p);
double binomial_cdf(std::int64_t k, std::int64_t n, double p);  // P(K <= k)
double binomial_sf(std::int64_t k, std::int64_t n, double p);   // P(K > k)
std::int64_t binomial_quantile(double q, std::int64_t n,
                               double p);  // least k with P(K <= k) >= q, 0 <= q <= 1

double zeta(double s);  // Riemann's, s > 1

}  // namespace retrygate::stats
