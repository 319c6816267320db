// The formats that other programs read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ci/commands.hpp"
#include "ci/report.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string rendered(std::string_view id, const Report& report) {
  return reporters().find(id)->render(report);
}

// A name that tries to break out of every format.
const std::string hostile = "p\"<script>&\n::error::x%0A|`,:\x01";

Report sample_report() {
  Report report;
  report.run.version = "1.2.3";
  report.run.suite = hostile;
  report.verdicts = {
      {hostile,
       "cap-respected",
       "MUST",
       "exact",
       "fails",
       "No delay exceeds the cap.",
       "retry 3: 9s",
       "retrygate check",
       {"policies.toml", 7, 3}},
      {"b",
       "no-futile-wait",
       "SHOULD",
       "exact",
       "fails",
       "No wait past the deadline.",
       "retry 1",
       "retrygate check",
       {"SUBJECT", 1, 1}},
      {"b", "jitter-law", "MUST", "statistical", "unsure", "The law.", "too few draws", "", {}},
      {"b", "survives", "MUST", "exact", "holds", "It does not raise.", "", "", {}},
      {"b", "growth-law", "MUST", "exact", "broken", "The law.", "the checker raised", "", {}}};
  ComparisonRow row;
  row.scenario = "storm";
  row.baseline = "a";
  row.candidate = hostile;
  row.metric = "gave_up";
  row.better = "lower";
  row.effect = 40;
  row.margin = "0.5";
  row.headline = "worse by 40";
  row.verdict = "fail";
  row.where = {"policies.toml", 9, 1};
  report.comparisons.push_back(row);
  row.metric = "peak_1s";
  row.verdict = "inconclusive";
  report.comparisons.push_back(row);
  report.code = ExitCode::violation;
  return report;
}

// With --strict a failed SHOULD makes the run fail, so every form that a server reads says failure.
TEST(Strict, AFailedShouldIsAFailureEverywhere) {
  for (const bool strict : {false, true}) {
    Report report;
    report.verdicts = {
        {"b", "no-futile-wait", "SHOULD", "exact", "fails", "No wait past the deadline.", "retry 1", ""}};
    CheckRequest request;
    request.strict = strict;
    conclude(report, request);
    EXPECT_EQ(report.code, strict ? ExitCode::violation : ExitCode::pass);
    EXPECT_THAT(rendered("junit", report), HasSubstr(strict ? "failures=\"1\"" : "failures=\"0\""));
    EXPECT_THAT(rendered("github", report), HasSubstr(strict ? "::error " : "::warning "));
    EXPECT_THAT(rendered("sarif", report), HasSubstr(strict ? "\"error\"" : "\"warning\""));
  }
}

TEST(JUnit, WhatIsUndecidedIsSkippedAndNothingBreaksOut) {
  const std::string xml = rendered("junit", sample_report());
  // 3 checks of b, 1 of the hostile one; failures: the broken MUST and gave_up. SHOULD, unsure and
  // inconclusive are skipped, a broken checker is an error.
  EXPECT_THAT(xml,
              HasSubstr("tests=\"7\" failures=\"2\" errors=\"1\" skipped=\"3\" time=\"0\">\n  <testsuite"));
  EXPECT_THAT(xml, HasSubstr("name=\"check p&#34;&#60;script&#62;&#38;&#10;::error::x%0A|`,:\xef\xbf\xbd\""));
  EXPECT_THAT(xml, Not(HasSubstr("<script>")));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"peak_1s +40, margin 0.5\">worse by 40</skipped>"));
}

TEST(Sarif, OneResultForEveryBrokenPromiseAtItsLine) {
  const auto log = parse_json(rendered("sarif", sample_report()), "report.sarif");
  ASSERT_TRUE(log) << to_string(log.error());
  const std::string text = write_json(*log, Layout::compact);
  EXPECT_THAT(text, HasSubstr(R"("uri":"policies.toml"},"region":{"startLine":7,"startColumn":3})"));
  EXPECT_THAT(text, HasSubstr(R"({"ruleId":"no-futile-wait","level":"warning")"));
  EXPECT_THAT(text, HasSubstr(R"({"ruleId":"regression","level":"error")"));
  EXPECT_THAT(text, Not(HasSubstr("SUBJECT")));     // an option is no file
  EXPECT_THAT(text, Not(HasSubstr("jitter-law")));  // unsure is no result
  // The same finding has the same fingerprint however the numbers fall.
  Report other = sample_report();
  other.verdicts[0].counterexample = "retry 99: 1h";
  other.verdicts[0].where.line = 80;
  const auto print = [](const std::string& sarif) {
    const std::size_t at = sarif.find("retrygate/v1");
    return sarif.substr(at, 40);
  };
  EXPECT_EQ(print(rendered("sarif", other)), print(rendered("sarif", sample_report())));
  other.verdicts[0].invariant = "delay-finite";
  EXPECT_NE(print(rendered("sarif", other)), print(rendered("sarif", sample_report())));
}

// An effect of three margins comes before a larger number that is one of its margins; a path is shown as the
// checkout has it.
TEST(Github, TheWorstComesFirstWhateverItsUnit) {
  Report report = sample_report();
  report.verdicts.clear();
  ComparisonRow shares = report.comparisons[0];
  shares.metric = "collapse";
  shares.effect = 0.3;
  shares.margin_amount = 0.1;
  shares.where.file = "retry/../policies.toml";
  report.comparisons[0].margin_amount = 40;  // gave_up: +40
  report.comparisons.push_back(shares);
  const std::string text = rendered("github", report);
  EXPECT_LT(text.find("collapse"), text.find("gave_up")) << text;
  EXPECT_EQ(text.find(".."), std::string::npos) << text;
}

TEST(Reports, EstimatesAlonePassNothing) {
  Report report = sample_report();
  report.verdicts.clear();
  report.code = ExitCode::pass;
  for (ComparisonRow& row : report.comparisons) row.verdict.clear();
  EXPECT_EQ(verdict_word(report), "no verdict");
  EXPECT_THAT(rendered("text", report),
              testing::EndsWith("\nVerdict: none, as no margin was given (exit 0)\n"));
  EXPECT_THAT(rendered("html", report), HasSubstr("<title>no verdict: "));
  report.comparisons[0].verdict = "pass";
  EXPECT_EQ(verdict_word(report), "pass");
}

// A path is no URI: spaces, percent signs and what is not ASCII are encoded, dots are resolved.
TEST(Sarif, AFileIsNamedByAUri) {
  Report report = sample_report();
  const auto uri = [&](const std::string& file) {
    report.verdicts[0].where.file = file;
    const std::string text = rendered("sarif", report);
    const std::size_t at = text.find("\"uri\": \"") + 8;
    return text.substr(at, text.find('"', at) - at);
  };
  EXPECT_EQ(uri("./our policies/100%.toml"), "our%20policies/100%25.toml");
  EXPECT_EQ(uri("a/../b:c#d?.toml"), "b%3Ac%23d%3F.toml");
  EXPECT_EQ(uri("\xc3\xa4.toml"), "%C3%A4.toml");
  EXPECT_EQ(uri("/etc/x.toml"), "file:///etc/x.toml");
}

TEST(GitHub, AnnotationsAreEscapedRankedAndCounted) {
  Report report = sample_report();
  std::string text = rendered("github", report);
  EXPECT_THAT(
      text,
      HasSubstr(
          "::error file=policies.toml,line=7,col=3,title=p\"<script>&%0A%3A%3Aerror%3A%3Ax%250A|`%2C%3A"));
  EXPECT_THAT(text, HasSubstr("\n::notice title=retrygate::fail (exit 1)\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n::error::x")));
  const auto count = [&](std::string_view kind) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(kind, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count("::error "), 3u);
  EXPECT_EQ(count("::warning "), 3u);
  // Twenty regressions: the ten largest are shown, the last says how many are not.
  report = {};
  for (int i = 0; i < 20; ++i) {
    ComparisonRow row = sample_report().comparisons[0];
    row.metric = "m" + std::to_string(i);
    row.effect = i;
    report.comparisons.push_back(row);
  }
  text = rendered("github", report);
  EXPECT_EQ(count("::error "), 10u);
  EXPECT_THAT(text, HasSubstr("m19"));
  EXPECT_THAT(text, Not(HasSubstr("m9 ")));
  EXPECT_THAT(text, HasSubstr("(and 10 more, see the report)"));
}

}  // namespace
}  // namespace retrygate::ci
