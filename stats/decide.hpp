// The decision rule: is the candidate worse than the baseline by more than the margin? Paired means over
// seeds; p never decides alone.
#pragma once

#include <span>
#include <vector>

#include "stats/question.hpp"

namespace retrygate::stats {

inline constexpr int bootstrap_resamples = 10'000;
inline constexpr std::uint64_t sign_flips = 9'999;  // random ones, where there are too many for all

// Pass: the one-sided bound on the bad side lies within the margin, uncorrected, because every metric must
// pass (intersection-union). Fail: Holm's p over all questions is at most alpha. All questions of one
// comparison share their seeds. A relative margin on a baseline whose mean is not above 0 is an error. The
// same rulings on any number of threads.
struct DecideOptions {
  unsigned threads = 0;  // 0 is one per core
  bool opinions = true;  // what other tests say
};
Result<std::vector<Ruling>> decide(std::span<const Question>, Seed, const DecideOptions& = {});

// P(a replicate reaches t) from sorted replicates: their share, with one added, as long as 10 reach it;
// beyond, a generalised Pareto tail fitted to the top 2.5 % by moments, never lighter than an exponential
// one, so that the number of resamples sets no floor under p. Source: Knijnenburg, Wessels, Reinders,
// Shmulevich, "Fewer permutations, more accurate P-values", Bioinformatics 25 (2009).
double upper_tail(std::span<const double> sorted, double t);

}  // namespace retrygate::stats
