#include "stats/isotonic.hpp"

#include <algorithm>
#include <cmath>

#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

struct Block {
  Twofold sum;  // of weight * value
  double weight = 0;
  std::size_t length = 0;
  double mean() const { return (sum / weight).value(); }
};

}  // namespace

IsotonicFit isotonic_regression(std::span<const double> y, std::span<const double> weights, bool decreasing) {
  const int exponent = common_exponent({y});
  const std::vector<double> scaled = scaled_down(y, exponent);
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };

  std::vector<Block> blocks;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    blocks.push_back({Twofold{scaled[i]} * weight(i), weight(i), 1});
    const auto violates = [&](const Block& left, const Block& right) {
      return decreasing ? left.mean() <= right.mean() : left.mean() >= right.mean();
    };
    while (blocks.size() > 1 && violates(blocks[blocks.size() - 2], blocks.back())) {
      Block& left = blocks[blocks.size() - 2];
      const Block& right = blocks.back();
      left = {left.sum + right.sum, left.weight + right.weight, left.length + right.length};
      blocks.pop_back();
    }
  }

  IsotonicFit fit;
  fit.blocks = blocks.size();
  double squares = 0;
  std::size_t i = 0;
  for (const Block& block : blocks) {
    const double mean = block.mean();
    for (std::size_t end = i + block.length; i < end; ++i) {
      fit.fitted.push_back(std::ldexp(mean, exponent));
      squares += weight(i) * (scaled[i] - mean) * (scaled[i] - mean);
    }
  }
  if (const double rss = std::ldexp(squares, 2 * exponent); std::isfinite(rss)) fit.rss = rss;
  return fit;
}

}  // namespace retrygate::stats
