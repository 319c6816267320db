#include "stats/factorial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "stats/multiplicity.hpp"
#include "stats/sample.hpp"
#include "stats/student.hpp"

namespace retrygate::stats {
namespace {

std::size_t order_of(FactorSet set) { return static_cast<std::size_t>(std::popcount(set)); }

FactorSet set_of(std::string_view letters) {
  FactorSet set = 0;
  for (const char letter : letters) set |= 1U << (letter - 'A');
  return set;
}

// A fraction: the first factors run through all combinations, each further one is a product of them.
struct Fraction {
  std::size_t factors, runs;
  std::vector<std::string_view> generators;
};

const std::vector<Fraction>& fractions() {
  static const std::vector<Fraction> all{
      {3, 4, {"AB"}},
      {4, 8, {"ABC"}},
      {5, 16, {"ABCD"}},
      {5, 8, {"AB", "AC"}},
      {6, 32, {"ABCDE"}},
      {6, 16, {"ABC", "BCD"}},
      {6, 8, {"AB", "AC", "BC"}},
      {7, 64, {"ABCDEF"}},
      {7, 32, {"ABCD", "ABDE"}},
      {7, 16, {"ABC", "BCD", "ACD"}},
      {7, 8, {"AB", "AC", "BC", "ABC"}},
      {8, 64, {"ABCD", "ABEF"}},
      {8, 32, {"ABC", "ABD", "BCDE"}},
      {8, 16, {"BCD", "ACD", "ABC", "ABD"}},
  };
  return all;
}

// +1 where an even number of the effect's factors is low.
double sign(FactorSet effect, FactorSet run) { return order_of(effect & ~run) % 2 == 0 ? 1 : -1; }

// One estimate per seed: the mean of the runs at + minus that of those at -.
std::vector<double> contrasts(const TwoLevelDesign& design, FactorSet effect,
                              const std::vector<std::vector<double>>& responses) {
  std::vector<double> by_seed(responses.front().size(), 0);
  for (std::size_t run = 0; run < responses.size(); ++run) {
    const double weight = sign(effect, design.runs[run]) * 2 / static_cast<double>(responses.size());
    for (std::size_t seed = 0; seed < by_seed.size(); ++seed) by_seed[seed] += weight * responses[run][seed];
  }
  return by_seed;
}

// Sums of responses that differ by rounding only: no spread, and no interval of width 1e-16.
void level_rounding(std::vector<double>& by_seed, const std::vector<std::vector<double>>& responses) {
  double size = 0;
  for (const auto& run : responses) {
    for (const double v : run) size = std::max(size, std::abs(v));
  }
  const auto [least, most] = std::minmax_element(by_seed.begin(), by_seed.end());
  const double rounding = 4 * static_cast<double>(responses.size()) * std::numeric_limits<double>::epsilon();
  if (*most - *least <= rounding * size) std::fill(by_seed.begin(), by_seed.end(), mean(by_seed));
}

Effect effect_of(std::vector<double> by_seed, const std::vector<std::vector<double>>& responses,
                 double level) {
  level_rounding(by_seed, responses);
  const TTest t = t_one_sample(by_seed, {0, Alternative::two_sided, level});
  Effect effect;
  effect.estimate = t.estimate;
  effect.std_error = t.std_error;
  effect.p = t.p_value;
  if (t.low && t.high) effect.interval = Interval{*t.low, *t.high};
  return effect;
}

}  // namespace

std::vector<FactorSet> TwoLevelDesign::aliases(FactorSet effect, std::size_t order) const {
  std::vector<FactorSet> all;
  for (const FactorSet word : defining) {
    if (order_of(effect ^ word) <= order) all.push_back(effect ^ word);
  }
  std::sort(all.begin(), all.end(),
            [](FactorSet a, FactorSet b) { return std::pair(order_of(a), a) < std::pair(order_of(b), b); });
  return all;
}

Result<TwoLevelDesign> two_level_design(std::size_t factors, std::size_t runs) {
  TwoLevelDesign design;
  design.factors = factors;
  if (factors < 1 || factors > 8)
    return failure({}, fmt::format("a design of {} factors; there are designs of 1 to 8", factors));
  std::vector<FactorSet> words;  // factor times generator
  std::size_t basic = factors;
  if (runs != std::size_t{1} << factors) {
    const auto& all = fractions();
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Fraction& f) { return f.factors == factors && f.runs == runs; });
    if (at == all.end()) {
      std::string known;
      for (const Fraction& f : all) {
        if (f.factors == factors) known = fmt::format("{}, {}", f.runs, known);
      }
      return failure({}, fmt::format("no design of {} factors has {} runs", factors, runs),
                     fmt::format("possible: {}{}", known, std::size_t{1} << factors));
    }
    basic = factors - at->generators.size();
    for (std::size_t i = 0; i < at->generators.size(); ++i)
      words.push_back(set_of(at->generators[i]) | 1U << (basic + i));
  }
  // The defining relation holds all products of the generating words.
  for (std::size_t chosen = 1; chosen < std::size_t{1} << words.size(); ++chosen) {
    FactorSet product = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if ((chosen >> i & 1) != 0) product ^= words[i];
    }
    design.defining.push_back(product);
    design.resolution = std::min(design.resolution.value_or(factors), order_of(product));
  }
  for (FactorSet run = 0; run < 1U << basic; ++run) {
    FactorSet high = run;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const FactorSet added = 1U << (basic + i);
      if (sign(words[i] & ~added, run) > 0) high |= added;
    }
    design.runs.push_back(high);
  }
  return design;
}

Experiment analyse(const TwoLevelDesign& design, const std::vector<std::vector<double>>& responses,
                   double level) {
  Experiment experiment;
  for (const auto& run : responses) experiment.mean += mean(run) / static_cast<double>(responses.size());
  std::vector<FactorSet> sets;
  for (std::size_t i = 0; i < design.factors; ++i) sets.push_back(1U << i);
  for (std::size_t i = 0; i < design.factors; ++i) {
    for (std::size_t j = i + 1; j < design.factors; ++j) sets.push_back(1U << i | 1U << j);
  }
  std::vector<FactorSet> told;
  for (const FactorSet set : sets) {
    const auto aliases = design.aliases(set, 2);
    const auto is_told = [&](FactorSet other) {
      return std::find(told.begin(), told.end(), other) != told.end();
    };
    if (std::any_of(aliases.begin(), aliases.end(), is_told)) continue;
    told.push_back(set);
    Effect effect = effect_of(contrasts(design, set, responses), responses, level);
    effect.factors = set;
    effect.aliases = aliases;
    experiment.effects.push_back(std::move(effect));
  }
  std::vector<std::optional<double>> p;
  for (const Effect& effect : experiment.effects) p.push_back(effect.p);
  const auto adjusted = adjust(Adjustment::holm, p);
  for (std::size_t i = 0; i < adjusted.size(); ++i) experiment.effects[i].p_adjusted = adjusted[i];
  return experiment;
}

Effect curvature(const std::vector<std::vector<double>>& responses, const std::vector<double>& middle,
                 double level) {
  std::vector<double> by_seed;
  for (std::size_t seed = 0; seed < middle.size(); ++seed) {
    double mean_of_runs = 0;
    for (const auto& run : responses) mean_of_runs += run[seed] / static_cast<double>(responses.size());
    by_seed.push_back(mean_of_runs - middle[seed]);
  }
  return effect_of(std::move(by_seed), responses, level);
}

}  // namespace retrygate::stats
