// The decision rule: is the candidate worse than the baseline by more than the margin? Paired means over
// seeds; p never decides alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/error.hpp"
#include "stats/resample.hpp"

namespace retrygate::stats {

inline constexpr double alpha = 0.05;
inline constexpr std::size_t bootstrap_from = 30;         // seeds; Student's t below
inline constexpr std::size_t constant_decides_from = 59;  // least n with 1 - alpha^(1/n) < 5 %
inline constexpr std::size_t sparse_below = 10;  // seeds that differ from all others: too few to resample
inline constexpr int bootstrap_resamples = 10'000;

enum class Asking {
  not_worse,  // non-inferiority: worse by at most the margin
  better,     // superiority: better by at least the margin
  equivalent  // neither worse nor better by more than the margin; beyond it on either side is "changed"
};
std::string_view to_string(Asking);

// One metric to be decided; what is not reached has been replaced by the horizon. All values are finite.
struct Question {
  Pairs pairs;
  bool lower_is_better = true;
  double margin = 0;           // in the effect's unit: 0.1 for 10 % when relative; not negative
  bool deterministic = false;  // neither the policies nor the world consumed a random draw
  bool same_policy = false;
  Where where;  // of the margin, for errors
  Asking asking = Asking::not_worse;
};

enum class Answer { pass, fail, inconclusive };
std::string_view to_string(Answer);

// Another test of the same question, for comparison; it never decides.
struct Opinion {
  std::string_view method;
  double p = 1;                     // of the null that the deciding p is about, one-sided for `not_worse`
  std::optional<double> low, high;  // two-sided, level 1 - 2 alpha, where the method has an interval
};

struct Ruling {
  Answer answer = Answer::inconclusive;
  double effect = 0;                        // candidate against baseline, not turned by direction
  std::optional<double> low, high;          // two-sided, level 1 - 2 alpha; none without a valid one
  std::optional<double> p, p_adjusted;      // of "the candidate keeps the margin"; Holm over the questions
  std::vector<Opinion> opinions;            // none where nothing is sampled
  std::optional<double> pairing_gain;       // variance of unpaired / paired mean difference, where both vary
  std::optional<std::size_t> seeds_needed;  // about so many would decide
  std::string_view method;                  // "bootstrap-t", "Student's t", "deterministic", ...
  std::string note;                         // what a reader must know, may be empty
};

// Pass: the one-sided bound on the bad side lies within the margin, uncorrected, because every metric must
// pass (intersection-union). Fail: Holm's p over all questions is at most alpha. All questions of one
// comparison share their seeds. A relative margin on a baseline whose mean is not above 0 is an error.
Result<std::vector<Ruling>> decide(std::span<const Question>, Seed);

// P(a replicate reaches t) from sorted replicates: their share, with one added, as long as 10 reach it;
// beyond, a generalised Pareto tail fitted to the top 2.5 % by moments, never lighter than an exponential
// one, so that the number of resamples sets no floor under p. Source: Knijnenburg, Wessels, Reinders,
// Shmulevich, "Fewer permutations, more accurate P-values", Bioinformatics 25 (2009).
double upper_tail(std::span<const double> sorted, double t);

}  // namespace retrygate::stats
