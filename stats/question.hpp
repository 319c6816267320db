// What is asked of one metric of two policies, and all that can be said of it without sampling theory.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/error.hpp"
#include "stats/resample.hpp"

namespace retrygate::stats {

inline constexpr double alpha = 0.05;
inline constexpr std::size_t bootstrap_from = 30;  // seeds; Student's t below
inline constexpr std::size_t sparse_below = 10;    // seeds that differ from all others: too few to resample
inline constexpr double most_seeds = 1e9;          // no report says that more than so many would decide

enum class Asking {
  not_worse,  // non-inferiority: worse by at most the margin
  better,     // superiority: better by at least the margin
  equivalent  // neither worse nor better by more than the margin; beyond it on either side is "changed"
};
std::string_view to_string(Asking);

// How a question is decided; the suite chooses before the data are seen. See methods.hpp.
enum class Deciding {
  paired_mean,   // bootstrap-t, Student's t below 30 seeds
  student,       // Student's t of the differences, whatever their number
  signed_rank,   // Wilcoxon's signed rank test, with the pseudomedian
  sign_flips,    // permutation test of the mean by flipped signs
  sign,          // sign test, with the median
  paired_shares  // two shares of the same seeds: values are 0 and 1, never relative
};

// One metric to be decided; what is not reached has been replaced by the horizon. All values are finite.
struct Question {
  Pairs pairs;
  bool lower_is_better = true;
  double margin = 0;           // in the effect's unit: 0.1 for 10 % when relative; not negative
  bool deterministic = false;  // neither the policies nor the world consumed a random draw
  bool same_policy = false;
  Where where;  // of the margin, for errors
  Asking asking = Asking::not_worse;
  Deciding method = Deciding::paired_mean;
  double step = 0;  // the least by which a seed can differ, in the metric's unit: 1 for counts; 0: unknown
};

enum class Answer { pass, fail, inconclusive };
std::string_view to_string(Answer);

// What a report calls the method of a ruling or an opinion, and what it means.
struct ShownMethod {
  std::string_view name, meaning;
};
std::span<const ShownMethod> shown_methods();
bool is_shown(std::string_view method);  // is it one of them?

// Another test of the same question, for comparison; it never decides.
struct Opinion {
  std::string_view method;
  double p = 1;                     // of the null that the deciding p is about, one-sided for `not_worse`
  double p_kept = 1;                // of the opposite null, that the limit is not kept
  std::optional<double> low, high;  // two-sided, level 1 - 2 alpha, where the method has an interval
  double p_adjusted = 1;            // p by Holm over the questions
  Answer answer = Answer::inconclusive;  // by the rule of `decide`, with p_kept in place of the bound
};

struct Ruling {
  Answer answer = Answer::inconclusive;
  double effect = 0;                        // candidate against baseline, not turned by direction
  std::optional<double> low, high;          // two-sided, level 1 - 2 alpha; none without a valid one
  std::optional<double> p, p_adjusted;      // of "the candidate keeps the margin"; Holm over the questions
  std::vector<Opinion> opinions;            // none where nothing is sampled
  std::optional<double> pairing_gain;       // variance of unpaired / paired mean difference, where both vary
  std::optional<std::size_t> seeds_needed;  // about so many would decide, in 4 of 5 runs
  std::string_view method;                  // "bootstrap-t", "Student's t", "deterministic", ...
  std::string law;                          // what p and interval come from: "exact", "10,000 resamples" ...
  std::string_view assumes;                 // of the seeds, beyond that they are independent; may be empty
  std::string note;                         // what a reader must know, may be empty
};

// Bounds on the effect, turned so that more is worse.
struct Bounds {
  double low, high;
};
Bounds turned(const Question&, double low, double high);  // low <= high of the effect as it stands
Answer by_bounds(const Question&, Bounds);

// The nulls "side * turned effect <= value": one, or for equivalence one on each side.
struct Limit {
  double side;  // +1: the bad side is tested; -1: the good one
  double value;
};
std::vector<Limit> limits(const Question&);
// side * turned effect, so that more is further beyond the limit.
double toward(const Question&, const Limit&, double effect);
// One p of several sides: the least, for each that could have been it.
double joint(const Question&, const std::function<double(const Limit&)>& p);

// Candidate minus baseline, seed by seed.
std::vector<double> differences(const Pairs&);

// Seeds that all agree decide from so many on: with confidence 1 - a, fewer than 5 % of seeds differ. 59 at
// 0.05.
std::size_t constant_decides_from(double a);

// Everything about a question that needs no sampling theory: the same policy, no draws, one seed, all seeds
// equal, all but a few equal. Nothing if it does. Bounds pass at level 1 - pass_alpha and fail at 1 -
// fail_alpha. Seeds that no one has seen to differ count too: as many as can be, each by a step.
std::optional<Ruling> settled(const Question&, double pass_alpha, double fail_alpha);

// What makes questions unanswerable: a relative margin on a baseline whose mean is not above 0.
Errors faults(std::span<const Question>);

}  // namespace retrygate::stats
