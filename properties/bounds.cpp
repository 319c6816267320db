#include "properties/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retrygate {
namespace {

constexpr long double largest = 9223372036854775807.0L;

// The interval around ceiling c that the jitter draws from.
Support around(const Jitter& jitter, Support c) {
  const long double ceiling = c.hi;
  switch (jitter.kind) {
    case JitterKind::full:
      c.lo = 0;
      break;
    case JitterKind::equal:
      c.lo = ceiling / 2;
      break;
    case JitterKind::proportional:
      c.lo = ceiling * (1 - static_cast<long double>(jitter.ratio));
      c.hi = ceiling * (1 + static_cast<long double>(jitter.ratio));
      // The ratio is applied in doubles: 53 bits.
      c.slack += ceiling * 0x1p-52L;
      break;
    case JitterKind::additive:
      c.hi = ceiling + in_ns(jitter.most);
      break;
    case JitterKind::none:
    case JitterKind::decorrelated:
    case JitterKind::decorrelated_v2:
      break;
  }
  c.hi = std::min(c.hi, largest);
  return c;
}

// Cut to a limit in any way that stays above the interval moved down below it.
Support kept_below(Support s, long double limit) {
  if (s.hi <= limit) return s;
  s.lo = std::max(0.0L, s.lo - (s.hi - limit));
  s.hi = limit;
  return s;
}

// Of decorrelated-v2: f(t) = 2^t tanh(sqrt(4 t)), 0 before the start. It grows with t.
long double reach(long double t) { return t <= 0 ? 0 : std::exp2(t) * std::tanh(2 * std::sqrt(t)); }
constexpr long double v2_divisor = 1.4L;

// The delays before retry n, added up, are base / 1.4 * f(n - 2 + U'), of which the delay before is the last.
Support decorrelated_v2(const Contract& c, std::int64_t n, std::optional<Duration> previous) {
  const long double unit = in_ns(*c.base) / v2_divisor;
  const long double cap = c.cap ? in_ns(*c.cap) : largest;
  const long double tick = std::max(1.0L, in_ns(c.tick));
  // Beyond 2^64 ns a double has no digits left for the difference, and everything saturates.
  constexpr std::int64_t saturated = 70;
  if (unit == 0) return {0, 0, tick};
  if (n > saturated) return {0, cap, tick};
  const auto k = static_cast<long double>(n);
  long double least = reach(k - 2), most = reach(k - 1);  // of f(n - 2 + U')
  const long double timer = c.timer_max ? in_ns(*c.timer_max) : largest;
  const bool free = previous && in_ns(*previous) < std::min({cap, timer, largest});
  // What a previous delay says is known to its rounding: a tick, and 53 bits of the sum.
  const long double blur = reach(k) * 0x1p-48L + tick / unit;
  if (previous) {
    const long double part = in_ns(*previous) / unit;
    least = std::max(least, part + reach(k - 3) - blur);
    if (free) most = std::min(most, part + reach(k - 2) + blur);
  }
  const long double lo = unit * std::max(0.0L, reach(k - 1) - most);
  const long double hi = std::min(largest, unit * std::max(0.0L, reach(k) - least));
  return {std::min(cap, lo), std::min(cap, hi), tick + unit * reach(k) * 0x1p-48L};
}

// U of the first retry from its place in [0, f(1)]: f the other way round, by halving.
long double first_v2(long double share) {
  const long double wanted = std::clamp(share, 0.0L, 1.0L) * reach(1);
  long double lo = 0, hi = 1;
  for (int i = 0; i < 64; ++i) {
    const long double middle = (lo + hi) / 2;
    (reach(middle) < wanted ? lo : hi) = middle;
  }
  return hi;
}

}  // namespace

std::string to_string(const Support& s) {
  const auto text = [](long double ns) { return to_string(Duration::ns(static_cast<std::int64_t>(ns))); };
  return s.lo == s.hi ? text(s.hi) : fmt::format("[{}, {}]", text(s.lo), text(s.hi));
}
std::string outside(const Support& s) { return (s.lo == s.hi ? "not " : "outside ") + to_string(s); }

bool chained(const Contract& c) {
  return c.jitter &&
         (c.jitter->kind == JitterKind::decorrelated || c.jitter->kind == JitterKind::decorrelated_v2);
}

std::optional<Support> ceiling_of(const Contract& c, std::int64_t n) {
  if (!c.growth) return std::nullopt;
  const auto retry = static_cast<long double>(n);
  const long double tick = std::max(1.0L, in_ns(c.tick));
  long double value = 0;
  long double slack = tick;
  switch (*c.growth) {
    case GrowthKind::none:
      break;
    case GrowthKind::constant:
      if (!c.base) return std::nullopt;
      value = in_ns(*c.base);
      break;
    case GrowthKind::linear:
      if (!c.base) return std::nullopt;
      value = in_ns(*c.base) * retry;
      break;
    case GrowthKind::exponential:
      if (!c.base || !c.factor) return std::nullopt;
      if (*c.base != Duration{}) {
        const long double log2 =
            std::log2(in_ns(*c.base)) + (retry - 1) * std::log2(static_cast<long double>(*c.factor));
        value =
            log2 > 64 ? largest : in_ns(*c.base) * std::pow(static_cast<long double>(*c.factor), retry - 1);
      }
      // Repeated products in doubles: each adds at most 2^-53 of the value, squarings double it.
      slack += std::min(value, largest) * std::min(retry, 1e6L) * 0x1p-51L;
      break;
    case GrowthKind::fibonacci: {
      if (!c.base) return std::nullopt;
      // Binet's formula, rounded; beyond 64 bits of mantissa everything saturates anyway.
      const long double root = std::sqrt(5.0L);
      value = in_ns(*c.base) * std::round(std::pow((1 + root) / 2, std::min(retry, 200.0L)) / root);
      slack += std::min(value, largest) * 0x1p-56L;
      break;
    }
    case GrowthKind::polynomial:
      if (!c.base || !c.exponent) return std::nullopt;
      value = in_ns(*c.base) * std::pow(retry, static_cast<long double>(*c.exponent));
      slack += std::min(value, largest) * 0x1p-47L;
      break;
    case GrowthKind::table:
      if (!c.table) return std::nullopt;
      value =
          in_ns(n <= static_cast<std::int64_t>(c.table->size()) ? (*c.table)[static_cast<std::size_t>(n - 1)]
                                                                : c.table->back());
      break;
  }
  value = std::min(value, largest);
  return Support{value, value, slack};
}

namespace {

// Where the delay lies if any timer can hold it.
std::optional<Support> untimed(const Contract& c, std::int64_t n, std::optional<Duration> previous) {
  if (!c.jitter) return std::nullopt;
  const long double cap = c.cap ? in_ns(*c.cap) : largest;
  if (c.jitter->kind == JitterKind::decorrelated) {
    if (!c.base) return std::nullopt;
    long double last = in_ns(previous && *previous != Duration{} ? *previous : *c.base);
    const bool cut = c.cap_kind != CapKind::before_jitter;
    if (!cut) last = std::min(last, cap);
    const long double hi = std::min(largest, std::max(in_ns(*c.base), 3 * last));
    const long double tick = std::max(1.0L, in_ns(c.tick));
    // The delay before is known to a tick of rounding, and its triple to three.
    return Support{cut ? std::min(cap, in_ns(*c.base)) : in_ns(*c.base), cut ? std::min(cap, hi) : hi, tick,
                   3 * tick};
  }
  if (c.jitter->kind == JitterKind::decorrelated_v2) {
    if (!c.base) return std::nullopt;
    return decorrelated_v2(c, n, previous);
  }
  const auto growth = ceiling_of(c, n);
  if (!growth) return std::nullopt;
  Support s = *growth;
  if (c.cap_kind != CapKind::clamp) s.lo = s.hi = std::min(s.hi, cap);
  s = around(*c.jitter, s);
  if (c.cap_kind == CapKind::hard) s = kept_below(s, cap);
  if (c.cap_kind == CapKind::clamp) {
    s.lo = std::min(s.lo, cap);
    s.hi = std::min(s.hi, cap);
  }
  return s;
}

}  // namespace

std::optional<Support> support_of(const Contract& c, std::int64_t n, std::optional<Duration> previous) {
  auto support = untimed(c, n, previous);
  if (support && c.timer_max) support = kept_below(*support, in_ns(*c.timer_max));
  return support;
}

std::optional<Support> cap_of(const Contract& c) {
  if (!c.cap) return std::nullopt;
  const long double cap = in_ns(*c.cap);
  const long double tick = in_ns(c.tick);
  if (c.cap_kind != CapKind::before_jitter) return Support{0, cap, tick > 1 ? tick : 0};
  if (!c.jitter) return std::nullopt;
  if (c.jitter->kind == JitterKind::decorrelated)
    return Support{0, std::min(largest, 3 * cap), std::max(1.0L, tick)};
  Support s = around(*c.jitter, Support{cap, cap, std::max(1.0L, tick)});
  s.lo = 0;
  return s;
}

long double DelayLaw::below(long double x) const {
  if (x >= cut || x >= drawn.hi) return 1;
  if (x < drawn.lo) return 0;
  const long double share = (x - drawn.lo + tick) / (drawn.hi - drawn.lo + tick);
  return shape == nullptr ? share : shape(share);
}

std::optional<DelayLaw> law_of(const Contract& c, std::int64_t n, std::optional<Duration> previous) {
  if (!c.jitter || c.jitter->kind == JitterKind::none) return std::nullopt;
  if (c.timer_max) {
    Contract any_timer = c;
    any_timer.timer_max.reset();
    const auto law = law_of(any_timer, n, previous);
    const bool cut = law && std::min(law->drawn.hi, law->cut) > in_ns(*c.timer_max);
    return cut ? std::nullopt : law;
  }
  const long double cap = c.cap ? in_ns(*c.cap) : largest;
  const long double tick = std::max(1.0L, in_ns(c.tick));
  Contract uncut = c;
  uncut.cap.reset();
  if (c.jitter->kind == JitterKind::decorrelated) {
    const bool cut = c.cap_kind != CapKind::before_jitter;
    const auto drawn = support_of(cut ? uncut : c, n, previous);
    if (!drawn) return std::nullopt;
    return DelayLaw{*drawn, cut ? cap : largest, tick};
  }
  if (c.jitter->kind == JitterKind::decorrelated_v2) {
    const auto drawn = support_of(uncut, n, previous);
    if (!drawn || n > 1) return std::nullopt;
    // The density f(1) / f'(t) of the share is 1.50 at most, where f' is least (t = 0.58).
    return DelayLaw{*drawn, cap, tick, &first_v2, 1.6L};
  }
  if (c.cap_kind == CapKind::clamp) {
    const auto drawn = support_of(uncut, n, previous);
    if (!drawn) return std::nullopt;
    return DelayLaw{*drawn, cap, tick};
  }
  const auto drawn = support_of(c, n, previous);
  if (!drawn) return std::nullopt;
  if (c.cap_kind == CapKind::hard &&
      (c.jitter->kind == JitterKind::proportional || c.jitter->kind == JitterKind::additive)) {
    const auto free = support_of(uncut, n, previous);
    if (!free || free->hi > cap) return std::nullopt;
  }
  return DelayLaw{*drawn, largest, tick};
}

}  // namespace retrygate
