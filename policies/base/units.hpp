// Time as saturating integer nanoseconds: a Duration (a length) and an Instant (a point of virtual time).
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "policies/base/error.hpp"

namespace retrygate {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

// A signed length of time in nanoseconds. Sums and products saturate at max() and min() instead of
// wrapping; max() doubles as "no limit". Signed on purpose: a faulty policy must be able to return a
// negative delay so that a check can see it.
class Duration {
 public:
  constexpr Duration() = default;

  static constexpr Duration ns(std::int64_t n) { return Duration(n); }
  static constexpr Duration us(std::int64_t n) { return saturate(int128{n} * 1'000); }
  static constexpr Duration ms(std::int64_t n) { return saturate(int128{n} * 1'000'000); }
  static constexpr Duration s(std::int64_t n) { return saturate(int128{n} * 1'000'000'000); }
  // Nearest nanosecond; beyond the range, infinities included, the nearest end. NaN is a mistake of ours.
  static Duration seconds(double s);

  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }
  static constexpr Duration min() { return Duration(std::numeric_limits<std::int64_t>::min()); }

  constexpr std::int64_t ns() const { return ns_; }
  constexpr double seconds() const { return static_cast<double>(ns_) / 1e9; }

  // This length times a factor, to the nearest nanosecond, saturating. NaN is a mistake of ours.
  Duration scaled(double factor) const;

  friend constexpr Duration operator+(Duration a, Duration b) {
    std::int64_t n = 0;
    if (__builtin_add_overflow(a.ns_, b.ns_, &n)) return a.ns_ < 0 ? min() : max();
    return Duration(n);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    std::int64_t n = 0;
    if (__builtin_sub_overflow(a.ns_, b.ns_, &n)) return a.ns_ < 0 ? min() : max();
    return Duration(n);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t k) {
    std::int64_t n = 0;
    if (__builtin_mul_overflow(a.ns_, k, &n)) return (a.ns_ < 0) == (k < 0) ? max() : min();
    return Duration(n);
  }
  friend constexpr Duration operator*(std::int64_t k, Duration a) { return a * k; }
  friend constexpr Duration operator/(Duration a, std::int64_t k) { return saturate(int128{a.ns_} / k); }
  Duration& operator+=(Duration d) { return *this = *this + d; }
  constexpr auto operator<=>(const Duration&) const = default;

 private:
  constexpr explicit Duration(std::int64_t n) : ns_(n) {}
  static constexpr Duration saturate(int128 n) {
    if (n > max().ns_) return max();
    if (n < min().ns_) return min();
    return Duration(static_cast<std::int64_t>(n));
  }

  std::int64_t ns_ = 0;
};

// A point of virtual time. 0 is the start of the run; nothing below ci/ knows a wall clock.
struct Instant {
  Duration since_start;

  static constexpr Instant never() { return {Duration::max()}; }
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.since_start + d}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return a.since_start - b.since_start; }
  constexpr auto operator<=>(const Instant&) const = default;
};

// "100ms", "1.5s", "2147483.647s", "no limit": exact, the form that parse_duration reads back
// (except "no limit").
std::string to_string(Duration);
std::string to_string(Instant);

// Reads a decimal number and one unit of ns us ms s m h: "100ms", "0.1 s". Exact to the nanosecond;
// a finer or larger value, a missing unit or anything else is an error whose message quotes `text`.
Result<Duration> parse_duration(std::string_view text, Where where = {});

}  // namespace retrygate
