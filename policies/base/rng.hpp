// Counter-based randomness. A draw belongs to (seed, stream, client, call, attempt) and to its place
// in that decision, never to the order of events: two policies under one seed meet the same world
// (common random numbers), and no client carries generator state.
#pragma once

#include <cstdint>

#include "policies/base/units.hpp"

namespace retrygate {

struct Seed {
  std::uint64_t value = 0;
  auto operator<=>(const Seed&) const = default;
};

// What a draw is for. Numbers are never reused: a stored baseline depends on them.
enum class Stream : std::uint64_t {
  arrivals = 1,
  service = 2,
  network = 3,
  faults = 4,
  policy = 5,
  generator = 6,
  bootstrap = 7,
  permutation = 8
};

// Which version of the mapping (seed, stream, ...) -> draws this build has; stored in baselines.
inline constexpr int random_streams_version = 1;

namespace detail {
inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd
// Finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants of Stafford's variant 13), with a second
// key word mixed in between the two multiplications, so that the orbits of two keys do not overlap.
constexpr std::uint64_t mix(std::uint64_t z, std::uint64_t key) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9 ^ key;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
}  // namespace detail

// The draws of one decision. Cheap to make and to throw away.
class Rng {
 public:
  Rng(std::uint64_t position, std::uint64_t key) : position_(position), key_(key) {}
  explicit Rng(Seed seed, Stream stream = Stream::generator);

  [[gnu::always_inline]] std::uint64_t bits() {
    ++draws_;
    return detail::mix(position_ += detail::golden, key_);
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1), 53 bits
  // 0 .. n-1, unbiased; n >= 1. Lemire, "Fast random integer generation in an interval", 2019: multiply,
  // reject the short part.
  [[gnu::always_inline]] std::uint64_t below(std::uint64_t n) {
    RG_ASSERT(n > 0, "a draw below 0");
    const uint128 product = uint128{bits()} * n;
    if (static_cast<std::uint64_t>(product) < n) [[unlikely]] {
      Rng rest = *this;  // so that this one can stay in registers
      const std::uint64_t drawn = rest.below_again(n, product);
      *this = rest;
      return drawn;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }
  // Closed, unbiased, integer; lo <= hi.
  [[gnu::always_inline]] Duration between(Duration lo, Duration hi) {
    if (lo > hi) [[unlikely]]
      reversed(lo, hi);
    const std::uint64_t width = static_cast<std::uint64_t>(hi.ns()) - static_cast<std::uint64_t>(lo.ns());
    const std::uint64_t offset = width == ~std::uint64_t{0} ? bits() : below(width + 1);
    return Duration::ns(static_cast<std::int64_t>(static_cast<std::uint64_t>(lo.ns()) + offset));
  }
  Duration exponential(Duration mean);            // nearest nanosecond
  std::uint64_t draws() const { return draws_; }  // how many 64-bit draws were consumed

 private:
  std::uint64_t below_again(std::uint64_t n, uint128 product);
  [[noreturn]] static void reversed(Duration lo, Duration hi);

  std::uint64_t position_;
  std::uint64_t key_;
  std::uint64_t draws_ = 0;
};

// One stream of one seed: gives the Rng of a (client, call, attempt). A salt gives an independent copy
// of the stream (used to compare a policy with itself while the world stays shared).
class StreamKey {
 public:
  StreamKey(Seed seed, Stream stream, std::uint64_t salt = 0);
  Rng at(std::uint64_t client, std::uint64_t call = 0, std::uint64_t attempt = 0) const {
    // Odd multipliers keep the map one to one in each argument.
    return Rng(
        position_ + client * 0xd1342543de82ef95 + call * 0xaf251af3b0f025b5 + attempt * 0xc2b2ae3d27d4eb4f,
        key_);
  }

 private:
  std::uint64_t position_;
  std::uint64_t key_;
};

}  // namespace retrygate
