// Standard normal draws, fast.
#pragma once

#include <cmath>
#include <cstdint>

#include "policies/base/rng.hpp"

namespace retrygate {

// Layers of equal area under exp(-x^2/2). Source: G. Marsaglia and W. W. Tsang, "The Ziggurat Method for
// Generating Random Variables", Journal of Statistical Software 5(8), 2000; r and v for 256 layers.
class Ziggurat {
 public:
  Ziggurat();
  static const Ziggurat& instance();

  double draw(Rng& rng) const {
    const std::uint64_t bits = rng.bits();
    const auto layer = static_cast<std::size_t>(bits & 255);
    // The 53 high bits, signed, as a number in [-1, 1): independent of the 8 low bits.
    const double u = static_cast<double>(static_cast<std::int64_t>(bits) >> 11) * 0x1p-52;
    const double z = u * edge_[layer];
    if (std::abs(z) < edge_[layer + 1]) [[likely]]
      return z;
    return slow(rng, layer, z);
  }

 private:
  double slow(Rng& rng, std::size_t layer, double z) const;

  static constexpr double r = 3.6541528853610088;  // where the tail begins
  static constexpr double v = 0.00492867323399;    // area of a layer
  double edge_[257];  // right edge, falling; [0] is wider: layer and tail together
  double height_[257];
};

}  // namespace retrygate
