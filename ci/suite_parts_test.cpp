// What a suite may hold beside policies and margins: scenarios, overrides, contracts, questions, waivers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ci/figures.hpp"
#include "ci/gate.hpp"
#include "ci/waivers.hpp"
#include "policies/base/testing.hpp"

namespace retrygate::ci {
namespace {

using namespace std::chrono_literals;

Result<Suite> read(std::string_view text) {
  const auto file = parse_toml(text, "s.toml");
  if (!file) return tl::unexpected(file.error());
  return read_suite(*file, "s.toml");
}

std::string complaints_of_part(std::string_view text) {
  const auto suite = read(text);
  return suite ? "" : to_string(suite.error());
}

constexpr std::string_view comparison = R"([[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter"]
)";

TEST(SuiteParts, EveryMetricThatExistsCanHaveAMargin) {
  const auto suite = read(std::string(comparison) +
                          "scenarios = [\"outage-then-limit\"]\nmetrics = { peak_250ms = \"10%\" }\n");
  ASSERT_TRUE(suite) << to_string(suite.error());
  EXPECT_EQ(suite->compare[0].margins[0].metric, "peak_250ms");
}

TEST(SuiteParts, ScenariosOfItsOwnAndOverrides) {
  const auto suite = read(std::string(comparison) + R"(scenarios = ["small", "outage-then-limit"]
set = ["clients=7"]
metrics = { requests = "10%" }
[scenario.small]
clients = 3
stages = []
)");
  ASSERT_TRUE(suite) << to_string(suite.error());
  ASSERT_EQ(suite->compare[0].scenarios.size(), 2u);
  EXPECT_EQ(suite->compare[0].scenarios[0].id, "small");
  EXPECT_EQ(suite->compare[0].scenarios[0].clients, 7);
  EXPECT_EQ(suite->compare[0].scenarios[1].clients, 7);
  EXPECT_EQ(suite->compare[0].scenarios[1].params, std::vector<std::string>{"clients=7"});
  const std::string wrong = complaints_of_part(std::string(comparison) + R"(scenarios = ["outage-then-limit"]
set = ["clint=7"]
metrics = { requests = "10%" }
)");
  EXPECT_NE(wrong.find("s.toml:5"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("clint"), std::string::npos) << wrong;
}

// A policy that is compared, checked and waived: its mistakes are told once, in the order of the file, those
// beside an unknown kind too, and nothing that merely follows from them.
TEST(SuiteParts, EachMistakeOfAPolicyIsToldOnce) {
  const std::string rest = std::string(comparison) + R"(scenarios = ["outage-then-limit"]
metrics = { requests = "10%" }
[[compare]]
baseline = "fixed"
candidates = ["ours"]
scenarios = ["outage-then-limit"]
metrics = { requests = "10%" }
[[check]]
subjects = ["ours"]
waivers = [{ subject = "ours", invariant = "cap-respected", reason = "known", until = "2027-01-31" }]
[policy.ours]
)";
  const auto places = [&](const std::string& table) {
    const auto suite = read(rest + table);
    std::vector<std::string> all;
    if (!suite) {
      for (const Error& error : suite.error())
        all.push_back(to_string(error.where) + " " + error.message.substr(0, error.message.find(',')));
    }
    return all;
  };
  const std::vector<std::string> others = {
      "s.toml:16:1 unknown key 'bse'", "s.toml:17:7 'cap': '10 sec' is not a duration: unknown unit 'sec'"};
  EXPECT_EQ(places("kind = \"full-jiter\"\nbse = \"200ms\"\ncap = \"10 sec\"\n"),
            (std::vector<std::string>{"s.toml:15:8 unknown policy 'full-jiter'", others[0], others[1]}));
  EXPECT_EQ(places("kind = \"full-jitter\"\nbse = \"200ms\"\ncap = \"10 sec\"\n"), others);
  EXPECT_EQ(places("kind = \"another\"\nbse = \"200ms\"\n"),
            std::vector<std::string>{"s.toml:15:8 unknown policy 'another'"});
}

TEST(SuiteParts, AQuestionByItsName) {
  const std::string rest = "scenarios = [\"outage-then-limit\"]\nmetrics = { requests = \"10%\" }\n";
  EXPECT_EQ(read(std::string(comparison) + rest)->compare[0].asking, stats::Asking::not_worse);
  EXPECT_EQ(read(std::string(comparison) + "question = \"equivalent\"\n" + rest)->compare[0].asking,
            stats::Asking::equivalent);
  EXPECT_NE(complaints_of_part(std::string(comparison) + "question = \"beter\"\n" + rest)
                .find("s.toml:4:12: error: unknown question 'beter', did you mean 'better'?"),
            std::string::npos);
}

TEST(SuiteParts, ProgramsHaveTheirContractInTheSuite) {
  const auto suite = read(R"([contract.slow]
cap = "9s"
[[check]]
subjects = ["exec:./client", "full-jitter"]
contract = "slow"
[[check]]
subjects = ["exec:./client"]
contract = { cap = "8s" }
)");
  ASSERT_TRUE(suite) << to_string(suite.error());
  EXPECT_EQ(suite->check[0].programs, std::vector<std::string>{"exec:./client"});
  EXPECT_EQ(suite->check[0].subjects.size(), 1u);
  EXPECT_EQ(suite->check[0].contract->contract.cap, Duration::s(9));
  EXPECT_EQ(suite->check[1].contract->contract.cap, Duration::s(8));
  EXPECT_NE(complaints_of_part("[[check]]\nsubjects = [\"full-jitter\"]\ncontract = { cap = \"8s\" }\n")
                .find("state contracts of their own"),
            std::string::npos);
}

TEST(SuiteParts, AWaiverNamesWhatIsThere) {
  const std::string wrong = complaints_of_part(R"([[check]]
subjects = ["full-jitter"]
invariants = ["cap-respected"]
waivers = [
  { subject = "full-jiter", invariant = "cap-respected", reason = "x", until = "2027-01-31" },
  { subject = "full-jitter", invariant = "cap-respectd", reason = "x", until = "2027-01-31" },
  { subject = "full-jitter", invariant = "attempts-exact", reason = "x", until = "2027-01-31" },
  { subject = "full-jitter", invariant = "cap-respected", until = "2027-02-30" },
]
)");
  EXPECT_NE(wrong.find("'full-jiter' is no subject of this [[check]], did you mean 'full-jitter'?"),
            std::string::npos)
      << wrong;
  EXPECT_NE(wrong.find("unknown invariant 'cap-respectd', did you mean 'cap-respected'?"), std::string::npos)
      << wrong;
  EXPECT_NE(wrong.find("'attempts-exact' is not checked here"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("this waiver lacks 'reason'"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("'2027-02-30' is no day"), std::string::npos) << wrong;
}

VerdictRow row_of(const std::string& verdict) {
  return {"ours", "cap-respected", "SHOULD", "exact", verdict, "claim", "found", ""};
}

TEST(Waivers, HoldThroughTheirLastDay) {
  const Waiver waiver{"ours", "cap-respected", "known", 2027y / 1 / 31, {"s.toml", 7, 3}};
  std::vector<VerdictRow> rows = {row_of("fails")};
  apply_waivers({waiver}, 2027y / 1 / 31, rows);
  EXPECT_EQ(rows[0].verdict, "waived");
  EXPECT_EQ(rows[0].waiver, "until 2027-01-31: known");
  rows = {row_of("fails")};
  apply_waivers({waiver}, 2027y / 2 / 1, rows);
  EXPECT_EQ(rows[0].verdict, "fails");
  EXPECT_EQ(rows[0].counterexample, "found; s.toml:7: the waiver \"known\" ended on 2027-01-31");
}

TEST(Waivers, OneThatWaivesNothingIsAFailure) {
  const Waiver waiver{"ours", "cap-respected", "known", 2027y / 1 / 31, {"s.toml", 7, 3}};
  std::vector<VerdictRow> rows = {row_of("holds"), row_of("unsure")};
  rows[1].subject = "other";
  apply_waivers({waiver}, 2026y / 1 / 1, rows);
  EXPECT_EQ(rows[0].verdict, "fails");
  EXPECT_EQ(rows[0].level, "MUST");
  EXPECT_EQ(rows[0].counterexample,
            "found; s.toml:7: the waiver \"known\" waives nothing: the verdict is holds. Delete it");
  EXPECT_EQ(rows[1].verdict, "unsure");
}

TEST(Waivers, OneThatNoRowIsAboutIsAFailure) {
  std::vector<VerdictRow> rows = {row_of("fails")};
  apply_waivers({{"other", "cap-respected", "known", 2027y / 1 / 31, {"s.toml", 7, 3}}}, 2026y / 1 / 1, rows);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].verdict, "fails");
  EXPECT_EQ(rows[1].subject, "other");
  EXPECT_EQ(rows[1].verdict, "fails");
  EXPECT_EQ(rows[1].level, "MUST");
  EXPECT_EQ(rows[1].counterexample,
            "s.toml:7: the waiver \"known\" waives nothing: this was not tried. Delete it");
}

// Speaks the protocol and always waits 500 ms.
constexpr std::string_view always_500ms =
    R"(read -r hello; echo '{"retrygate-policy":1}'; while read -r l; do id=${l#*:}; id=${id%%,*}; )"
    R"(case $l in *'"status":2'*) echo "{\"id\":$id,\"stop\":\"success\"}";; )"
    R"(*) echo "{\"id\":$id,\"wait_ns\":500000000}";; esac; done)";

// A suite in a folder of its own, with a recording that waits 8 s where 5 s are promised.
class SuiteFolder : public testing::Test {
 protected:
  SuiteFolder() {
    write("log.csv", "client,call,attempt,start,end,status\na,1,1,0s,0s,503\na,1,2,8s,8s,200\n");
  }
  void write(const std::string& name, std::string_view text) { std::ofstream(folder_ / name) << text; }
  Result<GateRun> gate(std::string_view text, std::chrono::sys_days today = 2027y / 1 / 1) {
    write("s.toml", text);
    const auto suite = find_suite((folder_ / "s.toml").string());
    if (!suite) return tl::unexpected(suite.error());
    GateOptions options;
    options.today = today;
    return run_gate(*suite, options);
  }
  static const VerdictRow* find(const Report& report, std::string_view invariant) {
    for (const VerdictRow& row : report.verdicts) {
      if (row.invariant == invariant) return &row;
    }
    return nullptr;
  }
  Scratch scratch_;
  std::filesystem::path folder_ = scratch_.path();
};

TEST_F(SuiteFolder, AWaiverOfARecordingHoldsWhereverTheSuiteIs) {
  constexpr std::string_view text = R"([[check]]
traces = ["log.csv"]
contract = { cap = "5s" }
waivers = [{ subject = "log.csv", invariant = "cap-respected", reason = "known", until = "2027-01-31" }]
)";
  const auto run = gate(text);
  ASSERT_TRUE(run) << to_string(run.error());
  ASSERT_NE(find(run->report, "cap-respected"), nullptr);
  EXPECT_EQ(find(run->report, "cap-respected")->subject, "log.csv");
  EXPECT_EQ(find(run->report, "cap-respected")->verdict, "waived");
  EXPECT_EQ(run->report.code, ExitCode::pass);
  EXPECT_EQ(gate(text, 2027y / 2 / 1)->report.code, ExitCode::violation);
  // A recording that keeps the promise: the waiver waives nothing.
  write("log.csv", "client,call,attempt,start,end,status\na,1,1,0s,0s,503\na,1,2,4s,4s,200\n");
  const auto stale = gate(text);
  EXPECT_EQ(find(stale->report, "cap-respected")->verdict, "fails");
  EXPECT_EQ(stale->report.code, ExitCode::violation);
}

// What a code scanner shows needs a file and a line: those where the suite names the subject.
TEST_F(SuiteFolder, AFailureIsAtTheLineThatNamesItsSubject) {
  write("fixed.sh", always_500ms);
  const std::string program = fmt::format("exec:sh '{}'", (folder_ / "fixed.sh").string());
  const auto run = gate(fmt::format(R"([[check]]
subjects = [
  "full-jitter",
  "{}",
]
traces = ["log.csv"]
contract = {{ cap = "5s" }}
)",
                                    program));
  ASSERT_TRUE(run) << to_string(run.error());
  const auto line_of = [&](std::string_view subject) {
    for (const VerdictRow& row : run->report.verdicts) {
      if (row.subject == subject) return row.where.line;
    }
    return 0;
  };
  EXPECT_EQ(line_of("full-jitter"), 3);
  EXPECT_EQ(line_of(program), 4);
  EXPECT_EQ(line_of("log.csv"), 6);
}

// A recording cannot show what a policy would do under other settings: asked for that alone, the check has
// nothing to say, which is no pass.
TEST_F(SuiteFolder, WhatIsAskedForAndCannotBeTriedIsUnsure) {
  const auto run = gate(R"([[check]]
traces = ["log.csv"]
invariants = ["degenerate-settings"]
)");
  ASSERT_TRUE(run) << to_string(run.error());
  ASSERT_NE(find(run->report, "degenerate-settings"), nullptr);
  EXPECT_EQ(find(run->report, "degenerate-settings")->verdict, "unsure");
  EXPECT_EQ(run->report.code, ExitCode::inconclusive);
}

// A failure that is waived counts as a pass, and reports show it and why.
TEST(Waivers, AreToldByTheReports) {
  Report report;
  report.verdicts = {row_of("fails")};
  apply_waivers({{"ours", "cap-respected", "known", 2027y / 1 / 31, {"s.toml", 7, 3}}}, 2026y / 1 / 1,
                report.verdicts);
  conclude(report, {});
  EXPECT_EQ(report.code, ExitCode::pass);
  for (const std::string_view format : {"text", "markdown", "json", "junit", "html", "sarif"}) {
    const std::string text = reporters().find(format)->render(report);
    EXPECT_NE(text.find("known"), std::string::npos) << format << "\n" << text;
  }
}

const ComparisonRow& row(const Report& report, std::string_view metric) {
  return *std::find_if(report.comparisons.begin(), report.comparisons.end(),
                       [&](const ComparisonRow& r) { return r.metric == metric; });
}

Result<GateRun> asked(std::string_view question, std::string_view baseline, std::string_view candidate,
                      std::string_view margin = "0.5", std::string_view seeds = "1..40") {
  const auto suite = read(fmt::format(R"([[compare]]
baseline = "{}"
candidates = ["{}"]
scenarios = ["outage-then-limit"]
seeds = "{}"
question = "{}"
metrics = {{ gave_up = "{}" }}
)",
                                      baseline, candidate, seeds, question, margin));
  return run_gate(*suite, {});
}

// Exponential backoff gives up 40 calls of this storm in every seed, full jitter none (README.md).
TEST(Questions, EachHasItsOwnAnswers) {
  const auto better = asked("better", "exponential", "full-jitter");
  EXPECT_EQ(row(better->report, "gave_up").verdict, "inconclusive");  // 40 equal seeds are fewer than 59
  const auto headline = [](const Result<GateRun>& run) { return run->report.comparisons[0].headline; };
  EXPECT_NE(headline(better).find("asked: better by at least 0.5: these seeds"), std::string::npos)
      << headline(better);
  const auto same = asked("equivalent", "full-jitter", "full-jitter");
  EXPECT_EQ(same->report.code, ExitCode::pass);
  EXPECT_NE(headline(same).find("asked: the same within 0.5: that holds."), std::string::npos)
      << headline(same);
}

// What does not change does not get better, by whatever margin: 0, an amount, a share.
TEST(Questions, AnUnchangedPolicyIsNotBetter) {
  for (const char* margin : {"0", "0.5"}) {
    const auto run = asked("better", "full-jitter", "full-jitter", margin);
    EXPECT_EQ(run->report.comparisons[0].method, "unchanged");
    EXPECT_EQ(run->report.code, ExitCode::violation) << margin;
    EXPECT_NE(run->report.comparisons[0].headline.find(": that does not hold"), std::string::npos)
        << run->report.comparisons[0].headline;
  }
  // Neither does another policy whose every seed has the same result: both of these lose no call.
  const auto same = asked("better", "full-jitter", "full-jitter:base=101ms", "0", "1..60");
  EXPECT_EQ(same->report.comparisons[0].method, "constant difference");
  EXPECT_EQ(same->report.code, ExitCode::violation);
}

// Each question has its own limits on the axis and its own words.
TEST(Questions, ThePageDrawsTheLimitsThatWereAsked) {
  ComparisonRow row{"s", "a", "b", "m", "s", "lower", 1.0, 2.0};
  row.margin = "0.5";
  row.margin_amount = 0.5;
  const auto drawn = [&](std::string_view question, std::string_view better) {
    row.question = question;
    row.better = better;
    const std::string figure = forest_figure({&row});
    const std::size_t at = figure.find("\"margins\":") + 10;
    return figure.substr(at, figure.find(']', at) + 1 - at);
  };
  EXPECT_EQ(drawn("not-worse", "lower"), "[0.5]");
  EXPECT_EQ(drawn("not-worse", "higher"), "[-0.5]");
  EXPECT_EQ(drawn("better", "lower"), "[-0.5]");
  EXPECT_EQ(drawn("better", "higher"), "[0.5]");
  EXPECT_EQ(drawn("equivalent", "lower"), "[0.5,-0.5]");
  row.margin_amount = std::nullopt;
  EXPECT_EQ(drawn("not-worse", "lower"), "[]");
  row.margin_amount = 0.5;
  row.question = "better";
  row.better = "lower";
  EXPECT_NE(forest_figure({&row}).find("left of it is as much better as was asked"), std::string::npos);
}

TEST(Questions, AFailureIsNamedByWhatWasAsked) {
  Report report;
  ComparisonRow row{"s", "a", "b", "m", "s", "lower", 1.0, 2.0};
  row.margin = "0.5";
  row.verdict = "fail";
  const auto shown = [&](std::string_view question, double effect) {
    row.question = question;
    row.effect = effect;
    report.comparisons = {row};
    return std::pair(reporters().find("html")->render(report), reporters().find("sarif")->render(report));
  };
  const auto expect = [&](std::string_view question, double effect, std::string_view words,
                          std::string_view rule) {
    const auto [page, sarif] = shown(question, effect);
    EXPECT_NE(page.find(words), std::string::npos) << question;
    EXPECT_NE(sarif.find(fmt::format("\"ruleId\": \"{}\"", rule)), std::string::npos) << sarif;
  };
  expect("not-worse", 1, "1 of 1 comparison is worse than allowed", "regression");
  expect("equivalent", 1, "1 of 1 comparison is worse than allowed", "regression");
  expect("better", -0.1, "is not better by as much as was asked", "not-better");
  expect("equivalent", -1, "is better by more than its margin", "changed");
}

// Both sides of an equivalence are failures; the improvement is called by its name.
TEST(Questions, AnImprovementBeyondTheMarginIsAChange) {
  const auto suite = [](std::string_view from, std::string_view to, std::string_view question) {
    return *read(fmt::format(R"([[compare]]
baseline = "{}"
candidates = ["{}"]
scenarios = ["outage-then-limit"]
seeds = "1..60"
question = "{}"
metrics = {{ gave_up = "0.5" }}
)",
                             from, to, question));
  };
  const auto improved = run_gate(suite("exponential", "full-jitter", "equivalent"), {});
  EXPECT_EQ(improved->report.code, ExitCode::violation);
  EXPECT_EQ(verdict_mark(improved->report.comparisons[0]), "CHANGED");
  EXPECT_NE(improved->report.comparisons[0].headline.find("changed, it is better by more than 0.5"),
            std::string::npos)
      << improved->report.comparisons[0].headline;
  const auto worse = run_gate(suite("full-jitter", "exponential", "equivalent"), {});
  EXPECT_EQ(verdict_mark(worse->report.comparisons[0]), "FAIL");
  EXPECT_NE(worse->report.comparisons[0].headline.find("it is worse by more than 0.5"), std::string::npos);
  EXPECT_EQ(run_gate(suite("exponential", "full-jitter", "better"), {})->report.code, ExitCode::pass);
  EXPECT_EQ(run_gate(suite("full-jitter", "exponential", "better"), {})->report.code, ExitCode::violation);
}

// A margin far from the effect is decided at the first look, one beside it is not; nothing is simulated
// beyond what the undecided one needs, and the metrics of one pair share their seeds.
TEST(UntilDecided, TakesAsManySeedsAsNeeded) {
  const auto suite = read(R"([[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter", "decorrelated"]
scenarios = ["outage-then-limit"]
seeds = "11..12"
metrics = { requests = "500%" }
)");
  ASSERT_TRUE(suite) << to_string(suite.error());
  GateOptions options;
  options.threads = 1;
  options.budget = 2000;
  const auto run = run_gate(*suite, options);
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->report.code, ExitCode::pass);
  EXPECT_TRUE(run->report.one_by_one);
  EXPECT_EQ(run->report.run.seeds, "11..60");
  EXPECT_EQ(run->report.comparisons[0].method, "confidence sequence");
  EXPECT_EQ(run->report.comparisons[0].decided_at, 50u);
  EXPECT_EQ(run->report.comparisons[0].seeds, 50u);
  EXPECT_NE(run->report.comparisons[0].headline.find("It took 50 seeds."), std::string::npos);
  EXPECT_EQ(run->samples[0].cells[0].seeds.front(), 11u);
  EXPECT_EQ(run->samples[0].cells[0].seeds.size(), 50u);
  options.threads = 2;
  EXPECT_EQ(reporters().find("json")->render(run->report),
            reporters().find("json")->render(run_gate(*suite, options)->report));
}

// At the margin itself (means 997.5 and 745.4 over seeds 1..200) nothing can be decided: the budget ends it.
TEST(UntilDecided, StopsAtTheBudget) {
  const auto probe = read(R"([[compare]]
baseline = "decorrelated"
candidates = ["full-jitter"]
scenarios = ["outage-then-limit"]
metrics = { peak_1s = "252", gave_up = "100" }
)");
  GateOptions options;
  options.budget = 120;
  const auto run = run_gate(*probe, options);
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(row(run->report, "peak_1s").verdict, "inconclusive");
  EXPECT_EQ(row(run->report, "peak_1s").decided_at, std::nullopt);
  EXPECT_EQ(row(run->report, "peak_1s").seeds, 100u);
  EXPECT_EQ(run->report.code, ExitCode::inconclusive);
}

// What draws nothing is decided by one seed.
TEST(UntilDecided, DeterministicPoliciesNeedOneSeed) {
  const auto suite = read(R"([[compare]]
baseline = "fixed"
candidates = ["exponential"]
scenarios = ["outage-then-limit"]
metrics = { gave_up = "0.5" }
)");
  GateOptions options;
  options.budget = 2000;
  const auto run = run_gate(*suite, options);
  EXPECT_EQ(run->report.comparisons[0].seeds, 1u);
  EXPECT_EQ(run->report.comparisons[0].method, "deterministic");
  EXPECT_EQ(run->report.comparisons[0].decided_at, 1u);
}

}  // namespace
}  // namespace retrygate::ci
