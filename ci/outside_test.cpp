// Programs, recordings, imports and outage logs as the command shows them.
#include "ci/outside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ci/import.hpp"
#include "ci/show.hpp"
#include "policies/base/testing.hpp"

namespace retrygate::ci {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;

class OutsideCommands : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) { return scratch_.file(name, text); }

 private:
  Scratch scratch_;
};

const std::string echo_500ms =
    R"(exec:read -r hello; echo '{"retrygate-policy":1}'; while read -r l; do id=${l#*:}; id=${id%%,*}; )"
    R"(case $l in *'"status":2'*) echo "{\"id\":$id,\"stop\":\"success\"}";; )"
    R"(*) echo "{\"id\":$id,\"wait_ns\":500000000}";; esac; done)";

TEST_F(OutsideCommands, AProgramIsJudgedByItsContract) {
  const auto verdict = [&](const std::string& contract_text, const std::string& id) {
    const auto contract = find_contract(file("c.toml", contract_text), {});
    CheckRequest request;
    request.only = {id};
    Report report = *check_programs({echo_500ms}, *contract, request);
    conclude(report, request);
    EXPECT_EQ(report.verdicts.size(), 1U);
    return std::pair(report.verdicts.at(0).verdict, report.code);
  };
  EXPECT_EQ(verdict("cap = \"500ms\"\n", "cap-respected"), std::pair(std::string("holds"), ExitCode::pass));
  EXPECT_EQ(verdict("cap = \"499ms\"\n", "cap-respected"),
            std::pair(std::string("fails"), ExitCode::violation));
}

TEST_F(OutsideCommands, AFailureIsRepeatedByItsCommand) {
  const auto contract = find_contract(file("c.toml", "cap = \"1ms\"\n"), {});
  CheckRequest request;
  request.only = {"cap-respected"};
  request.seed = 7;
  const Report report = *check_programs({echo_500ms}, *contract, request);
  EXPECT_THAT(report.verdicts.at(0).repeat, HasSubstr("retrygate check 'exec:read -r hello; echo '\\''{"));
  EXPECT_THAT(report.verdicts.at(0).repeat, HasSubstr(" --replay cap-respected:7:200:"));
  EXPECT_THAT(report.verdicts.at(0).repeat, HasSubstr(" --contract "));
  EXPECT_THAT(report.verdicts.at(0).repeat, testing::EndsWith("c.toml"));
  // A row that holds is repeated under the same promise.
  request.only = {"survives"};
  EXPECT_THAT(check_programs({echo_500ms}, *contract, request)->verdicts.at(0).repeat,
              testing::AllOf(HasSubstr(" --only survives --seed 7"), HasSubstr("c.toml")));
}

TEST_F(OutsideCommands, AProgramThatDoesNotStartIsExitCodeFour) {
  const Report report = *check_programs({"exec:/nowhere/at-all"}, std::nullopt, {});
  EXPECT_EQ(report.code, ExitCode::internal);
  ASSERT_EQ(report.unstarted.size(), 1u);
  EXPECT_THAT(report.unstarted[0].message,
              HasSubstr("exec:/nowhere/at-all was not checked: the program ended with exit code 127"));
}

TEST_F(OutsideCommands, ARecordingIsJudgedOrRefusedWithItsPlaces) {
  const auto contract = find_contract(file("c.toml", "cap = \"5s\"\n"), {});
  const auto report = check_recording(
      file("t.csv", "client,call,attempt,start,end,status\na,1,1,0s,0s,503\na,1,2,8s,8s,200\n"), *contract,
      {});
  ASSERT_TRUE(report);
  std::vector<std::string> failed;
  for (const VerdictRow& row : report->verdicts) {
    if (row.verdict == "fails") failed.push_back(row.invariant + ": " + row.counterexample);
  }
  EXPECT_THAT(failed, testing::ElementsAre(HasSubstr(
                          "t.csv:2:5: client a, call 1, attempt 1 ended with 503: the delay is 8s")));
  const auto wrong =
      check_recording(file("w.csv", "client,call,attempt,start,end,status\na,1,1,0s,0s,x\n"), *contract, {});
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("w.csv:2:13: error: 'x' is no HTTP status"));
}

TEST_F(OutsideCommands, AnImportIsWrittenWarnedAboutAndChecked) {
  const auto imported = import_policies("envoy", file("e.yaml", "retry_on: 5xx\nper_try_timeout: 1s\n"));
  ASSERT_TRUE(imported) << to_string(imported.error());
  EXPECT_THAT(imported->toml, HasSubstr("[policy.route]\nkind = \"full-jitter\"\nbase = \"25ms\"\n"));
  EXPECT_THAT(imported->told,
              HasSubstr("e.yaml:2:18: warning: 'per_try_timeout', a time limit of one attempt, is no"));
  EXPECT_THAT(imported->told, HasSubstr("checked route: "));
  EXPECT_EQ(imported->code, ExitCode::pass);
  EXPECT_THAT(to_string(import_policies("envoi", "x").error()), HasSubstr("did you mean 'envoy'?"));
}

// Three retries of 1 s: the last one starts 3 s after the first attempt.
TEST_F(OutsideCommands, OutagesOfALogAreCompared) {
  const auto policy = find_policy("fixed:base=1s,max_attempts=4", {});
  ShowRequest request;
  request.log = "o.csv";
  request.outages = {Duration::s(40), Duration::ms(500), Duration::s(3), Duration::s(1)};
  const std::string text = show_text(*policy, schedule(*policy, 3), request);
  EXPECT_THAT(text, HasSubstr("4 outages of o.csv"));
  EXPECT_THAT(text, HasSubstr("longest            40s    0.0 %"));
  EXPECT_THAT(text, HasSubstr(" 75.0 %   outlived by every call: 3, by none: 1"));
}

}  // namespace
}  // namespace retrygate::ci
