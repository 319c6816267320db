// Looking while the seeds come in: one rule that stays honest however often it is asked.
#pragma once

#include <span>
#include <vector>

#include "stats/question.hpp"

namespace retrygate::stats {

struct Looks {
  std::size_t first = 50, every = 50;  // seeds
};

// What may be said after all seeds so far, having looked after `first` seeds and every `every` since: a
// normal-mixture confidence sequence on the studentised paired differences (of a ratio: of its linearised
// terms). Pass and fail come from the running intersection of the bounds, fail also needs Holm's p over all
// questions, from each question's running minimum. Constant and almost constant differences are decided by
// their exact bounds, their error spent over the looks as alpha / (k (k + 1)). Fewer seeds than `first`: all
// inconclusive. Asymptotic in the first look, exact in no finite sample: calibration in README.md.
// Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic
// confidence sequences", 2024, theorem 2.2 and appendix B (one-sided).
Result<std::vector<Ruling>> decide_so_far(std::span<const Question>, const Looks& = {});

// The one-sided boundary of a mean of n terms with sd 1, and the always-valid p of a mean x >= 0 above its
// null.
double sequence_boundary(double n, double level_alpha);
double sequence_p(double n, double x);

}  // namespace retrygate::stats
