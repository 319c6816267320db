#include "sim/experiments/ziggurat.hpp"

namespace retrygate {
namespace {

double density(double x) { return std::exp(-0.5 * x * x); }

}  // namespace

Ziggurat::Ziggurat() {
  edge_[0] = v / density(r);
  height_[0] = 0;
  edge_[1] = r;
  height_[1] = density(r);
  for (std::size_t i = 2; i < 256; ++i) {
    height_[i] = height_[i - 1] + v / edge_[i - 1];
    edge_[i] = std::sqrt(-2 * std::log(height_[i]));
  }
  edge_[256] = 0;
  height_[256] = 1;
}

const Ziggurat& Ziggurat::instance() {
  static const Ziggurat tables;
  return tables;
}

double Ziggurat::slow(Rng& rng, std::size_t layer, double z) const {
  while (true) {
    if (layer == 0) {
      // The tail beyond r. Source: Marsaglia, "Generating a Variable from the Tail of the Normal
      // Distribution", Technometrics 6, 1964.
      double x = 0, y = 0;
      do {
        x = -std::log(1 - rng.unit()) / r;
        y = -std::log(1 - rng.unit());
      } while (2 * y < x * x);
      return z < 0 ? -r - x : r + x;
    }
    if (height_[layer] + rng.unit() * (height_[layer + 1] - height_[layer]) < density(z)) return z;
    const std::uint64_t bits = rng.bits();
    layer = static_cast<std::size_t>(bits & 255);
    z = static_cast<double>(static_cast<std::int64_t>(bits) >> 11) * 0x1p-52 * edge_[layer];
    if (std::abs(z) < edge_[layer + 1]) return z;
  }
}

}  // namespace retrygate
