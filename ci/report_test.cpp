#include "ci/report.hpp"

#include <gtest/gtest.h>

#include "ci/exit_code.hpp"
#include "ci/json_io.hpp"

namespace retrygate::ci {
namespace {

Report sample() {
  Report report;
  report.run = {"0.1.0", "default", "A against B", "1..200", "retrygate gate"};
  report.comparisons.push_back({"outage-then-limit",
                                "full-jitter",
                                "<b>|x",
                                "gave_up",
                                "1",
                                "lower",
                                0.0,
                                40.0,
                                40.0,
                                40.0,
                                40.0,
                                false,
                                "0.5",
                                "fail",
                                {},
                                {},
                                {},
                                200,
                                {},
                                "It gives up on 40 calls more."});
  report.verdicts.push_back({"s", "cap-respected", "MUST", "exact", "fails", "no delay above the cap",
                             "retry 33: -2147483648ns", "retrygate check s"});
  report.code = ExitCode::violation;
  return report;
}

TEST(Report, TextStaysWithinEightyColumnsAndEndsWithTheVerdict) {
  Report report = sample();
  report.comparisons[0].headline =
      std::string(30, 'a') + " " + std::string(60, 'b') + " " + std::string(30, 'c');
  const std::string text = reporters().find("text")->render(report);
  EXPECT_TRUE(text.ends_with("Verdict: fail (exit 1)\n")) << text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    // Rows of the table are as wide as their columns; sentences are wrapped.
    if (text.substr(begin, end - begin).find("..") == std::string::npos) {
      EXPECT_LE(end - begin, 80u) << text.substr(begin, end - begin);
    }
    begin = end + 1;
  }
}

TEST(Report, MarkdownEscapesWhatUsersName) {
  const std::string text = reporters().find("markdown")->render(sample());
  EXPECT_EQ(text.find("<b>"), std::string::npos) << text;
  EXPECT_NE(text.find("&#60;b&#62;&#124;x"), std::string::npos) << text;
}

TEST(ExitCode, UsageBeforeInternalBeforeViolationBeforeInconclusive) {
  using enum ExitCode;
  EXPECT_EQ(worst({pass, inconclusive, violation}), violation);
  EXPECT_EQ(worst({violation, internal}), internal);
  EXPECT_EQ(worst({internal, usage, violation}), usage);
  EXPECT_EQ(worst({pass}), pass);
  EXPECT_EQ(worst({pass, inconclusive}), inconclusive);
}

// A suite may ask different metrics of different scenarios; its samples keep all of them.
TEST(Json, SamplesKeepTablesWithOtherMetrics) {
  SampleTable first{{"requests"}, {{"a", "", "s", {}, {1}, {7}, {true}, {{3.0}}}}};
  SampleTable second{{"gave_up"}, {{"a", "", "t", {}, {1}, {8}, {true}, {{std::nullopt}}}}};
  const std::string text = samples_json({first, second});
  EXPECT_NE(text.find(R"("metrics":{"requests":[3.0]})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("metrics":{"gave_up":[null]})"), std::string::npos) << text;
}

TEST(WriteFile, SaysWhyAndLeavesNothingBehind) {
  const auto done = write_file("/nonexistent-folder/x.json", "text");
  ASSERT_FALSE(done);
  EXPECT_NE(to_string(done.error()).find("cannot create this file: No such file or directory"),
            std::string::npos);
}

}  // namespace
}  // namespace retrygate::ci
