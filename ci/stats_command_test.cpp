#include "ci/stats_command.hpp"

#include <gtest/gtest.h>

#include "ci/json_io.hpp"
#include "policies/base/testing.hpp"

namespace retrygate::ci {
namespace {

std::string file(const std::string& name, std::string_view text) {
  static const Scratch scratch;
  return scratch.file(name, text);
}

TEST(StatsCommand, CasesInTheOrderOfTheFile) {
  const auto out = stats_of_cases(file("cases.json", R"([
{"id": "b", "test": "t_one_sample", "x": [1, 2, 3], "params": {"alternative": "less"}},
{"id": "a", "test": "t_welsh", "x": [1]},
{"id": "c", "test": "t_one_sample", "x": [1, null]}])"),
                                  true);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->code, ExitCode::usage);
  // Mean 2, standard error 1/sqrt(3), t = 2 sqrt(3) with 2 degrees of freedom: P(T < t) = 1/2 + t / (2 sqrt(2
  // + t^2)) = 1/2 + sqrt(12/14)/2 = 0.9629; an open end is a text.
  EXPECT_NE(out->text.find(R"({"id":"b","result":{"status":"ok","method":"one sample","estimate":2.0)"),
            std::string::npos);
  EXPECT_NE(out->text.find(R"("p_value":0.96291)"), std::string::npos) << out->text;
  EXPECT_NE(out->text.find(R"("ci_low":"-Infinity")"), std::string::npos);
  EXPECT_NE(out->text.find("cases.json:3:21: error: no statistical test is called 't_welsh', did you mean "
                           "'t_welch'?"),
            std::string::npos);
  EXPECT_NE(out->text.find("cases.json:4:46: error: 'x' must hold finite numbers only"), std::string::npos)
      << out->text;
  EXPECT_LT(out->text.find("\"id\":\"b\""), out->text.find("\"id\":\"a\""));
}

TEST(StatsCommand, ColumnsOfFiles) {
  const std::string two = file("two.csv", "1, 2\n3, 4\n5, 7\n"), a = file("a.csv", "1\n3\n5\n"),
                    b = file("b.csv", "2\r\n4\r\n7\r\n"), named = file("named.csv", "y,x\n2,1\n4,3\n7,5\n");
  const auto both = stats_of_files({"t_welch", {two}, {}}, true);
  ASSERT_TRUE(both);
  EXPECT_EQ(stats_of_files({"t_welch", {a, b}, {}}, true)->text, both->text);
  EXPECT_EQ(stats_of_files({"t_welch", {named}, {}}, true)->text, both->text);
  EXPECT_NE(stats_of_files({"t_welch", {two}, {"conf_level=0.5"}}, true)->text, both->text);
}

TEST(StatsCommand, MistakesInFiles) {
  const auto wrong =
      stats_of_files({"t_welch", {file("wrong.csv", "1,2\n3,four\n5,6,7\n"), "nowhere.csv"}, {}}, true);
  ASSERT_FALSE(wrong);
  ASSERT_EQ(wrong.error().size(), 3);
  EXPECT_EQ(wrong.error()[0].where.line, 2);
  EXPECT_EQ(wrong.error()[0].where.column, 3);
  EXPECT_EQ(wrong.error()[1].where.line, 3);
  EXPECT_EQ(wrong.error()[1].where.column, 5);
  EXPECT_FALSE(stats_of_files({"t_welch", {}, {}}, true));
}

// Columns may have other lengths; a hole would shift the pairs below it.
TEST(StatsCommand, ABlankCellEndsItsColumn) {
  const auto run = [](std::string_view csv) {
    return stats_of_files({"t_welch", {file("blank.csv", csv)}, {}}, true);
  };
  EXPECT_EQ(run("1,2\n3,4\n5,\n")->text, run("1,2\n3,4\n5\n")->text);
  EXPECT_EQ(run("1,2\n\n3,4\n5,7\n")->text, run("1,2\n3,4\n5,7\n\n")->text);  // blank lines are none
  for (const char* holed : {"1,2\n,4\n5,7\n", "1,2\n3\n5,7\n"}) {
    const auto refused = run(holed);
    ASSERT_FALSE(refused) << holed;
    ASSERT_EQ(refused.error().size(), 1);
    EXPECT_EQ(refused.error()[0].where.line, 3);
    EXPECT_EQ(refused.error()[0].message, "a value below a blank cell (line 2)");
  }
  EXPECT_EQ(run("1,2\n,4\n5,7\n").error()[0].where.column, 1);
  EXPECT_EQ(run("1,2\n3\n5,7\n").error()[0].where.column, 3);
}

}  // namespace
}  // namespace retrygate::ci
