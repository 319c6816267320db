#include "stats/permutation.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

constexpr double slack_of_largest = 1e-12;

double sum_of_sizes(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0, [](double sum, double v) { return sum + std::abs(v); });
}

// Sums of all subsets, those of k values at [k], each sorted.
std::vector<std::vector<double>> subset_sums(std::span<const double> values) {
  std::vector<std::vector<double>> by_size(values.size() + 1);
  by_size[0] = {0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = i + 1; k > 0; --k) {
      for (const double sum : by_size[k - 1]) by_size[k].push_back(sum + values[i]);
    }
  }
  for (auto& sums : by_size) std::sort(sums.begin(), sums.end());
  return by_size;
}

// How many pairs have a[i] + b[j] >= limit; both sorted.
std::uint64_t pairs_from(const std::vector<double>& a, const std::vector<double>& b, double limit) {
  std::uint64_t count = 0;
  std::size_t above = 0;  // b[b.size() - above ..] are large enough
  for (const double v : a) {
    while (above < b.size() && v + b[b.size() - 1 - above] >= limit) ++above;
    count += above;
  }
  return count;
}

// The counts over all sums a[i] + b[j].
void add_pairs(Counts& counts, const std::vector<double>& a, const std::vector<double>& b, double seen,
               double slack) {
  const std::uint64_t total = static_cast<std::uint64_t>(a.size()) * b.size();
  // a sum above a limit: the next double after it is the least one
  const auto from = [&](double limit) { return pairs_from(a, b, limit); };
  const auto up_to = [&](double limit) {
    return total - from(std::nextafter(limit, std::numeric_limits<double>::infinity()));
  };
  counts.total += total;
  counts.ge += from(seen - slack);
  counts.le += up_to(seen + slack);
  const double far = std::abs(seen);
  counts.abs_ge += far <= slack ? total : from(far - slack) + up_to(slack - far);
}

// Centred on the mean of both samples, so that sums and their slack are small; scaled against overflow.
struct Pooled {
  std::vector<double> values;  // first those of x
  double seen = 0;             // sum over x
  double slack = 0;
};

Pooled pooled(std::span<const double> x, std::span<const double> y) {
  const int exponent = common_exponent({x, y});
  Pooled p;
  p.values = scaled_down(x, exponent);
  const std::vector<double> others = scaled_down(y, exponent);
  p.values.insert(p.values.end(), others.begin(), others.end());
  const Twofold centre = moments(p.values).mean;
  for (double& v : p.values) v = (Twofold{v} - centre).value();
  p.seen = std::accumulate(p.values.begin(), p.values.begin() + static_cast<std::ptrdiff_t>(x.size()), 0.0);
  p.slack = slack_of_largest * sum_of_sizes(p.values) / 2;
  return p;
}

PermutationTest mean_difference(std::span<const double> x, std::span<const double> y, const Draws& draws) {
  const Pooled p = pooled(x, y);
  const std::size_t n = p.values.size(), m = x.size();
  Counts counts;
  const bool all = n <= permutation_exact_limit;
  if (all) {
    const std::span<const double> values(p.values);
    const auto front = subset_sums(values.first(n / 2)), back = subset_sums(values.subspan(n / 2));
    for (std::size_t k = 0; k < front.size() && k <= m; ++k) {
      if (m - k < back.size()) add_pairs(counts, front[k], back[m - k], p.seen, p.slack);
    }
  } else {
    // The smaller sample is drawn; the sum over both is 0.
    const bool draw_x = 2 * m <= n;
    counts = over_draws<Counts>(draws, [&](Rng& rng, std::uint64_t of_piece, Counts& sum) {
      std::vector<double> values = p.values;
      const std::size_t size = draw_x ? m : n - m;
      for (std::uint64_t draw = 0; draw < of_piece; ++draw) {
        choose_at_random(values, size, rng);
        const double drawn =
            std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(size), 0.0);
        sum.add(draw_x ? drawn : -drawn, p.seen, p.slack);
      }
    });
  }
  const int exponent = common_exponent({x, y});
  const Twofold difference = moments(scaled_down(x, exponent)).mean - moments(scaled_down(y, exponent)).mean;
  return conclude(std::ldexp(difference.value(), exponent), counts, all);
}

// Median of the things in one group, all of them sorted.
double median_of(std::span<const double> sorted, const Labels& labels, unsigned char group,
                 std::size_t size) {
  std::size_t before = 0;
  double low = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (labels[i] != group) continue;
    if (before == (size - 1) / 2) low = sorted[i];
    if (before == size / 2) return std::midpoint(low, sorted[i]);
    ++before;
  }
  return low;
}

PermutationTest median_difference(std::span<const double> x, std::span<const double> y, const Draws& draws) {
  const int exponent = common_exponent({x, y});
  std::vector<double> values = scaled_down(x, exponent), of_x = sorted(values);
  const std::vector<double> others = scaled_down(y, exponent), of_y = sorted(others);
  const double seen = median(of_x) - median(of_y);
  values.insert(values.end(), others.begin(), others.end());
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size(), m = x.size();
  const double slack = slack_of_largest * (values.back() - values.front());
  PermutationTest test = permute_labels(
      {m, n - m}, seen, slack,
      [&](const Labels& labels) {
        return median_of(values, labels, 0, m) - median_of(values, labels, 1, n - m);
      },
      draws);
  test.statistic = std::ldexp(seen, exponent);
  return test;
}

// Sums of eight values under each of the 256 patterns of their signs.
using SignedSums = std::array<double, 256>;

std::vector<SignedSums> signed_sums(std::span<const double> values) {
  std::vector<SignedSums> all((values.size() + 7) / 8, SignedSums{});
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t pattern = 0; pattern < 256; ++pattern)
      all[i / 8][pattern] += (pattern >> (i % 8) & 1) != 0 ? -values[i] : values[i];
  }
  return all;
}

PermutationTest mean_flips(std::span<const double> differences, const Draws& draws) {
  const std::size_t n = differences.size();
  const int exponent = common_exponent({differences});
  const std::vector<double> values = scaled_down(differences, exponent);
  const Moments m = moments(values);
  const double seen = m.sum.value(), slack = slack_of_largest * sum_of_sizes(values);
  Counts counts;
  const bool all = n <= permutation_exact_limit;
  if (all) {
    // Sums of both halves under all signs, put together.
    const auto signed_half = [](std::span<const double> half) {
      std::vector<double> sums{0};
      for (const double v : half) {
        const std::size_t so_far = sums.size();
        for (std::size_t i = 0; i < so_far; ++i) {
          sums.push_back(sums[i] - v);
          sums[i] += v;
        }
      }
      std::sort(sums.begin(), sums.end());
      return sums;
    };
    const std::span<const double> span(values);
    add_pairs(counts, signed_half(span.first(n / 2)), signed_half(span.subspan(n / 2)), seen, slack);
  } else {
    const std::vector<SignedSums> tables = signed_sums(values);
    counts = over_draws<Counts>(draws, [&](Rng& rng, std::uint64_t of_piece, Counts& sum) {
      for (std::uint64_t draw = 0; draw < of_piece; ++draw) {
        double statistic = 0;
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < tables.size(); ++i) {
          bits = i % 8 == 0 ? rng.bits() : bits >> 8;
          statistic += tables[i][bits & 255];
        }
        sum.add(statistic, seen, slack);
      }
    });
  }
  return conclude(std::ldexp(m.mean.value(), exponent), counts, all);
}

PermutationTest median_flips(std::span<const double> differences, const Draws& draws) {
  const std::size_t n = differences.size();
  const int exponent = common_exponent({differences});
  const std::vector<double> values = scaled_down(differences, exponent);
  const double seen = median(sorted(values)), slack = slack_of_largest;  // the largest value is about 1
  std::vector<double> flipped(n);
  const auto statistic = [n](std::vector<double>& all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(all.begin(), middle, all.end());
    return n % 2 == 1 ? *middle : std::midpoint(*std::max_element(all.begin(), middle), *middle);
  };
  Counts counts;
  const bool all = n < 64 && (std::uint64_t{1} << n) <= permutation_visit_limit;
  if (all) {
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << n; ++pattern) {
      for (std::size_t i = 0; i < n; ++i) flipped[i] = (pattern >> i & 1) != 0 ? -values[i] : values[i];
      counts.add(statistic(flipped), seen, slack);
    }
  } else {
    counts = over_draws<Counts>(draws, [&](Rng& rng, std::uint64_t of_piece, Counts& sum) {
      std::vector<double> drawn(n);
      for (std::uint64_t draw = 0; draw < of_piece; ++draw) {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < n; ++i) {
          bits = i % 64 == 0 ? rng.bits() : bits >> 1;
          drawn[i] = (bits & 1) != 0 ? -values[i] : values[i];
        }
        sum.add(statistic(drawn), seen, slack);
      }
    });
  }
  return conclude(std::ldexp(seen, exponent), counts, all);
}

}  // namespace

PermutationTest conclude(double statistic, const Counts& counts, bool all) {
  PermutationTest test{all ? "all arrangements" : "random arrangements", all, statistic, counts};
  // What was seen is one of the arrangements: when they are drawn it counts as one draw.
  const double extra = all ? 0 : 1, total = static_cast<double>(counts.total) + extra;
  const auto p = [&](std::uint64_t count) { return (static_cast<double>(count) + extra) / total; };
  test.p_less = p(counts.le);
  test.p_greater = p(counts.ge);
  test.p_value = std::min(1.0, 2 * std::min(test.p_less, test.p_greater));
  test.p_value_abs = p(counts.abs_ge);
  return test;
}

PermutationTest permute_difference(std::span<const double> x, std::span<const double> y, Centre centre,
                                   const Draws& draws) {
  return centre == Centre::mean ? mean_difference(x, y, draws) : median_difference(x, y, draws);
}

PermutationTest flip_signs(std::span<const double> differences, Centre centre, const Draws& draws) {
  return centre == Centre::mean ? mean_flips(differences, draws) : median_flips(differences, draws);
}

}  // namespace retrygate::stats
