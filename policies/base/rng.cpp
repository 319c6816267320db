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

std::uint64_t Rng::below_again(std::uint64_t n, uint128 product) {
  const std::uint64_t short_part = (0 - n) % n;
  while (static_cast<std::uint64_t>(product) < short_part) product = uint128{bits()} * n;
  return static_cast<std::uint64_t>(product >> 64);
}

void Rng::reversed(Duration lo, Duration hi) {
  assertion_failed(__FILE__, __LINE__, "lo <= hi",
                   fmt::format("draw between {} and {}", to_string(lo), to_string(hi)));
}

// 1 - unit() is exact.
Duration Rng::exponential(Duration mean) { return mean.scaled(-std::log(1 - unit())); }

}  // namespace retrygate
