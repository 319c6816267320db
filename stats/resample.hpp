// Bootstrap-t of all metrics at once.
#pragma once

#include <span>
#include <vector>

#include "policies/base/rng.hpp"

namespace retrygate::stats {

// One metric of two policies on the same seeds: baseline[i] and candidate[i] met the same world.
struct Pairs {
  std::vector<double> baseline, candidate;
  bool relative = false;  // the effect is mean(candidate) / mean(baseline) - 1, else the mean difference
};

struct Studentized {
  double effect = 0;
  double se = 0;                   // of the effect; of a ratio by the delta method
  double skewness = 0;             // of what is averaged, corrected for n (type 2); 0 for fewer than 3 pairs
  std::vector<double> replicates;  // sorted (effect* - effect) / se*
};

// The effect and its standard error alone. At least 2 pairs; of a ratio the baseline's mean is not 0.
Studentized estimate(const Pairs&);

// `resamples` draws of the seeds with replacement, the same ones for every metric: the moments of all metrics
// are summed together over the drawn seeds. All metrics have equally many pairs. Deterministic for a seed, on
// any number of threads; 0 is one per core. Source: Efron and Tibshirani, "An Introduction to the Bootstrap",
// 1993, section 12.5.
std::vector<Studentized> bootstrap_t(std::span<const Pairs>, int resamples, Seed, unsigned threads = 1);

}  // namespace retrygate::stats
