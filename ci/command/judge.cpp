#include "ci/command/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "ci/command/explore.hpp"
#include "ci/command/progress.hpp"
#include "ci/gate.hpp"
#include "ci/json_io.hpp"
#include "ci/suite.hpp"
#include "stats/methods.hpp"

namespace retrygate::ci {
namespace {

// Every reporter's file and the samples, whatever --format says.
Errors write_reports(const GateRun& result, const std::string& folder) {
  Errors errors;
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault) return {{{folder, 0, 0}, "cannot make this folder: " + fault.message(), "nothing was written"}};
  const auto write = [&](std::string_view name, const std::string& text) {
    if (const auto done = write_file((std::filesystem::path(folder) / name).string(), text); !done)
      errors.push_back(done.error().front());
  };
  for (const Reporter& reporter : reporters()) {
    if (!reporter.file.empty()) write(reporter.file, reporter.render(result.report));
  }
  if (result.report.refused.empty()) write("samples.json", samples_json(result.samples));
  return errors;
}

// What is wrong, wherever a run's report would have gone.
ExitCode refuse_run(const Errors& errors, const Shown& shown, const std::string& out,
                    const std::string& suite, const std::string& command) {
  // A folder that cannot be written is one mistake more.
  Errors all = errors;
  if (!out.empty()) {
    for (Error& error : write_reports({refusal(errors, suite, command), {}}, out))
      all.push_back(std::move(error));
  }
  return refuse(all, shown);
}

// A suite's run as a report: on the terminal, and as files where asked.
ExitCode report_on(const Suite& suite, GateOptions options, const Shown& shown, const std::string& out,
                   const std::string& command, const std::string& when) {
  Result<GateRun> result;
  {
    Progress progress(when);
    options.progress = [&](std::size_t done, std::size_t all, const std::string& note) {
      progress(done, all, note);
    };
    result = run_gate(suite, options);
  }
  if (!result) return refuse_run(result.error(), shown, out, suite.name, command);
  result->report.run.command = command;
  // What a simulation shows, the whole run shows again.
  for (VerdictRow& row : result->report.verdicts) {
    if (row.repeat.empty()) row.repeat = command;
  }
  // Written before anything is shown: the last line says how the program ends.
  if (!out.empty()) {
    if (const Errors errors = write_reports(*result, out); !errors.empty())
      result->report.code = worst({result->report.code, refuse(errors)});
  }
  print(result->report, shown);
  return result->report.code;
}

// "peak_1s" is estimated, "peak_1s:10%" is judged.
std::optional<Margin> read_metric(const std::string& text, Errors& errors) {
  const Where where{"--metric", 1, 1};
  const std::size_t colon = text.find(':');
  const std::string id = text.substr(0, colon);
  if (!keep(find_metric(id, where), errors)) return std::nullopt;
  if (colon == std::string::npos) return Margin{id, {}, false, {}, where};
  return keep(parse_margin(id, std::string_view(text).substr(colon + 1),
                           {"--metric", 1, static_cast<int>(colon) + 2}),
              errors);
}

}  // namespace

ExitCode gate(const GateCommand& options, const std::string& command) {
  const auto suite = find_suite(options.suite);
  if (!suite) return refuse_run(suite.error(), options.shown, options.out, options.suite, command);
  GateOptions gate{inconclusive(options.shown), options.threads, options.baseline};
  if (options.until_decided) gate.budget = options.budget;
  gate.today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  if (!options.update) return report_on(*suite, gate, options.shown, options.out, command, options.progress);
  try {
    const auto told = update_baseline(*suite, gate);
    if (!told) return refuse(told.error(), options.shown);
    fmt::print("{}", *told);
    return ExitCode::pass;
  } catch (const RunFault& fault) {
    if (options.shown.format == "github") {
      Report report = refusal({}, suite->name, command);
      report.code = ExitCode::pass;
      add_fault(fault, report);
      for (VerdictRow& row : report.verdicts) row.repeat = command;
      print(report, options.shown);
    }
    throw;  // a baseline without it is none
  }
}

ExitCode compare(const CompareCommand& options, const std::string& command) {
  Errors errors;
  const auto baseline = keep(find_policy(options.baseline, {"--baseline", 1, 1}), errors);
  auto candidates = find_policies(options.candidates, "--candidate", errors);
  const auto seeds = keep(parse_seeds(options.seeds, {"--seeds", 1, 1}), errors);
  std::vector<std::string> wanted = options.metrics;
  if (wanted.empty()) wanted = {"peak_100ms", "peak_1s", "completion_s", "requests", "gave_up"};
  std::vector<Margin> margins;
  for (const std::string& text : wanted) {
    if (auto margin = read_metric(text, errors)) margins.push_back(std::move(*margin));
  }
  std::vector<Scenario> scenarios;
  for (const std::string& reference : options.scenarios) {
    if (auto scenario = keep(find_scenario(reference, {"--scenario", 1, 1}, options.set), errors))
      scenarios.push_back(std::move(*scenario));
  }
  const auto asking = keep(parse_asking(options.question, {"--question", 1, 1}), errors);
  std::optional<stats::Deciding> method = stats::Deciding::paired_mean;
  const Where of_method{"--method", 1, 1};
  if (!options.method.empty()) method = keep(stats::find_method(options.method, of_method), errors);
  if (method) {
    for (Error& error : method_faults(*method, margins, of_method)) errors.push_back(std::move(error));
  }
  const bool judged =
      std::any_of(margins.begin(), margins.end(), [](const Margin& m) { return m.amount.has_value(); });
  if (options.until_decided && !judged && errors.empty())
    errors.push_back({{"--until-decided", 1, 1},
                      "no metric has a margin, so nothing can be decided",
                      "give one, for example --metric peak_1s:10%"});
  if (!errors.empty()) return refuse_run(errors, options.shown, options.out, "compare", command);
  if (!options.over.empty())
    return compare_growth(
        {*baseline, candidates, {}, {}, seeds->values(), {}, options.threads},
        {options.over, options.out, options.shown.format, options.scenarios, options.set, command}, margins);
  Suite suite;
  suite.name = "compare";
  suite.compare.push_back({*baseline,
                           std::move(candidates),
                           std::move(scenarios),
                           *seeds,
                           std::move(margins),
                           {"--scenario", 1, 1},
                           *asking,
                           *method});
  GateOptions gate{inconclusive(options.shown), options.threads};
  if (options.until_decided) gate.budget = options.budget;
  return report_on(suite, gate, options.shown, options.out, command, options.progress);
}

}  // namespace retrygate::ci
