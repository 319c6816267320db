// Policies x scenarios x seeds on all cores -> one table of samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/named.hpp"
#include "sim/metrics.hpp"

namespace retrygate {

// One policy in one scenario. Index i of every inner vector belongs to seeds[i].
struct Cell {
  std::string policy;
  std::string definition;  // to_string(policy)
  std::string scenario;
  std::vector<std::string> params;  // the scenario's overrides
  std::vector<std::uint64_t> seeds;
  std::vector<std::uint64_t> digests;
  std::vector<bool> drew;                                   // did the policy consume randomness?
  std::vector<std::vector<std::optional<double>>> samples;  // [metric][seed]
  bool operator==(const Cell&) const = default;
};

struct SampleTable {
  std::vector<std::string> metrics;
  std::vector<Cell> cells;  // scenario by scenario, in it policy by policy
  bool operator==(const SampleTable&) const = default;
};

// The same table on any number of threads; 0 means one per core.
Result<SampleTable> sweep(const std::vector<NamedPolicy>& policies, const std::vector<Scenario>& scenarios,
                          const std::vector<std::uint64_t>& seeds, const std::vector<std::string>& metric_ids,
                          unsigned threads = 0, std::uint64_t policy_salt = 0);

}  // namespace retrygate
