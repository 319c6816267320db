#include "stats/brunner_munzel.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"
#include "stats/ranks.hpp"

namespace retrygate::stats {
namespace {

// Things in their order, equal ones in one tie, as the lengths of the ties: all that the statistic sees,
// beside the labels.
struct Ordered {
  std::vector<std::size_t> order;  // of the values of x followed by those of y
  std::vector<std::size_t> ties;
};

Ordered ordered(std::span<const double> x, std::span<const double> y) {
  std::vector<double> all(x.begin(), x.end());
  all.insert(all.end(), y.begin(), y.end());
  Ordered o;
  o.order.resize(all.size());
  std::iota(o.order.begin(), o.order.end(), std::size_t{0});
  std::sort(o.order.begin(), o.order.end(), [&](std::size_t a, std::size_t b) { return all[a] < all[b]; });
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[o.order[end]] == all[o.order[begin]]) ++end;
    o.ties.push_back(end - begin);
    begin = end;
  }
  return o;
}

// Twice the placements (the values of the other sample below a value, half of the equal ones), summed and
// squared: whole numbers.
struct Placements {
  std::int64_t sum = 0, squares = 0;
  void add(std::int64_t twice, std::int64_t times) {
    sum += times * twice;
    squares += times * twice * twice;
  }
  // Variance of n placements.
  double variance(std::int64_t n) const {
    return static_cast<double>(int128{n} * squares - int128{sum} * sum) /
           static_cast<double>(4 * n * (n - 1));
  }
};

struct Study {
  double p_x_less_y = 0, var_x = 0, var_y = 0, statistic = 0;
  double spread = 0;  // m var_x + n var_y
};

// Labels in the order of the values: 0 is x.
Study study(const std::vector<std::size_t>& ties, const Labels& labels, std::int64_t m, std::int64_t n) {
  Placements of_x, of_y;
  std::int64_t x_below = 0, y_below = 0;
  auto label = labels.begin();
  for (const std::size_t tie : ties) {
    std::int64_t y_here = 0;
    for (std::size_t i = 0; i < tie; ++i) y_here += *label++;
    const std::int64_t x_here = static_cast<std::int64_t>(tie) - y_here;
    of_x.add(2 * y_below + y_here, x_here);
    of_y.add(2 * x_below + x_here, y_here);
    x_below += x_here;
    y_below += y_here;
  }
  const auto dm = static_cast<double>(m), dn = static_cast<double>(n);
  Study s;
  s.p_x_less_y = static_cast<double>(of_y.sum) / (2 * dm * dn);
  // Twice the pairs with x < y less twice those with x > y.
  const auto ahead = static_cast<double>(of_y.sum - of_x.sum) / 2;
  if (m > 1 && n > 1) {
    s.var_x = of_x.variance(m);
    s.var_y = of_y.variance(n);
    s.spread = dm * s.var_x + dn * s.var_y;
  }
  // The mean ranks differ by ahead (m + n) / (2 m n).
  s.statistic = s.spread > 0 ? ahead / 2 / std::sqrt(s.spread)
                : ahead > 0  ? infinite
                : ahead < 0  ? -infinite
                             : 0;
  return s;
}

Labels labels_in_order(const Ordered& o, std::size_t m) {
  Labels labels;
  for (const std::size_t i : o.order) labels.push_back(i < m ? 0 : 1);
  return labels;
}

}  // namespace

BrunnerMunzel brunner_munzel(std::span<const double> x, std::span<const double> y, double level) {
  const Ordered o = ordered(x, y);
  const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
  const Study s = study(o.ties, labels_in_order(o, x.size()), std::ssize(x), std::ssize(y));
  BrunnerMunzel test;
  test.p_x_less_y = s.p_x_less_y;
  test.var_x = s.var_x;
  test.var_y = s.var_y;
  test.statistic = s.statistic;
  if (x.size() < 2 || y.size() < 2) {
    test.status = Status::undefined;
    return test;
  }
  if (s.spread == 0) {
    test.status = Status::degenerate;
    return test;
  }
  const double share = m * s.var_x / s.spread;
  const double df = 1 / (share * share / (m - 1) + (1 - share) * (1 - share) / (n - 1));
  const double se = std::sqrt(s.spread) / (m * n);
  test.df = df;
  test.std_error = se;
  test.p_less = student_sf(s.statistic, df);
  test.p_greater = student_sf(-s.statistic, df);
  test.p_value = std::min(1.0, 2 * student_sf(std::abs(s.statistic), df));
  test.p_normal = std::min(1.0, 2 * normal_sf(std::abs(s.statistic)));
  const double reach = student_upper_quantile((1 - level) / 2, df) * se;
  test.low = s.p_x_less_y - reach;
  test.high = s.p_x_less_y + reach;
  return test;
}

PermutationTest brunner_munzel_permutation(std::span<const double> x, std::span<const double> y,
                                           const Draws& draws) {
  const Ordered o = ordered(x, y);
  const std::int64_t m = std::ssize(x), n = std::ssize(y);
  const double seen = study(o.ties, labels_in_order(o, x.size()), m, n).statistic;
  const double slack = std::isinf(seen) ? 0 : 1e-12 * std::abs(seen);
  return permute_labels(
      {x.size(), y.size()}, seen, slack,
      [&](const Labels& labels) { return study(o.ties, labels, m, n).statistic; }, draws);
}

}  // namespace retrygate::stats
