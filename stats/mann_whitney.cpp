#include "stats/mann_whitney.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/rank_law.hpp"
#include "stats/ranks.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

constexpr double patience = 5e9;   // additions that an exact law may take when it is asked for: seconds
constexpr double at_once = 5e7;    // when nobody asked: tens of milliseconds
constexpr double memory = 1.25e8;  // doubles

std::vector<double> joined(std::span<const double> x, std::span<const double> y) {
  std::vector<double> all(x.begin(), x.end());
  all.insert(all.end(), y.begin(), y.end());
  return all;
}

// A law on 0 .. n, as weights that need not add up to 1.
struct Weights {
  std::vector<double> weights;
  double total = 0;
  double up_to(std::int64_t last) const { return tail(0, last); }
  double from(std::int64_t first) const { return tail(first, static_cast<std::int64_t>(weights.size()) - 1); }

 private:
  double tail(std::int64_t first, std::int64_t last) const {
    double sum = 0;
    for (std::int64_t s = std::max<std::int64_t>(first, 0);
         s <= std::min(last, static_cast<std::int64_t>(weights.size()) - 1); ++s)
      sum += weights[static_cast<std::size_t>(s)];
    return std::min(1.0, sum / total);
  }
};

double cost_without_ties(std::size_t m, std::size_t n) {
  const auto less = static_cast<double>(std::min(m, n)), more = static_cast<double>(std::max(m, n));
  return less * less * more;
}

// How many of the choose(m + n, m) arrangements have U = 0 .. mn: the Gaussian binomial coefficient, built as
// the product of (1 - q^(n+i)) / (1 - q^i). In doubles: the terms up to the middle depend on smaller ones
// alone, so that rounding stays relative (at most 1e-14 against whole numbers for m = n = 100).
Weights law_without_ties(std::size_t m, std::size_t n) {
  if (m > n) std::swap(m, n);
  const std::size_t most = m * n, half = most / 2;
  std::vector<double> f(half + 1, 0.0);
  // The middle is near 2^(log2 of all arrangements); a small start keeps it below the largest double.
  const auto a = static_cast<double>(m), b = static_cast<double>(n);
  const double bits = (std::lgamma(a + b + 1) - std::lgamma(a + 1) - std::lgamma(b + 1)) / std::log(2.0);
  f[0] = std::ldexp(1.0, -static_cast<int>(std::min(1000.0, bits / 2)));
  for (std::size_t i = 1; i <= m; ++i) {
    const std::size_t up = n + i;
    for (std::size_t s = half; s >= up; --s) f[s] -= f[s - up];
    for (std::size_t s = i; s <= half; ++s) f[s] += f[s - i];
  }
  Weights law{std::vector<double>(most + 1), 0};
  for (std::size_t s = 0; s <= most; ++s) law.weights[s] = f[std::min(s, most - s)];
  law.total = std::accumulate(law.weights.begin(), law.weights.end(), 0.0);
  return law;
}

// The sums of m of the given ranks, divided by their common step and counted from the smallest.
struct TiedLaw {
  std::vector<std::int64_t> steps;               // of each rank above the lowest
  std::int64_t step = 1, lowest = 0, reach = 0;  // reach: of the sum of m
  std::size_t m = 0;
  double cost() const {
    return static_cast<double>(steps.size()) * static_cast<double>(m) * static_cast<double>(reach + 1) / 12;
  }
  double doubles() const { return static_cast<double>(m + 1) * static_cast<double>(reach + 1); }
};

TiedLaw tied_law(const std::vector<std::int64_t>& doubled, std::size_t m) {
  TiedLaw t;
  t.m = m;
  t.lowest = *std::min_element(doubled.begin(), doubled.end());
  std::int64_t step = 0;
  for (const std::int64_t r : doubled) step = std::gcd(step, r - t.lowest);
  t.step = std::max<std::int64_t>(step, 1);
  for (const std::int64_t r : doubled) t.steps.push_back((r - t.lowest) / t.step);
  std::sort(t.steps.begin(), t.steps.end());
  t.reach = std::accumulate(t.steps.end() - static_cast<std::ptrdiff_t>(m), t.steps.end(), std::int64_t{0});
  return t;
}

// Weights of the sums of m steps; counts of choices, which stay below 10^308 as long as the cost allows.
Weights law_of(const TiedLaw& t) {
  const std::size_t n = t.steps.size(), width = static_cast<std::size_t>(t.reach) + 1;
  std::vector<double> counts((t.m + 1) * width, 0.0);
  counts[0] = 1;
  // The sums of k of the first steps lie between those of the k smallest and the k largest.
  std::vector<std::size_t> so_far(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) so_far[i + 1] = so_far[i] + static_cast<std::size_t>(t.steps[i]);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t step = so_far[i + 1] - so_far[i], left = n - 1 - i;
    for (std::size_t k = std::min(i + 1, t.m); k > 0 && k + left >= t.m; --k) {
      double* into = &counts[k * width];
      const double* from = &counts[(k - 1) * width];
      const std::size_t low = so_far[k - 1], high = so_far[i] - so_far[i - (k - 1)];
      for (std::size_t s = low; s <= high; ++s) into[s + step] += from[s];
    }
  }
  Weights law{{counts.begin() + static_cast<std::ptrdiff_t>(t.m * width), counts.end()}, 0};
  law.total = std::accumulate(law.weights.begin(), law.weights.end(), 0.0);
  return law;
}

MannWhitney statistic_of(const Midranks& ranks, std::size_t m, std::size_t n) {
  const std::int64_t sum = std::accumulate(
      ranks.doubled.begin(), ranks.doubled.begin() + static_cast<std::ptrdiff_t>(m), std::int64_t{0});
  MannWhitney test;
  test.rank_sum_x = static_cast<double>(sum) / 2;
  test.statistic = test.rank_sum_x - static_cast<double>(m) * static_cast<double>(m + 1) / 2;
  test.u_y = static_cast<double>(m) * static_cast<double>(n) - test.statistic;
  return test;
}

// Where the sample's statistic lies in its law; the law's mean is `mean_times` / `times`.
struct Placed {
  Weights law;
  std::int64_t at = 0, mean_times = 0, times = 1;
  bool of_x = true;  // large means x tends to be larger
};

std::optional<Placed> placed(const Midranks& ranks, const MannWhitney& test, std::size_t m, std::size_t n,
                             double limit) {
  if (ranks.tie_sum() == 0) {
    if (cost_without_ties(m, n) > limit || static_cast<double>(m) * static_cast<double>(n) > memory)
      return std::nullopt;
    return Placed{law_without_ties(m, n), std::llround(test.statistic), static_cast<std::int64_t>(m * n), 2};
  }
  // The smaller sample is dealt.
  const bool of_x = m <= n;
  const std::size_t dealt = of_x ? m : n;
  const TiedLaw tied = tied_law(ranks.doubled, dealt);
  if (tied.cost() > limit || tied.doubles() > memory) return std::nullopt;
  const auto size = static_cast<std::int64_t>(dealt);
  const std::int64_t all = std::accumulate(ranks.doubled.begin(), ranks.doubled.end(), std::int64_t{0});
  const std::int64_t rank_sum_x = std::llround(2 * test.rank_sum_x);
  const std::int64_t at = ((of_x ? rank_sum_x : all - rank_sum_x) - size * tied.lowest) / tied.step;
  const std::int64_t steps = std::accumulate(tied.steps.begin(), tied.steps.end(), std::int64_t{0});
  return Placed{law_of(tied), at, size * steps, static_cast<std::int64_t>(m + n), of_x};
}

std::optional<MannWhitney> exact(std::span<const double> x, std::span<const double> y, double limit) {
  const Midranks ranks = midranks(joined(x, y));
  MannWhitney test = statistic_of(ranks, x.size(), y.size());
  test.method = "exact";
  const auto place = placed(ranks, test, x.size(), y.size(), limit);
  if (!place) return std::nullopt;
  const Weights& law = place->law;
  const double up_to = law.up_to(place->at), from = law.from(place->at);
  test.p_less = place->of_x ? up_to : from;
  test.p_greater = place->of_x ? from : up_to;
  test.p_value = std::min(1.0, 2 * std::min(up_to, from));
  const auto distance = [&](std::int64_t s) { return std::abs(s * place->times - place->mean_times); };
  double as_far = 0;
  for (std::size_t s = 0; s < law.weights.size(); ++s) {
    if (distance(static_cast<std::int64_t>(s)) >= distance(place->at)) as_far += law.weights[s];
  }
  test.p_value_abs = std::min(1.0, as_far / law.total);
  return test;
}

}  // namespace

std::optional<MannWhitney> mann_whitney_exact(std::span<const double> x, std::span<const double> y) {
  return exact(x, y, patience);
}

NormalRankTest normal_rank_test(double statistic, double mean, double variance) {
  NormalRankTest test;
  test.statistic = statistic;
  test.mean = mean;
  test.variance = variance;
  if (!(variance > 0)) {
    test.variance = 0;
    test.status = Status::degenerate;
    return test;
  }
  const double sd = std::sqrt(variance), distance = statistic - mean;
  const double correction = distance > 0 ? 0.5 : distance < 0 ? -0.5 : 0;
  test.z = (distance - correction) / sd;
  test.p_value = std::min(1.0, 2 * normal_sf(std::abs(test.z)));
  test.p_greater = normal_sf((distance - 0.5) / sd);
  test.p_less = normal_sf((-distance - 0.5) / sd);
  test.z_no_continuity = distance / sd;
  test.p_value_no_continuity = std::min(1.0, 2 * normal_sf(std::abs(distance) / sd));
  return test;
}

NormalRankTest mann_whitney_normal(std::span<const double> x, std::span<const double> y) {
  const Midranks ranks = midranks(joined(x, y));
  const double m = static_cast<double>(x.size()), n = static_cast<double>(y.size()), all = m + n;
  const double ties = all > 1 ? ranks.tie_sum() / (all * (all - 1)) : all + 1;
  return normal_rank_test(statistic_of(ranks, x.size(), y.size()).statistic, m * n / 2,
                          m * n / 12 * (all + 1 - ties));
}

MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y) {
  if (const auto test = exact(x, y, at_once)) return *test;
  MannWhitney test = statistic_of(midranks(joined(x, y)), x.size(), y.size());
  const NormalRankTest normal = mann_whitney_normal(x, y);
  test.status = normal.status;
  test.method = "normal";
  test.p_less = normal.p_less;
  test.p_greater = normal.p_greater;
  test.p_value = test.p_value_abs = normal.p_value;
  return test;
}

std::optional<Shift> hodges_lehmann(std::span<const double> x, std::span<const double> y, double level,
                                    Law law) {
  const PairSums pairs = PairSums::differences(x, y);
  const std::uint64_t size = pairs.size();
  Shift shift;
  shift.estimate = pairs.median();
  const double alpha = (1 - level) / 2;
  if (law == Law::exact) {
    if (cost_without_ties(x.size(), y.size()) > patience || static_cast<double>(size) > memory)
      return std::nullopt;
    shift.method = "exact";
    const Weights of_u = law_without_ties(x.size(), y.size());
    const OrderIndex index = exact_order_index(of_u.weights, of_u.total, alpha);
    shift.order_index = index.k;
    shift.level_achieved = 1 - 2 * index.below;
  } else {
    shift.method = "normal";
    // Ties within a sample survive a shift, those between the samples do not.
    const double m = static_cast<double>(x.size()), n = static_cast<double>(y.size()), all = m + n;
    const double ties = midranks(x).tie_sum() + midranks(y).tie_sum();
    shift.order_index =
        normal_order_index(size, std::sqrt(m * n / 12 * (all + 1 - ties / (all * (all - 1)))), alpha);
  }
  shift.low = pairs.smallest(shift.order_index);
  shift.high = pairs.smallest(size + 1 - shift.order_index);
  return shift;
}

OrdinalEffect ordinal_effect(std::span<const double> x, std::span<const double> y, double level) {
  const std::vector<double> of_x = sorted(x), of_y = sorted(y);
  const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
  OrdinalEffect e;
  // Below and above among the others, for each value.
  const auto dominance = [](double v, const std::vector<double>& others) {
    const auto at = std::equal_range(others.begin(), others.end(), v);
    return std::pair<std::int64_t, std::int64_t>(at.first - others.begin(), others.end() - at.second);
  };
  double squares_x = 0, squares_y = 0;
  for (const double v : of_x) {
    const auto [below, above] = dominance(v, of_y);
    e.greater += static_cast<std::uint64_t>(below);
    e.less += static_cast<std::uint64_t>(above);
  }
  e.equal = static_cast<std::uint64_t>(x.size()) * y.size() - e.greater - e.less;
  e.a12 = (static_cast<double>(e.greater) + static_cast<double>(e.equal) / 2) / (m * n);
  const double d = (static_cast<double>(e.greater) - static_cast<double>(e.less)) / (m * n);
  e.delta = d;
  const double z = normal_quantile(1 - (1 - level) / 2);
  const double reach = z * std::sqrt((m + n + 1) / (3 * m * n));
  e.fisher_low = std::tanh(std::atanh(d) - reach);
  e.fisher_high = std::tanh(std::atanh(d) + reach);
  if (x.size() < 2 || y.size() < 2) return e;
  for (const double v : of_x) {
    const auto [below, above] = dominance(v, of_y);
    squares_x += std::pow(static_cast<double>(below - above) / n - d, 2);
  }
  for (const double v : of_y) {
    const auto [below, above] = dominance(v, of_x);
    squares_y += std::pow(static_cast<double>(above - below) / m - d, 2);
  }
  const double squares = static_cast<double>(e.greater + e.less) - m * n * d * d;
  const double variance = (n * n * squares_x + m * m * squares_y - squares) / (m * n * (m - 1) * (n - 1));
  e.cliff_variance = variance;
  const double denominator = 1 - d * d + z * z * variance;
  if (variance < 0 || !(denominator > 0)) return e;
  const double side = z * std::sqrt(variance) * std::sqrt((1 - d * d) * (1 - d * d) + z * z * variance);
  e.cliff_low = (d - d * d * d - side) / denominator;
  e.cliff_high = (d - d * d * d + side) / denominator;
  return e;
}

}  // namespace retrygate::stats
