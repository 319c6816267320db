// Jitter and cap: ceiling + randomness -> delay.
#pragma once

#include <algorithm>
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

inline Duration delay(const Jitter& jitter, const Cap& cap, Duration ceiling, Rng& rng) {
  const Duration c = cap.kind == CapKind::clamp ? ceiling : std::min(cap.limit, ceiling);
  Span drawn = span(jitter, c);
  if (cap.kind == CapKind::hard) drawn = below_cap(drawn, cap.limit);
  const Duration d = drawn.lo == drawn.hi ? drawn.lo : rng.between(drawn.lo, drawn.hi);
  return cap.kind == CapKind::clamp ? std::min(cap.limit, d) : d;
}

}  // namespace retrygate
