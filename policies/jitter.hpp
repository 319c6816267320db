// Jitter and cap: ceiling + randomness -> delay.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "policies/base/rng.hpp"
#include "policies/contract.hpp"

namespace retrygate {

struct Cap {
  Duration limit = Duration::max();  // max() is no cap
  CapKind kind = CapKind::hard;
  bool operator==(const Cap&) const = default;
};

struct Span {
  Duration lo, hi;
};

// The resolution of the delays, and whether the upper end of an interval is drawn.
struct Grid {
  Duration tick = Duration::ns(1);
  bool half_open = false;  // [lo, hi), unless that is empty
  bool operator==(const Grid&) const = default;
};

// The least and the greatest multiple of the tick in the interval; the one below it when there is none
// inside.
inline Span whole_ticks(Span drawn, Duration tick) {
  const std::int64_t step = std::max<std::int64_t>(1, tick.ns());
  const std::int64_t hi = drawn.hi.ns() / step;
  const std::int64_t lo = std::min(hi, drawn.lo.ns() / step + (drawn.lo.ns() % step > 0 ? 1 : 0));
  return {Duration::ns(lo * step), Duration::ns(hi * step)};
}

// Evenly among the multiples of the tick in the interval.
inline Duration on_grid(Span drawn, const Grid& grid, Rng& rng) {
  const std::int64_t tick = std::max<std::int64_t>(1, grid.tick.ns());
  const auto [lo, hi] = whole_ticks(drawn, grid.tick);
  if (lo == hi) return lo;  // it is there even if it is the open end
  const std::int64_t last = hi.ns() / tick - (grid.half_open && hi == drawn.hi ? 1 : 0);
  const std::int64_t first = lo.ns() / tick;
  return first == last ? lo : rng.between(Duration::ns(first), Duration::ns(last)) * tick;
}

// The interval a jitter draws from around ceiling c (decorrelated has its own, see Decorrelated).
inline Span span(const Jitter& jitter, Duration c) {
  switch (jitter.kind) {
    case JitterKind::full:
      return {Duration{}, c};
    case JitterKind::equal:
      return {c - c / 2, c};
    case JitterKind::proportional:
      return {c - c.scaled(jitter.ratio), c + c.scaled(jitter.ratio)};
    case JitterKind::additive:
      return {c, c + jitter.most};
    case JitterKind::none:
    case JitterKind::decorrelated:
    case JitterKind::decorrelated_v2:
      break;
  }
  return {c, c};
}

// The interval of a hard cap: it lies wholly at or below the cap and keeps its width there, so that
// jitter neither exceeds the cap nor dies at it. Full and equal jitter fit under min(cap, ceiling) as
// they are; proportional and additive ones are moved down by what sticks out.
inline Span below_cap(Span drawn, Duration cap) {
  if (drawn.hi <= cap) return drawn;
  const Duration over = drawn.hi - cap;
  return {std::max(Duration{}, drawn.lo - over), cap};
}

// What is drawn from, before a clamp.
inline Span drawn_from(const Jitter& jitter, const Cap& cap, Duration ceiling) {
  const Duration c = cap.kind == CapKind::clamp ? ceiling : std::min(cap.limit, ceiling);
  const Span drawn = span(jitter, c);
  return cap.kind == CapKind::hard ? below_cap(drawn, cap.limit) : drawn;
}

// delay = base / 1.4 * (f(n - 1 + U) - f(n - 2 + U')), f(t) = 2^t tanh(sqrt(4 t)), U' the draw of the retry
// before; the second f is 0 at the first retry. `reached` carries f from retry to retry.
// Source: Polly, RetryHelper.DecorrelatedJitterBackoffV2 (8.7); there too an infinite f means the longest
// delay there is.
inline Duration decorrelated_v2(Duration base, std::int64_t n, double& reached, Rng& rng) {
  const double t = static_cast<double>(n - 1) + rng.unit();
  const double before = reached;
  reached = std::exp2(t) * std::tanh(std::sqrt(4 * t));
  if (std::isinf(reached)) return Duration::max();
  return base.scaled(std::max(0.0, reached - before) / 1.4);
}

}  // namespace retrygate
