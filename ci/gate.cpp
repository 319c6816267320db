#include "ci/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ci/commands.hpp"
#include "ci/compare.hpp"
#include "ci/evidence.hpp"
#include "ci/json_io.hpp"
#include "ci/version.hpp"

namespace retrygate::ci {
namespace {

// The stored baseline, or nothing after `blocked` was told why there is none.
Result<std::optional<Baseline>> load_baseline(const std::string& path, std::vector<std::string>& blocked) {
  std::error_code fault;
  if (!std::filesystem::exists(path, fault)) {
    blocked.push_back(path + ": there is no such baseline file");
    return std::nullopt;
  }
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto baseline = parse_baseline(*text, path);
  if (!baseline) return tl::unexpected(std::move(baseline.error()));
  return std::move(*baseline);
}

Result<void> compare_all(const Suite& suite, const GateOptions& options, GateRun& run) {
  Report& report = run.report;
  std::optional<Baseline> stored;
  if (!options.baseline.empty()) {
    auto loaded = load_baseline(options.baseline, report.blocked);
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    stored = std::move(*loaded);
  }
  std::vector<Asked> asked;
  for (const CompareTask& task : suite.compare) {
    if (!options.baseline.empty() && !stored) break;
    auto table = ask(task, stored ? &*stored : nullptr, options.threads, asked, report);
    if (!table) return tl::unexpected(std::move(table.error()));
    if (auto done = add_evidence(task, stored ? &*stored : nullptr, *table, report); !done)
      return tl::unexpected(std::move(done.error()));
    run.samples.push_back(std::move(*table));
  }
  // What is only estimated is no member of the family that Holm corrects for.
  for (const bool judged : {true, false}) {
    std::vector<stats::Question> questions;
    for (const Asked& one : asked) {
      if (one.judged == judged) questions.push_back(one.question);
    }
    const auto rulings = stats::decide(questions, Seed{1});
    if (!rulings) return tl::unexpected(rulings.error());
    auto ruling = rulings->begin();
    for (Asked& one : asked) {
      if (one.judged == judged) answer(one, *ruling++);
    }
  }
  for (Asked& one : asked) report.comparisons.push_back(std::move(one.row));
  if (!report.blocked.empty()) {
    report.notes.push_back(
        "To have a baseline that can be compared, go to the commit whose policy is the baseline (usually the "
        "main branch), run the same command there with --update-baseline, look at the file's diff and commit "
        "it.");
  }
  return {};
}

ExitCode code_of(const Report& report, Inconclusive inconclusive) {
  ExitCode code = report.code;
  const auto failed = [](const ComparisonRow& row) { return row.verdict == "fail"; };
  if (std::any_of(report.comparisons.begin(), report.comparisons.end(), failed))
    code = worst({code, ExitCode::violation});
  if (report.undecided && inconclusive == Inconclusive::fail) code = worst({code, ExitCode::inconclusive});
  if (!report.blocked.empty()) code = worst({code, ExitCode::inconclusive});
  return code;
}

}  // namespace

Result<GateRun> run_gate(const Suite& suite, const GateOptions& options) {
  GateRun run;
  Report& report = run.report;
  if (auto done = compare_all(suite, options, run); !done) return tl::unexpected(std::move(done.error()));
  for (const CheckTask& task : suite.check) {
    CheckRequest request;
    request.only = task.invariants;
    request.inconclusive = options.inconclusive;
    auto checked = check_policies(task.subjects, request);
    if (!checked) return tl::unexpected(std::move(checked.error()));
    report.code = worst({report.code, checked->code});
    report.undecided = report.undecided || checked->undecided;
    std::move(checked->envelopes.begin(), checked->envelopes.end(), std::back_inserter(report.envelopes));
    std::move(checked->verdicts.begin(), checked->verdicts.end(), std::back_inserter(report.verdicts));
  }
  const auto undecided = [](const ComparisonRow& row) { return row.verdict == "inconclusive"; };
  if (options.inconclusive != Inconclusive::pass &&
      std::any_of(report.comparisons.begin(), report.comparisons.end(), undecided))
    report.undecided = true;
  report.code = code_of(report, options.inconclusive);
  report.run.version = version();
  report.provenance.commit = commit();
  report.provenance.random_streams = random_streams_version;
  report.run.suite = suite.name;
  report.run.summary = suite.summary;
  if (!report.comparisons.empty()) {
    report.run.seeds = to_string(suite.compare.front().seeds);
    report.notes.push_back(fmt::format(
        "How to read this: every seed is one simulated storm that both policies meet alike, and they are "
        "compared seed by seed. The interval holds the true "
        "effect with 90 % confidence. The seeds ({}) are fixed: running it again adds no evidence.",
        report.run.seeds));
  }
  return run;
}

Result<std::string> update_baseline(const Suite& suite, const GateOptions& options) {
  Baseline baseline{options.baseline, std::string(version())};
  for (const CompareTask& task : suite.compare) {
    const auto scenarios = scenarios_of(task);
    if (!scenarios) return tl::unexpected(scenarios.error());
    std::vector<std::string> ids;
    for (const Margin& margin : task.margins) ids.push_back(margin.metric);
    const auto table = sweep({task.baseline}, *scenarios, task.seeds.values(), ids, options.threads);
    if (!table) return tl::unexpected(table.error());
    store(task.baseline, *scenarios, task.seeds, *table, baseline);
  }
  if (baseline.cells.empty())
    return failure({suite.path, 0, 0}, "this suite compares nothing, so it has no baseline to store",
                   "give it a [[compare]]");
  if (auto written = write_file(options.baseline, to_json(baseline)); !written)
    return tl::unexpected(std::move(written.error()));
  std::string told = fmt::format("wrote {}:\n", options.baseline);
  for (const StoredCell& cell : baseline.cells)
    told += fmt::format("  {} on {}, seeds {}, {} metrics\n", cell.policy, cell.scenario,
                        to_string(cell.seeds), cell.metrics.size());
  return told;
}

}  // namespace retrygate::ci
