// A closed interval; its ends may be infinite.
#pragma once

#include <limits>

namespace retrygate::stats {

// The end of an interval that has none on that side.
inline constexpr double infinite = std::numeric_limits<double>::infinity();

struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

}  // namespace retrygate::stats
