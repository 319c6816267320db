// May the change be merged? A suite's comparisons and checks -> a Report with a verdict.
#pragma once

#include "ci/report.hpp"
#include "ci/suite.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

enum class Inconclusive { fail, warn, pass };  // what an undecided metric does to the exit code

struct GateOptions {
  Inconclusive inconclusive = Inconclusive::fail;
  unsigned threads = 0;  // 0 is one per core
};

struct GateRun {
  Report report;
  std::vector<SampleTable> samples;  // one per comparison of the suite
};

Result<GateRun> run_gate(const Suite&, const GateOptions&);

}  // namespace retrygate::ci
