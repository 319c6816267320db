// The best fit by a curve that only rises (or only falls): nothing else is assumed of its shape.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrygate::stats {

struct IsotonicFit {
  std::vector<double> fitted;  // as many as values
  std::size_t blocks = 0;      // of equal fitted values
  std::optional<double> rss;   // weighted sum of squared residuals; none beyond the range of a double
};

// Least squares by pooling adjacent violators. `y` in the order of the explaining variable; `weights` above
// 0, or empty for equal ones. Source: R. E. Barlow et al., "Statistical Inference under Order Restrictions",
// 1972.
IsotonicFit isotonic_regression(std::span<const double> y, std::span<const double> weights = {},
                                bool decreasing = false);

}  // namespace retrygate::stats
