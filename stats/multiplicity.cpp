#include "stats/multiplicity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "policies/base/error.hpp"

namespace retrygate::stats {
namespace {

// All of these work on values in ascending order; `family` >= p.size(). Values above 1 are cut by `adjust`.
using Sorted = std::vector<double>;

double count(std::size_t n) { return static_cast<double>(n); }

// An adjusted value is at least that of every smaller p (step-down) ...
void raise_upwards(Sorted& p) {
  for (std::size_t i = 1; i < p.size(); ++i) p[i] = std::max(p[i], p[i - 1]);
}

// ... or at most that of every larger p (step-up).
void lower_downwards(Sorted& p) {
  for (std::size_t i = p.size(); i-- > 1;) p[i - 1] = std::min(p[i - 1], p[i]);
}

Sorted bonferroni(Sorted p, std::size_t family) {
  for (double& v : p) v *= count(family);
  return p;
}

Sorted times_remaining(Sorted p, std::size_t family) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] *= count(family - i);
  return p;
}

Sorted step_down_holm(Sorted p, std::size_t family) {
  p = times_remaining(std::move(p), family);
  raise_upwards(p);
  return p;
}

Sorted step_up_hochberg(Sorted p, std::size_t family) {
  p = times_remaining(std::move(p), family);
  lower_downwards(p);
  return p;
}

Sorted false_discovery(Sorted p, std::size_t family, double dependence) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] *= dependence * count(family) / count(i + 1);
  lower_downwards(p);
  return p;
}

// A hypothesis is rejected when Simes rejects every subset that holds it. Of the subsets of m hypotheses that
// hold the i-th, the one with the largest Simes p has the m - 1 largest others beside it, so that m from 1 to
// the family is all there is to try.
Sorted hommel(Sorted p, std::size_t family) {
  const std::size_t given = p.size();
  p.resize(family, 1.0);  // what is not at hand is as large as can be
  Sorted adjusted = p;    // m = 1
  for (std::size_t m = 2; m <= family; ++m) {
    const std::size_t rest = family - m + 1;  // index of the second smallest of the m largest
    double simes_of_others = 1;
    for (std::size_t j = 2; j <= m; ++j)
      simes_of_others = std::min(simes_of_others, count(m) * p[rest + j - 2] / count(j));
    for (std::size_t i = 0; i < family; ++i) {
      const double least = p[std::min(i, rest - 1)];  // of the subset: i itself, or below it when i is inside
      adjusted[i] = std::max(adjusted[i], std::min(simes_of_others, count(m) * least));
    }
  }
  adjusted.resize(given);
  return adjusted;
}

Sorted adjust_sorted(Adjustment adjustment, Sorted p, std::size_t family) {
  switch (adjustment) {
    case Adjustment::bonferroni:
      return bonferroni(std::move(p), family);
    case Adjustment::holm:
      return step_down_holm(std::move(p), family);
    case Adjustment::hochberg:
      return step_up_hochberg(std::move(p), family);
    case Adjustment::hommel:
      return hommel(std::move(p), family);
    case Adjustment::benjamini_hochberg:
      return false_discovery(std::move(p), family, 1);
    case Adjustment::benjamini_yekutieli: {
      double harmonic = 0;
      for (std::size_t i = family; i >= 1; --i) harmonic += 1 / count(i);
      return false_discovery(std::move(p), family, harmonic);
    }
  }
  return p;
}

}  // namespace

std::vector<std::optional<double>> adjust(Adjustment adjustment, std::span<const std::optional<double>> p,
                                          std::optional<std::size_t> family) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!p[i]) continue;
    RG_ASSERT(*p[i] >= 0 && *p[i] <= 1, fmt::format("p = {}", *p[i]));
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return *p[a] < *p[b]; });
  Sorted sorted;
  for (const std::size_t i : order) sorted.push_back(*p[i]);
  const std::size_t tests = family.value_or(sorted.size());
  RG_ASSERT(tests >= sorted.size(), fmt::format("a family of {} with {} values", tests, sorted.size()));

  sorted = adjust_sorted(adjustment, std::move(sorted), tests);
  std::vector<std::optional<double>> adjusted(p.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) adjusted[order[rank]] = std::min(1.0, sorted[rank]);
  return adjusted;
}

std::vector<double> holm(std::span<const double> p) {
  const std::vector<std::optional<double>> values(p.begin(), p.end());
  std::vector<double> adjusted;
  for (const auto& v : adjust(Adjustment::holm, values)) adjusted.push_back(*v);
  return adjusted;
}

}  // namespace retrygate::stats
