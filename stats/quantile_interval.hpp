// Intervals for a quantile that hold for any law: between two order statistics.
#pragma once

#include <cstdint>
#include <span>

namespace retrygate::stats {

// Order statistics count from 1. Where n is too small the limit is infinite and the index 0 or n + 1.
struct QuantileInterval {
  std::int64_t index_low = 0, index_high = 0;
  double low = 0, high = 0;
  double tail_low = 0,
         tail_high = 0;  // chance that the quantile lies below, or above; each <= (1 - level) / 2
  double coverage = 1;   // of a continuous law; more with ties
};
struct QuantileBound {
  std::int64_t index = 0;
  double bound = 0;
  double level = 1;  // reached, at least the one asked for
};

// `sorted` ascending and not empty, 0 < p < 1, 0 < level < 1. How many of n values lie below the quantile is
// binomial. Source: H. A. David and H. N. Nagaraja, "Order Statistics", 2003, section 7.1.
QuantileInterval quantile_interval(std::span<const double> sorted, double p, double level);
QuantileBound quantile_upper_bound(std::span<const double> sorted, double p, double level);
QuantileBound quantile_lower_bound(std::span<const double> sorted, double p, double level);

}  // namespace retrygate::stats
