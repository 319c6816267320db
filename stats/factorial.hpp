// Designed experiments: which of several settings matter, and do they act together? Every setting is tried at
// two levels; all settings change in every run, so that each effect is measured by all runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "policies/base/error.hpp"
#include "stats/interval.hpp"

namespace retrygate::stats {

// A set of factors by their bits (factor i: 1 << i): an effect, or a word of the defining relation.
using FactorSet = unsigned;

struct TwoLevelDesign {
  std::size_t factors = 0;
  std::vector<FactorSet> runs;      // the factors that are at their high level
  std::vector<FactorSet> defining;  // products of factors that are constant over the runs; none when full
  // Length of the shortest defining word: at 3 main effects are confused with effects of pairs, at 4 pairs
  // with pairs, at 5 neither. None when full.
  std::optional<std::size_t> resolution;

  // Effects of at most `order` factors that these runs cannot tell from `effect`.
  std::vector<FactorSet> aliases(FactorSet effect, std::size_t order) const;
};

// 1 to 8 factors in 4 to 256 runs, a power of 2: all 2^factors combinations, or the fraction of least
// aberration. Errors: a number of runs that no such design has.
// Source: G. Box, J. S. Hunter and W. Hunter, "Statistics for Experimenters", 2005, table 6.22.
Result<TwoLevelDesign> two_level_design(std::size_t factors, std::size_t runs);

struct Effect {
  FactorSet factors = 0;           // one: main effect; two: their interaction
  std::vector<FactorSet> aliases;  // of up to two factors
  double estimate = 0;  // change of the response from low to high (interaction: half the difference
                        // of one factor's effect at the other's two levels)
  std::optional<double> std_error, p;
  std::optional<Interval> interval;
  std::optional<double> p_adjusted;  // Holm, over all effects of the experiment that have a p
};

struct Experiment {
  std::vector<Effect> effects;  // main effects, then those of pairs that are no alias of an earlier one
  double mean = 0;              // over the runs
};

// responses[run][seed]: the seeds are blocks. Each seed estimates each effect by itself (a contrast of its
// runs), and the interval is Student's t over seeds; none for one seed or when all seeds agree.
Experiment analyse(const TwoLevelDesign&, const std::vector<std::vector<double>>& responses, double level);

// Mean of the runs minus the response in the middle of the design: what the linear model leaves out.
Effect curvature(const std::vector<std::vector<double>>& responses, const std::vector<double>& middle,
                 double level);

}  // namespace retrygate::stats
