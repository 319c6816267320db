// From the law of a rank statistic to the order statistics that bound its confidence interval.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "stats/distributions.hpp"

namespace retrygate::stats {

// The interval ends at the k-th smallest and the k-th largest of `size` numbers (differences, Walsh
// averages).
struct OrderIndex {
  std::uint64_t k = 1;
  double below = 0;  // P(statistic <= k - 1): what the interval misses on each side
};

// k is the least number with P(statistic <= k) >= alpha, and at least 1. `law` holds P(statistic = 0), = 1
// ... up to a factor `total`.
inline OrderIndex exact_order_index(std::span<const double> law, double total, double alpha) {
  const double wanted = alpha * total * (1 - 1e-14);  // a tail that equals alpha is reached
  OrderIndex index{1, law[0]};
  while (index.k + 1 < law.size() && index.below + law[index.k] < wanted) index.below += law[index.k++];
  index.below /= total;
  return index;
}

// The same by the normal law with a continuity correction; the mean is size / 2.
inline std::uint64_t normal_order_index(std::uint64_t size, double sd, double alpha) {
  const auto all = static_cast<double>(size);
  const double k = std::floor(all / 2 - 0.5 - normal_quantile(1 - alpha) * sd) + 1;
  return static_cast<std::uint64_t>(std::clamp(k, 1.0, std::floor((all + 1) / 2)));
}

}  // namespace retrygate::stats
