#include "stats/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stats/distributions.hpp"
#include "stats/limit_law.hpp"
#include "stats/ranks.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

constexpr double paths_at_once = 4e6;

// Both samples in one order: how many of x, of y, are at most the value, at the end of each tie.
struct Step {
  std::int64_t x = 0, y = 0;
};

std::vector<Step> steps_of(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> a = sorted(x), b = sorted(y);
  std::vector<Step> steps;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const double value = i == a.size() ? b[j] : j == b.size() ? a[i] : std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    steps.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
  }
  return steps;
}

// The probability that a random arrangement comes as far as was seen: `far(m n (F_x - F_y))` on whole
// numbers. Looked at only where different values meet, at the sizes of the ties. Over all orders: share of
// the paths to (i, j) that were far already; only sums, so small shares keep their digits.
template <class Far>
double share_of_paths(const std::vector<Step>& steps, std::int64_t m, std::int64_t n, const Far& far) {
  std::vector<char> meets(static_cast<std::size_t>(m + n + 1), 0);
  for (const Step& step : steps) meets[static_cast<std::size_t>(step.x + step.y)] = 1;
  std::vector<double> share(static_cast<std::size_t>(n + 1), 0.0);
  for (std::int64_t i = 0; i <= m; ++i) {
    for (std::int64_t j = 0; j <= n; ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (meets[static_cast<std::size_t>(i + j)] != 0 && far(i * n - j * m)) {
        share[at] = 1;
        continue;
      }
      const double from_x = i > 0 ? share[at] * static_cast<double>(i) : 0;
      const double from_y = j > 0 ? share[at - 1] * static_cast<double>(j) : 0;
      share[at] = i + j == 0 ? 0 : (from_x + from_y) / static_cast<double>(i + j);
    }
  }
  return std::min(1.0, share.back());
}

void limits(KolmogorovSmirnov& test, double size) {
  test.p_limit = kolmogorov_sf(std::sqrt(size) * test.statistic);
  test.p_plus_limit = std::exp(-2 * size * test.d_plus * test.d_plus);
  test.p_minus_limit = std::exp(-2 * size * test.d_minus * test.d_minus);
}

// P(D+ >= d) of n values of a continuous law.
double birnbaum_tingey(std::int64_t n, double d) {
  if (d <= 0) return 1;
  if (d >= 1) return 0;
  const auto size = static_cast<double>(n);
  double sum = std::exp(size * std::log1p(-d));  // j = 0
  for (std::int64_t j = 1; static_cast<double>(j) < size * (1 - d); ++j) {
    const double k = static_cast<double>(j), below = d + k / size, above = 1 - below;
    if (above <= 0) break;
    sum += std::exp(std::log(d) + std::lgamma(size + 1) - std::lgamma(k + 1) - std::lgamma(size - k + 1) +
                    (k - 1) * std::log(below) + (size - k) * std::log(above));
  }
  return std::min(1.0, sum);
}

// A square matrix times 10^exponent.
struct ScaledMatrix {
  std::vector<double> cells;
  int exponent = 0;
};

ScaledMatrix product(const ScaledMatrix& a, const ScaledMatrix& b, std::size_t size) {
  ScaledMatrix c{std::vector<double>(size * size, 0.0), a.exponent + b.exponent};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      const double factor = a.cells[i * size + k];
      for (std::size_t j = 0; j < size; ++j) c.cells[i * size + j] += factor * b.cells[k * size + j];
    }
  }
  if (c.cells[size / 2 * size + size / 2] > 1e140) {
    for (double& cell : c.cells) cell *= 1e-140;
    c.exponent += 140;
  }
  return c;
}

// The size of the matrix, and about how many multiplications.
double marsaglia_cost(std::int64_t n, double d) {
  const double size = 2 * (std::floor(static_cast<double>(n) * d) + 1) - 1;
  return size * size * size * 2 * std::log2(static_cast<double>(n) + 1);
}

// P(D < d): an entry of the n-th power of a matrix, times n! / n^n.
double marsaglia_tsang_wang(std::int64_t n, double d) {
  const double scaled = static_cast<double>(n) * d;
  const auto k = static_cast<std::size_t>(scaled) + 1;
  const std::size_t size = 2 * k - 1;
  const double h = static_cast<double>(k) - scaled;
  ScaledMatrix matrix{std::vector<double>(size * size, 0.0), 0};
  const auto cell = [&](std::size_t i, std::size_t j) -> double& { return matrix.cells[i * size + j]; };
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < std::min(size, i + 2); ++j) cell(i, j) = 1;
  }
  for (std::size_t i = 0; i < size; ++i) {
    cell(i, 0) -= std::pow(h, static_cast<double>(i + 1));
    cell(size - 1, i) -= std::pow(h, static_cast<double>(size - i));
  }
  if (2 * h > 1) cell(size - 1, 0) += std::pow(2 * h - 1, static_cast<double>(size));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < std::min(size, i + 1); ++j)
      cell(i, j) /= std::tgamma(static_cast<double>(i - j + 2));
  }
  ScaledMatrix power{std::vector<double>(size * size, 0.0), 0};
  for (std::size_t i = 0; i < size; ++i) power.cells[i * size + i] = 1;
  for (std::int64_t left = n; left > 0; left /= 2) {
    if (left % 2 == 1) power = product(power, matrix, size);
    if (left > 1) matrix = product(matrix, matrix, size);
  }
  double p = power.cells[(k - 1) * size + k - 1];
  int exponent = power.exponent;
  for (std::int64_t i = 1; i <= n; ++i) {
    p *= static_cast<double>(i) / static_cast<double>(n);
    if (p < 1e-140) {
      p *= 1e140;
      exponent -= 140;
    }
  }
  return p * std::pow(10.0, exponent);
}

// Correction of the limit law's distribution function x for n values (Marsaglia and Marsaglia 2004).
double finite_correction(double n, double x) {
  if (x > 0.8) {
    return (-130.2137 + (745.2337 - (1705.091 - (1950.646 - (1116.360 - 255.7844 * x) * x) * x) * x) * x) / n;
  }
  const double c = 0.01265 + 0.1757 / n;
  if (x < c) {
    const double t = x / c;
    return std::sqrt(t) * (1 - t) * (49 * t - 102) * (0.0037 / (n * n) + 0.00078 / n + 0.00006) / n;
  }
  const double t = (x - c) / (0.8 - c);
  return (-0.00022633 + (6.54034 - (14.6538 - (14.458 - (8.259 - 1.91864 * t) * t) * t) * t) * t) *
         (0.04213 + 0.01365 / n) / n;
}

// What the k-sample statistic sees of the data: the ties of all values in their order, and the sizes.
struct Pooled {
  std::vector<std::size_t> ties;
  std::vector<std::size_t> sizes;
  Labels labels;  // in the order of the values
};

Pooled pooled(std::span<const std::vector<double>> groups) {
  std::vector<std::pair<double, unsigned char>> all;
  Pooled p;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const double v : groups[g]) all.emplace_back(v, static_cast<unsigned char>(g));
    p.sizes.push_back(groups[g].size());
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    p.ties.push_back(end - begin);
    begin = end;
  }
  for (const auto& [value, label] : all) p.labels.push_back(label);
  return p;
}

enum class Version { right, midrank };

double k_sample_statistic(const Pooled& p, const Labels& labels, Version version) {
  const std::size_t k = p.sizes.size();
  const auto n = static_cast<double>(labels.size());
  std::vector<double> below(k, 0), here(k, 0);
  double all_below = 0, sum = 0;
  auto label = labels.begin();
  for (const std::size_t tie : p.ties) {
    std::fill(here.begin(), here.end(), 0);
    for (std::size_t i = 0; i < tie; ++i) ++here[*label++];
    const auto ties = static_cast<double>(tie);
    const double part = version == Version::right ? 1 : 0.5;
    const double rank = all_below + part * ties;
    const double spread = version == Version::right ? rank * (n - rank) : rank * (n - rank) - n * ties / 4;
    if (spread > 0) {
      for (std::size_t g = 0; g < k; ++g) {
        const auto size = static_cast<double>(p.sizes[g]);
        const double off = n * (below[g] + part * here[g]) - size * rank;
        sum += ties / n * off * off / (spread * size);
      }
    }
    for (std::size_t g = 0; g < k; ++g) below[g] += here[g];
    all_below += ties;
  }
  return version == Version::right ? sum : sum * (n - 1) / n;
}

// Standard deviation of the statistic under the null hypothesis (Scholz and Stephens 1987, equation 4).
double k_sample_sigma(const std::vector<std::size_t>& sizes) {
  const auto k = static_cast<double>(sizes.size());
  double n = 0, inverse = 0;
  for (const std::size_t size : sizes) {
    n += static_cast<double>(size);
    inverse += 1 / static_cast<double>(size);
  }
  double h = 0, g = 0;
  for (double i = 1; i < n; ++i) h += 1 / i;
  double h_so_far = 0;  // of 1 .. i
  for (double i = 1; i < n - 1; ++i) {
    h_so_far += 1 / i;
    g += (h - h_so_far) / (n - i);
  }
  const double a = (4 * g - 6) * (k - 1) + (10 - 6 * g) * inverse;
  const double b = (2 * g - 4) * k * k + 8 * h * k + (2 * g - 14 * h - 4) * inverse - 8 * h + 4 * g - 6;
  const double c = (6 * h + 2 * g - 2) * k * k + (4 * h - 4 * g + 6) * k + (2 * h - 6) * inverse + 4 * h;
  const double d = (2 * h + 6) * k * k - 4 * h * k;
  return std::sqrt((((a * n + b) * n + c) * n + d) / ((n - 1) * (n - 2) * (n - 3)));
}

// p of the standardised statistic t in the limit: Anderson-Darling's law with k - 1 degrees of freedom, whose
// variance is 2 (k - 1) (pi^2 / 3 - 3).
double k_sample_limit(double t, double k) {
  const double variance = 2 * (k - 1) * (3.289868133696452873 - 3);
  return weighted_chi_squares_sf(Weighting::anderson_darling, k - 1 + std::sqrt(variance) * t, k - 1);
}

// m sum (r_i - i)^2 over the sorted midranks of x, plus n times the same of y; times 4 it is whole.
double cvm_u(const std::vector<std::size_t>& ties, const Labels& labels, std::int64_t m, std::int64_t n) {
  std::int64_t x = 0, y = 0, squares_x = 0, squares_y = 0, before = 0;
  auto label = labels.begin();
  for (const std::size_t tie : ties) {
    const std::int64_t doubled = 2 * before + static_cast<std::int64_t>(tie) + 1;
    for (std::size_t i = 0; i < tie; ++i) {
      const bool of_x = *label++ == 0;
      const std::int64_t off = doubled - 2 * (of_x ? ++x : ++y);
      (of_x ? squares_x : squares_y) += off * off;
    }
    before += static_cast<std::int64_t>(tie);
  }
  return (static_cast<double>(m) * static_cast<double>(squares_x) +
          static_cast<double>(n) * static_cast<double>(squares_y)) /
         4;
}

}  // namespace

KolmogorovSmirnov ks_two_sample(std::span<const double> x, std::span<const double> y, FitLaw law) {
  const std::int64_t m = std::ssize(x), n = std::ssize(y);
  const double pairs = static_cast<double>(m) * static_cast<double>(n);
  const std::vector<Step> steps = steps_of(x, y);
  std::int64_t above = 0, below = 0;  // times m n
  for (const Step& step : steps) {
    above = std::max(above, step.x * n - step.y * m);
    below = std::max(below, step.y * m - step.x * n);
  }
  KolmogorovSmirnov test;
  test.d_plus = static_cast<double>(above) / pairs;
  test.d_minus = static_cast<double>(below) / pairs;
  test.statistic = std::max(test.d_plus, test.d_minus);
  limits(test, pairs / static_cast<double>(m + n));
  const bool exact = law == FitLaw::exact || (law == FitLaw::automatic && pairs <= paths_at_once);
  test.method = exact ? "exact" : "limit";
  test.p_value = test.p_limit;
  if (exact) {
    const std::int64_t either = std::max(above, below);
    test.p_value = share_of_paths(steps, m, n, [&](std::int64_t d) { return std::abs(d) >= either; });
    test.p_plus = share_of_paths(steps, m, n, [&](std::int64_t d) { return d >= above; });
    test.p_minus = share_of_paths(steps, m, n, [&](std::int64_t d) { return -d >= below; });
  }
  return test;
}

KolmogorovSmirnov ks_uniform(std::span<const double> x, const Range& range, FitLaw law) {
  const std::vector<double> in_order = sorted(x);
  const std::int64_t n = std::ssize(x);
  const auto size = static_cast<double>(n);
  KolmogorovSmirnov test;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const double f = std::clamp((in_order[i] - range.a) / (range.b - range.a), 0.0, 1.0);
    test.d_plus = std::max(test.d_plus, static_cast<double>(i + 1) / size - f);
    test.d_minus = std::max(test.d_minus, f - static_cast<double>(i) / size);
  }
  test.statistic = std::max(test.d_plus, test.d_minus);
  limits(test, size);
  test.p_value = test.p_limit;
  test.method = "limit";
  if (law == FitLaw::limit) return test;
  test.p_plus = birnbaum_tingey(n, test.d_plus);
  test.p_minus = birnbaum_tingey(n, test.d_minus);
  const double one_side = birnbaum_tingey(n, test.statistic);
  // Both sides at once have about the third power of this probability.
  if (one_side < 1e-5 || test.statistic >= 0.5) {
    test.p_value = std::min(1.0, 2 * one_side);
    test.method = "exact";
  } else if (law == FitLaw::exact || marsaglia_cost(n, test.statistic) < 1e9) {
    test.p_value = std::clamp(1 - marsaglia_tsang_wang(n, test.statistic), 0.0, 1.0);
    test.method = "exact";
  }
  return test;
}

AndersonDarling ad_uniform(std::span<const double> x, const Range& range) {
  const std::vector<double> in_order = sorted(x);
  const auto n = static_cast<double>(x.size());
  AndersonDarling test;
  if (in_order.front() <= range.a || in_order.back() >= range.b) {
    test.statistic = std::numeric_limits<double>::infinity();
    test.p_value = test.p_finite = 0;
    return test;
  }
  ExactSum sum;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const double low = (in_order[i] - range.a) / (range.b - range.a);
    const double high = (range.b - in_order[in_order.size() - 1 - i]) / (range.b - range.a);
    sum.add(static_cast<double>(2 * i + 1) * (std::log(low) + std::log(high)));
  }
  test.statistic = (Twofold{-n} - sum.value() / n).value();
  test.p_value = weighted_chi_squares_sf(Weighting::anderson_darling, test.statistic);
  test.p_finite = std::clamp(test.p_value - finite_correction(n, 1 - test.p_value), 0.0, 1.0);
  return test;
}

KSampleAndersonDarling ad_k_sample(std::span<const std::vector<double>> groups, bool permute,
                                   const Draws& draws) {
  const Pooled p = pooled(groups);
  KSampleAndersonDarling test;
  if (p.ties.size() < 2 || p.labels.size() < 4 || groups.size() < 2) {
    test.status = Status::undefined;
    return test;
  }
  const auto k = static_cast<double>(groups.size());
  test.a2 = k_sample_statistic(p, p.labels, Version::right);
  test.a2_midrank = k_sample_statistic(p, p.labels, Version::midrank);
  test.sigma = k_sample_sigma(p.sizes);
  test.t = (test.a2 - (k - 1)) / test.sigma;
  test.t_midrank = (test.a2_midrank - (k - 1)) / test.sigma;
  test.p_limit = k_sample_limit(test.t, k);
  test.p_limit_midrank = k_sample_limit(test.t_midrank, k);
  if (!permute) return test;
  const auto by_labels = [&](double seen, Version version) {
    return permute_labels(
        p.sizes, seen, 1e-12 * std::max(1.0, seen),
        [&, version](const Labels& labels) { return k_sample_statistic(p, labels, version); }, draws);
  };
  test.labels = by_labels(test.a2, Version::right);
  test.labels_midrank = by_labels(test.a2_midrank, Version::midrank);
  return test;
}

CramerVonMises cvm_two_sample(std::span<const double> x, std::span<const double> y, bool permute,
                              const Draws& draws) {
  const std::vector<std::vector<double>> both{{x.begin(), x.end()}, {y.begin(), y.end()}};
  const Pooled p = pooled(both);
  const std::int64_t m = std::ssize(x), n = std::ssize(y);
  const double dm = static_cast<double>(m), dn = static_cast<double>(n), all = dm + dn;
  const double u = cvm_u(p.ties, p.labels, m, n);
  CramerVonMises test;
  test.statistic = u / (dm * dn * all) - (4 * dm * dn - 1) / (6 * all);
  const double mean = (1 + 1 / all) / 6;
  const double variance = (all + 1) * (4 * dm * dn * all - 3 * (dm * dm + dn * dn) - 2 * dm * dn) /
                          (45 * all * all * 4 * dm * dn);
  // Of one value each the statistic is the same whatever they are.
  test.p_limit = m + n > 2
                     ? weighted_chi_squares_sf(Weighting::cramer_von_mises,
                                               1.0 / 6 + (test.statistic - mean) / std::sqrt(45 * variance))
                     : 1;
  if (permute) {
    test.labels = permute_labels(
        p.sizes, u, 1e-12 * u, [&](const Labels& labels) { return cvm_u(p.ties, labels, m, n); }, draws);
  }
  return test;
}

ChiSquare chi_square_fit(std::span<const double> counts, std::span<const double> probabilities) {
  const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double whole = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  ChiSquare test;
  test.df = static_cast<double>(counts.size()) - 1;
  if (!(n > 0) || counts.size() < 2) {
    test.status = Status::undefined;
    return test;
  }
  double sum = 0;
  test.min_expected = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = n * (probabilities[i] / whole), off = counts[i] - expected;
    test.min_expected = std::min(test.min_expected, expected);
    if (expected > 0)
      sum += off / expected * off;
    else if (counts[i] > 0)
      sum = std::numeric_limits<double>::infinity();
  }
  test.statistic = sum;
  test.p_value = std::isinf(sum) ? 0 : chi_square_sf(sum, test.df);
  return test;
}

ChiSquare chi_square_table(std::span<const std::vector<double>> rows, bool yates) {
  const std::size_t columns = rows.front().size();
  std::vector<double> of_rows, of_columns(columns, 0);
  double n = 0;
  for (const auto& row : rows) {
    of_rows.push_back(std::accumulate(row.begin(), row.end(), 0.0));
    n += of_rows.back();
    for (std::size_t j = 0; j < columns; ++j) of_columns[j] += row[j];
  }
  const auto empty = [](const std::vector<double>& sums) {
    return std::any_of(sums.begin(), sums.end(), [](double sum) { return !(sum > 0); });
  };
  ChiSquare test;
  test.df = static_cast<double>((rows.size() - 1) * (columns - 1));
  if (test.df == 0 || empty(of_rows) || empty(of_columns)) {
    test.status = Status::undefined;
    return test;
  }
  const auto expected = [&](std::size_t i, std::size_t j) { return of_rows[i] * (of_columns[j] / n); };
  double correction = yates && test.df == 1 ? 0.5 : 0, sum = 0;
  test.min_expected = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      test.min_expected = std::min(test.min_expected, expected(i, j));
      // No cell is corrected beyond its expected value.
      if (correction > 0) correction = std::min(correction, std::abs(rows[i][j] - expected(i, j)));
    }
  }
  if (test.min_expected == 0) {  // sizes so different that a product underflows
    test.status = Status::undefined;
    return test;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      sum += std::pow(std::abs(rows[i][j] - expected(i, j)) - correction, 2) / expected(i, j);
  }
  test.statistic = sum;
  test.p_value = chi_square_sf(sum, test.df);
  return test;
}

}  // namespace retrygate::stats
