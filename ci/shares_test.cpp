// Yes/no metrics on their way through the pipeline: margins in points, methods by name, the sentence of the
// report.
#include <gtest/gtest.h>

#include "ci/compare.hpp"
#include "ci/gate.hpp"
#include "ci/suite.hpp"
#include "policies/base/config.hpp"

namespace retrygate::ci {
namespace {

Result<Suite> suite_with(const std::string& line, const std::string& metrics) {
  const auto file = parse_toml(
      "[[compare]]\nbaseline = \"full-jitter\"\ncandidates = [\"exponential\"]\n"
      "scenarios = [\"outage-then-limit\"]\nseeds = \"1..60\"\n" +
          line + "\n[compare.metrics]\n" + metrics + "\n",
      "suite.toml");
  return read_suite(*file, "suite.toml");
}

// What the horizon hides is said of both sides, and how sure a pass is where sampling theory makes it.
TEST(Headline, SaysWhoDidNotGetThereAndHowSureItIs) {
  Asked asked;
  asked.row.seeds = 60;
  asked.row.better = "lower";
  asked.row.unit = "s";
  asked.row.margin = "1s";
  asked.question.margin = 1;
  asked.horizon = Duration::s(30);
  stats::Ruling ruling;
  ruling.answer = stats::Answer::pass;
  const auto said = [&](std::size_t candidate, std::size_t baseline) {
    asked.unreached = candidate;
    asked.baseline_unreached = baseline;
    answer(asked, ruling);
    return asked.row.headline;
  };
  EXPECT_EQ(said(0, 0), "no difference; asked: not worse by more than 1s: that holds.");
  EXPECT_EQ(said(60, 60),
            "no difference; asked: not worse by more than 1s: that holds. Neither got there within 30s in "
            "any of 60 "
            "seeds; those count as 30s, and what comes later is not seen.");
  ruling.p = 0.9;
  EXPECT_EQ(said(2, 0),
            "no difference; asked: not worse by more than 1s: that holds with 95 % confidence. The candidate "
            "did not "
            "get there within 30s in 2 of 60 seeds; those count as 30s.");
  ruling.answer = stats::Answer::inconclusive;
  ruling.seeds_needed = 70;
  EXPECT_EQ(said(2, 3),
            "no difference; asked: not worse by more than 1s: these seeds do not decide it; about 70 would, "
            "4 times "
            "in 5. The candidate did not get there within 30s in 2 and the baseline in 3 of 60 seeds; those "
            "count as "
            "30s.");
  ruling.p.reset();
  ruling.method = "constant difference";
  EXPECT_EQ(said(0, 3),
            "no difference; asked: not worse by more than 1s: these seeds do not decide it; 70 that agree "
            "would. The "
            "baseline did not get there within 30s in 3 of 60 seeds; those count as 30s.");
  ruling.effect = 1396;
  answer(asked, ruling);
  EXPECT_EQ(asked.row.headline.find("worse than the baseline by 1396 s;"), 0u) << asked.row.headline;
}

TEST(SharesInSuites, MarginsAreInPoints) {
  for (const char* text : {"5pt", "5%", "0.05"}) {
    const auto margin = parse_margin("completed", text, {});
    ASSERT_TRUE(margin) << text;
    EXPECT_DOUBLE_EQ(*margin->amount, 0.05) << text;
    EXPECT_FALSE(margin->relative) << text;
    EXPECT_EQ(margin->text, "5pt") << text;
  }
  EXPECT_EQ(*parse_margin("collapse", "0", {})->amount, 0);
  for (const char* text : {"5", "-1pt", "101%", "5 pt", "pt", "", "5s"})
    EXPECT_FALSE(parse_margin("collapse", text, {})) << text;
  EXPECT_TRUE(parse_margin("success_rate", "5%", {})->relative);  // a number between 0 and 1, no yes or no
}

TEST(SharesInSuites, MethodsAreNamed) {
  const auto suite = suite_with("method = \"signed-rank\"", "peak_1s = \"10%\"\ncompleted = \"5pt\"");
  ASSERT_TRUE(suite) << to_string(suite.error());
  const auto run = run_gate(*suite, {});
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->report.comparisons.at(0).method, "signed rank");
  EXPECT_EQ(run->report.comparisons.at(1).method, "paired shares");
  for (const ComparisonRow& row : run->report.comparisons) {
    EXPECT_FALSE(row.law.empty()) << row.metric;
    EXPECT_FALSE(row.assumes.empty()) << row.metric;
  }
  const auto wrong = suite_with("method = \"wilcoxon\"", "peak_1s = \"10%\"");
  ASSERT_FALSE(wrong);
  EXPECT_NE(to_string(wrong.error()).find("suite.toml:6:10: error: unknown method 'wilcoxon'"),
            std::string::npos)
      << to_string(wrong.error());
  const auto shares = suite_with("method = \"paired-shares\"", "peak_1s = \"10%\"");
  ASSERT_FALSE(shares);
  EXPECT_NE(to_string(shares.error()).find("peak_1s is no yes/no metric"), std::string::npos);
  EXPECT_FALSE(run_gate(*suite, {.budget = 100}));  // the sequence has a rule of its own
}

// Full jitter completes in every seed, an exponential backoff without jitter in none.
TEST(SharesInSuites, TheSentenceCountsSeeds) {
  const auto run = run_gate(*suite_with("", "completed = \"5pt\""), {});
  ASSERT_TRUE(run);
  const ComparisonRow& row = run->report.comparisons.at(0);
  EXPECT_EQ(row.verdict, "fail");
  EXPECT_DOUBLE_EQ(*row.effect, -1);
  EXPECT_EQ(effect_text(row, row.effect), "-100.0 pt");
  EXPECT_NE(row.headline.find(
                "yes in 0 of 60 seeds, with the baseline in 60: worse than the baseline by 100.0 points"),
            std::string::npos)
      << row.headline;
  EXPECT_NE(row.headline.find("asked: not worse by more than 5 points: that does not hold (adjusted p = "),
            std::string::npos)
      << row.headline;
  EXPECT_NE(row.headline.find("0 of 60 seeds turned from no to yes, 60 from yes to no"), std::string::npos)
      << row.headline;
}

}  // namespace
}  // namespace retrygate::ci
