// May the change be merged? A suite's comparisons and checks -> a Report with a verdict.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "ci/commands.hpp"
#include "ci/report.hpp"
#include "ci/suite.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

struct GateOptions {
  Inconclusive inconclusive = Inconclusive::fail;
  unsigned threads = 0;       // 0 is one per core
  std::string baseline = {};  // a file whose samples stand in for the baselines; empty: they are simulated
  // With a budget seeds come one after another, from each comparison's first, until every margin is decided
  // or so many are spent; a stored baseline has its own seeds and none to add.
  std::optional<std::uint64_t> budget = {};
  std::optional<std::chrono::sys_days> today = {};  // UTC; a suite with waivers needs it
  // Told now and then how many runs of how many (at most) are done, and what has been decided.
  std::function<void(std::size_t done, std::size_t all, const std::string& note)> progress = {};
};

struct GateRun {
  Report report;
  std::vector<SampleTable> samples;  // one per comparison of the suite
};

// A baseline file that is missing, or cannot be compared, is no error but an inconclusive report: whatever
// `inconclusive` says it exits with 3, never a silent pass. A malformed one is an error.
Result<GateRun> run_gate(const Suite&, const GateOptions&);

// Simulates every baseline policy of the suite and writes the file anew, all or nothing. Returns what to
// tell.
Result<std::string> update_baseline(const Suite&, const GateOptions&);

// What a run of a program that broke off, or was never there, says of it.
void add_fault(const RunFault&, Report&);

}  // namespace retrygate::ci
