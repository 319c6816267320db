#include "ci/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/commands.hpp"
#include "stats/decide.hpp"
#include "stats/sample.hpp"

namespace retrygate::ci {
namespace {

// What is asked of one metric of one candidate, and where the answer goes.
struct Asked {
  stats::Question question;
  ComparisonRow row;
  std::size_t unreached = 0;  // seeds in which the candidate never got there
  Duration horizon;
};

// A time that is not reached counts as the horizon; of anything else a missing value is an error.
Result<std::vector<double>> filled(const std::vector<std::optional<double>>& samples, const Metric& metric,
                                   Duration horizon, const Margin& margin) {
  std::vector<double> values;
  for (const std::optional<double>& sample : samples) {
    const double limit = horizon.seconds();
    if (metric.unit == "s")
      values.push_back(std::min(sample.value_or(limit), limit));
    else if (sample)
      values.push_back(*sample);
    else
      return failure(margin.where, fmt::format("'{}' has no value in some seeds", metric.id),
                     "choose another metric");
  }
  return values;
}

std::string headline(const ComparisonRow& row, const stats::Ruling& ruling, std::size_t unreached,
                     Duration horizon) {
  const bool worse = row.effect && (*row.effect > 0) == (row.better == "lower");
  std::string text = !row.effect || *row.effect == 0
                         ? "no difference"
                         : fmt::format("{} than the baseline by {}", worse ? "worse" : "better",
                                       effect_text(row, row.effect).substr(1));
  if (row.low && row.high && *row.low != *row.high)
    text += fmt::format(" (90 % interval {} to {})", effect_text(row, row.low), effect_text(row, row.high));
  text += fmt::format("; asked: not worse by more than {}", row.margin);
  if (ruling.answer == stats::Answer::pass)
    text += ": it is not.";
  else if (ruling.answer == stats::Answer::fail)
    text += fmt::format(": it is{}.",
                        row.p_adjusted ? fmt::format(" (adjusted p = {:.2g})", *row.p_adjusted) : "");
  else
    text += fmt::format(": these seeds do not decide it{}.",
                        ruling.seeds_needed ? fmt::format("; about {} would", *ruling.seeds_needed) : "");
  if (!ruling.note.empty()) text += " (" + ruling.note + ")";
  if (unreached > 0)
    text += fmt::format(" The candidate did not get there within {} in {} of {} seeds; those count as {}.",
                        to_string(horizon), unreached, row.seeds, to_string(horizon));
  return text;
}

void answer(Asked& asked, const stats::Ruling& ruling) {
  ComparisonRow& row = asked.row;
  row.effect = ruling.effect;
  row.low = ruling.low;
  row.high = ruling.high;
  row.p = ruling.p;
  row.p_adjusted = ruling.p_adjusted;
  for (const stats::Opinion& opinion : ruling.opinions) {
    if (opinion.method == "signed rank") row.sensitivity_p = opinion.p;
  }
  row.seeds_needed = ruling.seeds_needed;
  row.verdict = std::string(to_string(ruling.answer));
  row.headline = headline(row, ruling, asked.unreached, asked.horizon);
}

// Simulates one comparison and puts its questions.
Result<SampleTable> ask(const CompareTask& task, unsigned threads, std::vector<Asked>& asked) {
  Errors errors;
  std::vector<Scenario> scenarios;
  for (const std::string& reference : task.scenarios) {
    if (auto found = keep(find_scenario(reference, task.where), errors))
      scenarios.push_back(std::move(*found));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  std::vector<NamedPolicy> policies = {task.baseline};
  policies.insert(policies.end(), task.candidates.begin(), task.candidates.end());
  const std::vector<std::uint64_t> seeds = task.seeds.values();
  std::vector<std::string> ids;
  for (const Margin& margin : task.margins) ids.push_back(margin.metric);
  auto table = sweep(policies, scenarios, seeds, ids, threads);
  if (!table) return table;

  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    const Cell& baseline = table->cells[s * policies.size()];
    for (std::size_t c = 1; c < policies.size(); ++c) {
      const Cell& candidate = table->cells[s * policies.size() + c];
      const auto drew = [](const Cell& cell) {
        return std::find(cell.drew.begin(), cell.drew.end(), true) != cell.drew.end();
      };
      for (std::size_t m = 0; m < task.margins.size(); ++m) {
        const Margin& margin = task.margins[m];
        const Metric metric = *find_metric(margin.metric);
        auto b = keep(filled(baseline.samples[m], metric, scenarios[s].horizon, margin), errors);
        auto x = keep(filled(candidate.samples[m], metric, scenarios[s].horizon, margin), errors);
        if (!b || !x) continue;
        Asked one;
        one.row = {scenarios[s].id,          baseline.policy,
                   candidate.policy,         margin.metric,
                   std::string(metric.unit), metric.better == Better::lower ? "lower" : "higher",
                   stats::mean(*b),          stats::mean(*x)};
        one.unreached = static_cast<std::size_t>(
            std::count(candidate.samples[m].begin(), candidate.samples[m].end(), std::nullopt));
        one.horizon = scenarios[s].horizon;
        one.row.relative = margin.relative;
        one.row.margin = margin.text;
        one.row.seeds = seeds.size();
        one.question = {{std::move(*b), std::move(*x), margin.relative},
                        metric.better == Better::lower,
                        margin.amount,
                        !scenarios[s].draws() && !drew(baseline) && !drew(candidate),
                        policies[0].policy == policies[c].policy,
                        margin.where};
        asked.push_back(std::move(one));
      }
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return table;
}

ExitCode code_of(const std::vector<ComparisonRow>& rows, Inconclusive inconclusive) {
  ExitCode code = ExitCode::pass;
  for (const ComparisonRow& row : rows) {
    if (row.verdict == "fail") code = worst({code, ExitCode::violation});
    if (row.verdict == "inconclusive" && inconclusive == Inconclusive::fail)
      code = worst({code, ExitCode::inconclusive});
  }
  return code;
}

}  // namespace

Result<GateRun> run_gate(const Suite& suite, const GateOptions& options) {
  GateRun run;
  std::vector<Asked> asked;
  for (const CompareTask& task : suite.compare) {
    auto table = ask(task, options.threads, asked);
    if (!table) return tl::unexpected(std::move(table.error()));
    run.samples.push_back(std::move(*table));
  }
  std::vector<stats::Question> questions;
  for (const Asked& one : asked) questions.push_back(one.question);
  auto rulings = stats::decide(questions, Seed{1});
  if (!rulings) return tl::unexpected(std::move(rulings.error()));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    answer(asked[i], (*rulings)[i]);
    run.report.comparisons.push_back(std::move(asked[i].row));
  }
  for (const CheckTask& task : suite.check) {
    CheckRequest request;
    request.only = task.invariants;
    auto checked = check_policies(task.subjects, request);
    if (!checked) return tl::unexpected(std::move(checked.error()));
    run.report.code = worst({run.report.code, checked->code});
    const auto unsure = [](const VerdictRow& row) { return row.verdict == "unsure"; };
    if (options.inconclusive == Inconclusive::fail &&
        std::any_of(checked->verdicts.begin(), checked->verdicts.end(), unsure))
      run.report.code = worst({run.report.code, ExitCode::inconclusive});
    std::move(checked->verdicts.begin(), checked->verdicts.end(), std::back_inserter(run.report.verdicts));
  }
  run.report.code = worst({run.report.code, code_of(run.report.comparisons, options.inconclusive)});
  run.report.run.suite = suite.name;
  run.report.run.summary = suite.summary;
  if (!suite.compare.empty()) {
    run.report.run.seeds = to_string(suite.compare.front().seeds);
    run.report.notes.push_back(fmt::format(
        "How to read this: every seed is one simulated storm that both policies meet alike, and they are "
        "compared seed by seed. The interval holds the true "
        "effect with 90 % confidence. The seeds ({}) are fixed: running it again adds no evidence.",
        run.report.run.seeds));
  }
  return run;
}

}  // namespace retrygate::ci
