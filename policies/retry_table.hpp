// The delays of a policy that looks at nothing but the attempt's number and the delay before, worked out as
// far as that goes: a decision is a look-up and a draw, and a simulator may make it without asking the
// policy.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

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
  // The memory of a call whose delays follow from the one before.
  struct Memory {
    Duration previous;  // 0 before the first retry
    // Where a call keeps it; `none` for a policy that keeps nothing.
    static Memory& of(std::byte* slot, std::size_t bytes, Memory& none) {
      return bytes == 0 ? none : *std::launder(reinterpret_cast<Memory*>(slot));
    }
  };

  // Is attempt n, which failed so, surely followed by another one, unless the caller has a deadline?
  bool decides(std::int64_t n, Status failure) const {
    return static_cast<std::uint64_t>(n) - 1 < size && !cancelled(failure);
  }
  // The delay after attempt n, where the table decides.
  [[gnu::always_inline]] Duration delay(std::int64_t n, Memory& call, Rng& rng) const {
    return follows ? following(call, rng) : ranged(n, rng);
  }
  // That of a table that follows, and of one that does not.
  [[gnu::always_inline]] Duration following(Memory& call, Rng& rng) const {
    const Duration before = std::min(call.previous == Duration{} ? base : call.previous, most_before);
    return call.previous = std::min(clamp, rng.between(base, std::max(base, before * 3)));
  }
  [[gnu::always_inline]] Duration ranged(std::int64_t n, Rng& rng) const {
    return std::min(clamp, ranges[static_cast<std::size_t>(n - 1)].draw(rng));
  }

  std::uint64_t size =
      0;  // retries 1, 2, .. that are decided by the table; those in `ranges` unless `follows`
  Duration clamp = Duration::max();
  std::array<Range, 32> ranges;  // retries 1, 2, ..
  // Each delay is drawn from [base, 3 * the one before], the first from [base, 3 * base].
  bool follows = false;
  Duration base;
  Duration most_before = Duration::max();  // what the one before counts as at most
};

}  // namespace retrygate
