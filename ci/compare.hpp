// One comparison of a suite: simulate its policies, or take the baseline's samples from a file, and put the
// questions.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "ci/baseline.hpp"
#include "ci/report.hpp"
#include "ci/suite.hpp"
#include "sim/sweep.hpp"
#include "stats/decide.hpp"

namespace retrygate::ci {

// The side that everything is compared with, in one scenario.
struct BaselineArm {
  std::string name;  // as the report calls it
  std::optional<AnyPolicy>
      policy;                  // nothing where it is a program of an earlier day: only its samples are left
  std::optional<Cell> stored;  // nothing where it is simulated along with the candidates
  bool changed = false;        // is the task's own baseline another policy than the stored one?
};

// A comparison under way.
struct Comparison {
  CompareTask task;
  std::vector<BaselineArm> arms;      // by scenario
  std::vector<NamedPolicy> policies;  // the task's baseline, then its candidates
  SampleTable table;                  // scenario by scenario, in it policy by policy; no cells before any run
};

// What is asked of one metric of one candidate, and where the answer goes.
struct Asked {
  stats::Question question;
  bool judged = true;  // false: there is no margin, only the estimate is wanted
  ComparisonRow row;
  std::size_t unreached = 0;                      // seeds in which the candidate never got there
  std::size_t baseline_unreached = 0;             // and the baseline
  std::size_t cut_off = 0, baseline_cut_off = 0;  // seeds in which calls were still going on at the horizon
  Duration horizon;
  std::size_t cell = 0;        // of the candidate in the comparison's table
  std::size_t comparison = 0;  // of the run
};

// `stored` is the baseline file, or null: then the task's own baseline is simulated. With a file, a baseline
// policy that has changed since is a candidate like the others. What forbids the comparison is added to
// `report.blocked`, what the reader must know to `report.changes` and `report.notes`; nothing is returned
// when it is forbidden.
Result<std::optional<Comparison>> begin(const CompareTask&, const Baseline* stored, unsigned threads,
                                        Report&);

// Simulates these seeds for all policies, or, where `open` is given, for the candidates that it names by
// their cell and for what they are compared with. Samples are added to the table. `ran` is told of runs that
// are done.
Result<void> simulate(Comparison&, const std::vector<std::uint64_t>& seeds, unsigned threads,
                      const std::function<void(std::size_t)>& ran,
                      const std::set<std::size_t>* open = nullptr);

// The questions that the samples so far can be asked, always in the same order.
Result<std::vector<Asked>> ask(const Comparison&);

// All samples, those of a stored baseline last.
SampleTable samples(Comparison);

// Fills the row from the ruling, with the headline sentence: what changed, how sure, what was asked.
void answer(Asked&, const stats::Ruling&);

}  // namespace retrygate::ci
