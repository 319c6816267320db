#include "stats/groups.hpp"

#include <algorithm>
#include <cmath>

#include "stats/distributions.hpp"
#include "stats/ranks.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

double size_of(const Group& group) { return static_cast<double>(group.size()); }

int common_exponent_of(std::span<const Group> groups) {
  std::vector<double> largest;
  for (const Group& group : groups) {
    for (const double v : group) largest.push_back(v);
  }
  return common_exponent({largest});
}

// Moments of the groups in one scale.
std::vector<Moments> moments_of_groups(std::span<const Group> groups) {
  const int exponent = common_exponent_of(groups);
  std::vector<Moments> all;
  for (const Group& group : groups) all.push_back(moments(scaled_down(group, exponent)));
  return all;
}

double count_of(std::span<const Group> groups) {
  double n = 0;
  for (const Group& group : groups) n += size_of(group);
  return n;
}

}  // namespace

GroupTest anova(std::span<const Group> groups) {
  const std::vector<Moments> parts = moments_of_groups(groups);
  const auto k = static_cast<double>(groups.size());
  const double n = count_of(groups);
  ExactSum total;
  double within = 0;
  for (const Moments& part : parts) {
    total.add(part.sum.hi);
    total.add(part.sum.lo);
    within += part.m2;
  }
  const Twofold mean = total.value() / n;
  double between = 0;
  for (const Moments& part : parts) {
    const double d = (part.mean - mean).value();
    between += static_cast<double>(part.n) * d * d;
  }
  GroupTest test;
  test.df1 = k - 1;
  test.df2 = n - k;
  if (!(within > 0) || groups.size() < 2) {
    test.status = Status::undefined;
    return test;
  }
  test.statistic = between / test.df1 / (within / *test.df2);
  test.p_value = f_sf(*test.statistic, test.df1, *test.df2);
  test.effect = between / (between + within);
  return test;
}

GroupTest welch_anova(std::span<const Group> groups) {
  const std::vector<Moments> parts = moments_of_groups(groups);
  const auto k = static_cast<double>(groups.size());
  GroupTest test;
  test.df1 = k - 1;
  const bool spread = std::all_of(parts.begin(), parts.end(), [](const Moments& m) { return m.m2 > 0; });
  if (!spread || groups.size() < 2) {
    test.status = Status::undefined;
    return test;
  }
  const auto weight = [](const Moments& m) { return static_cast<double>(m.n) / m.variance(); };
  double weights = 0;
  for (const Moments& part : parts) weights += weight(part);
  // Means from the first one on: the weighted mean would lose their digits when they share an offset.
  const auto above_first = [&](const Moments& m) { return (m.mean - parts.front().mean).value(); };
  double mean = 0, slack = 0, between = 0;
  for (const Moments& part : parts) {
    const double share = weight(part) / weights;
    mean += share * above_first(part);
    slack += (1 - share) * (1 - share) / static_cast<double>(part.n - 1);
  }
  for (const Moments& part : parts) between += weight(part) * std::pow(above_first(part) - mean, 2);
  const double scale = k * k - 1;
  test.statistic = between / (k - 1) / (1 + 2 * (k - 2) / scale * slack);
  test.df2 = scale / (3 * slack);
  test.p_value = f_sf(*test.statistic, test.df1, *test.df2);
  return test;
}

GroupTest levene(std::span<const Group> groups, LeveneCentre centre) {
  const int exponent = common_exponent_of(groups);
  std::vector<Group> distances;
  for (const Group& group : groups) {
    const std::vector<double> scaled = scaled_down(group, exponent);
    const Twofold middle =
        centre == LeveneCentre::mean ? moments(scaled).mean : Twofold{median(sorted(scaled))};
    distances.emplace_back();
    for (const double v : scaled) distances.back().push_back(std::abs((Twofold{v} - middle).value()));
  }
  GroupTest test = anova(distances);
  test.effect.reset();
  return test;
}

KruskalWallis kruskal_wallis(std::span<const Group> groups) {
  std::vector<double> all;
  for (const Group& group : groups) all.insert(all.end(), group.begin(), group.end());
  const Midranks ranks = midranks(all);
  const double n = count_of(groups);
  KruskalWallis result;
  GroupTest& test = result.test;
  test.df1 = static_cast<double>(groups.size()) - 1;
  result.tie_correction = n > 1 ? 1 - ranks.tie_sum() / (n * (n * n - 1)) : 0;
  if (ranks.ties.size() < 2 || groups.size() < 2) {
    test.status = groups.size() < 2 ? Status::undefined : Status::degenerate;
    result.tie_correction = 0;
    test.statistic = 0;
    test.p_value = 1;
    return result;
  }
  double spread = 0;
  auto rank = ranks.doubled.begin();
  for (const Group& group : groups) {
    std::int64_t doubled = 0;
    for (std::size_t i = 0; i < group.size(); ++i) doubled += *rank++;
    const double off = static_cast<double>(doubled) / 2 / size_of(group) - (n + 1) / 2;
    spread += size_of(group) * off * off;
  }
  test.statistic = 12 / (n * (n + 1)) * spread / result.tie_correction;
  test.p_value = chi_square_sf(*test.statistic, test.df1);
  test.effect = *test.statistic / (n - 1);
  return result;
}

Friedman friedman(std::span<const std::vector<double>> rows) {
  const std::size_t columns = rows.front().size();
  const auto n = static_cast<double>(rows.size()), k = static_cast<double>(columns);
  std::vector<std::int64_t> doubled(columns, 0);
  double ties = 0;
  for (const auto& row : rows) {
    const Midranks ranks = midranks(row);
    ties += ranks.tie_sum();
    for (std::size_t j = 0; j < columns; ++j) doubled[j] += ranks.doubled[j];
  }
  Friedman result;
  GroupTest& test = result.test;
  test.df1 = k - 1;
  double spread = 0;
  for (const std::int64_t sum : doubled) {
    result.rank_sums.push_back(static_cast<double>(sum) / 2);
    spread += std::pow(result.rank_sums.back() - n * (k + 1) / 2, 2);
  }
  // Twelve times the sum of squares of all ranks around their mean.
  const double possible = n * k * (k * k - 1) - ties;
  if (!(possible > 0)) {
    test.status = Status::degenerate;
    test.statistic = 0;
    test.p_value = 1;
    return result;
  }
  test.statistic = (k - 1) * spread * 12 / possible;
  test.p_value = chi_square_sf(*test.statistic, test.df1);
  test.effect = *test.statistic / (n * (k - 1));
  const double left = n * (k - 1) - *test.statistic;
  if (rows.size() > 1 && left > 1e-12 * n * (k - 1)) {
    result.f = (n - 1) * *test.statistic / left;
    result.f_p_value = f_sf(*result.f, k - 1, (n - 1) * (k - 1));
  }
  return result;
}

}  // namespace retrygate::stats
