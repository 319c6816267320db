// Compositions with Retry-After, budgets, breakers and timers, from TOML to decisions.
#include "policies/guarded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "policies/composed.hpp"
#include "policies/loop.hpp"
#include "policies/named.hpp"

namespace retrygate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AnyPolicy policy(const std::string& toml) {
  const auto file = parse_toml("[policy]\n" + toml, "p.toml");
  EXPECT_TRUE(file) << to_string(file.error());
  Errors complaints;
  Reader reader(*file, complaints);
  auto table = reader.table("policy");
  Parts defaults;
  defaults.backoff = {GrowthKind::exponential, Duration::ms(100), 2};
  Parts parts = read_parts(*table, defaults);
  table->finish();
  EXPECT_EQ(to_string(complaints), "");
  return compose(parts);
}

// One client with calls that it tells what became of their attempts.
class Client {
 public:
  explicit Client(AnyPolicy p) : policy_(std::move(p)) { policy_.start_client(client_); }

  struct Call {
    alignas(std::max_align_t) std::byte slot[call_slot_bytes];
    std::int64_t attempt = 0;
    double started = 0;
  };
  Call call(double started = 0) {
    Call c;
    c.started = started;
    policy_.start_call(c.slot);
    return c;
  }
  std::string ask(Call& c, double s) {
    Rng rng = key_.at(0, 0, static_cast<std::uint64_t>(c.attempt));
    const Sending sending{c.attempt + 1, {Duration::seconds(s)}, {Duration::seconds(c.started)}};
    return to_string(policy_.before(client_, c.slot, sending, rng));
  }
  void abandons(Call& c, double s) { policy_.abandoned(client_, c.slot, {Duration::seconds(s)}); }
  std::string told(Call& c, Outcome outcome, double s = 0, bool idempotent = true) {
    Attempt a;
    a.number = ++c.attempt;
    a.outcome = outcome;
    a.idempotent = idempotent;
    a.call_started = {Duration::seconds(c.started)};
    a.finished = {Duration::seconds(s)};
    Rng rng = key_.at(0, 1, static_cast<std::uint64_t>(c.attempt));
    return to_string(policy_.after(client_, c.slot, a, rng));
  }

 private:
  AnyPolicy policy_;
  StreamKey key_{Seed{1}, Stream::policy};
  alignas(std::max_align_t) std::byte client_[client_slot_bytes];
};

const Outcome down{Status::http(503)};
const Outcome fine{Status::http(200)};

TEST(Guarded, RetryAfterTakesPartInTheDecision) {
  Client client(policy("retry_after = \"floor\"\nretry_after_max = \"60s\"\nelapsed = \"2m\"\n"));
  auto call = client.call();
  EXPECT_EQ(client.told(call, {Status::http(503), Duration::s(3)}), "wait 3s");
  EXPECT_EQ(client.told(call, {Status::http(503), Duration::ms(1)}), "wait 200ms");
  EXPECT_EQ(client.told(call, {Status::http(503), Duration::s(61)}), "stop: deadline");
  auto late = client.call();
  EXPECT_EQ(client.told(late, {Status::http(503), Duration::s(30)}, 91), "stop: deadline");
}

TEST(Guarded, ATimerThatCannotHoldTheWait) {
  Client client(policy("base = \"30s\"\ntimer_max = \"1m\"\nretry_after = \"exact\"\n"));
  auto call = client.call();
  EXPECT_EQ(client.told(call, down), "wait 30s");
  EXPECT_EQ(client.told(call, down), "wait 1m");
  EXPECT_EQ(client.told(call, down), "wait 1m");  // 120 s do not fit
  EXPECT_EQ(client.told(call, {Status::http(503), Duration::s(61)}), "stop: deadline");
}

TEST(Guarded, ABudgetIsSharedByTheCallsOfAClient) {
  const AnyPolicy p = policy("budget = { kind = \"token-bucket\", capacity = 2, refill_per_s = 1 }\n");
  Client client(p), other(p);
  auto a = client.call(), b = client.call(), c = other.call();
  EXPECT_EQ(client.told(a, down), "wait 100ms");
  EXPECT_EQ(client.told(b, down), "wait 100ms");
  EXPECT_EQ(client.told(a, down), "stop: budget");
  EXPECT_EQ(other.told(c, down), "wait 100ms");
  EXPECT_EQ(client.told(b, down, 1), "wait 200ms");
}

// A retry that time or attempts forbid is not paid for.
TEST(Guarded, OnlyRetriesThatAreMadeCost) {
  Client client(
      policy("max_attempts = 2\nelapsed = \"1s\"\n"
             "budget = { kind = \"token-bucket\", capacity = 1, refill_per_s = 0 }\n"));
  auto late = client.call(), out = client.call(), fresh = client.call();
  EXPECT_EQ(client.told(late, down, 2), "stop: deadline");
  out.attempt = 1;
  EXPECT_EQ(client.told(out, down), "stop: attempts");
  EXPECT_EQ(client.told(fresh, down), "wait 100ms");
}

TEST(Guarded, ABreakerStopsRetriesAndSends) {
  Client client(policy("breaker = { failures = 2, open_for = \"10s\" }\nmax_attempts = 9\n"));
  auto a = client.call(), b = client.call();
  EXPECT_EQ(client.ask(a, 0), "wait 0s");
  EXPECT_EQ(client.told(a, down, 0), "wait 100ms");
  EXPECT_EQ(client.ask(a, 0.1), "wait 0s");
  EXPECT_EQ(client.told(a, down, 0.1), "stop: breaker");  // the retry would be refused
  EXPECT_EQ(client.ask(b, 5), "stop: breaker");
  auto c = client.call(), d = client.call();
  EXPECT_EQ(client.ask(c, 10.1), "wait 0s");  // the trial
  EXPECT_EQ(client.ask(d, 10.2), "stop: breaker");
  EXPECT_EQ(client.told(c, fine, 10.3), "stop: success");
  EXPECT_EQ(client.ask(d, 10.4), "wait 0s");
}

// unit = "call": the attempts of a call that runs go on; what counts is how calls end.
TEST(Guarded, ABreakerThatCountsCalls) {
  Client client(
      policy("max_attempts = 3\nbreaker = { unit = \"call\", failures = 2, open_for = \"10s\" }\n"));
  for (int n = 0; n < 2; ++n) {
    auto call = client.call();
    for (const char* expected : {"wait 100ms", "wait 200ms", "stop: attempts"}) {
      EXPECT_EQ(client.ask(call, 0), "wait 0s");
      EXPECT_EQ(client.told(call, down), expected);
    }
  }
  auto next = client.call();
  EXPECT_EQ(client.ask(next, 0), "stop: breaker");
}

TEST(Guarded, AnAdaptiveRateDelaysSends) {
  Client client(policy("budget = { kind = \"aws-adaptive\" }\n"));
  auto call = client.call();
  EXPECT_EQ(client.ask(call, 0), "wait 0s");
  EXPECT_EQ(client.told(call, {Status::http(429)}, 0), "wait 100ms");
  EXPECT_EQ(client.ask(call, 0.1), "wait 1.9s");  // half a send per second
  EXPECT_EQ(client.ask(call, 2), "wait 0s");
}

// The token comes 1.9 s later: 2 s into the call.
TEST(Guarded, AGateKeepsTheLimitsOfTime) {
  const auto second_send = [](const std::string& limit) {
    Client client(policy("budget = { kind = \"aws-adaptive\" }\n" + limit));
    auto call = client.call();
    client.ask(call, 0);
    EXPECT_EQ(client.told(call, {Status::http(429)}, 0), "wait 100ms");
    return client.ask(call, 0.1);
  };
  EXPECT_EQ(second_send(""), "wait 1.9s");
  EXPECT_EQ(second_send("deadline = \"2s\"\n"), "stop: deadline");
  EXPECT_EQ(second_send("deadline = \"2001ms\"\n"), "wait 1.9s");
  EXPECT_EQ(second_send("elapsed = \"2s\"\n"), "wait 1.9s");
  EXPECT_EQ(second_send("elapsed = \"1999ms\"\n"), "stop: deadline");
}

// A call that its gate ends has failed, and one that its caller leaves has not: the breaker hears of both.
TEST(Guarded, ABreakerOfCallsHearsOfEveryEnd) {
  Client gated(
      policy("deadline = \"1s\"\nbudget = { kind = \"aws-adaptive\" }\n"
             "breaker = { unit = \"call\", failures = 1, open_for = \"10s\" }\n"));
  auto refused = gated.call(), next = gated.call(5);
  EXPECT_EQ(gated.ask(refused, 0), "wait 0s");
  EXPECT_EQ(gated.told(refused, {Status::http(429)}, 0), "wait 100ms");
  EXPECT_EQ(gated.ask(refused, 0.1), "stop: deadline");
  EXPECT_EQ(gated.ask(next, 5), "stop: breaker");

  Client left(policy("max_attempts = 2\nbreaker = { unit = \"call\", failures = 1, open_for = \"10s\" }\n"));
  auto failed = left.call();
  for (const char* expected : {"wait 100ms", "stop: attempts"}) {
    EXPECT_EQ(left.ask(failed, 0), "wait 0s");
    EXPECT_EQ(left.told(failed, down, 0), expected);
  }
  auto trial = left.call(10), other = left.call(10), after = left.call(11);
  EXPECT_EQ(left.ask(trial, 10), "wait 0s");
  EXPECT_EQ(left.ask(other, 10), "stop: breaker");
  EXPECT_EQ(left.told(trial, down, 10), "wait 100ms");
  left.abandons(trial, 10.05);
  EXPECT_EQ(left.ask(after, 11), "wait 0s");
}

// While the trial is under way the breaker refuses the second send; the one token of the rate is still there
// when it closes.
TEST(Guarded, WhatTheBreakerRefusesCostsNothing) {
  Client client(
      policy("budget = { kind = \"aws-adaptive\" }\nbreaker = { failures = 1, open_for = \"10s\" }\n"));
  auto a = client.call(), trial = client.call(20), refused = client.call(22), late = client.call(22);
  EXPECT_EQ(client.ask(a, 0), "wait 0s");
  EXPECT_EQ(client.told(a, {Status::http(429)}, 0), "stop: breaker");
  EXPECT_EQ(client.ask(trial, 20), "wait 0s");
  EXPECT_EQ(client.ask(refused, 22), "stop: breaker");  // half a token per second: one is there again
  EXPECT_EQ(client.told(trial, fine, 22), "stop: success");
  EXPECT_EQ(client.ask(late, 22), "wait 0s");
}

// A loop tells its policy when the caller leaves it in the middle of a wait.
TEST(Guarded, ALoopThatIsCancelledSaysSo) {
  struct World final : Clock, Transport {
    Instant now() const override { return time; }
    Instant wall() const override { return time; }
    Instant deadline() const override { return Instant::never(); }
    bool cancelled() const override { return cancels; }
    void sleep(Duration d) override { time = time + d; }
    bool sleep_unless_cancelled(Duration d) override {
      if (!cancels) sleep(d);
      return !cancels;
    }
    Outcome send() override {
      ++sends;
      return down;
    }
    bool idempotent() const override { return true; }
    Instant time;
    int sends = 0;
    bool cancels = false;
  } world;
  PolicyLoop loop(
      policy("max_attempts = 2\nbreaker = { unit = \"call\", failures = 1, open_for = \"10s\" }\n"));
  Rng rng{Seed{1}};
  loop.run(world, world, rng);  // fails, and the breaker opens
  EXPECT_EQ(world.sends, 2);
  world.time = Instant{Duration::s(20)};
  world.cancels = true;
  loop.run(world, world, rng);  // the trial, cancelled in its wait
  EXPECT_EQ(world.sends, 3);
  world.cancels = false;
  loop.run(world, world, rng);
  EXPECT_EQ(world.sends, 5);
}

TEST(Guarded, CancellationEndsTheCall) {
  const Outcome gone{Status::transport(TransportError::cancelled)};
  Client plain(policy("")), broken(policy("breaker = { failures = 1, open_for = \"10s\" }\n"));
  auto a = plain.call(), b = broken.call(), c = broken.call();
  EXPECT_EQ(plain.told(a, gone), "stop: cancelled");
  EXPECT_EQ(broken.ask(b, 0), "wait 0s");
  EXPECT_EQ(broken.told(b, gone), "stop: cancelled");
  EXPECT_EQ(broken.ask(c, 0), "wait 0s");  // the caller's decision is no failure of the server
  // And no success either: a trial that was cancelled leaves the breaker half-open.
  EXPECT_EQ(broken.told(c, down, 1), "stop: breaker");
  auto trial = broken.call(), second = broken.call(), third = broken.call();
  EXPECT_EQ(broken.ask(trial, 11), "wait 0s");
  EXPECT_EQ(broken.told(trial, gone, 11), "stop: cancelled");
  EXPECT_EQ(broken.ask(second, 11), "wait 0s");
  EXPECT_EQ(broken.ask(third, 11), "stop: breaker");
}

// What counts is whether the breaker will let the retry through when it is due.
TEST(Guarded, ARetryAfterTheBreakerHasHadItsTimeIsWaitedFor) {
  Client client(policy("breaker = { failures = 1, open_for = \"10s\" }\nretry_after = \"floor\"\n"));
  auto a = client.call();
  EXPECT_EQ(client.ask(a, 0), "wait 0s");
  EXPECT_EQ(client.told(a, {Status::http(503), Duration::s(10)}), "wait 10s");
  EXPECT_EQ(client.ask(a, 10), "wait 0s");
  EXPECT_EQ(client.told(a, {Status::http(503), Duration::s(9)}, 10), "stop: breaker");
}

TEST(Guarded, WhatIsNotIdempotentIsRepeatedOnlyIfItWasNotSent) {
  Client client(policy("idempotent_only = true\n"));
  for (const char* word : {"dns", "connect-refused", "connect-timeout", "tls"}) {
    auto call = client.call();
    EXPECT_EQ(client.told(call, {*parse_status(word)}, 0, false), "wait 100ms") << word;
  }
  for (const char* word : {"timeout", "connection-reset", "truncated", "503", "UNAVAILABLE"}) {
    auto call = client.call();
    EXPECT_EQ(client.told(call, {*parse_status(word)}, 0, false), "stop: not-retryable") << word;
  }
}

TEST(Guarded, TheCheapestTypeIsChosen) {
  const auto bytes = [](const std::string& toml) {
    const AnyPolicy p = policy(toml);
    return std::pair{p.client_bytes(), p.call_bytes()};
  };
  EXPECT_EQ(bytes(""), std::pair(0UL, 0UL));
  EXPECT_EQ(bytes("retry_after = \"floor\"\n").first, 0U);
  EXPECT_EQ(bytes("budget = { kind = \"grpc-throttle\", capacity = 10, ratio = 0.1 }\n").first, 8U);
  const std::string breaker = "breaker = { failures = 5, open_for = \"1s\" }\n";
  EXPECT_LE(bytes("budget = { kind = \"ratio\", ratio = 0.2 }\n" + breaker).first, client_slot_bytes);
  EXPECT_LE(bytes("budget = { kind = \"aws-adaptive\", capacity = 500 }\n" + breaker).first,
            client_slot_bytes);
}

TEST(Guarded, AContractSaysWhatWasComposed) {
  const AnyPolicy p = policy(
      "retry_after = \"exact\"\nretry_after_max = \"60s\"\nretry_after_over = \"clip\"\ntimer_max = \"24h\"\n"
      "tick = \"1ms\"\nbudget = { kind = \"aws-quota\", capacity = 500, cost = 5, timeout_cost = 10 }\n"
      "breaker = { failures = 5, open_for = \"30s\" }\n");
  const Contract c = p.contract();
  EXPECT_EQ(c.retry_after, RetryAfterRule::exact);
  EXPECT_EQ(c.retry_after_over, RetryAfterOver::clip);
  EXPECT_EQ(c.timer_max, Duration::s(86'400));
  EXPECT_EQ(c.tick, Duration::ms(1));
  EXPECT_EQ(c.budget->timeout_cost, 10);
  EXPECT_EQ(c.breaker->failures, 5);
  EXPECT_EQ(
      to_string(p),
      "exponential 100ms x2, Retry-After exact up to 1m, budget: 500 tokens, a retry costs 5 (10 after a "
      "timeout), breaker: opens after 5 failed attempts in a row for 30s, then 1 at a time, closes after "
      "1, timer up to 24h");
}

// By hand: f(t) = 2^t tanh(sqrt(4 t)); f(0) = 0, f(1) = 2 tanh 2 = 1.92806, f(2) = 4 tanh(sqrt 8) = 3.97215.
TEST(DecorrelatedV2, StaysWithinItsEnvelope) {
  const AnyPolicy p = policy("jitter = \"decorrelated-v2\"\nbase = \"1s\"\n");
  Duration least1 = Duration::max(), most1, most2, least2 = Duration::max();
  double sum1 = 0;
  constexpr int draws = 20'000;
  for (std::uint64_t client = 0; client < draws; ++client) {
    alignas(std::max_align_t) std::byte none[1], call[call_slot_bytes];
    p.start_call(call);
    const auto wait = [&](std::int64_t n) {
      Attempt a;
      a.number = n;
      a.outcome.status = Status::http(503);
      Rng rng = StreamKey(Seed{7}, Stream::policy).at(client, 0, static_cast<std::uint64_t>(n));
      return p.after(none, call, a, rng).delay();
    };
    const Duration first = wait(1), second = wait(2);
    least1 = std::min(least1, first);
    most1 = std::max(most1, first);
    least2 = std::min(least2, second);
    most2 = std::max(most2, second);
    sum1 += first.seconds();
    // The waits telescope: their sum is f(1 + U) / 1.4.
    ASSERT_GE((first + second).seconds(), 1.92806 / 1.4 - 1e-5);
    ASSERT_LE((first + second).seconds(), 3.97215 / 1.4 + 1e-5);
  }
  EXPECT_LE(most1.seconds(), 1.92806 / 1.4 + 1e-5);
  EXPECT_GE(most1.seconds(), 1.377 * 0.999);
  EXPECT_LE(most2.seconds(), 3.97215 / 1.4 + 1e-5);
  EXPECT_LT(least1, Duration::ms(60));
  EXPECT_LT(least2, Duration::ms(60));
  // Mean of f(U)/1.4 = (integral of 2^t tanh(2 sqrt t) over [0, 1]) / 1.4 = 1.2196 / 1.4 (Simpson's rule on
  // 10^6 points); sigma 0.313 / sqrt(20000) = 0.0022.
  EXPECT_NEAR(sum1 / draws, 1.2196 / 1.4, 6 * 0.0022);
}

TEST(DecorrelatedV2, SaturatesWhereTheExponentialIsInfinite) {
  Client free(policy("jitter = \"decorrelated-v2\"\n")),
      capped(policy("jitter = \"decorrelated-v2\"\ncap = \"9s\"\n"));
  for (const std::int64_t n : {std::int64_t{1030}, std::int64_t{1} << 40}) {
    auto a = free.call(), b = capped.call();
    a.attempt = b.attempt = n;
    EXPECT_EQ(free.told(a, down), "wait no limit");
    EXPECT_EQ(capped.told(b, down), "wait 9s");
  }
}

// tick 1 ms of U[0, 3.5 ms]: 0, 1, 2 and 3 ms, evenly.
TEST(Grid, DelaysLieOnTheTick) {
  const AnyPolicy p = policy("jitter = \"full\"\nbase = \"3500us\"\ntick = \"1ms\"\n");
  std::map<std::int64_t, int> seen;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    alignas(std::max_align_t) std::byte none[1], call[call_slot_bytes];
    p.start_call(call);
    Attempt a;
    a.outcome.status = Status::http(503);
    Rng rng{Seed{seed}};
    ++seen[p.after(none, call, a, rng).delay().ns()];
  }
  ASSERT_EQ(seen.size(), 4U);
  for (std::int64_t ms = 0; ms <= 3; ++ms) EXPECT_NEAR(seen[ms * 1'000'000], 1000, 6 * 27.4) << ms;
}

TEST(Grid, OpenAndEmptyIntervals) {
  Rng rng{Seed{1}};
  const Grid ms{Duration::ms(1), true};
  for (int i = 0; i < 200; ++i) {
    EXPECT_LE(on_grid({Duration{}, Duration::ms(3)}, ms, rng), Duration::ms(2));
    EXPECT_EQ(on_grid({Duration::ms(3), Duration::ms(3)}, ms, rng), Duration::ms(3));
    EXPECT_EQ(on_grid({Duration::us(3100), Duration::us(3900)}, ms, rng), Duration::ms(3));
  }
}

}  // namespace
}  // namespace retrygate
