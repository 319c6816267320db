#include "stats/sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retrygate::stats {
namespace {

Moments moments_of(const std::vector<Twofold>& values) {
  Moments m;
  m.n = values.size();
  ExactSum total;
  for (const Twofold& v : values) {
    total.add(v.hi);
    if (v.lo != 0) total.add(v.lo);
  }
  m.sum = total.value();
  m.mean = m.sum / static_cast<double>(m.n);
  Twofold second, third, fourth;
  for (const Twofold& v : values) {
    const double d = (v - m.mean).value();
    second = second + Twofold{d} * d;
    third = third + Twofold{d} * d * d;
    fourth = fourth + Twofold{d} * d * d * d;
  }
  m.m2 = second.value();
  m.m3 = third.value();
  m.m4 = fourth.value();
  return m;
}

}  // namespace

int common_exponent(std::initializer_list<std::span<const double>> samples) {
  double largest = 0;
  for (const auto& sample : samples) {
    for (const double v : sample) largest = std::max(largest, std::abs(v));
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  return exponent;
}

std::vector<double> scaled_down(std::span<const double> x, int exponent) {
  std::vector<double> scaled;
  scaled.reserve(x.size());
  for (const double v : x) scaled.push_back(std::ldexp(v, -exponent));
  return scaled;
}

Moments moments(std::span<const double> scaled) {
  std::vector<Twofold> values;
  values.reserve(scaled.size());
  for (const double v : scaled) values.push_back({v});
  return moments_of(values);
}

Moments moments_of_differences(std::span<const double> x, std::span<const double> y) {
  std::vector<Twofold> values;
  values.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) values.push_back(two_sum(x[i], -y[i]));
  return moments_of(values);
}

std::vector<double> sorted(std::span<const double> x) {
  std::vector<double> all(x.begin(), x.end());
  std::sort(all.begin(), all.end());
  return all;
}

std::size_t inverse_rank(double p, std::size_t n) {
  // n p that is whole on paper may come out just above.
  const double rank = std::ceil(static_cast<double>(n) * p * (1 - 1e-14));
  return std::clamp(static_cast<std::size_t>(rank), std::size_t{1}, n);
}

double quantile(std::span<const double> sorted, double p, QuantileType type) {
  const auto n = static_cast<double>(sorted.size());
  double at = 0;  // counted from 1
  switch (type) {
    case QuantileType::one:
      return sorted[inverse_rank(p, sorted.size()) - 1];
    case QuantileType::six:
      at = (n + 1) * p;
      break;
    case QuantileType::seven:
      at = (n - 1) * p + 1;
      break;
    case QuantileType::eight:
      at = (n + 1.0 / 3) * p + 1.0 / 3;
      break;
  }
  at = std::clamp(at, 1.0, n);
  const auto below = static_cast<std::size_t>(at);
  const double low = sorted[below - 1], high = sorted[std::min(below, sorted.size() - 1)];
  // std::lerp would make NaN of two equal infinities.
  return low == high ? low : std::lerp(low, high, at - static_cast<double>(below));
}

double median(std::span<const double> sorted) {
  const std::size_t n = sorted.size();
  const double low = sorted[(n - 1) / 2], high = sorted[n / 2];
  return low == high ? low : std::midpoint(low, high);
}

double median_absolute_deviation(std::span<const double> x, double centre) {
  std::vector<double> distances;
  distances.reserve(x.size());
  for (const double v : x) distances.push_back(std::abs(v - centre));
  std::sort(distances.begin(), distances.end());
  return median(distances);
}

double trimmed_mean(std::span<const double> sorted, double trim) {
  const auto cut = static_cast<std::size_t>(std::floor(static_cast<double>(sorted.size()) * trim));
  const auto middle = sorted.subspan(cut, sorted.size() - 2 * cut);
  const int exponent = common_exponent({middle});
  ExactSum sum;
  for (const double v : middle) sum.add(std::ldexp(v, -exponent));
  return std::ldexp((sum.value() / static_cast<double>(middle.size())).value(), exponent);
}

Description describe(std::span<const double> x) {
  const int exponent = common_exponent({x});
  const Moments m = moments(scaled_down(x, exponent));
  const auto n = static_cast<double>(x.size());
  const std::vector<double> in_order = sorted(x);
  Description d;
  d.n = x.size();
  d.sum = std::ldexp(m.sum.value(), exponent);
  d.mean = std::ldexp(m.mean.value(), exponent);
  d.min = in_order.front();
  d.max = in_order.back();
  d.variance_population = std::ldexp(m.m2 / n, 2 * exponent);
  if (x.size() > 1) {
    d.variance = std::ldexp(m.variance(), 2 * exponent);
    d.sd = std::ldexp(std::sqrt(m.variance()), exponent);
    d.std_error = std::ldexp(std::sqrt(m.variance() / n), exponent);
  }
  if (m.m2 > 0) {
    const double spread = m.m2 / n;
    const double g1 = m.m3 / n / (spread * std::sqrt(spread)), g2 = m.m4 / n / (spread * spread) - 3;
    d.skewness_g1 = g1;
    d.kurtosis_excess_g2 = g2;
    if (x.size() > 2) d.skewness_G1 = g1 * std::sqrt(n * (n - 1)) / (n - 2);
    if (x.size() > 3) d.kurtosis_G2 = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * g2 + 6);
    const double shrink = (n - 1) / n;
    d.skewness_b1 = g1 * shrink * std::sqrt(shrink);
    d.kurtosis_b2 = (g2 + 3) * shrink * shrink - 3;
  }
  d.median = median(in_order);
  d.mad = median_absolute_deviation(x, d.median);
  return d;
}

}  // namespace retrygate::stats
