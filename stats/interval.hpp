// A closed interval; its ends may be infinite.
#pragma once

namespace retrygate::stats {

struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

}  // namespace retrygate::stats
