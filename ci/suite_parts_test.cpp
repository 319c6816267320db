// What a suite may hold beside policies and margins: scenarios, overrides, contracts, questions, waivers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ci/gate.hpp"
#include "ci/waivers.hpp"

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

// The outcome of a check that is waived counts as a pass, and the report shows it.
TEST(Waivers, AreToldByTheReport) {
  const auto suite = read(R"([[check]]
subjects = ["exec:exit 3"]
invariants = ["survives"]
waivers = [{ subject = "exec:exit 3", invariant = "survives", reason = "no", until = "2027-01-31" }]
)");
  ASSERT_TRUE(suite) << to_string(suite.error());
  Report report;
  report.verdicts = {row_of("fails")};
  apply_waivers({{"ours", "cap-respected", "known", 2027y / 1 / 31, {"s.toml", 7, 3}}}, 2026y / 1 / 1,
                report.verdicts);
  conclude(report, {});
  EXPECT_EQ(report.code, ExitCode::pass);
  for (const std::string_view format : {"text", "markdown"}) {
    const std::string text = reporters().find(format)->render(report);
    EXPECT_NE(text.find("waived"), std::string::npos) << text;
    EXPECT_NE(text.find("known"), std::string::npos) << text;
  }
}

const ComparisonRow& row(const Report& report, std::string_view metric) {
  return *std::find_if(report.comparisons.begin(), report.comparisons.end(),
                       [&](const ComparisonRow& r) { return r.metric == metric; });
}

Result<GateRun> asked(std::string_view question, std::string_view baseline, std::string_view candidate) {
  const auto suite = read(fmt::format(R"([[compare]]
baseline = "{}"
candidates = ["{}"]
scenarios = ["outage-then-limit"]
seeds = "1..40"
question = "{}"
metrics = {{ gave_up = "0.5" }}
)",
                                      baseline, candidate, question));
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
  EXPECT_NE(headline(same).find("asked: the same within 0.5: it is."), std::string::npos) << headline(same);
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
