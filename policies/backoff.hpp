// Growth laws: the number of the retry -> its ceiling, the delay before jitter and cap. All saturate.
#pragma once

#include "policies/base/units.hpp"
#include "policies/contract.hpp"

namespace retrygate {

struct Backoff {
  GrowthKind kind = GrowthKind::exponential;
  Duration base;
  double factor = 2;
  bool operator==(const Backoff&) const = default;
};

// x^n by squaring: the same bits with every compiler, which libm's pow does not promise.
constexpr double power(double x, std::int64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1, x *= x) {
    if ((n & 1) != 0) result *= x;
  }
  return result;
}

// Ceiling of retry n >= 1. exponential: base * factor^(n-1); linear: base * n.
inline Duration ceiling(const Backoff& law, std::int64_t n) {
  switch (law.kind) {
    case GrowthKind::none:
      return {};
    case GrowthKind::constant:
      return law.base;
    case GrowthKind::linear:
      return law.base * n;
    case GrowthKind::exponential:
      // 0 * infinity would be NaN.
      return law.base == Duration{} ? Duration{} : law.base.scaled(power(law.factor, n - 1));
  }
  return {};
}

}  // namespace retrygate
