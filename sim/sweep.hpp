// Policies x scenarios x seeds on all cores -> one table of samples.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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
  std::vector<std::int64_t> unfinished =
      {};  // calls that the horizon cut off; empty where it was not simulated here
  bool operator==(const Cell&) const = default;
};

struct SampleTable {
  std::vector<std::string> metrics;
  std::vector<Cell> cells;  // scenario by scenario, in it policy by policy
  bool operator==(const SampleTable&) const = default;
};

// Part `index` of `count`, from 1: a contiguous block of the seeds, so that parts joined in order are the
// whole.
struct Shard {
  std::size_t index = 1, count = 1;
};
Result<Shard> parse_shard(std::string_view text, Where where);  // "2/4"
std::vector<std::uint64_t> seeds_of(const std::vector<std::uint64_t>& seeds, const Shard& shard);

struct SweepOptions {
  unsigned threads = 0;  // 0: one per core; the table does not depend on it
  std::uint64_t policy_salt = 0;
  // Called now and then, from one thread at a time, with the number of runs that are done.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
  // Set from outside (a signal) to stop early: the table then holds the seeds that every cell has finished.
  const std::atomic<bool>* cancel = nullptr;
};

// A program that broke off in a run, or could not be started for it. The text says in which one.
struct RunFault : ProgramFault {
  RunFault(const std::string& text, bool has_started, const NamedPolicy& named)
      : ProgramFault(text, has_started), subject(named.name), where(named.where) {}
  std::string subject;
  Where where;  // of the policy
};

// An error where so many runs at once would need more memory than there is.
Result<void> fits_memory(const NamedPolicy&, const Scenario&, const RunOptions&, std::size_t at_once = 1);

// One run of a policy; of one in another process by a process of its own, whose faults are thrown as
// RunFault, by a sweep too.
Result<Totals> run_named(Runner&, const NamedPolicy&, const Scenario&, Seed, const RunOptions& = {});

Result<SampleTable> sweep(const std::vector<NamedPolicy>& policies, const std::vector<Scenario>& scenarios,
                          const std::vector<std::uint64_t>& seeds, const std::vector<std::string>& metric_ids,
                          const SweepOptions& options);
Result<SampleTable> sweep(const std::vector<NamedPolicy>& policies, const std::vector<Scenario>& scenarios,
                          const std::vector<std::uint64_t>& seeds, const std::vector<std::string>& metric_ids,
                          unsigned threads = 0, std::uint64_t policy_salt = 0);

}  // namespace retrygate
