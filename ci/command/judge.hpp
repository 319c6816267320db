// `gate` and `compare`: may the change be merged, and what does it change?
#pragma once

#include <string>
#include <vector>

#include "ci/command/shared.hpp"

namespace retrygate::ci {

struct GateCommand {
  std::string suite, baseline, out;
  bool update = false, until_decided = false;
  std::uint64_t budget = 2000;  // seeds, with until_decided
  Shown shown{"text", "auto", "fail"};
  std::string progress = "auto";
  unsigned threads = 0;
};
// `command` repeats the run, here and below.
ExitCode gate(const GateCommand&, const std::string& command);

struct CompareCommand {
  std::string baseline, seeds = "1..200", out, over, question = "not-worse", method;
  bool until_decided = false;
  std::uint64_t budget = 2000;
  std::vector<std::string> candidates, scenarios, metrics, set;
  Shown shown{"text", "auto", "fail"};
  std::string progress = "auto";
  unsigned threads = 0;
};
// A comparison is a suite with one task.
ExitCode compare(const CompareCommand&, const std::string& command);

}  // namespace retrygate::ci
