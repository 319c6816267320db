// Every word that a report prints is explained. The words come from the tables that the reports take them
// from, so that a new word without an explanation fails here.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <sstream>

#include "ci/catalogue.hpp"
#include "ci/gate.hpp"
#include "ci/glossary.hpp"
#include "ci/reproduce.hpp"
#include "properties/invariant.hpp"
#include "sim/metrics.hpp"
#include "sim/scenario.hpp"
#include "stats/methods.hpp"
#include "stats/procedure.hpp"

namespace retrygate::ci {
namespace {

void explains(std::string_view word) {
  const auto text = explanation(word);
  ASSERT_TRUE(text) << "`retrygate explain '" << word << "'` says: " << to_string(text.error());
  EXPECT_GT(text->size(), word.size() + 20) << *text;
  std::istringstream in(*text);
  std::string line;
  std::getline(in, line);  // the word and what it is; commands in it are not cut
  while (std::getline(in, line)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Explain, WhatIsListedIsExplained) {
  for (const std::string_view word : explained()) explains(word);
}

TEST(Explain, TheWordsOfTheTables) {
  for (const Invariant& invariant : invariants()) explains(invariant.id);
  for (const Metric& metric : metrics()) explains(metric.id);
  for (const EmbeddedFile& scenario : scenario_files()) explains(scenario.id);
  for (const EmbeddedFile& suite : shipped_suites()) explains(suite.id);
  for (const Preset& preset : presets()) explains(preset.id);
  for (const Reporter& reporter : reporters()) explains(reporter.id);
  for (const stats::Method& method : stats::methods()) explains(method.id);
  for (const stats::ShownMethod& method : stats::shown_methods()) explains(method.name);
  for (const stats::Procedure& procedure : stats::procedures()) explains(procedure.id);
  for (const ClaimWord& word : claim_words()) explains(word.word);
  for (const std::string_view experiment : experiments()) explains(experiment);
  for (const Fault& fault : faults()) explains(fault.id);
}

// Enumerations: each value up to the last.
TEST(Explain, TheWordsOfVerdictsQuestionsAndCodes) {
  for (const Level level : {Level::must, Level::should}) explains(to_string(level));
  for (const Evidence evidence : {Evidence::exact, Evidence::statistical}) explains(to_string(evidence));
  for (auto i = static_cast<int>(Verdict::holds); i <= static_cast<int>(Verdict::broken); ++i)
    explains(to_string(static_cast<Verdict>(i)));
  for (int i = 0; !to_string(static_cast<stats::Answer>(i)).empty(); ++i)
    explains(to_string(static_cast<stats::Answer>(i)));
  for (int i = 0; !to_string(static_cast<stats::Asking>(i)).empty(); ++i)
    explains(to_string(static_cast<stats::Asking>(i)));
  int codes = 0;
  for (; !word(static_cast<ExitCode>(codes)).empty(); ++codes) {
    explains(word(static_cast<ExitCode>(codes)));
    explains(std::to_string(codes));
  }
  EXPECT_EQ(codes, 5);
  ComparisonRow row;
  row.effect = 1;
  row.question = "equivalent";
  row.better = "lower";
  for (const char* verdict : {"pass", "fail", "inconclusive"}) {
    row.verdict = verdict;
    explains(verdict_mark(row));
  }
  row.effect = -1;
  row.verdict = "fail";
  EXPECT_EQ(verdict_mark(row), "CHANGED");
  explains(verdict_mark(row));
  explains(verdict_word(Report{}));
  for (const char* waived : {"waived"}) explains(waived);  // is no value of Verdict: waivers make it
}

// Column heads and labels, as they stand in a report.
TEST(Explain, TheHeadsLabelsAndCountsOfAReport) {
  auto run = run_gate(*find_suite("jitter-removed"), {});
  ASSERT_TRUE(run);
  Report& report = run->report;
  VerdictRow& bad = report.verdicts.front();
  bad.verdict = "fails";
  bad.counterexample = bad.elsewhere = bad.unshrunk = bad.repeat = "x";
  report.growth = {{"storm", "a", "b", "requests", "1", "clients", 30, {{200, 1, 2, 1.0, 0.5, 1.5}}, {}}};
  const std::string text = reporters().find("text")->render(report);
  std::istringstream in(text);
  std::set<std::string> heads, labels, sections, counts;
  std::string before;
  for (std::string line; std::getline(in, line);) {
    std::smatch found;
    if (line.starts_with("  metric ") || line.find("clients    baseline") != std::string::npos) {
      const std::regex column(R"((\S+( \S+)*))");
      for (auto at = std::sregex_iterator(line.begin(), line.end(), column); at != std::sregex_iterator();
           ++at) {
        if (line.find("baseline") != std::string::npos) heads.insert(at->str());
      }
    }
    // "Promises", "Other tests, asked ..", "Verdict: ..", but no note and no name.
    if (std::regex_search(line, found, std::regex(R"(^([A-Z][a-z]+( [a-z]+){0,2})([,:]|$))")) &&
        before.empty())
      sections.insert(found[1]);
    // "  ours   3 hold, 1 fails, 2 not promised"
    if (line.find(" hold") != std::string::npos && line.find("promised") != std::string::npos) {
      const std::regex count(R"(\d+ ([a-z]+( promised)?))");
      for (auto at = std::sregex_iterator(line.begin(), line.end(), count); at != std::sregex_iterator();
           ++at)
        counts.insert((*at)[1]);
    }
    before = line;
    // "    found: ..", but no sentence of a metric ("In words") and no name of a subject.
    if (std::regex_search(
            line, found,
            std::regex(R"(^ {2,4}(promised|found|elsewhere|first met|repeat|tried|not tried|[a-z]+): )")))
      labels.insert(found[1]);
  }
  // The page; a section of its own for each comparison is named after it.
  const std::string page = reporters().find("html")->render(report);
  const std::regex title(R"(<h2 id="(?!g\d)[^>]*>([^<]*)<)");
  for (auto at = std::sregex_iterator(page.begin(), page.end(), title); at != std::sregex_iterator(); ++at)
    sections.insert((*at)[1]);
  // What was looked for was there.
  EXPECT_THAT(counts, testing::IsSupersetOf({"hold", "fails", "not promised"}));
  EXPECT_THAT(sections, testing::IsSupersetOf({"Promises", "In words", "Other tests", "Growth", "Verdict",
                                               "At a glance", "How they grow", "Where this comes from"}));
  EXPECT_THAT(heads, testing::IsSupersetOf({"metric", "baseline", "candidate", "effect", "90 % interval",
                                            "margin", "95 % interval"}));
  EXPECT_THAT(labels,
              testing::IsSupersetOf({"promised", "found", "elsewhere", "first met", "repeat", "tried"}));
  for (const std::string& head : heads) {
    if (head != "clients") explains(head);  // what grows is named by the user
  }
  for (const std::string& label : labels) explains(label);
  for (const std::string& section : sections) explains(section);
  for (const std::string& count : counts) explains(count);
}

// As people type them.
TEST(Explain, AnyCaseBlanksOrHyphens) {
  for (const char* const typed :
       {"few-seeds-differ", "Students-t", "FAIL", "ok_if", "90-%-interval", "Margin", "seeds", "margins"})
    explains(typed);
  EXPECT_THAT(*explanation("exact"), testing::HasSubstr("evidence of an invariant"));
  EXPECT_THAT(to_string(explanation("margn").error()), testing::HasSubstr("did you mean 'margin'?"));
}

}  // namespace
}  // namespace retrygate::ci
