#include "ci/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/samples.hpp"
#include "ci/version.hpp"
#include "stats/sample.hpp"

namespace retrygate::ci {
namespace {

// The side that everything is compared with, in one scenario.
struct BaselineArm {
  std::string name;                 // as the report calls it
  std::optional<AnyPolicy> policy;  // nothing where the file's policy cannot be made
  std::optional<Cell> stored;       // nothing where it is simulated along with the candidates
  bool changed = false;             // is the task's own baseline another policy than the stored one?
};

bool drew(const Cell& cell) { return std::find(cell.drew.begin(), cell.drew.end(), true) != cell.drew.end(); }

std::vector<std::string> lines_of(const std::string& definition, const std::vector<std::string>& contract) {
  std::vector<std::string> lines = {"is " + definition};
  for (const std::string& line : contract) lines.push_back("promises " + line);
  return lines;
}

// Lines of `from` that `other` lacks.
std::vector<std::string> without(const std::vector<std::string>& from,
                                 const std::vector<std::string>& other) {
  std::vector<std::string> all;
  for (const std::string& line : from) {
    if (std::find(other.begin(), other.end(), line) == other.end()) all.push_back(line);
  }
  return all;
}

PolicyChange change(const StoredCell& stored, const NamedPolicy& now) {
  const auto before = lines_of(stored.definition, stored.contract);
  const auto after = lines_of(to_string(now.policy), describe(now.policy.contract()));
  return {stored.policy, now.name, without(before, after), without(after, before)};
}

// The first run that is not the stored one: nothing if all events and all samples are the same.
std::optional<std::string> first_difference(const Cell& stored, const Cell& now,
                                            const std::vector<std::string>& metrics) {
  const auto show = [](std::optional<double> x) { return x ? fmt::format("{}", *x) : std::string("none"); };
  for (std::size_t i = 0; i < now.digests.size(); ++i) {
    if (stored.digests[i] != now.digests[i])
      return fmt::format("digest of the same policy under seed {}: stored {:016x}, now {:016x}", now.seeds[i],
                         stored.digests[i], now.digests[i]);
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      if (stored.samples[m][i] != now.samples[m][i])
        return fmt::format("{} of the same policy under seed {}: stored {}, now {}", metrics[m], now.seeds[i],
                           show(stored.samples[m][i]), show(now.samples[m][i]));
    }
  }
  return std::nullopt;
}

// The stored side of one scenario, or what forbids its use.
std::optional<BaselineArm> stored_arm(const CompareTask& task, const Baseline& file, const Scenario& scenario,
                                      unsigned threads, Report& report) {
  const auto block = [&](const std::string& why) { report.blocked.push_back(file.path + ": " + why); };
  const StoredCell* cell = find_cell(file, scenario.id, task.baseline.name, task.seeds);
  if (cell == nullptr) {
    block(fmt::format("no samples of {} on {} are stored", task.baseline.name, scenario.id));
    return std::nullopt;
  }
  const auto other = differences(file, *cell, scenario, task.seeds, task.margins);
  for (const std::string& difference : other) block(difference);
  if (!other.empty()) return std::nullopt;

  std::vector<std::string> ids;
  for (const Margin& margin : task.margins) ids.push_back(margin.metric);
  BaselineArm arm{cell->policy + " (stored)", {}, stored_samples(*cell, ids), false};
  const auto made = stored_policy(*cell);
  if (made) arm.policy = made->policy;
  arm.changed = !made || !(made->policy == task.baseline.policy);
  const bool same_engine = file.engine == version();
  if (!same_engine && !made) {
    block(fmt::format("it was written by retrygate {}, and {} cannot make the policy {} again: {}",
                      file.engine, version(), cell->policy, made.error().front().message));
    return std::nullopt;
  }
  if (made && (!same_engine || !arm.changed)) {
    auto again = sweep({*made}, {scenario}, task.seeds.values(), ids, threads);
    if (!again) {
      block(fmt::format("{} cannot be simulated: {}", cell->policy, again.error().front().message));
      return std::nullopt;
    }
    const auto difference = first_difference(*arm.stored, again->cells[0], ids);
    if (same_engine && difference) {
      block(*difference);
      return std::nullopt;
    }
    if (!same_engine)
      report.notes.push_back(
          fmt::format("{} was written by retrygate {}: its policy {} was simulated again by {}{}.", file.path,
                      file.engine, cell->policy, version(),
                      difference ? ", with another course of events" : ", event by event alike"));
    arm.stored = std::move(again->cells[0]);
  }
  const PolicyChange changed = change(*cell, task.baseline);
  if (!arm.changed)
    report.notes.push_back(
        fmt::format("{} on {} is the policy of {}, simulated again with the same "
                    "result.",
                    task.baseline.name, scenario.id, file.path));
  else if (std::find(report.changes.begin(), report.changes.end(), changed) == report.changes.end())
    report.changes.push_back(changed);
  return arm;
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
  text += row.verdict.empty() ? "; no margin was given, so nothing is decided."
                              : fmt::format("; asked: not worse by more than {}", row.margin);
  if (row.verdict == "pass")
    text += ": it is not.";
  else if (row.verdict == "fail")
    text += fmt::format(": it is{}.",
                        row.p_adjusted ? fmt::format(" (adjusted p = {:.2g})", *row.p_adjusted) : "");
  else if (row.verdict == "inconclusive")
    text += fmt::format(": these seeds do not decide it{}.",
                        row.seeds_needed ? fmt::format("; about {} would", *row.seeds_needed) : "");
  if (!ruling.note.empty()) text += " (" + ruling.note + ")";
  for (const SensitivityRow& test : row.sensitivity) {
    if (test.verdict != row.verdict)
      text +=
          fmt::format(" The {} test disagrees: by it this would be {} (p = {:.2g}); {} decides.", test.method,
                      test.verdict, test.verdict == "pass" ? test.p_within : test.p_adjusted, row.method);
  }
  if (unreached > 0)
    text += fmt::format(" The candidate did not get there within {} in {} of {} seeds; those count as {}.",
                        to_string(horizon), unreached, row.seeds, to_string(horizon));
  return text;
}

}  // namespace

Result<std::vector<Scenario>> scenarios_of(const CompareTask& task) {
  Errors errors;
  std::vector<Scenario> scenarios;
  for (const std::string& reference : task.scenarios) {
    if (auto found = keep(find_scenario(reference, task.where, task.set), errors))
      scenarios.push_back(std::move(*found));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return scenarios;
}

Result<SampleTable> ask(const CompareTask& task, const Baseline* stored, unsigned threads,
                        std::vector<Asked>& asked, Report& report) {
  const auto scenarios = scenarios_of(task);
  if (!scenarios) return tl::unexpected(scenarios.error());
  if (stored == nullptr && task.candidates.empty())
    return failure(task.where, "this comparison has no candidate",
                   "give it candidates = [..], or compare with a stored baseline: --baseline FILE");
  std::vector<BaselineArm> arms;
  const std::size_t blocked = report.blocked.size();
  for (const Scenario& scenario : *scenarios) {
    if (stored == nullptr)
      arms.push_back({task.baseline.name, task.baseline.policy, {}, false});
    else if (auto arm = stored_arm(task, *stored, scenario, threads, report))
      arms.push_back(std::move(*arm));
  }
  std::vector<std::string> ids;
  for (const Margin& margin : task.margins) ids.push_back(margin.metric);
  if (report.blocked.size() > blocked) return SampleTable{ids, {}};

  std::vector<NamedPolicy> policies = {task.baseline};
  policies.insert(policies.end(), task.candidates.begin(), task.candidates.end());
  auto table = sweep(policies, *scenarios, task.seeds.values(), ids, threads);
  if (!table) return table;

  Errors errors;
  for (std::size_t s = 0; s < scenarios->size(); ++s) {
    const Scenario& scenario = (*scenarios)[s];
    const BaselineArm& arm = arms[s];
    const Cell* cells = &table->cells[s * policies.size()];
    const Cell& baseline = arm.stored ? *arm.stored : cells[0];
    // The task's own baseline is news only if it is not the stored one, or if there is nothing else to say.
    const bool own = arm.stored && (arm.changed || task.candidates.empty());
    for (std::size_t c = own ? 0 : 1; c < policies.size(); ++c) {
      const Cell& candidate = cells[c];
      for (std::size_t m = 0; m < task.margins.size(); ++m) {
        const Margin& margin = task.margins[m];
        const Metric metric = *find_metric(margin.metric);
        auto b = keep(comparable(baseline.samples[m], metric, scenario.horizon, margin.where), errors);
        auto x = keep(comparable(candidate.samples[m], metric, scenario.horizon, margin.where), errors);
        if (!b || !x) continue;
        Asked one;
        one.row = {scenario.id,     arm.name,       candidate.policy,
                   margin.metric,   metric.unit,    metric.better == Better::lower ? "lower" : "higher",
                   stats::mean(*b), stats::mean(*x)};
        one.unreached = static_cast<std::size_t>(
            std::count(candidate.samples[m].begin(), candidate.samples[m].end(), std::nullopt));
        one.horizon = scenario.horizon;
        one.row.relative = margin.relative;
        one.row.margin = margin.text;
        one.row.margin_amount = margin.amount;
        one.row.where = policies[c].where;
        one.row.seeds = task.seeds.count();
        one.judged = margin.amount.has_value();
        one.question = {{std::move(*b), std::move(*x), margin.relative},
                        metric.better == Better::lower,
                        margin.amount.value_or(0),
                        !scenario.draws() && !drew(baseline) && !drew(candidate),
                        arm.policy && *arm.policy == policies[c].policy,
                        margin.where};
        asked.push_back(std::move(one));
      }
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  for (const BaselineArm& arm : arms) {
    if (arm.stored) table->cells.push_back(*arm.stored);
  }
  return table;
}

void answer(Asked& asked, const stats::Ruling& ruling) {
  ComparisonRow& row = asked.row;
  row.effect = ruling.effect;
  row.low = ruling.low;
  row.high = ruling.high;
  row.method = std::string(ruling.method);
  if (asked.judged) {
    row.p = ruling.p;
    row.p_adjusted = ruling.p_adjusted;
    row.seeds_needed = ruling.seeds_needed;
    row.verdict = std::string(to_string(ruling.answer));
    for (const stats::Opinion& opinion : ruling.opinions)
      row.sensitivity.push_back({std::string(opinion.method), std::string(to_string(opinion.answer)),
                                 opinion.p, opinion.p_adjusted, opinion.p_kept, opinion.low, opinion.high});
  }
  row.headline = headline(row, ruling, asked.unreached, asked.horizon);
}

}  // namespace retrygate::ci
