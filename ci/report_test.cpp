#include "ci/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "ci/exit_code.hpp"
#include "ci/json_io.hpp"
#include "ci/layout.hpp"
#include "ci/terminal.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

Report sample() {
  Report report;
  report.run = {"0.1.0", "default", "A against B", "1..200", "retrygate gate"};
  ComparisonRow row{
      "outage-then-limit", "full-jitter", "<b>|x", "gave_up", "calls", "lower", 0.0, 40.0, 40.0};
  row.low = row.high = 40.0;
  row.margin = "0.5";
  row.verdict = "fail";
  row.method = "bootstrap-t";
  row.seeds = 200;
  row.headline = "It gives up on 40 calls more.";
  row.sensitivity = {{"signed rank", "fail", 1e-35, 2e-35, 1}};
  report.comparisons.push_back(row);
  report.verdicts.push_back({"s", "cap-respected", "MUST", "exact", "fails", "no delay above the cap",
                             "retry 33: -2147483648ns", "retrygate check s"});
  report.code = ExitCode::violation;
  return report;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    most = std::max(most, end - begin);
    begin = end + 1;
  }
  return most;
}

// In a report of several scenarios no two sentences begin alike.
TEST(Report, SentencesNameWhatTheyAreAbout) {
  Report report = sample();
  report.comparisons[0].candidate = "ours";
  EXPECT_EQ(sentence_about(report, report.comparisons[0]), "ours gave_up");
  report.comparisons.push_back(report.comparisons[0]);
  report.comparisons[1].scenario = "brownout";
  report.comparisons.push_back(report.comparisons[1]);
  report.comparisons[2].params = {"clients=7"};
  const std::string text = reporters().find("text")->render(report);
  const std::string markdown = reporters().find("markdown")->render(report);
  for (const std::string about :
       {" on outage-then-limit: It", " on brownout: It", " on brownout (clients=7): It"}) {
    EXPECT_NE(text.find("ours gave_up" + about), std::string::npos) << text;
    EXPECT_NE(markdown.find("gave&#95;up" + about), std::string::npos) << markdown;
  }
  report.comparisons.resize(2);
  report.comparisons[1] = report.comparisons[0];
  report.comparisons[1].baseline = "fixed";
  EXPECT_EQ(sentence_about(report, report.comparisons[1]), "ours gave_up against fixed");
}

TEST(Report, TextStaysWithinEightyColumnsAndEndsWithTheVerdict) {
  Report report = sample();
  const std::string wide = std::string(30, 'a') + " " + std::string(160, 'b') + " " + std::string(30, 'c');
  ComparisonRow& row = report.comparisons[0];
  row.headline = row.candidate = row.baseline = wide;
  row.baseline_mean = row.candidate_mean = -1.2345678e-200;
  row.effect = row.low = row.high = -1.2345678e-200;
  row.metric = "retry_peak_100ms";
  const std::string command = fmt::format("retrygate gate '{0} {0}' {0} {0} {0}", std::string(25, 'd'));
  report.run = {wide, wide, wide, "1..200", command};
  report.verdicts[0] = {wide, "cap-respected", "MUST", "exact", "fails", wide, wide, command};
  report.blocked = report.notes = {wide};
  report.changes = {{wide, wide, {wide}, {wide}}};
  const std::string text = reporters().find("text")->render(report);
  EXPECT_TRUE(text.ends_with("Verdict: fail (exit 1)\n")) << text;
  EXPECT_LE(widest(text), 80u) << text;
  for (const char* kept : {"-1.23e-200 .. -1.23e-200 calls", "0.5  FAIL", "signed rank"})
    EXPECT_NE(text.find(kept), std::string::npos) << kept << "\n" << text;
}

// U+202E and its like (UAX #9) show the rest of a line backwards: a name could move the verdict beside it.
TEST(Report, NoNameReordersItsLine) {
  for (const char* reorders :
       {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"})
    EXPECT_EQ(clean(std::string("a") + reorders + "b"), "a\ufffd\ufffd\ufffdb");  // one for each byte
  // Letters that are written from right to left, and the marks beside them, are nobody's fault.
  EXPECT_EQ(clean("\u05d0\u200f\u2030"), "\u05d0\u200f\u2030");
  Report report;
  report.run = {"0", "s", {}, {}, {}};
  report.verdicts.resize(1);
  report.verdicts[0] = {"a\u202eb", "cap-respected", "MUST", "exact", "fails", "c", "d", "e"};
  for (const char* format : {"text", "markdown", "html", "junit"}) {
    const std::string text = reporters().find(format)->render(report);
    EXPECT_EQ(text.find("\u202e"), std::string::npos) << format;
    EXPECT_NE(text.find("a\ufffd\ufffd\ufffdb"), std::string::npos) << format;
  }
}

// Columns stand below each other whatever the names and units; what is too wide for one line has two.
TEST(Report, MeansAreReadWithoutAnExponent) {
  EXPECT_EQ(mean_text(std::nullopt), "-");
  EXPECT_EQ(share_text(0.0625), "+6.2 %");
  EXPECT_EQ(share_text(-1), "-100.0 %");
  EXPECT_EQ(share_text(8.99), "+899.0 %");
  EXPECT_EQ(share_text(9), "x10");
  EXPECT_EQ(share_text(117074), "x117075");
  EXPECT_EQ(share_text(std::nullopt), "-");
  EXPECT_EQ(mean_text(4.76512), "4.765");
  EXPECT_EQ(mean_text(1198.76), "1199");
  EXPECT_EQ(mean_text(-14318.4), "-14318");
  EXPECT_EQ(mean_text(1182483.7), "1182484");
  EXPECT_EQ(mean_text(0), "0");
}

TEST(Report, ColumnsAreAlignedWhateverStandsInThem) {
  const auto lines = [](const std::string& metric, const std::string& unit, double effect) {
    Report report = sample();
    report.comparisons.push_back(report.comparisons[0]);
    ComparisonRow& row = report.comparisons[0];
    row.metric = metric;
    row.unit = unit;
    row.effect = row.low = row.high = effect;
    std::istringstream in(reporters().find("text")->render(report));
    std::vector<std::string> all;
    bool inside = false;
    for (std::string line; std::getline(in, line) && (!inside || !line.empty());) {
      inside = inside || line.starts_with("  metric");
      if (inside) all.push_back(line);
    }
    return all;
  };
  for (const char* const metric : {"requests", "retry_peak_100ms", "spread_attempt_12345_s"}) {
    for (const auto& [unit, effect] : {std::pair("calls", 1.0), {"requests", -12345.6}, {"s", -1.2e-200}}) {
      const auto table = lines(metric, unit, effect);
      ASSERT_TRUE(table.size() == 3 || table.size() == 6) << table.size();
      const std::size_t interval = table.size() == 3 ? 0 : 1, step = table.size() / 3;
      for (std::size_t i = 1; i < 3; ++i) {
        EXPECT_LE(table[i * step].size(), 80u);
        EXPECT_NE(table[i * step + interval].find(" .. "), std::string::npos) << table[i];
        EXPECT_EQ(table[i * step + interval].find("FAIL"), table[step + interval].find("FAIL")) << table[i];
        EXPECT_NE(table[i * step + interval].find("FAIL"), std::string::npos);
      }
    }
  }
}

// A program that dies leaves much undecided; what it died of comes first, and the rest is one thing.
TEST(Report, TheCauseStandsBeforeWhatFollowsFromIt) {
  Report report;
  for (const char* invariant : {"attempts-exact", "cap-respected", "delay-finite"})
    report.verdicts.push_back({"exec:./p", invariant, "MUST", "exact", "unsure", "claim", "it died", ""});
  report.verdicts.push_back({"exec:./p", "no-futile-wait", "SHOULD", "exact", "fails", "claim", "late", "r"});
  report.verdicts.push_back(
      {"exec:./p", "survives", "MUST", "exact", "fails", "It never dies.", "died", "r"});
  report.verdicts.push_back({"exec:./p", "jitter-law", "MUST", "exact", "unsure", "claim", "few draws", ""});
  for (const char* const format : {"text", "markdown"}) {
    const std::string text = reporters().find(format)->render(report);
    const std::size_t cause = text.find("fails: survives") != text.npos ? text.find("fails: survives")
                                                                        : text.find("fails survives");
    ASSERT_NE(cause, std::string::npos) << text;
    EXPECT_LT(cause, text.find("no-futile-wait")) << text;
    EXPECT_LT(text.find("no-futile-wait"), text.find("unsure: 3 invariants for one reason")) << text;
    EXPECT_NE(text.find("attempts-exact, cap-respected, delay-finite"), std::string::npos) << text;
    EXPECT_EQ(text.find("it died"), text.rfind("it died")) << text;
    EXPECT_NE(text.find("few draws"), std::string::npos) << text;
  }
}

TEST(Report, AnUndecidedRunSaysSoInItsLastLineWhateverItsCode) {
  Report report = sample();
  report.code = ExitCode::pass;
  report.undecided = true;
  EXPECT_TRUE(reporters().find("text")->render(report).ends_with("Verdict: inconclusive (exit 0)\n"));
  report.code = ExitCode::violation;
  EXPECT_EQ(verdict_word(report), "fail");
}

TEST(Report, ColourMarksVerdictsAndNothingElse) {
  EXPECT_EQ(coloured("a pass\n  x  10%  pass\n  y  FAIL\n  z  ?\nVerdict: inconclusive (exit 0)\n"),
            "a pass\n  x  10%  \x1b[1;32mpass\x1b[0m\n  y  \x1b[1;31mFAIL\x1b[0m\n  z  \x1b[1;33m?\x1b[0m\n"
            "Verdict: \x1b[1;33minconclusive (exit 0)\x1b[0m\n");
}

TEST(Layout, ALongCommandIsCutOnlyWhereAShellAllows) {
  const std::string argument = "'" + std::string(30, 'a') + " " + std::string(30, 'b') + "'";
  EXPECT_EQ(command_lines("", "run " + argument + " " + argument, 2),
            "run " + argument + " \\\n  " + argument + "\n");
}

// Cut anywhere, a text keeps its characters whole.
TEST(Layout, ANumberKeepsItsPerCent) {
  EXPECT_EQ(wrapped(std::string(70, 'x') + " to 12.5 %); so", 0),
            std::string(70, 'x') + " to\n12.5 %); so\n");
  EXPECT_EQ(wrapped("% alone %", 0), "% alone %\n");
}

TEST(Layout, NothingIsCutWithinACharacter) {
  const auto whole = [](std::string_view text) {
    const auto json = parse_json(fmt::format("[\"{}\"]", text), "text");
    return json.has_value();
  };
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'a');
    for (int i = 0; i < 60; ++i) text += "\xf0\x9f\x94\x81";  // four bytes each
    for (std::size_t most = 2; most < 40; ++most) {
      const std::string cut = shortened(text, most);
      EXPECT_LE(cut.size(), most);
      EXPECT_TRUE(whole(cut)) << most;
    }
    std::string lines = wrapped(text, 2);
    EXPECT_LE(widest(lines), 80u);
    std::replace(lines.begin(), lines.end(), '\n', ' ');
    EXPECT_TRUE(whole(lines)) << lines;
  }
  for (std::size_t words = 1; words < 40; ++words) {
    for (const char* word : {" ##[a", " ::b", "##[c"}) {
      std::string all = std::string(words, 'd');
      for (std::size_t i = 0; i < words; ++i) all += word;
      const std::string safe = inert_lines(wrapped("  ", all, 4) + "no more\n");
      EXPECT_LE(widest(safe), 80u) << safe;
      EXPECT_EQ(inert(safe), safe);
      EXPECT_TRUE(safe.ends_with("\nno more\n")) << safe;
    }
  }
  EXPECT_EQ(inert_lines("  a\n\n::b"), "  a\n\n\\x3a:b");
  // Bytes that are no UTF-8 come to an end, too.
  EXPECT_LE(widest(wrapped(std::string(200, '\x80'), 2)), 80u);
  EXPECT_EQ(beginning("ab\xc3\xa4", 3), "ab");
  EXPECT_EQ(beginning("ab\xc3\xa4", 4), "ab\xc3\xa4");
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
