// `compare --over` and `sensitivity`: how policies grow, and which settings matter. Nothing passes or fails.
#pragma once

#include <string>
#include <vector>

#include "ci/command/shared.hpp"
#include "ci/growth.hpp"
#include "ci/sensitivity.hpp"
#include "ci/suite.hpp"

namespace retrygate::ci {

struct GrowthOptions {
  std::string over, out, format;  // format: text, json or html; others are an error
  std::vector<std::string> scenarios, set;
  std::string command;  // what repeats it
};
// The same comparison at several sizes; a margin is an error.
ExitCode compare_growth(GrowthRequest, const GrowthOptions&, const std::vector<Margin>&);

struct SensitivityCommand {
  SensitivityRequest request;
  std::string seeds = "1..50", format = "text", out;
};
ExitCode explore(SensitivityCommand);

}  // namespace retrygate::ci
