#include "policies/base/rng.hpp"

#include <fmt/format.h>

#include <cmath>

namespace retrygate {

StreamKey::StreamKey(Seed seed, Stream stream, std::uint64_t salt) {
  const std::uint64_t tag = detail::mix(static_cast<std::uint64_t>(stream) * detail::golden, salt);
  position_ = detail::mix(seed.value + detail::golden, tag);
  key_ = detail::mix(seed.value ^ 0x6a09e667f3bcc908, ~tag);
}

Rng::Rng(Seed seed, Stream stream) : Rng(StreamKey(seed, stream).at(0)) {}

std::uint64_t Rng::below(std::uint64_t n) {
  RG_ASSERT(n > 0, "a draw below 0");
  // Lemire, "Fast random integer generation in an interval", 2019: multiply, reject the short part.
  uint128 product = uint128{bits()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t short_part = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < short_part) product = uint128{bits()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

Duration Rng::between(Duration lo, Duration hi) {
  RG_ASSERT(lo <= hi, fmt::format("draw between {} and {}", to_string(lo), to_string(hi)));
  const std::uint64_t width = static_cast<std::uint64_t>(hi.ns()) - static_cast<std::uint64_t>(lo.ns());
  const std::uint64_t offset = width == ~std::uint64_t{0} ? bits() : below(width + 1);
  return Duration::ns(static_cast<std::int64_t>(static_cast<std::uint64_t>(lo.ns()) + offset));
}

Duration Rng::exponential(Duration mean) { return mean.scaled(-std::log1p(-unit())); }

}  // namespace retrygate
