// Programs and recordings are judged as values of ours are: the same presets keep their contracts and the
// same known-bad policies are caught, through a pipe.
#include "properties/outside.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "policies/base/testing.hpp"
#include "policies/named.hpp"
#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string fake(const std::string& arguments) { return RETRYGATE_BUILD_DIR "/retrygate_fake " + arguments; }

OutsideResult checked(const std::string& arguments, const Contract& contract,
                      const OutsideOptions& options = {}) {
  auto result = check_program("exec:fake", fake(arguments), contract, options);
  EXPECT_TRUE(result) << to_string(result.error());
  return result ? std::move(*result) : OutsideResult{};
}

const VerdictRow& row(const OutsideResult& result, std::string_view id) {
  for (const VerdictRow& r : result.rows) {
    if (r.invariant->id == id) return r;
  }
  throw std::out_of_range(std::string(id));
}

Contract contract_of(const std::string& reference) { return find_policy(reference, {})->policy.contract(); }

class EveryBuiltIn : public testing::TestWithParam<const char*> {};

TEST_P(EveryBuiltIn, KeepsItsContractThroughThePipe) {
  const Contract contract = contract_of(GetParam());
  const OutsideResult result = checked(fmt::format("'{}'", GetParam()), contract);
  EXPECT_LE(result.decisions, 60'000);
  EXPECT_GE(result.decisions, 1'000);
  for (const VerdictRow& r : result.rows) {
    EXPECT_THAT(r.verdict, AnyOf(Verdict::holds, Verdict::not_promised, Verdict::unsure))
        << r.invariant->id << ": " << r.counterexample.shrunk;
  }
}
INSTANTIATE_TEST_SUITE_P(Outside, EveryBuiltIn,
                         testing::Values("immediate", "fixed", "linear:max_attempts=1200,cap=30s",
                                         "exponential", "full-jitter",
                                         "equal-jitter:cap=1s,max_attempts=1100", "decorrelated",
                                         "proportional:cap=2s", "additive", "full-jitter:max_attempts=1",
                                         "full-jitter:elapsed=3s,base=200ms", "exponential:deadline=2s",
                                         "aws-java-v2-standard", "botocore-adaptive",
                                         "finagle-equal-jittered"));

TEST(Outside, BudgetsAndBreakersAreKeptThroughThePipe) {
  const Scratch scratch;
  for (const char* guard :
       {"budget = { kind = \"token-bucket\", capacity = 10, refill_per_s = 0.5, cost = 1 }",
        "budget = { kind = \"ratio\", ratio = 0.2, reserve_per_s = 1, window = \"10s\" }",
        "budget = { kind = \"grpc-throttle\", capacity = 10, ratio = 0.1 }",
        "budget = { kind = \"sre-throttle\", k = 2, window = \"120s\" }",
        "breaker = { failures = 5, open_for = \"30s\", trials = 2 }",
        "breaker = { failure_ratio = 0.5, window_calls = 20, open_for = \"10s\" }"}) {
    const std::string policy =
        scratch.file("p.toml", fmt::format("[policy.p]\nkind = \"full-jitter\"\n{}\n", guard)) + "#p";
    for (const VerdictRow& r : checked(fmt::format("'{}'", policy), contract_of(policy)).rows) {
      EXPECT_THAT(r.verdict, AnyOf(Verdict::holds, Verdict::not_promised, Verdict::unsure))
          << guard << ", " << r.invariant->id << ": " << r.counterexample.shrunk;
      if (r.invariant->id == "budget-conserved" || r.invariant->id == "breaker-states") {
        EXPECT_NE(r.verdict, Verdict::unsure) << guard << ", " << r.invariant->id << ": " << r.note;
      }
    }
  }
}

TEST(Outside, KnownBadPoliciesAreCaughtThroughThePipe) {
  int caught = 0, met = 0;
  for (const Mutant& mutant : mutants()) {
    // Of many calls, one question after the other.
    const std::set<std::string_view> one_by_one{"budget-conserved", "breaker-states", "instances-isolated",
                                                "reset-not-early", "clock-independent"};
    const bool asked = decided_by_recording(mutant.killed_by) || one_by_one.contains(mutant.killed_by);
    if (!asked || subject_of(mutant).loop) continue;
    if (sanitized && ++met % 4 != 1) continue;
    const OutsideResult result = checked(fmt::format("mutant:{}", mutant.id), subject_of(mutant).contract,
                                         {{.only = {std::string(mutant.killed_by)}}});
    ASSERT_EQ(result.rows.size(), 1U);
    EXPECT_EQ(result.rows.front().verdict, Verdict::fails)
        << mutant.id << " lives: " << mutant.killed_by << ", " << to_string(result.rows.front().verdict)
        << ' ' << result.rows.front().note;
    ++caught;
  }
  EXPECT_GE(caught, sanitized ? 10 : 40);
}

TEST(Outside, ASeedThatIsIgnoredIsASharedSeed) {
  const Contract contract = contract_of("full-jitter");
  const auto honest = checked("full-jitter", contract, {{.only = {"processes-independent"}}});
  const auto shared = checked("full-jitter no-seed", contract, {{.only = {"processes-independent"}}});
  EXPECT_EQ(row(honest, "processes-independent").verdict, Verdict::holds)
      << row(honest, "processes-independent").note;
  EXPECT_EQ(row(shared, "processes-independent").verdict, Verdict::fails);
  EXPECT_THAT(row(shared, "processes-independent").counterexample.shrunk,
              HasSubstr("exactly as long as each other"));
}

TEST(Outside, WithoutAContractOnlyWhatIsAlwaysPromisedIsChecked) {
  const auto result = checked("full-jitter", {});
  EXPECT_EQ(row(result, "survives").verdict, Verdict::holds);
  EXPECT_EQ(row(result, "delay-non-negative").verdict, Verdict::holds);
  EXPECT_EQ(row(result, "cap-respected").verdict, Verdict::not_promised);
  EXPECT_EQ(row(result, "attempts-exact").verdict, Verdict::not_promised);
}

TEST(Outside, TheLeastCaseIsTheFirstAttemptThatShowsIt) {
  // 100 ms doubling passes its unused cap of 1 s at retry 5: 1.6 s.
  const auto& mutant =
      *std::find_if(mutants().begin(), mutants().end(), [](const Mutant& m) { return m.id == "cap-unused"; });
  const auto result =
      checked("mutant:cap-unused", subject_of(mutant).contract, {{.only = {"cap-respected"}}});
  EXPECT_THAT(
      row(result, "cap-respected").counterexample.shrunk,
      HasSubstr("attempt 5 ended with 503, 1.5s into the call: the delay is 1.6s, above the cap's 1s"));
}

TEST(Outside, AProgramThatDiesBreaksSurvivesAndIsJudgedByWhatItSaid) {
  // Raises at attempt 1025.
  const auto& mutant = *std::find_if(mutants().begin(), mutants().end(),
                                     [](const Mutant& m) { return m.id == "float-overflow"; });
  const auto result = checked("mutant:float-overflow", subject_of(mutant).contract);
  EXPECT_EQ(row(result, "survives").verdict, Verdict::fails);
  const std::string text = row(result, "survives").counterexample.shrunk;
  EXPECT_THAT(text, HasSubstr("the program ended with exit code 1"));
  EXPECT_THAT(text, HasSubstr("\"attempt\":1025"));
  EXPECT_THAT(text, HasSubstr("fake: Result too large"));
  EXPECT_EQ(row(result, "growth-law").verdict, Verdict::holds);
}

// The answers to a whole batch may be lost with it, and what is not answered first is to blame for nothing.
TEST(Outside, TheQuestionThatAProgramDiesOfIsFound) {
  const auto result = checked("full-jitter dies-of 507", contract_of("full-jitter"));
  const Counterexample& found = row(result, "survives").counterexample;
  EXPECT_THAT(found.unshrunk, HasSubstr("lines without an answer this is the first"));
  EXPECT_THAT(found.unshrunk, testing::Not(HasSubstr("507")));
  EXPECT_THAT(found.shrunk,
              testing::StartsWith("the program ended with exit code 3\nit was told: {\"id\":1,"));
  EXPECT_THAT(found.shrunk, HasSubstr("\"status\":507"));
}

// Whatever was asked for: a program that dies fails, and what it was not asked for is not decided.
TEST(Outside, AProgramThatDiesDoesNotPass) {
  const auto& mutant = *std::find_if(mutants().begin(), mutants().end(),
                                     [](const Mutant& m) { return m.id == "float-overflow"; });
  const auto late = checked("mutant:float-overflow", subject_of(mutant).contract, {{.only = {"growth-law"}}});
  EXPECT_EQ(row(late, "survives").verdict, Verdict::fails);
  EXPECT_EQ(row(late, "growth-law").verdict, Verdict::holds);
  const auto at_once = check_program("exec:dies", "read hello; echo '{\"retrygate-policy\":1}'; exit 3",
                                     contract_of("fixed"), {{.only = {"growth-law"}}});
  ASSERT_TRUE(at_once) << to_string(at_once.error());
  EXPECT_EQ(row(*at_once, "survives").verdict, Verdict::fails);
  EXPECT_EQ(row(*at_once, "growth-law").verdict, Verdict::unsure);
}

// One that keeps silent from some question on is judged by what it said. (ci/programs_test.cpp: it is paid
// once.)
TEST(Outside, SilenceBreaksSurvives) {
  OutsideOptions options;
  options.limits.answer = Duration::s(2);
  const Contract contract = contract_of("full-jitter");
  for (const char* after : {"0", "3000", "10000"}) {
    const auto result = checked(fmt::format("full-jitter hangs-after {}", after), contract, options);
    EXPECT_EQ(row(result, "survives").verdict, Verdict::fails);
    EXPECT_THAT(row(result, "survives").counterexample.shrunk, HasSubstr("the program wrote nothing for 2s"));
    // What it had said is judged; what it was not asked is open.
    EXPECT_EQ(row(result, "cap-respected").verdict,
              after == std::string("0") ? Verdict::unsure : Verdict::holds)
        << after;
    EXPECT_THAT(result.coverage.not_tried, testing::Contains("all that would have come after its silence"));
  }
}

TEST(Outside, NotStartedIsNoVerdict) {
  const auto result = check_program("exec:nothing", "/nowhere/at-all", {});
  ASSERT_FALSE(result);
  EXPECT_THAT(to_string(result.error()), HasSubstr("exit code 127"));
}

}  // namespace
}  // namespace retrygate
