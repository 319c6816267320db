// When a call may end early, and when that is a pretext. Expected values by hand.
#include "properties/excuses.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "policies/composed.hpp"
#include "policies/loop.hpp"
#include "properties/check.hpp"
#include "properties/header.hpp"
#include "properties/mutants/mutant.hpp"
#include "properties/spread.hpp"

namespace retrygate {
namespace {

using testing::HasSubstr;

VerdictRow judged(std::string_view invariant, const Subject& subject, const Options& options = {}) {
  return check_one(*invariants().find(invariant), subject, options);
}

// Ends its calls at once, and gives a reason.
struct Ends {
  Contract promise;
  Stop why;
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    return Decision::stop(a.outcome.status.succeeded() ? Stop::success : why);
  }
  Contract contract() const { return promise; }
  bool operator==(const Ends&) const = default;
  friend std::string to_string(const Ends&) { return "ends"; }
};

Contract five_times_a_second() {
  Contract c = constant(Duration::s(1));
  c.max_attempts = 5;
  c.retry_on = RetryOn{{Status::http(503)}, {}};
  return c;
}

// A limit that no wait can pass is no reason to stop, nor is a budget that is full or a breaker that has seen
// too little.
TEST(Excuses, APretextIsFound) {
  Contract timed = five_times_a_second();
  timed.elapsed = Duration::s(60);
  Contract budgeted = five_times_a_second();
  budgeted.budget = Budget{};
  budgeted.budget->kind = BudgetKind::token_bucket;
  budgeted.budget->capacity = 10;
  Contract broken = five_times_a_second();
  broken.breaker = Breaker{};
  broken.breaker->failures = 2;
  broken.breaker->open_for = Duration::s(1);
  for (const auto& [promise, why] : {std::pair{timed, Stop::deadline}, std::pair{budgeted, Stop::budget},
                                     std::pair{broken, Stop::breaker}}) {
    for (const char* id : {"attempts-exact", "all-retryable"}) {
      const VerdictRow row = judged(id, subject_of("ends", Ends{promise, why}));
      EXPECT_EQ(row.verdict, Verdict::fails) << id << ", " << to_string(why);
    }
  }
}

TEST(Excuses, WhatCanBeTheReasonIsOne) {
  Contract timed = five_times_a_second();
  timed.elapsed = Duration::ms(1500);  // after the second attempt at 1 s the third would start at 2 s
  const auto verdict = [](const Parts& parts) {
    const Subject subject = subject_of("faithful", compose(parts));
    EXPECT_EQ(judged("all-retryable", subject).verdict, Verdict::holds);
    return judged("attempts-exact", subject);
  };
  Parts parts;
  parts.backoff = {GrowthKind::constant, Duration::s(1)};
  parts.limits.max_attempts = 5;
  parts.limits.retry_on = timed.retry_on;
  parts.limits.elapsed = *timed.elapsed;
  const VerdictRow late = verdict(parts);
  EXPECT_EQ(late.verdict, Verdict::unsure);
  EXPECT_THAT(late.note, HasSubstr("none beyond 2 was made (stop: deadline)"));
  parts.limits.elapsed = Duration::s(4);
  EXPECT_EQ(verdict(parts).verdict, Verdict::holds);
}

TEST(Excuses, BudgetsAndBreakersThatMayHaveRefused) {
  Contract c;
  c.budget = Budget{};
  const auto spent = [&](std::int64_t failures, std::int64_t retries) {
    Circumstances now;
    now.failures = failures;
    now.retries = retries;
    return excused(c, Stop::budget, now);
  };
  c.budget->kind = BudgetKind::token_bucket;
  c.budget->capacity = 10;
  c.budget->cost = 3;
  EXPECT_FALSE(spent(9, 2));  // the third retry is still paid for
  EXPECT_TRUE(spent(9, 3));
  c.budget->kind = BudgetKind::aws_quota;
  c.budget->timeout_cost = 5;
  EXPECT_TRUE(spent(9, 2));
  EXPECT_FALSE(spent(9, 1));
  c.budget->kind = BudgetKind::grpc_throttle;
  EXPECT_FALSE(spent(4, 0));  // retries while more than 5 of 10 are left
  EXPECT_TRUE(spent(5, 0));
  c.budget->kind = BudgetKind::ratio;
  c.budget->ratio = 2;
  EXPECT_FALSE(spent(2, 1));
  EXPECT_TRUE(spent(3, 2));
  c.breaker = Breaker{};
  c.breaker->failures = 3;
  Circumstances now;
  now.failures = 2;
  EXPECT_FALSE(excused(c, Stop::breaker, now));
  now.failures = 3;
  EXPECT_TRUE(excused(c, Stop::breaker, now));
  c.breaker->unit = BreakerUnit::call;
  EXPECT_FALSE(excused(c, Stop::breaker, now));
  now.failed_calls = 3;
  EXPECT_TRUE(excused(c, Stop::breaker, now));
  EXPECT_FALSE(excused(c, Stop::attempts, now));
}

// A policy that ends every call whose server sends the header, valid or not.
Decision gives_up_on_headers(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  return a.outcome.retry_after_text.empty() ? Decision::wait(*c.base) : Decision::stop(Stop::not_retryable);
}
Decision gives_up_on_garbage(const Contract& c, Notes& client, Notes& call, const Attempt& a, Rng& rng) {
  const auto asked = a.outcome.retry_after;
  if (asked && asked <= c.retry_after_max.value_or(Duration::max()))
    return Decision::wait(std::max(*c.base, *asked));
  return gives_up_on_headers(c, client, call, a, rng);
}

TEST(Hints, AHeaderIsNoReasonToGiveUp) {
  Contract c = constant(Duration::s(1));
  c.retry_after = RetryAfterRule::floor;
  const auto verdict = [&](std::string_view id, Misjudges::Decide decide) {
    return judged(id, subject_of("gives up", Misjudges{c, decide})).verdict;
  };
  for (const bool limited : {false, true}) {
    if (limited) c.retry_after_max = Duration::s(60);  // above it, stopping is fine
    EXPECT_EQ(verdict("retry-after-bounded", &gives_up_on_headers), Verdict::fails);
    EXPECT_EQ(verdict("retry-after-parsed", &gives_up_on_headers), Verdict::fails);
    EXPECT_EQ(verdict("retry-after-bounded", &gives_up_on_garbage), Verdict::holds);
    EXPECT_EQ(verdict("retry-after-parsed", &gives_up_on_garbage), Verdict::fails);
  }
}

// The oracle and our own parser read the same texts, each by itself.
TEST(Hints, EveryFormOfADate) {
  const Instant now{Duration::s(5)};
  for (const DateForm form : {DateForm::fixed, DateForm::rfc850, DateForm::asctime})
    EXPECT_EQ(wait_asked(http_date(Instant{Duration::s(20)}, form), now), Duration::s(15));
  // RFC 9110, section 5.6.7: one instant in three forms, here in the past.
  for (const char* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
    EXPECT_EQ(wait_asked(text, now), Duration{}) << text;
  EXPECT_EQ(wait_asked("Thursday, 01-Jan-76 00:00:05 GMT", now),
            Duration::s(50 * 365 * 86'400LL + 12 * 86'400LL));
  EXPECT_EQ(wait_asked("Friday, 01-Jan-77 00:00:05 GMT", now), Duration{});  // 1977: more than 50 years ahead
  EXPECT_EQ(wait_asked(" 10\t", now), Duration::s(10));
  for (const char* none :
       {"", " ", "1 0", "+1", "Thursday, 1-Jan-26 00:00:10 GMT", "Thu Jan 1 00:00:10 2026",
        "Thu, 32 Jan 2026 00:00:10 GMT", "Thu, 01 Jan 2026 24:00:10 GMT", "Foo, 01 Jan 2026 00:00:10 GMT"})
    EXPECT_EQ(wait_asked(none, now), std::nullopt) << none;
}

// A gate that puts its second send off by a minute.
struct Dawdles {
  Contract promise;
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    return a.outcome.status.succeeded() ? Decision::stop(Stop::success) : Decision::wait(Duration::ms(1));
  }
  Decision before(Client&, Call&, const Sending& s, Rng&) const {
    const bool waits = s.attempt == 2 && s.now - s.call_started < Duration::s(60);
    return Decision::wait(waits ? Duration::s(60) : Duration{});
  }
  Contract contract() const { return promise; }
  bool operator==(const Dawdles&) const = default;
  friend std::string to_string(const Dawdles&) { return "dawdles"; }
};

TEST(Limits, AGateMayNotPassTheDeadline) {
  Contract c;
  c.deadline = Duration::s(10);
  EXPECT_EQ(judged("deadline-respected", subject_of("dawdles", Dawdles{c})).verdict, Verdict::fails);
  Parts parts;
  parts.backoff = {GrowthKind::constant, Duration::ms(100)};
  parts.limits.deadline = Duration::s(1);
  parts.guards.budget = Budget{};
  parts.guards.budget->kind = BudgetKind::aws_adaptive;
  parts.guards.budget->beta = 0.7;
  parts.guards.budget->cubic_scale = 0.4;
  parts.guards.budget->rate_per_s_min = 0.5;
  parts.guards.budget->window = Duration::ms(500);
  parts.guards.budget->smoothing = 0.8;
  const VerdictRow row = judged("deadline-respected", subject_of("adaptive", compose(parts)));
  EXPECT_EQ(row.verdict, Verdict::holds) << row.counterexample.shrunk;
}

TEST(Limits, TheLimitItselfIsTriedFirst) {
  Contract c = constant(Duration::ms(1));
  c.max_attempts = 12;
  const AnyPolicy one_short =
      Misjudges{c, [](const Contract& p, Notes&, Notes&, const Attempt& a, Rng&) {
                  return a.number < 11 ? Decision::wait(*p.base) : Decision::stop(Stop::attempts);
                }};
  Options few;
  few.cases = 1;
  EXPECT_EQ(judged("attempts-exact", subject_of("short", one_short), few).verdict, Verdict::fails);
  c.max_attempts = 5000;
  Subject far = subject_of("far", Misjudges{c, [](const Contract& p, Notes&, Notes&, const Attempt&, Rng&) {
                                              return Decision::wait(*p.base);
                                            }});
  far.jumps = false;
  const VerdictRow row = judged("attempts-exact", far);
  EXPECT_EQ(row.verdict, Verdict::unsure);
  EXPECT_THAT(row.note, HasSubstr("the last of 5000 attempts was not reached: none beyond 1100 was made"));
  few.cases = 0;
  EXPECT_EQ(judged("delay-non-negative", far, few).verdict, Verdict::unsure);
}

// Nothing gives a loop with a generator of its own another process.
TEST(Fleet, AGeneratorOfItsOwnIsNoProof) {
  Subject subject = subject_of("own", find_policy("full-jitter", {"test", 1, 1})->policy);
  subject.keyed = false;
  EXPECT_EQ(judged("processes-independent", subject).verdict, Verdict::unsure);
}

// P(one of 100 equally likely values comes 60 times in 2000) is 100 times
// that of one of them.
TEST(Spread, AnyValueMayBeTheOne) {
  EXPECT_DOUBLE_EQ(collects(60, 2000, 0.01), 100 * binomial_at_least(60, 2000, 0.01));
  EXPECT_EQ(collects(1, 2000, 0.01), 1);
}

// With exact fractions: of 436 delays 26 have to be the same, and a tenth of them is fewer once in a thousand
// times and more; of 437 it is not.
TEST(Spread, FewDelaysFindNoAtom) {
  EXPECT_FALSE(finds_an_atom(436, 0.01, 2e-10));
  EXPECT_TRUE(finds_an_atom(437, 0.01, 2e-10));
  EXPECT_FALSE(finds_an_atom(0, 0.01, 2e-10));
}

TEST(Deviations, ABrokenCheckerIsPassedOn) {
  Subject subject = subject_of("breaks", find_policy("full-jitter", {"test", 1, 1})->policy);
  subject.fresh = [](std::uint64_t) -> AnyPolicy { throw std::runtime_error("no more processes"); };
  EXPECT_EQ(judged("processes-independent", subject).verdict, Verdict::broken);
  subject.deviations = {{"processes-independent", "test", "test", true}};
  EXPECT_EQ(judged("deviation-current", subject).verdict, Verdict::broken);
}

}  // namespace
}  // namespace retrygate
