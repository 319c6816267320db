#include "sim/experiments/ziggurat.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace retrygate {
namespace {

double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Chance of a false alarm: below 1e-6 for each expectation, at this fixed seed none.
TEST(Ziggurat, DrawsTheStandardNormal) {
  constexpr int n = 1'000'000;
  Rng rng(Seed{3});
  std::vector<double> z;
  double sum = 0, squares = 0, fourths = 0;
  int beyond_edge = 0, positive_tail = 0, far = 0;
  for (int i = 0; i < n; ++i) {
    z.push_back(Ziggurat::instance().draw(rng));
    const double x = z.back();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    if (std::abs(x) > 3.6541528853610088) ++beyond_edge;
    if (x > 3.6541528853610088) ++positive_tail;
    if (std::abs(x) > 4.5) ++far;
  }
  EXPECT_NEAR(sum / n, 0, 5.0 / 1000);
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0) / 1000);
  EXPECT_NEAR(fourths / n, 3, 5 * std::sqrt(96.0) / 1000);
  // The tail has its own algorithm: P(|Z| > r) = 2.580e-4, half of it above; P(|Z| > 4.5) = 6.8e-6.
  const double tail = 2 * below(-3.6541528853610088) * n;
  EXPECT_NEAR(beyond_edge, tail, 5 * std::sqrt(tail));
  EXPECT_NEAR(positive_tail, tail / 2, 5 * std::sqrt(tail / 2));
  EXPECT_GE(far, 1);
  EXPECT_LE(far, 25);

  // Dvoretzky, Kiefer and Wolfowitz with Massart's constant.
  std::sort(z.begin(), z.end());
  double furthest = 0;
  for (int i = 0; i < n; ++i) {
    const double f = below(z[static_cast<std::size_t>(i)]);
    furthest = std::max({furthest, (i + 1.0) / n - f, f - static_cast<double>(i) / n});
  }
  EXPECT_LT(furthest, std::sqrt(std::log(2 / 1e-6) / (2.0 * n)));
}

}  // namespace
}  // namespace retrygate
