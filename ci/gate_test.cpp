// The shipped suites give their known answers.
#include "ci/gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ci/golden/transcript.hpp"

namespace retrygate::ci {
namespace {

const ComparisonRow& row(const Report& report, std::string_view candidate, std::string_view metric) {
  for (const ComparisonRow& r : report.comparisons) {
    if (r.candidate == candidate && r.metric == metric) return r;
  }
  throw std::out_of_range("no such row");
}

TEST(Gate, DefaultSuitePasses) {
  const auto run = run_gate(*find_suite(""), {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->report.code, ExitCode::pass);
  EXPECT_EQ(run->report.comparisons.size(), 10u);
  for (const ComparisonRow& r : run->report.comparisons)
    EXPECT_EQ(r.verdict, "pass") << r.candidate << " " << r.metric;
}

TEST(Gate, RemovedJitterFailsAlthoughItsPeaksAreLower) {
  const auto run = run_gate(*find_suite("jitter-removed"), {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->report.code, ExitCode::violation);
  EXPECT_EQ(row(run->report, "exponential", "gave_up").verdict, "fail");
  EXPECT_EQ(row(run->report, "exponential", "gave_up").effect, 40);
  EXPECT_EQ(row(run->report, "exponential", "completion_s").verdict, "fail");
  EXPECT_EQ(row(run->report, "exponential", "peak_1s").verdict, "pass");
  EXPECT_LT(*row(run->report, "exponential", "peak_1s").effect, 0);
  EXPECT_LT(*row(run->report, "exponential", "peak_100ms").effect, 0);
}

// All wait for longer than the scenario lasts: nobody gave up, and nobody got through.
TEST(Gate, CallsThatTheHorizonCutsOffAreNotSilent) {
  const auto file = parse_toml(R"([[compare]]
baseline = "full-jitter"
candidates = ["fixed:base=100s,cap=100s"]
scenarios = ["outage-then-limit"]
seeds = "1..3"
metrics = { gave_up = "0.5", requests = "500%" }
)",
                               "s.toml");
  ASSERT_TRUE(file);
  const auto run = run_gate(*read_suite(*file, "s.toml"), {});
  ASSERT_TRUE(run);
  const std::string note =
      "At the end (1m) calls were still going on, with the candidate in 3 and with the baseline in 0 of 3 "
      "seeds";
  const auto said = [&](std::string_view metric) {
    return row(run->report, "fixed:base=100s,cap=100s", metric).headline.find(note) != std::string::npos;
  };
  EXPECT_EQ(row(run->report, "fixed:base=100s,cap=100s", "gave_up").candidate_mean, 0);
  EXPECT_TRUE(said("gave_up")) << row(run->report, "fixed:base=100s,cap=100s", "gave_up").headline;
  EXPECT_FALSE(said("requests"));
}

// Fixed delays draw nothing, but the outages of this scenario do: seeds are no repetitions of each other.
TEST(Gate, AWorldThatDrawsIsNotDeterministic) {
  const auto file = parse_toml(R"([[compare]]
baseline = "fixed"
candidates = ["fixed:base=600ms"]
scenarios = ["flaky-service"]
seeds = "1..3"
metrics = { attempts_max = "100" }
)",
                               "s.toml");
  const auto suite = read_suite(*file, "s.toml");
  ASSERT_TRUE(suite) << to_string(suite.error());
  const auto run = run_gate(*suite, {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->report.comparisons[0].headline.find("deterministic"), std::string::npos)
      << run->report.comparisons[0].headline;
}

// Within a second nobody comes to the last of 12 attempts.
TEST(Gate, AnUnsureVerdictIsNoSilentPass) {
  const auto file = parse_toml("[[check]]\nsubjects = [\"full-jitter:elapsed=1s\"]\n", "s.toml");
  const auto suite = read_suite(*file, "s.toml");
  ASSERT_TRUE(suite) << to_string(suite.error());
  EXPECT_EQ(run_gate(*suite, {})->report.code, ExitCode::inconclusive);
  EXPECT_EQ(run_gate(*suite, {Inconclusive::warn})->report.code, ExitCode::pass);
}

// The README shows this report: every line of its block is a line of the real one.
TEST(Gate, TheReadmeShowsWhatIsPrinted) {
  std::ifstream in(std::string(RETRYGATE_SOURCE_DIR) + "/README.md");
  const std::string readme((std::istreambuf_iterator<char>(in)), {});
  const std::string report =
      reporters().find("text")->render(run_gate(*find_suite("jitter-removed"), {})->report);
  const std::size_t begin = readme.find("exponential against full-jitter on");
  const std::size_t end = readme.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  std::istringstream lines(readme.substr(begin, end - begin));
  int seen = 0;
  for (std::string line; std::getline(lines, line); ++seen)
    EXPECT_NE(report.find(line), std::string::npos) << line;
  EXPECT_EQ(seen, 7);
}

// However a suite came to be empty, a report that says nothing is no pass.
TEST(Gate, NothingComparedAndNothingCheckedIsNoPass) {
  Suite suite;
  suite.path = "s.toml";
  suite.compare = find_suite("")->compare;
  suite.compare[0].margins.clear();
  const auto run = run_gate(suite, {});
  ASSERT_FALSE(run);
  EXPECT_EQ(to_string(run.error().front()).find("s.toml: error: nothing was compared"), 0u)
      << to_string(run.error());
}

// What stands in each `begin` .. `end`.
std::vector<std::string> all_between(std::string_view text, std::string_view begin, std::string_view end) {
  std::vector<std::string> all;
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    all.emplace_back(text.substr(from, text.find(end, from) - from));
  }
  return all;
}

// One scenario with other clients is another world: no report may show the numbers of one as the other's, or
// give two results one name.
TEST(Gate, TwoWorldsOfOneScenarioAreToldApart) {
  const auto file = parse_toml(R"([[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter"]
scenarios = ["outage-then-limit"]
set = ["clients=20"]
seeds = "1..3"
metrics = { requests = "500%" }
[[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter", "decorrelated"]
scenarios = ["outage-then-limit"]
set = ["clients=30"]
seeds = "1..3"
metrics = { requests = "500%" }
[[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter"]
scenarios = ["outage-then-limit"]
set = ["clients=30"]
seeds = "11..13"
metrics = { requests = "400%" }
)",
                               "s.toml");
  const auto suite = read_suite(*file, "s.toml");
  ASSERT_TRUE(suite) << to_string(suite.error());
  const auto run = run_gate(*suite, {});
  ASSERT_TRUE(run) << to_string(run.error());
  const Report& report = run->report;
  const auto shown = [&](std::string_view id) { return reporters().find(id)->render(report); };
  EXPECT_EQ(report.run.seeds, "1..3, 11..13");

  const std::string text = shown("text");
  for (const auto& [clients, tables] : {std::pair(20, 1u), std::pair(30, 2u)}) {
    const std::string heading =
        fmt::format("equal-jitter against full-jitter on outage-then-limit (clients={}), 3 seeds\n", clients);
    EXPECT_EQ(count(text, heading + "  metric    baseline"), tables) << text;
  }

  const std::string junit = shown("junit");
  std::vector<std::string> cases = all_between(junit, "<testcase ", " time=");
  std::sort(cases.begin(), cases.end());
  EXPECT_EQ(cases.size(), 4u);
  EXPECT_EQ(std::adjacent_find(cases.begin(), cases.end()), cases.end()) << junit;

  const std::string page = shown("html");
  std::vector<std::string> ids = all_between(page.substr(0, page.find("<script>")), " id=\"", "\"");
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  EXPECT_EQ(twice, ids.end()) << *twice;
  // Each distribution is of its own world and seeds: 20 or 30 clients, so that no two look alike.
  std::vector<std::string> drawn = all_between(page, "{\"kind\":\"distribution\"", "</script>");
  EXPECT_EQ(drawn.size(), 3u);
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());

  // A baseline that two comparisons meet is one run, one sample, one line of the storm.
  EXPECT_EQ(report.provenance.scenarios.size(), 2u);
  EXPECT_EQ(report.provenance.runs.size(), 7u);
  EXPECT_EQ(report.samples.size(), 7u);
  ASSERT_EQ(report.storms.size(), 3u);  // 20 and 30 clients under seed 1, 30 under seed 11
  EXPECT_EQ(report.storms[1].arms.size(), 3u);
  EXPECT_NE(shown("json").find("\"clients=20\""), std::string::npos);
}

// Two comparisons with the same baseline simulate, draw and list it once.
TEST(Gate, WhatIsThereTwiceIsShownOnce) {
  const auto file = parse_toml(R"([[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter"]
scenarios = ["outage-then-limit"]
seeds = "1..3"
metrics = { requests = "500%" }
[[compare]]
baseline = "full-jitter"
candidates = ["decorrelated"]
scenarios = ["outage-then-limit"]
seeds = "1..3"
metrics = { requests = "500%" }
)",
                               "s.toml");
  const auto run = run_gate(*read_suite(*file, "s.toml"), {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->report.storms.size(), 1u);
  EXPECT_EQ(run->report.storms[0].arms.size(), 3u);
  EXPECT_EQ(run->report.provenance.runs.size(), 3u);
  EXPECT_EQ(run->report.samples.size(), 3u);
}

TEST(Gate, TheReportIsTheSameOnAnyNumberOfThreads) {
  const Suite suite = *find_suite("");
  const auto one = run_gate(suite, {Inconclusive::fail, 1});
  const auto two = run_gate(suite, {Inconclusive::fail, 2});
  EXPECT_EQ(reporters().find("json")->render(one->report), reporters().find("json")->render(two->report));
}

}  // namespace
}  // namespace retrygate::ci
