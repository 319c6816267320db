// The decision rule: is the candidate worse than the baseline by more than the margin? Non-inferiority
// of paired means; p never decides alone.
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
inline constexpr int bootstrap_resamples = 10'000;

// One metric to be decided; what is not reached has been replaced by the horizon.
struct Question {
  Pairs pairs;
  bool lower_is_better = true;
  double margin = 0;           // in the effect's unit: 0.1 for 10 % when relative
  bool deterministic = false;  // neither the policies nor the world consumed a random draw
  bool same_policy = false;
  Where where;  // of the margin, for errors
};

enum class Answer { pass, fail, inconclusive };
std::string_view to_string(Answer);

struct Ruling {
  Answer answer = Answer::inconclusive;
  double effect = 0;                        // candidate against baseline, not turned by direction
  std::optional<double> low, high;          // two-sided, level 1 - 2 alpha; none without a valid one
  std::optional<double> p, p_adjusted;      // of "not worse than the margin"; Holm over the questions
  std::optional<double> sensitivity_p;      // signed rank, the same question; never decides
  std::optional<std::size_t> seeds_needed;  // about so many would decide
  std::string_view method;                  // "bootstrap-t", "Student's t", "deterministic", ...
  std::string note;                         // what a reader must know, may be empty
};

// Pass: the one-sided bound on the bad side lies within the margin, uncorrected, because every metric must
// pass (intersection-union). Fail: Holm's p over all questions is at most alpha. All questions of one
// comparison share their seeds. A relative margin on a baseline whose mean is 0 is an error.
Result<std::vector<Ruling>> decide(std::span<const Question>, Seed);

}  // namespace retrygate::stats
