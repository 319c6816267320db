#include "ci/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/glossary.hpp"
#include "ci/layout.hpp"
#include "ci/reproduce.hpp"
#include "ci/suite.hpp"
#include "properties/invariant.hpp"
#include "sim/experiments/published.hpp"
#include "sim/scenario.hpp"
#include "sim/server.hpp"
#include "stats/methods.hpp"
#include "stats/procedure.hpp"

namespace retrygate::ci {
namespace {

// How people type a word: any case, blanks and hyphens alike, an apostrophe or none.
std::string folded(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '\'') continue;
    const bool upper = c >= 'A' && c <= 'Z';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c == ' ' || c == '_' ? '-' : c;
  }
  return out;
}

}  // namespace

const std::vector<std::string>& list_kinds() {
  static const std::vector<std::string> kinds = {"policies", "scenarios", "stages", "invariants", "tests",
                                                 "metrics",  "reporters", "suites", "methods"};
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
  } else if (kind == "stages") {
    for (const ServerKind& stage : servers()) add(stage.id, {{"models", stage.models}});
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
  for (const EmbeddedFile& file : scenario_files()) ids.push_back(file.id);
  for (const ServerKind& stage : servers()) ids.push_back(stage.id);
  for (const EmbeddedFile& file : shipped_suites()) ids.push_back(file.id);
  for (const stats::ShownMethod& method : stats::shown_methods()) ids.push_back(method.name);
  for (const stats::Method& method : stats::methods()) ids.push_back(method.id);
  for (const stats::Procedure& procedure : stats::procedures()) ids.push_back(procedure.id);
  for (const ClaimWord& word : claim_words()) ids.push_back(word.word);
  for (const std::string_view experiment : experiments()) ids.push_back(experiment);
  for (const Reporter& reporter : reporters()) ids.push_back(reporter.id);
  for (const Term& term : glossary()) ids.push_back(term.word);
  for (const Preset& preset : presets()) ids.push_back(preset.id);
  return ids;
}

namespace {

// All that is called so: "exact" is two things.
std::string explanations(std::string_view id) {
  const std::string wanted = folded(id);
  const auto is = [&](std::string_view word) { return folded(word) == wanted; };
  std::string all;
  const auto say = [&](std::string_view word, std::string_view kind, const std::string& text) {
    all += fmt::format("{}{}: {}\n\n{}", all.empty() ? "" : "\n", word, kind, text);
  };
  for (const Term& term : glossary()) {
    if (is(term.word)) say(term.word, term.kind, wrapped(term.text, 0));
  }
  for (const stats::ShownMethod& method : stats::shown_methods()) {
    if (is(method.name)) say(method.name, "a method", wrapped(method.meaning, 0));
  }
  for (const ClaimWord& word : claim_words()) {
    if (is(word.word)) say(word.word, "a verdict of `retrygate reproduce`", wrapped(word.meaning, 0));
  }
  for (const Preset& preset : presets()) {
    if (!is(preset.id)) continue;
    std::string text;
    for (const std::string& line : about(preset)) text += wrapped("", line, 2);
    say(preset.id, fmt::format("a policy ({})", preset.family), text);
  }
  for (const Invariant& i : invariants()) {
    if (is(i.id))
      say(i.id, fmt::format("an invariant ({}, {})", to_string(i.level), to_string(i.evidence)),
          wrapped("Claim:  ", i.claim, 8) + wrapped("Why:    ", i.why, 8) + wrapped("Source: ", i.source, 8));
  }
  std::optional<Metric> metric;
  for (const Metric& one : metrics()) {
    if (is(one.id)) metric = one;
  }
  if (const auto one = find_metric(id)) metric = *one;  // peak_250ms
  if (metric)
    say(metric->id, "a metric",
        wrapped(metric->meaning, 0) + fmt::format("Unit:   {}\nBetter: {}\n", metric->unit,
                                                  metric->better == Better::lower ? "lower" : "higher"));
  for (const EmbeddedFile& file : scenario_files()) {
    if (!is(file.id)) continue;
    const auto scenario = find_scenario(file.id, {});
    RG_ASSERT(scenario, std::string(file.id));
    say(file.id, "a scenario", wrapped(scenario->summary, 0));
  }
  for (const ServerKind& stage : servers()) {
    if (is(stage.id)) say(stage.id, "a stage of a simulated server", wrapped(stage.models, 0));
  }
  for (const EmbeddedFile& file : shipped_suites()) {
    if (!is(file.id)) continue;
    const auto suite = find_suite(std::string(file.id));
    RG_ASSERT(suite, std::string(file.id));
    say(file.id, fmt::format("a suite (retrygate gate {})", file.id), wrapped(suite->summary, 0));
  }
  for (const std::string_view experiment : experiments()) {
    if (!is(experiment)) continue;
    for (const Article& article : articles()) {
      if (article.experiment == experiment)
        say(experiment, fmt::format("published experiments (retrygate reproduce {})", experiment),
            wrapped(article.title, 0) + wrapped(article.source, 0));
    }
  }
  for (const Reporter& reporter : reporters()) {
    if (is(reporter.id)) say(reporter.id, "a report format", wrapped(reporter.summary, 0));
  }
  for (const stats::Method& m : stats::methods()) {
    if (is(m.id))
      say(m.id, fmt::format("a method that decides (method = \"{}\" in a suite)", m.id),
          wrapped("What:    ", m.summary, 9) + wrapped("Assumes: ", m.assumes, 9) +
              wrapped("Source:  ", m.source, 9));
  }
  for (const stats::Procedure& p : stats::procedures()) {
    if (is(p.id))
      say(p.id, fmt::format("a statistical procedure (retrygate stats {} FILE.csv ..)", p.id),
          wrapped("What:    ", p.summary, 9) + wrapped("Assumes: ", p.assumes, 9) +
              wrapped("Source:  ", p.source, 9));
  }
  return all;
}

}  // namespace

Result<std::string> explanation(std::string_view id) {
  if (std::string text = explanations(id); !text.empty()) return text;
  // "seeds" for seed, "hold" for holds.
  const std::string word(id);
  const std::string other = word.ends_with("s") ? word.substr(0, word.size() - 1) : word + "s";
  if (std::string text = explanations(other); !text.empty()) return text;
  return failure(
      {"ID", 1, 1}, fmt::format("nothing is called '{}'{}", id, did_you_mean(id, explained())),
      "a word of a report, a policy, a scenario, a stage, an invariant, a metric, a verdict, an exit code, a "
      "method or a statistical procedure: `retrygate explain` lists them");
}

}  // namespace retrygate::ci
