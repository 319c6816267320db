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
  for (int i = 0; i < n; ++i) {
    z.push_back(Ziggurat::instance().draw(rng));
    const double x = z.back();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5.0 / 1000);
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0) / 1000);
  EXPECT_NEAR(fourths / n, 3, 5 * std::sqrt(96.0) / 1000);
  // Dvoretzky, Kiefer and Wolfowitz with Massart's constant.
  std::sort(z.begin(), z.end());
  double furthest = 0;
  for (int i = 0; i < n; ++i) {
    const double f = below(z[static_cast<std::size_t>(i)]);
    furthest = std::max({furthest, (i + 1.0) / n - f, f - static_cast<double>(i) / n});
  }
  EXPECT_LT(furthest, std::sqrt(std::log(2 / 1e-6) / (2.0 * n)));
}

// The tail beyond r has its own algorithm, and layer 0 must not send too much there.
TEST(Ziggurat, Tail) {
  constexpr double r = 3.6541528853610088;
  constexpr int n = 20'000'000;
  Rng rng(Seed{4});
  int in_tail = 0, above = 0;
  double excess = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = Ziggurat::instance().draw(rng);
    if (std::abs(x) <= r) continue;
    ++in_tail;
    if (x > 0) ++above;
    excess += std::abs(x) - r;
    squares += (std::abs(x) - r) * (std::abs(x) - r);
  }
  const double expected = 2 * below(-r) * n;
  EXPECT_NEAR(in_tail, expected, 5 * std::sqrt(expected));
  EXPECT_NEAR(above, expected / 2, 5 * std::sqrt(expected / 2));
  // E[Z - r | Z > r] = density(r) / P(Z > r) - r.
  const double density = std::exp(-r * r / 2) / std::sqrt(2 * std::acos(-1.0));
  excess /= in_tail;
  EXPECT_NEAR(excess, density / below(-r) - r,
              5 * std::sqrt((squares / in_tail - excess * excess) / in_tail));
}

}  // namespace
}  // namespace retrygate
