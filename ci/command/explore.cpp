#include "ci/command/explore.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "ci/json_io.hpp"
#include "ci/suite.hpp"

namespace retrygate::ci {
namespace {

// Both forms of a result that is no report; with a folder they are written there too.
ExitCode show_result(const std::string& text, const std::string& json, const std::string& format,
                     const std::string& folder, const std::string& name) {
  if (!folder.empty()) {
    std::error_code ignored;  // the writer tells what is wrong with the folder
    std::filesystem::create_directories(folder, ignored);
    Errors errors;
    const std::string path = (std::filesystem::path(folder) / name).string();
    for (const auto& [suffix, content] : {std::pair(".txt", &text), std::pair(".json", &json)}) {
      if (auto written = write_file(path + suffix, *content); !written)
        errors.insert(errors.end(), written.error().begin(), written.error().end());
    }
    if (!errors.empty()) return refuse(errors);
  }
  fmt::print("{}", format == "json" ? json : text);
  return ExitCode::pass;
}

}  // namespace

ExitCode compare_growth(GrowthRequest request, const GrowthOptions& options,
                        const std::vector<Margin>& margins) {
  Errors errors;
  if (auto over = keep(parse_over(options.over, {"--over", 1, 1}), errors)) request.over = std::move(*over);
  for (const Margin& margin : margins) {
    request.metrics.push_back(margin.metric);
    if (margin.amount)
      errors.push_back({margin.where, fmt::format("a margin ({}) is judged at one size only", margin.text),
                        "leave it out with --over"});
  }
  if (options.format != "text" && options.format != "json")
    errors.push_back({{"--format", 1, 1}, "--over is shown as text or json", ""});
  if (!errors.empty()) return refuse(errors);
  const auto report = grow(request);
  if (!report) return refuse(report.error());
  return show_result(growth_text(*report), growth_json(*report), options.format, options.out, "growth");
}

ExitCode explore(SensitivityCommand command) {
  Errors errors;
  if (auto seeds = keep(parse_seeds(command.seeds, {"--seeds", 1, 1}), errors))
    command.request.seeds = seeds->values();
  if (command.request.metrics.empty())
    command.request.metrics = {"peak_1s", "completion_s", "requests", "gave_up"};
  if (!errors.empty()) return refuse(errors);
  const auto report = sensitivity(command.request);
  if (!report) return refuse(report.error());
  return show_result(sensitivity_text(*report), sensitivity_json(*report), command.format, command.out,
                     "sensitivity");
}

}  // namespace retrygate::ci
