#include "ci/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/layout.hpp"
#include "ci/suite.hpp"
#include "properties/invariant.hpp"
#include "stats/methods.hpp"
#include "stats/procedure.hpp"

namespace retrygate::ci {
namespace {

struct Term {
  std::string_view id, kind, text;
};

// What stands in reports and is no invariant, metric or policy.
constexpr Term terms[] = {
    {"0", "exit code",
     "Pass. With --inconclusive warn also when something is undecided; the last line says so."},
    {"1", "exit code",
     "A promise is broken (a failed MUST; with --strict a failed SHOULD), or a candidate is worse than its "
     "margin allows. A policy that raises, dies, hangs or answers garbage on an input that its contract "
     "allows breaks a promise, too."},
    {"2", "exit code",
     "The command line or a file is wrong. Every mistake is named with file:line:column and what would do."},
    {"3", "exit code",
     "Undecided: the seeds do not decide a metric, a check had too few draws, or there is no stored baseline "
     "that can be compared. The report says what is missing. Of `sim`: it was interrupted, and not all seeds "
     "are "
     "there."},
    {"4", "exit code",
     "A fault of retrygate, or a subject that cannot be started. If several codes apply: 2, 4, 1, 3."},
    {"holds", "verdict of a check", "No counterexample was found, or the statistical test accepts."},
    {"not-promised", "verdict of a check", "The contract says nothing about it, so nothing was checked."},
    {"unsure", "verdict of a check", "Too few draws to decide; counts as inconclusive."},
    {"deviates", "verdict of a check",
     "It fails, but the replica lists this failure of the original with its source; counts as a pass."},
    {"fails", "verdict of a check",
     "A counterexample was found; the report has the smallest and a command that repeats it."},
    {"broken", "verdict of a check", "The checker itself failed; a fault of retrygate (exit 4)."},
    {"pass", "verdict of a comparison",
     "The one-sided 95 % bound on the bad side lies within the margin. It is not corrected for the number of "
     "metrics, because every metric must pass (intersection-union)."},
    {"fail", "verdict of a comparison",
     "The hypothesis \"not worse than the margin\" is rejected: its p, adjusted by Holm over all comparisons "
     "of the run, is at most 0.05."},
    {"inconclusive", "verdict of a comparison",
     "Neither: the interval reaches across the margin. The report says about how many seeds would decide if "
     "effect and spread stay as they are."},
    {"changed", "verdict of a comparison",
     "Equivalence was asked for, and the candidate is better by more than the margin: a failure, too."},
    {"waived", "verdict of a check",
     "It fails, but a waiver of the suite accepts this until a day; counts as a pass through that day."},
    {"confidence-sequence", "method",
     "Decides with --until-decided: bounds that hold after every seed at once, so that looking often and "
     "stopping early makes no mistake likelier. Looks after 50 seeds and every 50 more. Waudby-Smith et al., "
     "Time-uniform central limit theory and asymptotic confidence sequences, 2024."},
    {"unchanged", "method",
     "The same policy stands on both sides: there is nothing to test. It passes, unless it "
     "was to be better."},
    {"deterministic", "method",
     "Neither the policies nor the scenario drew a random number: the difference is exact and more seeds add "
     "nothing."},
    {"constant-difference", "method",
     "Random numbers were drawn, yet all n seeds show the same difference. At most 1 - 0.05^(1/n) of seeds "
     "can "
     "differ (95 %); it is decided by the difference from 59 seeds on, where that share is below 5 %."},
    {"bootstrap-t", "method",
     "Decides from 30 seeds on: the seeds are drawn with replacement 10,000 times, all metrics together, and "
     "the "
     "studentised effect gives the interval and the p value. Efron and Tibshirani, An Introduction to the "
     "Bootstrap, 1993, section 12.5."},
    {"holm", "method",
     "Adjusts p for the number of comparisons: the smallest p of k is multiplied by k, the next by k - 1 ... "
     "S. Holm, A simple sequentially rejective multiple test procedure, 1979."},
};

}  // namespace

const std::vector<std::string>& list_kinds() {
  static const std::vector<std::string> kinds = {"policies", "scenarios", "invariants", "tests",
                                                 "metrics",  "reporters", "suites",     "methods"};
  return kinds;
}

std::vector<ListRow> list_of(std::string_view kind) {
  std::vector<ListRow> rows;
  const auto add = [&](std::string_view id,
                       std::vector<std::pair<std::string_view, std::string_view>> facts) {
    rows.push_back({std::string(id), {}});
    for (const auto& [key, value] : facts) rows.back().columns.emplace_back(key, value);
  };
  if (kind == "policies") {
    std::vector<const Preset*> all;
    for (const Preset& p : presets()) all.push_back(&p);
    std::stable_sort(all.begin(), all.end(),
                     [](const Preset* a, const Preset* b) { return a->family < b->family; });
    for (const Preset* p : all)
      add(p->id, {{"summary", p->summary}, {"family", p->family}, {"source", p->source}});
  } else if (kind == "scenarios") {
    for (const EmbeddedFile& file : scenario_files()) {
      const auto scenario = find_scenario(file.id, {});
      RG_ASSERT(scenario, std::string(file.id));
      add(file.id, {{"summary", scenario->summary}});
    }
  } else if (kind == "suites") {
    for (const EmbeddedFile& file : shipped_suites()) {
      const auto suite = find_suite(std::string(file.id));
      RG_ASSERT(suite, std::string(file.id));
      add(file.id, {{"summary", suite->summary}});
    }
  } else if (kind == "metrics") {
    for (const Metric& m : metrics())
      add(m.id, {{"meaning", m.meaning},
                 {"unit", m.unit},
                 {"better", m.better == Better::lower ? "lower" : "higher"}});
  } else if (kind == "invariants") {
    for (const Invariant& i : invariants())
      add(i.id, {{"claim", i.claim},
                 {"level", to_string(i.level)},
                 {"evidence", to_string(i.evidence)},
                 {"why", i.why}});
  } else if (kind == "methods") {
    for (const stats::Method& m : stats::methods())
      add(m.id, {{"summary", m.summary}, {"assumes", m.assumes}, {"source", m.source}});
  } else if (kind == "tests") {
    for (const stats::Procedure& p : stats::procedures())
      add(p.id, {{"summary", p.summary}, {"assumes", p.assumes}, {"source", p.source}});
  } else {
    for (const Reporter& r : reporters()) add(r.id, {{"summary", r.summary}, {"file", r.file}});
  }
  return rows;
}

std::vector<std::string_view> explained() {
  std::vector<std::string_view> ids = invariants().ids();
  for (const Metric& metric : metrics()) ids.push_back(metric.id);
  for (const Term& term : terms) ids.push_back(term.id);
  for (const stats::Method& method : stats::methods()) ids.push_back(method.id);
  for (const stats::Procedure& procedure : stats::procedures()) ids.push_back(procedure.id);
  for (const Preset& preset : presets()) ids.push_back(preset.id);
  return ids;
}

Result<std::string> explanation(std::string_view id) {
  if (const Preset* preset = presets().find(id)) {
    std::string text = fmt::format("{}: a policy ({})\n\n", preset->id, preset->family);
    for (const std::string& line : about(*preset)) text += wrapped("", line, 2);
    return text;
  }
  if (const Invariant* i = invariants().find(id)) {
    return fmt::format("{}: an invariant ({}, {})\n\n{}{}{}", i->id, to_string(i->level),
                       to_string(i->evidence), wrapped("Claim:  ", i->claim, 8),
                       wrapped("Why:    ", i->why, 8), wrapped("Source: ", i->source, 8));
  }
  if (const auto metric = find_metric(id)) {
    return fmt::format("{}: a metric\n\n{}Unit:   {}\nBetter: {}\n", id, wrapped(metric->meaning, 0),
                       metric->unit, metric->better == Better::lower ? "lower" : "higher");
  }
  for (const stats::Method& m : stats::methods()) {
    if (m.id == id)
      return fmt::format("{}: a method that decides (--method {}, or method = \"{}\" in a suite)\n\n{}{}{}",
                         id, id, id, wrapped("What:    ", m.summary, 9), wrapped("Assumes: ", m.assumes, 9),
                         wrapped("Source:  ", m.source, 9));
  }
  if (const stats::Procedure* p = stats::procedures().find(id)) {
    return fmt::format("{}: a statistical procedure (retrygate stats {} FILE.csv ..)\n\n{}{}{}", id, id,
                       wrapped("What:    ", p->summary, 9), wrapped("Assumes: ", p->assumes, 9),
                       wrapped("Source:  ", p->source, 9));
  }
  for (const Term& term : terms) {
    if (term.id == id) return fmt::format("{}: {}\n\n{}", id, term.kind, wrapped(term.text, 0));
  }
  return failure({"ID", 1, 1}, fmt::format("nothing is called '{}'{}", id, did_you_mean(id, explained())),
                 "a policy, an invariant, a metric, a verdict word, an exit code, a method or a statistical "
                 "procedure: `retrygate explain` lists them");
}

}  // namespace retrygate::ci
