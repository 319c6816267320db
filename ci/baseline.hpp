// The stored baseline: per-seed samples of a policy, with all that must be the same for a comparison with
// them to mean anything. A JSON file in the user's repository, schema retrygate.baseline/1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ci/suite.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

struct StoredMetric {
  std::string id, unit, better, meaning;  // its definition
  std::vector<std::optional<double>> samples;
};

// One policy in one scenario.
struct StoredCell {
  std::string scenario;
  Value scenario_table;  // its definition, keys sorted
  std::string policy;    // as the suite named it
  std::string definition;
  std::vector<std::string> contract;  // one promise a line
  Value policy_table;                 // what read_policy takes
  Seeds seeds;
  bool drew = false;  // did the policy consume random draws?
  std::vector<std::uint64_t> digests;
  std::vector<StoredMetric> metrics;  // in the order of their ids
};

struct Baseline {
  std::string path;
  std::string engine;      // version of the program that simulated it
  std::string suite = {};  // whose policies; empty in a file of before this was stored
  std::int64_t random_streams = random_streams_version;
  std::vector<StoredCell> cells = {};
};

// `table` holds the samples of `policy` alone, scenario by scenario; adds them to the file's cells. Cells
// of the same policy, seeds and definition of the scenario share their metrics.
void store(const NamedPolicy& policy, const std::vector<Scenario>&, const Seeds&, const SampleTable& table,
           Baseline&);

// Sorted keys, one value a line. The same baseline gives the same bytes.
std::string to_json(const Baseline&);
// All mistakes at once, with line and column.
Result<Baseline> parse_baseline(std::string_view text, const std::string& path);

// The cell that a comparison of `policy` on the scenario is about: of those with its definition (else of
// those with its id) the one with this policy's name, of several the one with these seeds; else the only one.
// Nothing if there is none.
const StoredCell* find_cell(const Baseline&, const Scenario&, std::string_view policy, const Seeds&);

// What differs between the stored cell and what is asked now, one thing a text with both values; empty when
// the samples can be compared. The policy may differ: that is the point.
std::vector<std::string> differences(const Baseline&, const StoredCell&, const Scenario&, const Seeds&,
                                     const std::vector<Margin>&);

// The stored policy as a value.
Result<NamedPolicy> stored_policy(const StoredCell&);
// The stored samples of these metrics (all of them are there).
Cell stored_samples(const StoredCell&, const std::vector<std::string>& metrics);

}  // namespace retrygate::ci
