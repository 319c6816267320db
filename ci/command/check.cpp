#include "ci/command/check.hpp"

#include <fmt/format.h>

#include "ci/json_io.hpp"
#include "ci/outside.hpp"

namespace retrygate::ci {

ExitCode check(CheckOptions options, const std::string& command) {
  Errors errors;
  std::vector<std::string> programs, others;
  for (const std::string& subject : options.subjects)
    (is_program(subject) ? programs : others).push_back(subject);
  const auto subjects = find_policies(others, "SUBJECT", errors);
  std::optional<NamedContract> contract;
  if (!options.contract.empty())
    contract = keep(find_contract(options.contract, {"--contract", 1, 1}), errors);
  if (options.subjects.empty() && options.trace.empty())
    errors.push_back(
        {{"check", 0, 0}, "nothing to check", "name a SUBJECT, or a recording with --trace FILE.csv"});
  if (contract && !others.empty())
    errors.push_back({{"--contract", 1, 1},
                      fmt::format("'{}' states a contract of its own", others.front()),
                      "--contract is for exec:CMD and --trace"});
  if (!errors.empty()) return refuse(errors);
  options.request.inconclusive = inconclusive(options.shown);
  auto report = check_policies(subjects, options.request);
  if (!report) return refuse(report.error());
  append(*report, check_programs(programs, contract, options.request));
  if (!options.trace.empty()) {
    const auto recorded = check_recording(options.trace, contract, options.request);
    if (!recorded) return refuse(recorded.error());
    append(*report, *recorded);
  }
  conclude(*report, options.request);
  report->run.suite = "check";
  report->run.command = command;
  if (options.shown.format == "json")
    fmt::print("{}", verdicts_json(*report));
  else
    print(*report, options.shown);
  return report->code;
}

}  // namespace retrygate::ci
