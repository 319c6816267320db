#include "stats/distributions.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/zeta.hpp>
#include <cmath>
#include <exception>
#include <limits>

namespace retrygate::stats {
namespace {

namespace bm = boost::math;

// What Boost.Math throws, as ours.
template <class Compute>
double within_reach(const Compute& compute) {
  try {
    return compute();
  } catch (const std::exception& e) {
    throw OutOfReach(e.what());
  }
}

template <class Law>
double sf(const Law& law, double x) {
  return bm::cdf(bm::complement(law, x));
}

bm::binomial binomial(std::int64_t n, double p) { return {static_cast<double>(n), p}; }

}  // namespace

double normal_sf(double z) {
  return within_reach([&] { return sf(bm::normal(), z); });
}
double normal_quantile(double p) {
  return within_reach([&] { return bm::quantile(bm::normal(), p); });
}
double student_sf(double t, double dof) {
  return within_reach([&] { return sf(bm::students_t(dof), t); });
}
double student_quantile(double p, double dof) {
  return within_reach([&] { return bm::quantile(bm::students_t(dof), p); });
}
double student_upper_quantile(double q, double dof) {
  return within_reach([&] { return bm::quantile(bm::complement(bm::students_t(dof), q)); });
}

double noncentral_t_cdf(double t, double dof, double delta) {
  return within_reach([&] { return bm::cdf(bm::non_central_t(dof, delta), t); });
}
double noncentral_t_sf(double t, double dof, double delta) {
  return within_reach([&] { return sf(bm::non_central_t(dof, delta), t); });
}

double chi_square_sf(double x, double dof) {
  return within_reach([&] { return sf(bm::chi_squared(dof), x); });
}
double chi_square_quantile(double p, double dof) {
  return within_reach([&] { return bm::quantile(bm::chi_squared(dof), p); });
}
double chi_square_upper_quantile(double q, double dof) {
  return within_reach([&] { return bm::quantile(bm::complement(bm::chi_squared(dof), q)); });
}
double f_sf(double f, double dof1, double dof2) {
  return within_reach([&] { return sf(bm::fisher_f(dof1, dof2), f); });
}

double beta_quantile(double p, double a, double b) {
  return within_reach([&] { return bm::quantile(bm::beta_distribution<>(a, b), p); });
}
double beta_upper_quantile(double q, double a, double b) {
  return within_reach([&] { return bm::quantile(bm::complement(bm::beta_distribution<>(a, b), q)); });
}

double binomial_pmf(std::int64_t k, std::int64_t n, double p) {
  if (k < 0 || k > n) return 0;
  return within_reach([&] { return bm::pdf(binomial(n, p), static_cast<double>(k)); });
}
double binomial_cdf(std::int64_t k, std::int64_t n, double p) {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return within_reach([&] { return bm::cdf(binomial(n, p), static_cast<double>(k)); });
}
double binomial_sf(std::int64_t k, std::int64_t n, double p) {
  if (k < 0) return 1;
  if (k >= n) return 0;
  return within_reach([&] { return sf(binomial(n, p), static_cast<double>(k)); });
}

// Boost's quantile of a discrete law rounds outwards, so it only tells where to look. Its cdf may lie a few
// units of rounding below an exact step; R's qbinom allows as much.
std::int64_t binomial_quantile(double q, std::int64_t n, double p) {
  if (q <= 0 || p == 0) return 0;
  if (q >= 1) return n;
  const double reached = q * (1 - 64 * std::numeric_limits<double>::epsilon());
  auto k = std::clamp<std::int64_t>(
      std::llround(within_reach([&] { return bm::quantile(binomial(n, p), q); })), 0, n);
  while (k > 0 && binomial_cdf(k - 1, n, p) >= reached) --k;
  while (k < n && binomial_cdf(k, n, p) < reached) ++k;
  return k;
}

double zeta(double s) {
  return within_reach([&] { return bm::zeta(s); });
}

}  // namespace retrygate::stats
