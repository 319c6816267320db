#include "stats/quantile_interval.hpp"

#include "stats/distributions.hpp"
#include "stats/interval.hpp"

namespace retrygate::stats {
namespace {

double order_statistic(std::span<const double> sorted, std::int64_t index) {
  if (index < 1) return -infinite;
  if (index > static_cast<std::int64_t>(sorted.size())) return infinite;
  return sorted[static_cast<std::size_t>(index - 1)];
}

}  // namespace

QuantileInterval quantile_interval(std::span<const double> sorted, double p, double level) {
  const auto n = static_cast<std::int64_t>(sorted.size());
  const double tail = (1 - level) / 2;
  QuantileInterval result;
  result.index_low = binomial_quantile(tail, n, p);
  result.index_high = binomial_quantile(1 - tail, n, p) + 1;
  result.low = order_statistic(sorted, result.index_low);
  result.high = order_statistic(sorted, result.index_high);
  result.tail_low = binomial_cdf(result.index_low - 1, n, p);
  result.tail_high = binomial_sf(result.index_high - 1, n, p);
  result.coverage = 1 - result.tail_low - result.tail_high;
  return result;
}

QuantileBound quantile_upper_bound(std::span<const double> sorted, double p, double level) {
  const auto n = static_cast<std::int64_t>(sorted.size());
  const std::int64_t index = binomial_quantile(level, n, p) + 1;
  return {index, order_statistic(sorted, index), binomial_cdf(index - 1, n, p)};
}

QuantileBound quantile_lower_bound(std::span<const double> sorted, double p, double level) {
  const auto n = static_cast<std::int64_t>(sorted.size());
  const std::int64_t index = binomial_quantile(1 - level, n, p);
  return {index, order_statistic(sorted, index), binomial_sf(index - 1, n, p)};
}

}  // namespace retrygate::stats
