#include "stats/limit_law.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace retrygate::stats {
namespace {

using Complex = std::complex<double>;
using std::numbers::pi;

// The product over j of (1 - 2 s w_j): the moment generating function is its power -dof / 2. By the products
// of Euler for sine and cosine.
Complex product(Weighting weighting, Complex s) {
  if (weighting == Weighting::cramer_von_mises) {
    const Complex root = std::sqrt(2.0 * s);
    return std::sin(root) / root;
  }
  return -std::cos(pi / 2 * std::sqrt(1.0 + 8.0 * s)) / (2 * pi * s);
}

// The moment generating function is finite below 1 / (2 w_1).
double singularity(Weighting weighting) { return weighting == Weighting::cramer_von_mises ? pi * pi / 2 : 1; }

}  // namespace

double kolmogorov_sf(double x) {
  if (x <= 0) return 1;
  if (x < 1) {
    double sum = 0;
    for (int k = 1; k < 40; k += 2) sum += std::exp(-pi * pi * k * k / (8 * x * x));
    return 1 - std::sqrt(2 * pi) / x * sum;
  }
  double sum = 0;
  for (int k = 10; k > 0; --k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return sum;
}

// The inverse Laplace transform of the moment generating function over s, along Re s = c, by the trapezoid
// rule, whose error vanishes exponentially with the distance of the line from the poles. c is taken near the
// saddle point, so that the tail comes out as a product of its size and not as a difference.
double weighted_chi_squares_sf(Weighting weighting, double x, double dof) {
  const double pole = singularity(weighting);
  // Below this Q has a probability of less than 10^-20.
  if (x <= 0 || x * pole < 0.02) return 1;
  const double c = pole * std::max(0.5, 1 - dof / (2 * x * pole));
  const double step = std::min({c, pole - c, 1 / x}) / 8;
  const double at_c = std::log(product(weighting, c).real());
  const double log_size = -dof / 2 * at_c - c * x;
  // The rest is of the order of 1: no double is as small.
  if (log_size < -760) return 0;
  double sum = 0.5 / c, turn = 0, previous = 0;
  for (int i = 1; i < 100'000'000; ++i) {
    const Complex s(c, step * i);
    const Complex value = product(weighting, s);
    // The power needs the argument as it grows from 0, not its principal value.
    const double argument = std::arg(value);
    if (argument - previous > pi) turn -= 2 * pi;
    if (argument - previous < -pi) turn += 2 * pi;
    previous = argument;
    const Complex log_mgf = -dof / 2 * Complex(std::log(std::abs(value)) - at_c, argument + turn);
    const Complex term = std::exp(log_mgf - Complex(0, s.imag() * x)) / s;
    sum += term.real();
    if (std::abs(term) < 1e-18 * std::abs(sum)) break;
  }
  return std::clamp(step / pi * sum * std::exp(log_size), 0.0, 1.0);
}

}  // namespace retrygate::stats
