#include "policies/composed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policies/named.hpp"

namespace retrygate {
namespace {

using testing::HasSubstr;

Attempt failed(std::int64_t number, Duration at = {}) {
  Attempt attempt;
  attempt.number = number;
  attempt.outcome.status = Status::http(503);
  attempt.finished = {at};
  return attempt;
}

Parts parts(JitterKind jitter, CapKind cap, Duration limit = Duration::s(5)) {
  Parts p;
  p.backoff = {GrowthKind::exponential, Duration::ms(100), 2};
  p.jitter = {jitter, jitter == JitterKind::proportional ? 0.25 : 0,
              jitter == JitterKind::additive ? Duration::ms(200) : Duration{}};
  p.cap = {limit, cap};
  return p;
}

Decision ask(const AnyPolicy& policy, const Attempt& attempt, std::uint64_t seed = 1) {
  alignas(std::max_align_t) std::byte client[client_slot_bytes];
  alignas(std::max_align_t) std::byte call[call_slot_bytes];
  policy.start_client(client);
  policy.start_call(call);
  Rng rng{Seed{seed}};
  return policy.after(client, call, attempt, rng);
}

// Ceilings 100ms * 2^(n-1): 100 at n = 1, 3200 at 6, 6400 at 7, 51200 at 10. The supports are the closed
// forms of contract.hpp with ratio 1/4 and 200ms to add; all in ms.
struct Support {
  JitterKind jitter;
  CapKind cap;
  std::int64_t n, lo, hi;
};

TEST(Composed, SupportOfEveryJitterUnderEveryCap) {
  using J = JitterKind;
  using C = CapKind;
  const Support all[] = {
      {J::none, C::hard, 1, 100, 100},
      {J::none, C::hard, 10, 5000, 5000},
      {J::none, C::clamp, 10, 5000, 5000},
      {J::none, C::before_jitter, 10, 5000, 5000},
      {J::full, C::hard, 6, 0, 3200},
      {J::full, C::hard, 10, 0, 5000},
      {J::full, C::clamp, 7, 0, 5000},
      {J::full, C::before_jitter, 10, 0, 5000},
      {J::equal, C::hard, 6, 1600, 3200},
      {J::equal, C::hard, 10, 2500, 5000},
      {J::equal, C::clamp, 7, 3200, 5000},
      {J::equal, C::clamp, 10, 5000, 5000},  // half of 51.2s is above the cap already
      {J::equal, C::before_jitter, 10, 2500, 5000},
      {J::proportional, C::hard, 1, 75, 125},
      {J::proportional, C::hard, 6, 2400, 4000},
      {J::proportional, C::hard, 10, 2500, 5000},  // 3750..6250, moved down by the 1250 that stick out
      {J::proportional, C::clamp, 7, 4800, 5000},
      {J::proportional, C::before_jitter, 10, 3750, 6250},
      {J::additive, C::hard, 1, 100, 300},
      {J::additive, C::hard, 10, 4800, 5000},
      {J::additive, C::clamp, 10, 5000, 5000},
      {J::additive, C::before_jitter, 10, 5000, 5200},
  };
  for (const Support& s : all) {
    SCOPED_TRACE(std::string(to_string(s.jitter)) + " " + std::string(to_string(s.cap)) +
                 " n=" + std::to_string(s.n));
    const AnyPolicy policy = compose(parts(s.jitter, s.cap));
    const Duration lo = Duration::ms(s.lo);
    const Duration hi = Duration::ms(s.hi);
    Duration least = Duration::max();
    Duration most = Duration::min();
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      const Decision decision = ask(policy, failed(s.n), seed);
      ASSERT_FALSE(decision.stops());
      ASSERT_GE(decision.delay(), lo);
      ASSERT_LE(decision.delay(), hi);
      least = std::min(least, decision.delay());
      most = std::max(most, decision.delay());
    }
    // 500 draws come within 5 % of both ends but for 0.95^500 = 7e-12.
    EXPECT_LE(least, lo + (hi - lo).scaled(0.05));
    EXPECT_GE(most, hi - (hi - lo).scaled(0.05));
  }
}

// Under clamp, P(delay = cap) = 1 - 5 / 6.4 at n = 7: an atom. Under hard there is none.
TEST(Composed, ClampHasAnAtomAtTheCap) {
  int clamped = 0;
  int hard = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    clamped +=
        ask(compose(parts(JitterKind::full, CapKind::clamp)), failed(7), seed).delay() == Duration::s(5) ? 1
                                                                                                         : 0;
    hard += ask(compose(parts(JitterKind::full, CapKind::hard)), failed(7), seed).delay() == Duration::s(5)
                ? 1
                : 0;
  }
  EXPECT_NEAR(clamped, 2187.5, 6 * 41.4);  // sigma of Binomial(10000, 0.21875)
  EXPECT_EQ(hard, 0);
}

TEST(Composed, SaturatesAtAbsurdAttempts) {
  for (const std::int64_t n : {std::int64_t{64}, std::int64_t{1} << 31, std::int64_t{1} << 62,
                               std::numeric_limits<std::int64_t>::max() - 1}) {
    SCOPED_TRACE(n);
    for (const auto jitter : {JitterKind::none, JitterKind::full, JitterKind::equal, JitterKind::proportional,
                              JitterKind::additive, JitterKind::decorrelated}) {
      for (const auto cap : {CapKind::hard, CapKind::clamp, CapKind::before_jitter}) {
        const Decision capped = ask(compose(parts(jitter, cap)), failed(n));
        ASSERT_FALSE(capped.stops());
        EXPECT_GE(capped.delay(), Duration{});
        EXPECT_LE(capped.delay(), cap == CapKind::before_jitter ? Duration::ms(6250) : Duration::s(5));
        const Decision free = ask(compose(parts(jitter, cap, Duration::max())), failed(n));
        EXPECT_GE(free.delay(), Duration{});
      }
    }
    EXPECT_EQ(ceiling({GrowthKind::exponential, Duration::ns(1), 2}, n), Duration::max());
    EXPECT_EQ(ceiling({GrowthKind::exponential, Duration::s(1), 1}, n), Duration::s(1));
    EXPECT_EQ(ceiling({GrowthKind::exponential, Duration{}, 2}, n), Duration{});
    EXPECT_EQ(ceiling({GrowthKind::exponential, Duration::s(1), 0.5}, n), Duration{});
    EXPECT_EQ(ceiling({GrowthKind::constant, Duration::s(1), 2}, n), Duration::s(1));
    EXPECT_EQ(ceiling({GrowthKind::none, Duration::s(1), 2}, n), Duration{});
  }
  EXPECT_EQ(ceiling({GrowthKind::linear, Duration::s(1), 2}, 3), Duration::s(3));
  EXPECT_EQ(ceiling({GrowthKind::linear, Duration::s(1), 2}, std::int64_t{1} << 62), Duration::max());
  EXPECT_EQ(ceiling({GrowthKind::exponential, Duration::ms(100), 1.5}, 3), Duration::ms(225));
}

TEST(Composed, CountsTheFirstTryAsAnAttempt) {
  Parts p = parts(JitterKind::none, CapKind::hard);
  p.limits.max_attempts = 3;
  EXPECT_EQ(to_string(ask(compose(p), failed(2))), "wait 200ms");
  EXPECT_EQ(to_string(ask(compose(p), failed(3))), "stop: attempts");
  p.limits.max_attempts = 1;
  EXPECT_EQ(to_string(ask(compose(p), failed(1))), "stop: attempts");
  Attempt fine = failed(1);
  fine.outcome.status = Status::grpc(0);
  EXPECT_EQ(to_string(ask(compose(p), fine)), "stop: success");
}

TEST(Composed, EdgesOfElapsedAndDeadline) {
  // The first wait is 100ms: an attempt that ends at 900ms would be followed at exactly 1s.
  Parts p = parts(JitterKind::none, CapKind::hard);
  p.limits.elapsed = Duration::s(1);
  EXPECT_EQ(to_string(ask(compose(p), failed(1, Duration::ms(900)))), "wait 100ms");
  EXPECT_EQ(to_string(ask(compose(p), failed(1, Duration::ms(900) + Duration::ns(1)))), "stop: deadline");
  p = parts(JitterKind::none, CapKind::hard);
  p.limits.deadline = Duration::s(1);
  EXPECT_EQ(to_string(ask(compose(p), failed(1, Duration::ms(900) - Duration::ns(1)))), "wait 100ms");
  EXPECT_EQ(to_string(ask(compose(p), failed(1, Duration::ms(900)))), "stop: deadline");
  // The caller's deadline is a point of time, the policy's counts from the call's start.
  Attempt late = failed(1, Duration::ms(900));
  late.call_started = {Duration::ms(1)};
  EXPECT_EQ(to_string(ask(compose(p), late)), "wait 100ms");
  late.deadline = {Duration::s(1)};
  EXPECT_EQ(to_string(ask(compose(p), late)), "stop: deadline");
  late.deadline = {Duration::s(1) + Duration::ns(1)};
  EXPECT_EQ(to_string(ask(compose(p), late)), "wait 100ms");
}

TEST(Composed, RetriesOnlyWhatItShould) {
  Parts p = parts(JitterKind::none, CapKind::hard);
  p.limits.retry_on = RetryOn{{Status::http(429), Status::grpc(14)}, {5}};
  const auto outcome = [&](Status status) {
    Attempt attempt = failed(1);
    attempt.outcome.status = status;
    return ask(compose(p), attempt).stops();
  };
  EXPECT_FALSE(outcome(Status::http(429)));
  EXPECT_FALSE(outcome(Status::http(599)));
  EXPECT_FALSE(outcome(Status::grpc(14)));
  EXPECT_TRUE(outcome(Status::http(404)));
  EXPECT_TRUE(outcome(Status::grpc(5)));
  EXPECT_TRUE(outcome(Status::transport(TransportError::dns)));
  p.limits = {};
  p.limits.idempotent_only = true;
  Attempt post = failed(1);
  post.idempotent = false;
  EXPECT_EQ(ask(compose(p), post).why(), Stop::not_retryable);
}

TEST(Decorrelated, DrawsUpToThreeTimesTheDelayBefore) {
  const Decorrelated policy{parts(JitterKind::decorrelated, CapKind::clamp)};
  bool grew = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Stateless client;
    Decorrelated::Call call{};
    Duration previous = Duration::ms(100);
    for (std::int64_t n = 1; n <= 20; ++n) {
      Rng rng = StreamKey(Seed{seed}, Stream::policy).at(0, 0, static_cast<std::uint64_t>(n));
      const Duration d = policy.after(client, call, failed(n), rng).delay();
      ASSERT_GE(d, Duration::ms(100));
      ASSERT_LE(d, std::min(Duration::s(5), previous * 3));
      ASSERT_EQ(call.previous, d);
      grew |= d > Duration::ms(300);
      previous = d;
    }
  }
  EXPECT_TRUE(grew);
}

TEST(Decorrelated, BeforeJitterMayExceedTheCap) {
  const Decorrelated policy{parts(JitterKind::decorrelated, CapKind::before_jitter)};
  Duration most;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Stateless client;
    Decorrelated::Call call{Duration::s(60)};  // far above the cap: counts as 5s
    Rng rng{Seed{seed}};
    const Duration d = policy.after(client, call, failed(9), rng).delay();
    ASSERT_LE(d, Duration::s(15));
    most = std::max(most, d);
  }
  EXPECT_GE(most, Duration::ms(14'250));
}

std::string refusal(std::string_view reference) {
  const auto found = find_policy(reference, {"--policy", 0, 1});
  return found ? "accepted: " + to_string(found->policy) : to_string(found.error());
}

TEST(NamedPolicy, ReadsBuiltInsAndOverrides) {
  EXPECT_EQ(refusal("fixed"), "accepted: constant 500ms, cap 5s, 12 attempts");
  EXPECT_EQ(refusal("full-jitter:base=1s,cap=10s,factor=3,max_attempts=4"),
            "accepted: exponential 1s x3, jitter full, cap 10s, 4 attempts");
  const auto plain = find_policy("full-jitter", {});
  const auto same = find_policy("full-jitter:base=100ms", {});
  ASSERT_TRUE(plain && same);
  EXPECT_TRUE(plain->policy == same->policy);
  EXPECT_FALSE(plain->policy == find_policy("full-jitter:base=101ms", {})->policy);
  EXPECT_FALSE(plain->policy == find_policy("decorrelated", {})->policy);
}

TEST(NamedPolicy, RefusesContradictions) {
  EXPECT_THAT(refusal("full-jitter:base=200ms,cap=50ms"), HasSubstr("cap (50ms) is below base (200ms)"));
  EXPECT_THAT(refusal("fixed:base=10s"), HasSubstr("cap (5s by default) is below base (10s)"));
  EXPECT_THAT(refusal("full-jitter:max_attempts=0"), HasSubstr("must be at least 1, not 0"));
  EXPECT_THAT(refusal("full-jitter:factor=0"), HasSubstr("'factor' must be above 0"));
  EXPECT_THAT(refusal("fixed:factor=3"), HasSubstr("'factor' does not apply to constant growth"));
  EXPECT_THAT(refusal("immediate:base=1s"), HasSubstr("'base' does not apply"));
  EXPECT_THAT(refusal("decorrelated:factor=3"), HasSubstr("does not apply to decorrelated jitter"));
  EXPECT_THAT(refusal("proportional:ratio=1.5"), HasSubstr("'ratio' must lie above 0"));
  EXPECT_THAT(refusal("full-jitter:base=100"), HasSubstr("'base' needs a unit"));
  EXPECT_THAT(refusal("full-jitter:capp=1s"), HasSubstr("unknown key 'capp', did you mean 'cap'?"));
  EXPECT_THAT(refusal("full-jiter"), HasSubstr("unknown policy 'full-jiter', did you mean 'full-jitter'?"));
  EXPECT_THAT(refusal("none.toml#p"), HasSubstr("none.toml: error: cannot read this file"));
  // All of them at once.
  EXPECT_THAT(refusal("full-jitter:base=1,cap=2,x=3"),
              testing::AllOf(HasSubstr("'base'"), HasSubstr("'cap'"), HasSubstr("'x'")));
}

}  // namespace
}  // namespace retrygate
