// Growth laws: the number of the retry -> its ceiling, the delay before jitter and cap. All saturate.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "policies/base/units.hpp"
#include "policies/contract.hpp"

namespace retrygate {

struct Backoff {
  GrowthKind kind = GrowthKind::exponential;
  Duration base;
  double factor = 2;                 // exponential
  double exponent = 1;               // polynomial
  std::vector<Duration> table = {};  // table; not empty then
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

// F(n) with F(1) = F(2) = 1; the largest int64 from n = 93 on.
constexpr std::int64_t fibonacci(std::int64_t n) {
  std::int64_t a = 0, b = 1;
  for (; n > 1; --n) {
    if (b > std::numeric_limits<std::int64_t>::max() - a) return std::numeric_limits<std::int64_t>::max();
    const std::int64_t next = a + b;
    a = b;
    b = next;
  }
  return b;
}

// Ceiling of retry n >= 1. exponential: base * factor^(n-1); linear: base * n; fibonacci: base * F(n);
// polynomial: base * n^exponent; table: its n-th entry, the last one goes on.
inline Duration ceiling(const Backoff& law, std::int64_t n) {
  switch (law.kind) {
    case GrowthKind::none:
      return {};
    case GrowthKind::constant:
      return law.base;
    case GrowthKind::linear:
      return law.base * n;
    case GrowthKind::exponential:
      // Doubling, the usual law, exactly in integers.
      if (law.factor == 2 && n <= 62) return law.base * (std::int64_t{1} << (n - 1));
      // 0 * infinity would be NaN.
      return law.base == Duration{} ? Duration{} : law.base.scaled(power(law.factor, n - 1));
    case GrowthKind::fibonacci:
      return law.base * fibonacci(n);
    case GrowthKind::polynomial:
      if (law.base == Duration{}) return {};  // as above
      // Whole exponents, the usual ones, by multiplication: libm's pow differs between systems.
      return law.base.scaled(law.exponent == std::floor(law.exponent)
                                 ? power(static_cast<double>(n), static_cast<std::int64_t>(law.exponent))
                                 : std::pow(static_cast<double>(n), law.exponent));
    case GrowthKind::table:
      if (law.table.empty()) return {};  // of settings that are refused
      return law
          .table[static_cast<std::size_t>(std::min(n, static_cast<std::int64_t>(law.table.size())) - 1)];
  }
  return {};
}

}  // namespace retrygate
