// Moments of a sample.
#pragma once

#include <vector>

namespace retrygate::stats {

// Arithmetic mean; x is not empty.
inline double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

}  // namespace retrygate::stats
