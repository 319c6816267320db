// One comparison of a suite: simulate its policies, or take the baseline's samples from a file, and put the
// questions.
#pragma once

#include <vector>

#include "ci/baseline.hpp"
#include "ci/report.hpp"
#include "ci/suite.hpp"
#include "sim/sweep.hpp"
#include "stats/decide.hpp"

namespace retrygate::ci {

// What is asked of one metric of one candidate, and where the answer goes.
struct Asked {
  stats::Question question;
  bool judged = true;  // false: there is no margin, only the estimate is wanted
  ComparisonRow row;
  std::size_t unreached = 0;  // seeds in which the candidate never got there
  Duration horizon;
};

// The scenarios of a comparison, its overrides laid over them.
Result<std::vector<Scenario>> scenarios_of(const CompareTask&);

// `stored` is the baseline file, or null: then the task's own baseline is simulated. With a file, a baseline
// policy that has changed since is a candidate like the others. What forbids the comparison is added to
// `report.blocked`, what the reader must know to `report.changes` and `report.notes`. Returns the samples.
Result<SampleTable> ask(const CompareTask&, const Baseline* stored, unsigned threads, std::vector<Asked>&,
                        Report& report);

// Fills the row from the ruling, with the headline sentence: what changed, how sure, what was asked.
void answer(Asked&, const stats::Ruling&);

}  // namespace retrygate::ci
