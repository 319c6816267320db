// The shipped suites give their known answers.
#include "ci/gate.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

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

// An interval of a few nanoseconds is too narrow to say whether a fleet spreads over it.
TEST(Gate, AnUnsureVerdictIsNoSilentPass) {
  const auto file = parse_toml("[[check]]\nsubjects = [\"full-jitter:base=1ns,cap=1us\"]\n", "s.toml");
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

TEST(Gate, TheReportIsTheSameOnAnyNumberOfThreads) {
  const Suite suite = *find_suite("");
  const auto one = run_gate(suite, {Inconclusive::fail, 1});
  const auto two = run_gate(suite, {Inconclusive::fail, 2});
  EXPECT_EQ(reporters().find("json")->render(one->report), reporters().find("json")->render(two->report));
}

}  // namespace
}  // namespace retrygate::ci
