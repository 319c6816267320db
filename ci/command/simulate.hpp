// `sim`: what policies do to a fleet.
#pragma once

#include <string>
#include <vector>

#include "ci/crew.hpp"
#include "ci/exit_code.hpp"

namespace retrygate::ci {

struct SimOptions {
  std::vector<std::string> policies, metrics, set;
  std::string scenario, seeds = "1..200", format = "text", out, shard = "1/1", trace, progress = "auto";
  unsigned threads = 0;
};
// The ranks of a crew take parts of the seeds; rank 0 writes what one process alone would.
ExitCode simulate(const SimOptions&, Crew&);

// `merge`: the sample files of all parts (`sim --shard`) as the file of the whole.
struct MergeOptions {
  std::vector<std::string> files;
  std::string out;
};
ExitCode merge(const MergeOptions&);

}  // namespace retrygate::ci
