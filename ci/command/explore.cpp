#include "ci/command/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ci/json_io.hpp"
#include "ci/report.hpp"
#include "ci/suite.hpp"
#include "ci/version.hpp"

namespace retrygate::ci {
namespace {

struct Form {
  std::string_view format, suffix;
  std::string text;
};

// One form of a result is printed; with a folder all of them are written there, too.
ExitCode show_result(const std::vector<Form>& forms, const std::string& format, const std::string& folder,
                     const std::string& name) {
  if (!folder.empty()) {
    std::error_code ignored;  // the writer tells what is wrong with the folder
    std::filesystem::create_directories(folder, ignored);
    Errors errors;
    for (const Form& form : forms) {
      const auto path = std::filesystem::path(folder) / fmt::format("{}{}", name, form.suffix);
      if (auto written = write_file(path.string(), form.text); !written)
        errors.insert(errors.end(), written.error().begin(), written.error().end());
    }
    if (!errors.empty()) return refuse(errors);
  }
  for (const Form& form : forms) {
    if (form.format == format) fmt::print("{}", form.text);
  }
  return ExitCode::pass;
}

Report report_of(const GrowthReport& growth, const std::string& command) {
  Report report;
  report.run = {std::string(version()), "compare", {}, {}, command};
  report.provenance = {std::string(commit()), random_streams_version, {}, {}};
  report.growth = growth_rows(growth);
  return report;
}

}  // namespace

ExitCode compare_growth(GrowthRequest request, const GrowthOptions& options,
                        const std::vector<Margin>& margins) {
  Errors errors;
  if (auto over = keep(parse_over(options.over, {"--over", 1, 1}), errors)) {
    request.over = std::move(*over);
    for (const std::string& scenario : options.scenarios) {
      if (auto sizes = keep(scenarios_over(scenario, options.set, request.over), errors))
        request.scenarios.push_back(std::move(*sizes));
    }
  }
  for (const Margin& margin : margins) {
    request.metrics.push_back(margin.metric);
    if (margin.amount)
      errors.push_back({margin.where, fmt::format("a margin ({}) is judged at one size only", margin.text),
                        "leave it out with --over"});
  }
  constexpr std::string_view shown[] = {"text", "json", "html", "markdown"};
  if (std::find(std::begin(shown), std::end(shown), options.format) == std::end(shown))
    errors.push_back(
        {{"--format", 1, 1},
         fmt::format("{} has room for what is judged alone, and --over judges nothing", options.format),
         fmt::format("known with --over: {}", fmt::join(shown, ", "))});
  if (!errors.empty()) return refuse(errors);
  const auto report = grow(request);
  if (!report) return refuse(report.error());
  const Report all = report_of(*report, options.command);
  return show_result({{"text", ".txt", growth_text(all.growth)},
                      {"json", ".json", growth_json(*report)},
                      {"html", ".html", reporters().find("html")->render(all)},
                      {"markdown", ".md", reporters().find("markdown")->render(all)}},
                     options.format, options.out, "growth");
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
  return show_result(
      {{"text", ".txt", sensitivity_text(*report)}, {"json", ".json", sensitivity_json(*report)}},
      command.format, command.out, "sensitivity");
}

}  // namespace retrygate::ci
