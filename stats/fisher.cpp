#include "stats/fisher.hpp"

#include <algorithm>
#include <cmath>

#include "stats/interval.hpp"
#include "stats/numeric.hpp"

namespace retrygate::stats {
namespace {

// Probabilities that differ by no more than this (relative) count as equal, the rule of R and SciPy.
constexpr double equal_within = 1e-7;

// The odds at which `f`, monotone in the odds, is 0. Searched on a log scale around `guess`.
double solve_odds(const std::function<double(double)>& f, double guess) {
  const auto on_log_scale = [&](double log_odds) { return f(std::exp(log_odds)); };
  const double at = std::log(guess);
  const bool above = on_log_scale(at) < 0;  // f rises with the odds
  double step = 1, low = at, high = at;
  while ((on_log_scale(above ? high : low) < 0) == above && step < 700) {
    (above ? high : low) = at + (above ? step : -step);
    step *= 2;
  }
  return std::exp(root(on_log_scale, {low, high}));
}

}  // namespace

MarginLaw::MarginLaw(TwoByTwo t)
    : table_(t), lowest_(std::max<std::int64_t>(0, t.a - t.d)), highest_(t.a + std::min(t.b, t.c)) {}

// Weights of lowest .. highest. Going on from the likeliest value they only fall, so none overflows.
std::vector<double> MarginLaw::law(double odds) const {
  const auto size = static_cast<std::size_t>(highest_ - lowest_ + 1);
  // P(a + 1) / P(a), from the table that has `a` in its corner and the same margins.
  const auto ratio = [&](std::size_t i) {
    const std::int64_t moved = lowest_ + static_cast<std::int64_t>(i) - table_.a;
    const auto b = static_cast<double>(table_.b - moved), c = static_cast<double>(table_.c - moved);
    const auto a = static_cast<double>(table_.a + moved), d = static_cast<double>(table_.d + moved);
    return odds * (b / (a + 1)) * (c / (d + 1));
  };
  std::size_t low = 0, high = size - 1;  // the ratio falls with i: the likeliest value is where it crosses 1
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (ratio(middle) >= 1)
      low = middle + 1;
    else
      high = middle;
  }
  std::vector<double> weights(size);
  weights[low] = 1;
  for (std::size_t i = low; i + 1 < size; ++i) weights[i + 1] = weights[i] * ratio(i);
  for (std::size_t i = low; i-- > 0;) weights[i] = weights[i + 1] / ratio(i);
  // Sums from the smallest to the largest weight of each side lose nothing.
  double left = 0, right = 0;
  for (std::size_t i = 0; i < low; ++i) left += weights[i];
  for (std::size_t i = size; i-- > low;) right += weights[i];
  for (double& w : weights) w /= left + right;
  return weights;
}

double MarginLaw::at_most(std::int64_t a, double odds) const {
  const std::vector<double> p = law(odds);
  double sum = 0;
  for (std::int64_t i = lowest_; i <= std::min(a, highest_); ++i)
    sum += p[static_cast<std::size_t>(i - lowest_)];
  return a >= highest_ ? 1 : std::min(1.0, sum);
}

double MarginLaw::at_least(std::int64_t a, double odds) const {
  const std::vector<double> p = law(odds);
  double sum = 0;
  for (std::int64_t i = highest_; i >= std::max(a, lowest_); --i)
    sum += p[static_cast<std::size_t>(i - lowest_)];
  return a <= lowest_ ? 1 : std::min(1.0, sum);
}

double MarginLaw::mean(double odds) const {
  const std::vector<double> p = law(odds);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += static_cast<double>(i) * p[i];
  return static_cast<double>(lowest_) + sum;
}

double MarginLaw::by_probability(std::int64_t a) const {
  const std::vector<double> p = law(1);
  const double limit = p[static_cast<std::size_t>(a - lowest_)] * (1 + equal_within);
  double left = 0, right = 0;
  std::size_t i = 0, j = p.size();
  for (; i < p.size() && p[i] <= limit; ++i) left += p[i];
  for (; j > i && p[j - 1] <= limit; --j) right += p[j - 1];
  return i == j ? 1 : std::min(1.0, left + right);
}

FisherTest fisher_exact(TwoByTwo t, double level) {
  const MarginLaw law(t);
  FisherTest test;
  test.p_less = law.at_most(t.a, 1);
  test.p_greater = law.at_least(t.a, 1);
  test.p_two_sided = law.by_probability(t.a);

  const double up = static_cast<double>(t.a) * static_cast<double>(t.d);
  const double down = static_cast<double>(t.b) * static_cast<double>(t.c);
  if (up > 0 || down > 0) test.odds_sample = down == 0 ? infinite : up / down;

  test.odds = {0, infinite};
  if (law.lowest() == law.highest()) return test;
  const double tail = (1 - level) / 2;
  // A start for the searches, never 0 or infinite.
  const double guess = (static_cast<double>(t.a) + 0.5) * (static_cast<double>(t.d) + 0.5) /
                       (static_cast<double>(t.b) + 0.5) / (static_cast<double>(t.c) + 0.5);
  const auto seen = static_cast<double>(t.a);
  if (t.a == law.lowest()) {
    test.odds_conditional = 0.0;
  } else if (t.a == law.highest()) {
    test.odds_conditional = infinite;
  } else {
    test.odds_conditional = solve_odds([&](double odds) { return law.mean(odds) - seen; }, guess);
  }
  if (t.a > law.lowest())
    test.odds.low = solve_odds([&](double odds) { return law.at_least(t.a, odds) - tail; }, guess);
  if (t.a < law.highest())
    test.odds.high = solve_odds([&](double odds) { return tail - law.at_most(t.a, odds); }, guess);
  return test;
}

}  // namespace retrygate::stats
