// A suite: which policies are compared where, over which seeds, with what margins, and which are checked.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "ci/growth.hpp"
#include "policies/base/config.hpp"
#include "policies/base/embedded.hpp"
#include "policies/find_contract.hpp"
#include "policies/named.hpp"
#include "sim/scenario.hpp"
#include "stats/question.hpp"

namespace retrygate::ci {

// A metric, and how much worse it may get: a share of the baseline's mean, or an absolute amount in the
// metric's own unit (seconds for times). Without an amount it is estimated and not judged.
struct Margin {
  std::string metric;
  std::optional<double> amount = {};  // 0.1 for "10%"
  bool relative = false;
  std::string text = {};  // as written
  Where where = {};
};
// "10%", "200ms" (of a time) or "0.5". Of a yes/no metric "5pt" or "5%": so many seeds of a hundred, an
// amount of 0.05.
Result<Margin> parse_margin(const std::string& metric, std::string_view text, Where);

struct Seeds {
  std::uint64_t first = 1, last = 200;
  std::uint64_t count() const { return last - first + 1; }
  std::vector<std::uint64_t> values() const;
};
std::string to_string(const Seeds&);                      // "1..200"
Result<Seeds> parse_seeds(std::string_view text, Where);  // "1..200" or "7"

struct CompareTask {
  NamedPolicy baseline;
  std::vector<NamedPolicy> candidates;  // may be empty where a stored baseline is given
  std::vector<Scenario> scenarios;      // overrides applied
  Seeds seeds;
  std::vector<Margin> margins;
  Where where;
  stats::Asking asking = stats::Asking::not_worse;
  stats::Deciding method =
      stats::Deciding::paired_mean;  // yes/no metrics are decided by paired shares always
  std::optional<Over> over = {};                  // at which sizes the policies are shown, beside the verdict
  std::vector<std::vector<Scenario>> sizes = {};  // each of the scenarios at these sizes
};
// What this method cannot decide.
Errors method_faults(stats::Deciding, std::span<const Margin>, const Where& of_method);
// "not-worse", "better" or "equivalent".
Result<stats::Asking> parse_asking(std::string_view text, Where);

// A day as "2027-01-31"; nothing if it is none.
std::optional<std::chrono::sys_days> parse_day(std::string_view text);

// A failure that is known and accepted for a while.
struct Waiver {
  std::string subject, invariant, reason;
  std::chrono::sys_days until;  // the last day it holds, UTC
  Where where;
};

// FILE.csv: as the suite names it, and where it is.
struct TraceFile {
  std::string name, path;
};

struct CheckTask {
  std::vector<NamedPolicy> subjects;
  std::vector<std::string> programs = {};    // exec:CMD
  std::vector<TraceFile> traces = {};        // recordings
  std::map<std::string, Where> places = {};  // where each program and recording is named
  std::optional<NamedContract> contract;     // what programs and recordings promise
  std::vector<std::string> invariants;       // empty: all
  std::vector<Waiver> waivers = {};
};

struct Suite {
  std::string name, summary, path;
  std::vector<CompareTask> compare;
  std::vector<CheckTask> check;
};

// All mistakes of the file are reported at once. Files that it names are relative to its folder.
Result<Suite> read_suite(const Value& file, const std::string& path);
// "" is the shipped default; a shipped suite's id; else a path.
Result<Suite> find_suite(const std::string& reference);
std::span<const EmbeddedFile> shipped_suites();

}  // namespace retrygate::ci
