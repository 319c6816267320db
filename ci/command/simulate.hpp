// `sim`: what policies do to a fleet.
#pragma once

#include <string>
#include <vector>

#include "ci/exit_code.hpp"

namespace retrygate::ci {

struct SimOptions {
  std::vector<std::string> policies, metrics, set;
  std::string scenario, seeds = "1..200", format = "text", out;
  unsigned threads = 0;
};
ExitCode simulate(const SimOptions&);

}  // namespace retrygate::ci
