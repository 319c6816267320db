// `check`: policies, programs and recordings against what they promise.
#pragma once

#include <string>
#include <vector>

#include "ci/command/shared.hpp"

namespace retrygate::ci {

struct CheckOptions {
  std::vector<std::string> subjects;
  std::string contract, trace;
  CheckRequest request;
  bool no_save = false;  // neither try nor keep cases that failed
  Shown shown{"text", "auto", "warn"};
};
// `command` repeats the run.
ExitCode check(CheckOptions, const std::string& command);

}  // namespace retrygate::ci
