#include "ci/command/check.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  if (options.request.replay && (options.subjects.size() != 1 || !options.trace.empty()))
    errors.push_back({{"--replay", 1, 1}, "a token is about one subject", "name that subject alone"});
  if (!errors.empty()) return refuse(errors, options.shown);
  options.request.inconclusive = inconclusive(options.shown);
  if (!options.no_save) options.request.cases_file = ".retrygate/cases.json";
  // On the screen before smaller cases are tried: one of those may take long, or the program down with it.
  options.request.first_failure = [](const std::string& subject, std::string_view invariant,
                                     const std::string& unshrunk) {
    fmt::print(stderr, "{}", inert(fmt::format("{}: {} fails: {}\n", subject, invariant, unshrunk)));
  };
  auto report = check_policies(subjects, options.request);
  if (!report) return refuse(report.error(), options.shown);
  const auto outside = check_programs(programs, contract, options.request);
  if (!outside) return refuse(outside.error(), options.shown);
  append(*report, *outside);
  if (!options.trace.empty()) {
    const auto recorded = check_recording(options.trace, contract, options.request);
    if (!recorded) return refuse(recorded.error(), options.shown);
    append(*report, *recorded);
  }
  const auto fails = [](const VerdictRow& row) { return row.verdict == "fails"; };
  if (options.request.replay && !report->verdicts.empty() &&
      std::none_of(report->verdicts.begin(), report->verdicts.end(), fails))
    report->notes.push_back(fmt::format("The case of the token does not fail: {} {}.",
                                        report->verdicts.front().invariant,
                                        report->verdicts.front().verdict));
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
