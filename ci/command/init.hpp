// `init`: from nothing to a gate.
#pragma once

#include "ci/exit_code.hpp"
#include "ci/starter.hpp"

namespace retrygate::ci {

struct InitCommand {
  StarterRequest request;
  bool force = false;  // replace files that are there
  bool ask_file = true, ask_policy = true, ask_scenario = true, ask_pipeline = true;  // not given as options
};
// Asks on a terminal for what was not given. Writes nothing unless it can write everything.
ExitCode init(InitCommand);

}  // namespace retrygate::ci
