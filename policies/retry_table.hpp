// The delays of a policy that looks at nothing but the attempt's number, worked out once: a decision is a
// look-up and a draw, and a simulator may make it without asking the policy.
#pragma once

#include <array>

#include "policies/attempt.hpp"
#include "policies/base/rng.hpp"
#include "policies/classify.hpp"

namespace retrygate {

struct RetryTable {
  // A closed interval made ready to draw from; one point consumes no draw.
  struct Range {
    Duration lo;
    std::uint64_t points = 1;
    Range() = default;
    Range(Duration least, Duration most)
        : lo(least),
          points(static_cast<std::uint64_t>(most.ns()) - static_cast<std::uint64_t>(least.ns()) + 1) {}
    [[gnu::always_inline]] Duration draw(Rng& rng) const {
      if (points <= 1) return lo;
      return Duration::ns(static_cast<std::int64_t>(static_cast<std::uint64_t>(lo.ns()) + rng.below(points)));
    }
  };

  // Is attempt n, which failed so, surely followed by another one, unless the caller has a deadline?
  bool decides(std::int64_t n, Status failure) const {
    return static_cast<std::uint64_t>(n) - 1 < size && !cancelled(failure);
  }
  // The delay after attempt n, where the table decides.
  [[gnu::always_inline]] Duration delay(std::int64_t n, Rng& rng) const {
    return std::min(clamp, ranges[static_cast<std::size_t>(n - 1)].draw(rng));
  }

  std::array<Range, 32> ranges;  // retries 1, 2, ..
  std::uint64_t size = 0;        // of them are decided by the table
  Duration clamp = Duration::max();
};

}  // namespace retrygate
