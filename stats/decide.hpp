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

// How surely the rule finds a regression: P(one question fails by the method paired-mean) when the true
// effect lies `beyond` standard deviations of the differences beyond the margin and differences are normal; n
// >= 2 seeds. Less than the power of a t test (power_t), because the rule asks for more than one: also for
// bootstrap-t's consent, and for four times the distance where few seeds look skewed, as normal ones do at
// times (methods.hpp). The skewness of a normal sample is independent of its mean and spread (Basu 1955), so
// the power is an average over its law, from 8 seeds on by the transform of R. B. D'Agostino, "Transformation
// to normality of the null distribution of g1", Biometrika 57 (1970). Bootstrap-t's bound to the first order
// in 1 / sqrt(n): P. Hall, "Theoretical comparison of bootstrap confidence intervals", Annals of Statistics
// 16 (1988), with the error of its resamples.
double power_to_fail(double beyond, std::size_t n);

}  // namespace retrygate::stats
