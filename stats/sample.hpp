// What a sample looks like: moments, quantiles, robust measures of place and spread.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "stats/twofold.hpp"

namespace retrygate::stats {

// Arithmetic mean; x is not empty.
inline double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// e so that the largest |x| of all samples lies in [2^(e-1), 2^e); 0 when all are 0. Values divided by 2^e
// have squares, cubes and sums that neither overflow nor lose their digits, and the division is exact.
int common_exponent(std::initializer_list<std::span<const double>>);
std::vector<double> scaled_down(std::span<const double>, int exponent);

// Sums over a sample that was divided by 2^exponent; deviations are taken from the mean to 106 bits.
struct Moments {
  std::size_t n = 0;
  Twofold sum, mean;
  double m2 = 0, m3 = 0, m4 = 0;                                       // sums of powers of the deviations
  double variance() const { return m2 / static_cast<double>(n - 1); }  // n >= 2
};
Moments moments(std::span<const double> scaled);
// Of the differences x[i] - y[i], which need not be representable.
Moments moments_of_differences(std::span<const double> scaled_x, std::span<const double> scaled_y);

// Quantile types of Hyndman and Fan, "Sample quantiles in statistical packages", 1996: 1 (the least value
// whose share reaches p), 6 (Weibull), 7 (default of R and NumPy), 8 (median-unbiased).
enum class QuantileType { one = 1, six = 6, seven = 7, eight = 8 };
// The rank of the quantile of type 1, from 1.
std::size_t inverse_rank(double p, std::size_t n);
std::vector<double> sorted(std::span<const double>);
// 0 <= p <= 1. `sorted` is not empty and may hold infinities.
double quantile(std::span<const double> sorted, double p, QuantileType = QuantileType::seven);
double median(std::span<const double> sorted);
// Median of |x - centre|; not scaled.
double median_absolute_deviation(std::span<const double>, double centre);
// floor(n * trim) values are left out at each end, 0 <= trim < 0.5.
double trimmed_mean(std::span<const double> sorted, double trim);

// Everything at once. Not defined is empty: the variance of one value, the shape of constants.
struct Description {
  std::size_t n = 0;
  double sum = 0, mean = 0, min = 0, max = 0;  // the sum may be infinite when the mean is not
  double variance_population = 0;
  std::optional<double> variance, sd, std_error;
  std::optional<double> skewness_g1, kurtosis_excess_g2;  // from the moments (type 1)
  std::optional<double> skewness_G1, kurtosis_G2;         // corrected for bias (type 2)
  std::optional<double> skewness_b1, kurtosis_b2;         // with the sample variance (type 3)
  double median = 0, mad = 0;
};
// Types of shape: D. N. Joanes and C. A. Gill, "Comparing measures of sample skewness and kurtosis", 1998.
Description describe(std::span<const double>);

}  // namespace retrygate::stats
