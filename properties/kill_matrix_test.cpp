// The invariants against policies that are known to be bad, and against ones that are known to be good.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "policies/base/testing.hpp"
#include "policies/composed.hpp"
#include "policies/named.hpp"
#include "properties/bounds.hpp"
#include "properties/check.hpp"
#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

VerdictRow killer(const Mutant& mutant, Seed seed) {
  const Subject subject = subject_of(mutant);
  Options options;
  options.seed = seed;
  options.only = {std::string(mutant.killed_by)};
  const auto rows = check(subject, options);
  return rows.empty() ? VerdictRow{} : rows.front();
}

// Whether "it could not be told" is an answer.
enum class Unsure { allowed, never };

// Nothing fails. What is listed as a deviation deviates, and what is listed as not showing does not: a list
// that says so would excuse a fault of the replica. Under some seeds alone: the elapsed time of
// google-http-java.
void expect_no_accusation(const std::string& reference, const std::vector<std::uint64_t>& seeds,
                          Unsure unsure = Unsure::allowed) {
  const auto found = find_policy(reference, {"test", 0, 0});
  ASSERT_TRUE(found) << reference << ": " << to_string(found.error());
  for (const std::uint64_t seed : seeds) {
    Options options;
    options.seed = Seed{seed};
    for (const VerdictRow& row : check(subject_of(*found), options)) {
      EXPECT_NE(row.verdict, Verdict::fails)
          << reference << ", " << to_string(row.invariant->level) << " " << row.invariant->id << ", seed "
          << seed << ": " << row.counterexample.shrunk;
      EXPECT_NE(row.verdict, Verdict::broken) << reference << ", " << row.invariant->id << ": " << row.note;
      if (row.verdict == Verdict::deviates && reference != "google-http-java") {
        const auto& listed = found->preset->deviations;
        EXPECT_TRUE(
            std::any_of(listed.begin(), listed.end(),
                        [&](const Deviation& d) { return d.invariant == row.invariant->id && d.shows; }))
            << reference << ", " << row.invariant->id << " shows: " << row.counterexample.shrunk;
      }
      if (unsure == Unsure::never) {
        EXPECT_NE(row.verdict, Verdict::unsure) << reference << ", " << row.invariant->id << ": " << row.note;
      }
    }
  }
}

TEST(KillMatrix, EveryMutantDiesByTheInvariantItNames) {
  for (const Mutant& mutant : mutants()) {
    for (const std::uint64_t seed : {1U, 17U, 4242U}) {
      const VerdictRow row = killer(mutant, Seed{seed});
      EXPECT_EQ(row.verdict, Verdict::fails) << mutant.id << ", " << mutant.killed_by << ": " << row.note;
      EXPECT_NE(row.counterexample.shrunk, "") << mutant.id;
      EXPECT_NE(row.counterexample.repeat, "") << mutant.id;
    }
  }
}

// A fault breaks the invariant that it names, those that are listed with a reason, and no other.
TEST(KillMatrix, NoMutantDiesByAnUnrelatedInvariant) {
  for (const Mutant& mutant : mutants()) {
    std::set<std::string_view> allowed(mutant.also.begin(), mutant.also.end());
    EXPECT_EQ(mutant.also.empty(), mutant.because.empty()) << mutant.id << ": the others need a reason";
    allowed.insert(mutant.killed_by);
    std::set<std::string_view> killers;
    for (const VerdictRow& row : check(subject_of(mutant))) {
      EXPECT_NE(row.verdict, Verdict::broken) << mutant.id << ", " << row.invariant->id << ": " << row.note;
      if (row.verdict != Verdict::fails) continue;
      killers.insert(row.invariant->id);
      EXPECT_TRUE(allowed.contains(row.invariant->id))
          << mutant.id << " (" << mutant.killed_by << "), " << row.invariant->id << ": "
          << row.counterexample.shrunk;
    }
    EXPECT_EQ(killers, allowed) << mutant.id << " KILLERS " << fmt::format("{}", fmt::join(killers, " "));
  }
}

TEST(KillMatrix, KindsAndInvariantsAreKnown) {
  for (const Mutant& mutant : mutants()) {
    EXPECT_EQ(std::count(fault_kinds().begin(), fault_kinds().end(), mutant.kind), 1) << mutant.id;
    EXPECT_NE(invariants().find(mutant.killed_by), nullptr) << mutant.id;
  }
}

// Kind of fault -> mutants -> invariants that find them, as properties/README.md shows it. Two mutants at
// least for each kind, or one where one report is known.
TEST(KillMatrix, TheGuideShowsEveryKindOfFault) {
  std::string table = "| kind of fault | mutants | found by |\n| --- | --- | --- |\n";
  const std::set<std::string_view> one_report{"cap_terminates_or_wraps", "infinite_retry"};
  for (const std::string_view kind : fault_kinds()) {
    std::vector<std::string_view> names;
    std::set<std::string_view> killers;
    for (const Mutant& mutant : mutants()) {
      if (mutant.kind != kind) continue;
      names.push_back(mutant.id);
      killers.insert(mutant.killed_by);
    }
    EXPECT_GE(names.size(), one_report.contains(kind) ? 1U : 2U) << kind;
    table += fmt::format("| {} | {} | {} |\n", kind, fmt::join(names, ", "), fmt::join(killers, ", "));
  }
  std::ifstream file(RETRYGATE_SOURCE_DIR "/properties/README.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(guide.find(table), std::string::npos) << "properties/README.md has to hold:\n" << table;
}

TEST(KillMatrix, EveryInvariantKills) {
  std::set<std::string_view> killers;
  for (const Mutant& mutant : mutants()) killers.insert(mutant.killed_by);
  for (const Invariant& invariant : invariants()) EXPECT_TRUE(killers.contains(invariant.id)) << invariant.id;
  EXPECT_EQ(killers.size(), invariants().size());
}

TEST(KillMatrix, PresetsAreAccusedOfNothingAndLeaveNothingOpen) {
  const std::vector<std::uint64_t> seeds =
      sanitized ? std::vector<std::uint64_t>{1} : std::vector<std::uint64_t>{1, 2, 3};
  for (const Preset& preset : presets()) expect_no_accusation(std::string(preset.id), seeds, Unsure::never);
}

TEST(KillMatrix, PresetsListDeviationsFromInvariants) {
  for (const Preset& preset : presets()) {
    for (const Deviation& d : preset.deviations)
      EXPECT_NE(invariants().find(d.invariant), nullptr) << preset.id << ": " << d.invariant;
  }
}

TEST(KillMatrix, ConfigurationsAreAccusedOfNothing) {
  for (const std::string_view kind :
       {"exponential", "full-jitter", "equal-jitter", "proportional", "additive"}) {
    for (const std::string_view cap_kind : {"hard", "clamp", "before_jitter"}) {
      for (const std::string_view rest :
           {"base=1ns,cap=7ns,factor=3", "base=33ms,cap=100h,factor=1.1,max_attempts=2000",
            "base=1s,cap=1s,max_attempts=1", "base=7us,cap=20m,factor=1.9,elapsed=30s,deadline=20s",
            "base=100ms,cap=9s,timer_max=1s", "base=3ms,cap=7s,tick=2ms"})
        expect_no_accusation(fmt::format("{}:cap_kind={},{}", kind, cap_kind, rest), {5});
    }
  }
  for (const std::string_view cap_kind : {"hard", "clamp", "before_jitter"}) {
    for (const std::string_view rest : {"base=1ns,cap=5ns", "base=100ms,cap=20s,max_attempts=1200",
                                        "base=100ms,cap=9s,timer_max=1s", "base=5ms,cap=7s,tick=2ms"})
      expect_no_accusation(fmt::format("decorrelated:cap_kind={},{}", cap_kind, rest), {5});
  }
  for (const char* reference :
       {"fixed:base=0ns", "fixed:base=3h,cap=4h", "linear:base=999ms,cap=31s,max_attempts=3000",
        "proportional:ratio=1", "additive:max=10s", "immediate:max_attempts=5",
        "linear:timer_max=1500ms,cap=40s", "fixed:timer_max=100ms", "full-jitter:idempotent_only=true"})
    expect_no_accusation(reference, {5, 6});
}

// Every kind of budget and both units of a breaker, as they are declared.
TEST(KillMatrix, FaithfulBudgetsAndBreakersAreAccusedOfNothing) {
  std::vector<Budget> budgets(6);
  budgets[0].kind = BudgetKind::token_bucket;
  budgets[0].capacity = 10;
  budgets[0].refill_per_s = 1;
  budgets[1].kind = BudgetKind::ratio;
  budgets[1].ratio = 0.2;
  budgets[1].window = Duration::s(10);
  budgets[2].kind = BudgetKind::grpc_throttle;
  budgets[2].capacity = 10;
  budgets[2].ratio = 0.1;
  budgets[3].kind = BudgetKind::aws_quota;
  budgets[3].capacity = 500;
  budgets[3].cost = 5;
  budgets[3].timeout_cost = 10;
  budgets[4].kind = BudgetKind::aws_adaptive;
  budgets[4].beta = 0.7;
  budgets[4].cubic_scale = 0.4;
  budgets[4].rate_per_s_min = 0.5;
  budgets[4].window = Duration::ms(500);
  budgets[4].smoothing = 0.8;
  budgets[5].kind = BudgetKind::sre_throttle;
  budgets[5].k = 2;
  budgets[5].window = Duration::s(120);
  Parts parts;
  parts.backoff = {GrowthKind::constant, Duration::ms(100)};
  const auto innocent = [](const Parts& p, std::string_view what) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      Options options;
      options.seed = Seed{seed};
      options.only = {"budget-conserved", "breaker-states", "amplification-bounded", "survives"};
      for (const VerdictRow& row : check(subject_of("faithful", compose(p)), options))
        EXPECT_LE(row.verdict, Verdict::not_promised)
            << what << ", " << row.invariant->id << ": " << row.counterexample.shrunk;
    }
  };
  for (const Budget& budget : budgets) {
    parts.guards.budget = budget;
    innocent(parts, to_string(budget.kind));
  }
  parts.guards.budget.reset();
  parts.limits.max_attempts = 4;
  for (const BreakerUnit unit : {BreakerUnit::attempt, BreakerUnit::call}) {
    for (const std::int64_t trials : {1, 3}) {
      parts.guards.breaker = Breaker{unit, 5, 0, 0, Duration::s(30), trials, 2};
      innocent(parts, "breaker in a row");
      parts.guards.breaker = Breaker{unit, 0, 0.5, 10, Duration::s(30), trials, 1};
      innocent(parts, "breaker by share");
    }
  }
}

// Without a limit of attempts only the budget bounds a storm: 10 retries per second are always allowed, and
// one every 200 ms goes on for ever.
TEST(KillMatrix, ABudgetNeedsNoLimitOfAttempts) {
  Parts parts;
  parts.backoff = {GrowthKind::constant, Duration::ms(200)};
  parts.guards.budget = Budget{};
  parts.guards.budget->kind = BudgetKind::ratio;
  parts.guards.budget->ratio = 0.2;
  parts.guards.budget->reserve_per_s = 10;
  parts.guards.budget->window = Duration::s(10);
  for (const VerdictRow& row : check(subject_of("reserve", compose(parts))))
    EXPECT_LE(row.verdict, Verdict::not_promised) << row.invariant->id << row.counterexample.shrunk;
}

// At every edge of its settings a policy keeps its law; where it is listed as leaving it, that is no news.
TEST(KillMatrix, EdgesOfTheSettingsAreAllTried) {
  const auto found = find_policy("fixed", {"test", 0, 0});
  Subject subject = subject_of(*found);
  ASSERT_GT(subject.variants.size(), 3U);
  const Contract promise = constant(Duration::ms(1));
  subject.variants.push_back(
      {"edge", faulty(promise, [](std::int64_t n, Rng&) { return Duration::ms(n == 1 ? 2 : 1); })});
  const Invariant& invariant = *invariants().find("degenerate-settings");
  EXPECT_EQ(check_one(invariant, subject).verdict, Verdict::fails);
  subject.deviations = {{"cap-respected", "the first delay is not capped", "test", false}};
  EXPECT_EQ(check_one(invariant, subject).verdict, Verdict::holds);
}

TEST(Check, ADeviationThatCannotShowIsNotMissed) {
  Subject subject = subject_of(*find_policy("fixed", {"test", 0, 0}));
  const Invariant& current = *invariants().find("deviation-current");
  subject.deviations = {{"attempts-exact", "one more after 2^31", "test", false}};
  EXPECT_EQ(check_one(current, subject).verdict, Verdict::not_promised);
  subject.deviations.front().shows = true;
  EXPECT_EQ(check_one(current, subject).verdict, Verdict::fails);
}

// A library whose timers count milliseconds keeps the law that it declares with its tick.
TEST(KillMatrix, ATickIsNoFault) {
  const std::vector<DelayFunction> roundings{
      [](std::int64_t n, Rng& rng) {  // truncated
        const Duration drawn = rng.between(
            {}, std::min(Duration::s(60), Duration::us(1600).scaled(std::exp2(static_cast<double>(n - 1)))));
        return Duration::ms(drawn.ns() / 1'000'000);
      },
      [](std::int64_t n, Rng& rng) {  // to the nearest
        const Duration drawn = rng.between(
            {}, std::min(Duration::s(60), Duration::us(1600).scaled(std::exp2(static_cast<double>(n - 1)))));
        return Duration::ms((drawn.ns() + 500'000) / 1'000'000);
      }};
  Contract promise = exponential(Duration::us(1600), 2, Duration::s(60), JitterKind::full);
  promise.tick = Duration::ms(1);
  for (const DelayFunction rounding : roundings) {
    const AnyPolicy policy = faulty(promise, rounding);
    for (const VerdictRow& row : check({"ticks", policy, promise})) {
      // Few milliseconds in the interval of an early retry: fleet-spreads may be unsure.
      EXPECT_LE(row.verdict, Verdict::unsure) << row.invariant->id << row.counterexample.shrunk;
    }
  }
}

// Nothing statistical accuses a faithful preset: with 1e-9 a check, none of 30 seeds should.
TEST(KillMatrix, NoSeedAccuses) {
  for (const char* id : {"full-jitter", "equal-jitter", "decorrelated", "proportional", "additive"}) {
    const auto found = find_policy(id, {"test", 0, 0});
    ASSERT_TRUE(found);
    for (std::uint64_t seed = 1; seed <= (sanitized ? 5U : 30U); ++seed) {
      Options options;
      options.seed = Seed{seed};
      options.only = {"jitter-law", "fleet-spreads"};
      EXPECT_EQ(worst(check({found->name, found->policy, found->policy.contract()}, options)), Verdict::holds)
          << id << ", seed " << seed;
    }
  }
}

TEST(Check, OnlyWhatIsPromisedIsChecked) {
  const auto found = find_policy("fixed", {"test", 0, 0});
  for (const VerdictRow& row : check({"nothing promised", found->policy, Contract{}})) {
    // What no contract has to say: a policy answers, and keeps its calls, clients and starts apart.
    const std::set<std::string_view> unsaid{"survives",           "delay-non-negative",  "calls-isolated",
                                            "instances-isolated", "reset-after-success", "clock-independent"};
    const bool always = unsaid.contains(row.invariant->id);
    EXPECT_EQ(row.verdict, always ? Verdict::holds : Verdict::not_promised) << row.invariant->id;
  }
}

TEST(Check, TheSameSeedGivesTheSameCounterexample) {
  const Mutant* mutant = mutants().find("shift-wraps");
  const VerdictRow a = killer(*mutant, Seed{9});
  const VerdictRow b = killer(*mutant, Seed{9});
  EXPECT_EQ(a.counterexample.unshrunk, b.counterexample.unshrunk);
  EXPECT_EQ(a.counterexample.shrunk, b.counterexample.shrunk);
  EXPECT_EQ(a.counterexample.token, b.counterexample.token);
}

// 5000 ms * 2^(n-1) first reaches bit 31 at n = 20: 5000 * 2^19 = 2621440000 > 2^31.
TEST(Check, ShrinksToTheFirstAttemptThatFails) {
  const VerdictRow row = killer(*mutants().find("shift-wraps"), Seed{1});
  EXPECT_TRUE(row.counterexample.shrunk.starts_with("after attempt 20 the delay is "))
      << row.counterexample.shrunk;
  EXPECT_FALSE(row.counterexample.shrunk.ends_with(']')) << "nothing else matters";
  // 5000 has the bits 3, 7, 8, 9 and 12: shifted by 28, 24, 23, 22 or 19, and by 32 more, one of them is
  // bit 31. 200 cases go through the 85 attempt numbers twice, and then to 30: 10 + 10 + 5.
  EXPECT_EQ(row.counterexample.elsewhere,
            "25 of 200 cases fail, after attempts 20, 23..25, 29, 52, 55..57, 61");
}

TEST(Check, ATokenIsTheCaseAlone) {
  for (const char* id :
       {"shift-wraps", "wait-beyond-the-deadline", "not-replenished", "404-retried", "herd"}) {
    const Mutant* mutant = mutants().find(id);
    ASSERT_NE(mutant, nullptr) << id;
    const VerdictRow row = killer(*mutant, Seed{9});
    const auto token = read_token(row.counterexample.token, row.subject, {});
    ASSERT_TRUE(token) << id << ": " << to_string(token.error());
    const VerdictRow again = replay(*token, subject_of(*mutant));
    EXPECT_EQ(again.verdict, Verdict::fails) << id;
    EXPECT_EQ(again.counterexample.shrunk, row.counterexample.shrunk) << id;
    EXPECT_EQ(again.counterexample.repeat, row.counterexample.repeat) << id;
  }
}

TEST(Check, SaysWhatItDoesNotTry) {
  const auto coverage = [](const char* reference, Options options = {}) {
    return coverage_of(subject_of(*find_policy(reference, {"test", 0, 0})), options);
  };
  EXPECT_EQ(coverage("full-jitter").tried, "attempts 1..12; 200 cases for each invariant");
  EXPECT_EQ(coverage("full-jitter").not_tried.front(), "attempts beyond its 12");
  EXPECT_EQ(coverage("fixed:max_attempts=100").tried,
            "attempts 1..70, 96, 100; 200 cases for each invariant");
  const Coverage few = coverage("exponential:max_attempts=90", {.cases = 50});
  EXPECT_EQ(few.tried, "attempts 1..50; 50 cases for each invariant");
  EXPECT_EQ(few.not_tried.at(1), "attempts 51..70, 90 (it takes more cases to come so far)");
}

TEST(Check, AListedDeviationDeviates) {
  const Mutant* mutant = mutants().find("cap-unused");
  Subject subject = subject_of(*mutant);
  subject.deviations = {{"cap-respected", "the maximum is never used", mutant->report}};
  Options options;
  options.only = {"cap-respected"};
  const auto rows = check(subject, options);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().verdict, Verdict::deviates);
  EXPECT_EQ(worst(rows), Verdict::deviates);
}

// By hand: 100 ms * 2^5 = 3.2 s, below 5 s; 100 ms * 2^6 = 6.4 s, above.
TEST(Bounds, ClosedForms) {
  const Contract full = exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::full);
  EXPECT_EQ(support_of(full, 6, {})->hi, 3.2e9L);
  EXPECT_EQ(support_of(full, 7, {})->hi, 5e9L);
  EXPECT_EQ(support_of(full, std::int64_t{1} << 31, {})->hi, 5e9L);
  Contract wide = exponential(Duration::s(10), 2, Duration::s(60), JitterKind::proportional, 0.5);
  EXPECT_EQ(support_of(wide, 9, {})->lo, 0);  // [30, 90] s moved down by 30 s
  EXPECT_EQ(support_of(wide, 9, {})->hi, 60e9L);
  wide.cap_kind = CapKind::before_jitter;
  EXPECT_EQ(support_of(wide, 9, {})->lo, 30e9L);
  EXPECT_EQ(cap_of(wide)->hi, 90e9L);
}

// f(1), f(2), f(3) of 2^t tanh(sqrt(4 t)) by Python's math module: 1.928055160, 3.972149382, 7.984339189.
TEST(Bounds, DecorrelatedV2) {
  Contract c;
  c.base = Duration::s(1);
  c.jitter = Jitter{JitterKind::decorrelated_v2, 0, {}};
  const auto within = [](long double a, long double b) { return std::abs(a - b) < 10; };  // ns
  EXPECT_EQ(support_of(c, 1, {})->lo, 0);
  EXPECT_TRUE(within(support_of(c, 1, {})->hi, 1'377'182'257.25L));
  EXPECT_TRUE(within(support_of(c, 2, {})->hi, 2'837'249'558.30L));
  EXPECT_TRUE(within(support_of(c, 3, {})->hi, 4'325'917'163.31L));  // f(3) - f(1)
  // The delay before was the first one: what both add up to lies in [f(1), f(2)].
  EXPECT_TRUE(within(support_of(c, 2, Duration::s(1))->lo, 377'182'257.25L));
  EXPECT_TRUE(within(support_of(c, 2, Duration::s(1))->hi, 1'837'249'558.30L));
  EXPECT_EQ(support_of(c, std::int64_t{1} << 31, {})->lo, 0);
  // Half of the first delays lie below f(1/2) / 1.4: sqrt(2) * tanh(sqrt(2)) / 1.4 = 0.897327 s.
  const auto law = law_of(c, 1, {});
  ASSERT_TRUE(law);
  EXPECT_NEAR(static_cast<double>(law->below(std::sqrt(2.0L) * std::tanh(std::sqrt(2.0L)) / 1.4L * 1e9L)),
              0.5, 1e-8);
  EXPECT_FALSE(law_of(c, 2, {}));
}

TEST(KillMatrix, DecorrelatedV2) {
  Parts parts;
  parts.jitter = {JitterKind::decorrelated_v2, 0, {}};
  for (const Duration base : {Duration::ns(100), Duration::s(1), Duration::s(3600)}) {
    for (const Duration cap : {Duration::max(), base * 20}) {
      parts.backoff.base = base;
      parts.cap = {cap, CapKind::hard};
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Options options;
        options.seed = Seed{seed};
        for (const VerdictRow& row : check(subject_of("v2", compose(parts)), options))
          EXPECT_LE(row.verdict, Verdict::unsure) << row.invariant->id << ": " << row.counterexample.shrunk;
      }
    }
  }
  // The right ends and the wrong law between them; and a sum where the difference is meant.
  parts.backoff.base = Duration::s(1);
  parts.cap = {};
  const Contract promise = compose(parts).contract();
  const auto verdict = [&](const char* id, DelayFunction delay) {
    return check_one(*invariants().find(id), subject_of("v2", faulty(promise, delay))).verdict;
  };
  EXPECT_EQ(
      verdict("jitter-law", [](std::int64_t, Rng& rng) { return rng.between({}, Duration::us(1'377'182)); }),
      Verdict::fails);
  EXPECT_EQ(verdict("delay-in-bounds",
                    [](std::int64_t n, Rng& rng) {
                      const double t = static_cast<double>(std::min<std::int64_t>(n, 60)) - 1 + rng.unit();
                      return Duration::s(1).scaled(std::exp2(t) * std::tanh(std::sqrt(4 * t)) / 1.4);
                    }),
            Verdict::fails);
}

}  // namespace
}  // namespace retrygate
