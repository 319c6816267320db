// Everything any reader of a run may be shown, as one plain value. Reporters are pure functions of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ci/exit_code.hpp"
#include "policies/base/shelf.hpp"

namespace retrygate::ci {

struct RunInfo {
  std::string version, suite, summary, seeds, command;  // command: what repeats the run
};

// One subject against one invariant.
struct VerdictRow {
  std::string subject, invariant, level, evidence, verdict;  // verdict: "holds", "fails" ...
  std::string claim, counterexample, repeat;
};

// One metric of one candidate against its baseline.
struct ComparisonRow {
  std::string scenario, baseline, candidate, metric, unit;
  std::string better;  // "lower" or "higher"
  std::optional<double> baseline_mean = {}, candidate_mean = {};
  std::optional<double> effect = {}, low = {},
                        high = {};  // a ratio minus 1 when `relative`, else in the metric's unit
  bool relative = false;
  std::string margin = {};   // as the suite has it
  std::string verdict = {};  // "pass", "fail", "inconclusive"
  std::optional<double> p = {}, p_adjusted = {}, sensitivity_p = {};
  std::size_t seeds = 0;
  std::optional<std::size_t> seeds_needed = {};
  std::string headline = {};  // one sentence: what changed, how sure, what was asked
};

struct Report {
  RunInfo run;
  std::vector<VerdictRow> verdicts;
  std::vector<ComparisonRow> comparisons;
  std::vector<std::string> notes;
  ExitCode code = ExitCode::pass;
};

struct Reporter {
  std::string_view id, file, summary;  // file: its name under --out
  std::string (*render)(const Report&);
};
const Shelf<Reporter>& reporters();

// "failed" parts of a report, shared by the reporters.
bool is_bad(const VerdictRow&);
// "+6.2 %" for a relative effect, "+40" or "-0.32 s" otherwise; "-" when there is none.
std::string effect_text(const ComparisonRow&, std::optional<double> value);

}  // namespace retrygate::ci
