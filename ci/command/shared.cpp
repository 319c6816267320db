#include "ci/command/shared.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "ci/terminal.hpp"
#include "ci/version.hpp"

namespace retrygate::ci {

ExitCode refuse(const Errors& errors) {
  fmt::print(stderr, "{}", to_string(errors));
  return ExitCode::usage;
}

Report refusal(const Errors& errors, const std::string& suite, const std::string& command) {
  Report report;
  report.run.version = version();
  report.run.suite = suite;
  report.run.command = command;
  report.refused = errors;
  report.code = ExitCode::usage;
  return report;
}

std::optional<Duration> read_duration(const std::string& text, const std::string& option, Errors& errors) {
  if (text.empty()) return std::nullopt;
  auto parsed = parse_duration(text, {option, 1, 1});
  if (parsed && *parsed < Duration{}) parsed = failure({option, 1, 1}, "a duration must not be negative");
  return keep(std::move(parsed), errors);
}

std::vector<NamedPolicy> find_policies(const std::vector<std::string>& references, const std::string& option,
                                       Errors& errors) {
  std::vector<NamedPolicy> all;
  for (const std::string& reference : references) {
    if (auto found = keep(find_policy(reference, {option, 1, 1}), errors)) all.push_back(std::move(*found));
  }
  return all;
}

Inconclusive inconclusive(const Shown& shown) {
  return shown.inconclusive == "fail"   ? Inconclusive::fail
         : shown.inconclusive == "warn" ? Inconclusive::warn
                                        : Inconclusive::pass;
}

void print(const Report& report, const Shown& shown) {
  const std::string text = reporters().find(shown.format)->render(report);
  fmt::print("{}", shown.format == "text" && wants_colour(shown.color) ? coloured(text) : text);
}

ExitCode refuse(const Errors& errors, const Shown& shown) {
  if (shown.format == "github") print(refusal(errors, "", ""), shown);
  return refuse(errors);
}

}  // namespace retrygate::ci
