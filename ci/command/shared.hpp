// What the subcommands share: refusing, policies and durations named by options, how a report is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ci/commands.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {

// Prints what is wrong with the command line or a file.
ExitCode refuse(const Errors&);
// The same as a report, for readers of reports.
Report refusal(const Errors&, const std::string& suite, const std::string& command);

// A duration given as an option; complaints go to the errors.
std::optional<Duration> read_duration(const std::string& text, const std::string& option, Errors&);

std::vector<NamedPolicy> find_policies(const std::vector<std::string>& references, const std::string& option,
                                       Errors&);

// How a report is shown, common to check, gate and compare.
struct Shown {
  std::string format = "text", color = "auto", inconclusive;
};
Inconclusive inconclusive(const Shown&);
void print(const Report&, const Shown&);
// Prints what is wrong; on GitHub also beside the line of the file.
ExitCode refuse(const Errors&, const Shown&);

}  // namespace retrygate::ci
