// `sim`: what policies do to a fleet.
#pragma once

#include <string>
#include <vector>

#include "ci/exit_code.hpp"

namespace retrygate::ci {

struct SimOptions {
  std::vector<std::string> policies, metrics, set;
  std::string scenario, seeds = "1..200", format = "text", out, shard = "1/1", trace, progress = "auto";
  unsigned threads = 0;
};
ExitCode simulate(const SimOptions&);

// `merge`: the sample files of all parts (`sim --shard`) as the file of the whole.
struct MergeOptions {
  std::vector<std::string> files;
  std::string out;
};
ExitCode merge(const MergeOptions&);

}  // namespace retrygate::ci
