#include "policies/budget.hpp"

#include <gtest/gtest.h>

#include "policies/breaker.hpp"

namespace retrygate {
namespace {

Instant at(double s) { return {Duration::seconds(s)}; }
Ended failed_at(double s, std::int64_t number = 1, Status status = Status::http(503)) {
  return {status, number, true, at(s)};
}
Ended succeeded(double s, std::int64_t number = 1) { return {Status::http(200), number, false, at(s)}; }

// How many of `tries` retries a budget pays for at one moment.
template <class Kind>
int granted(const Budget& b, typename Kind::Memory& m, double s, int tries) {
  int count = 0;
  typename Kind::Charge charge;
  for (int i = 0; i < tries; ++i) count += Kind::withdraw(b, m, charge, failed_at(s)) ? 1 : 0;
  return count;
}

TEST(TokenBucket, StartsFullAndRefillsByTime) {
  Budget b{.kind = BudgetKind::token_bucket, .capacity = 10, .cost = 2, .refill_per_s = 0.5};
  TokenBucket::Memory m;
  EXPECT_EQ(granted<TokenBucket>(b, m, 0, 20), 5);
  EXPECT_EQ(granted<TokenBucket>(b, m, 3.999, 20), 0);  // 1.9995 tokens
  EXPECT_EQ(granted<TokenBucket>(b, m, 4, 20), 1);
  EXPECT_EQ(granted<TokenBucket>(b, m, 1000, 20), 5);  // never above its capacity
}

// Finagle's documentation: with ttl 10 s and 10 retries per second, 100 retries may be sent at once by a
// client that has made no call, and 20 % of the calls on top.
TEST(RatioBudget, ReserveAndShareOfTheCalls) {
  Budget b{.kind = BudgetKind::ratio, .ratio = 0.2, .reserve_per_s = 10, .window = Duration::s(10)};
  RatioBudget::Memory m;
  RatioBudget::Charge charge;
  EXPECT_EQ(granted<RatioBudget>(b, m, 0, 1000), 100);
  for (int i = 0; i < 50; ++i) RatioBudget::told(b, m, charge, succeeded(0.5));
  for (int i = 0; i < 50; ++i) RatioBudget::told(b, m, charge, failed_at(0.5, 2));  // retries are no calls
  EXPECT_EQ(granted<RatioBudget>(b, m, 0.5, 1000), 10);
  // The retries are forgotten after a window and at most a tenth more; the calls no later than a window.
  RatioBudget::told(b, m, charge, failed_at(10.4, 2));
  EXPECT_EQ(granted<RatioBudget>(b, m, 10.4, 1000), 0);
  RatioBudget::told(b, m, charge, failed_at(11, 2));
  EXPECT_EQ(granted<RatioBudget>(b, m, 11, 1000), 100);
}

// In any window of 1 s: retries <= 0.5 * calls of that window + 3, whatever the rhythm of the calls.
TEST(RatioBudget, HoldsInEveryWindow) {
  Budget b{.kind = BudgetKind::ratio, .ratio = 0.5, .reserve_per_s = 3, .window = Duration::s(1)};
  RatioBudget::Memory m;
  RatioBudget::Charge charge;
  std::vector<double> calls, retries;
  Rng rng{Seed{5}};
  for (double s = 0; s < 30; s += rng.unit() * (std::fmod(s, 7) < 3 ? 0.5 : 0.02)) {
    calls.push_back(s);
    RatioBudget::told(b, m, charge, failed_at(s));
    for (int i = 0; i < 3; ++i) {
      if (RatioBudget::withdraw(b, m, charge, failed_at(s))) retries.push_back(s);
    }
  }
  ASSERT_GT(retries.size(), 100U);
  for (const double end : retries) {
    const auto within = [&](const std::vector<double>& times) {
      return std::count_if(times.begin(), times.end(), [&](double t) { return t > end - 1 && t <= end; });
    };
    EXPECT_LE(static_cast<double>(within(retries)), 0.5 * static_cast<double>(within(calls)) + 3) << end;
  }
}

// Proposal A6 with its own example, maxTokens 10 and tokenRatio 0.1: five failures leave 5, which is not more
// than half; ten successes bring 1 token back.
TEST(GrpcThrottle, TheProposalsExample) {
  Budget b{.kind = BudgetKind::grpc_throttle, .capacity = 10, .ratio = 0.1};
  GrpcThrottle::Memory m;
  GrpcThrottle::Charge charge;
  const auto fail = [&] {
    GrpcThrottle::told(b, m, charge, failed_at(0));
    return GrpcThrottle::withdraw(b, m, charge, failed_at(0));
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fail()) << i;
  EXPECT_FALSE(fail());
  for (int i = 0; i < 10; ++i) GrpcThrottle::told(b, m, charge, succeeded(0));
  EXPECT_TRUE(GrpcThrottle::withdraw(b, m, charge, failed_at(0)));  // 6 tokens
  EXPECT_FALSE(fail());                                             // 5
  // Tokens stay within 0 and the maximum: after 100 failures 51 successes are needed, not more.
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(fail());
  for (int i = 0; i < 50; ++i) GrpcThrottle::told(b, m, charge, succeeded(0));
  EXPECT_FALSE(GrpcThrottle::withdraw(b, m, charge, failed_at(0)));
  GrpcThrottle::told(b, m, charge, succeeded(0));
  EXPECT_TRUE(GrpcThrottle::withdraw(b, m, charge, failed_at(0)));
  // What is not worth a retry costs nothing.
  m = {};
  for (int i = 0; i < 100; ++i) GrpcThrottle::told(b, m, charge, {Status::grpc(3), 1, false, {}});
  EXPECT_TRUE(GrpcThrottle::withdraw(b, m, charge, failed_at(0)));
}

// botocore, retries/quota.py and standard.py: 500 tokens, 5 a retry, 10 after a timeout; a success gives back
// what the last retry cost, a success at the first try 1.
TEST(AwsQuota, CostsAndRefunds) {
  Budget b{.kind = BudgetKind::aws_quota, .capacity = 500, .cost = 5, .timeout_cost = 10};
  AwsQuota::Memory m;
  EXPECT_EQ(granted<AwsQuota>(b, m, 0, 1000), 100);
  EXPECT_EQ(granted<AwsQuota>(b, m, 1e6, 1000), 0);  // time gives nothing back
  AwsQuota::Charge charge;
  for (int i = 0; i < 5; ++i) AwsQuota::told(b, m, charge, succeeded(0));
  EXPECT_EQ(granted<AwsQuota>(b, m, 0, 1000), 1);
  m = {};
  const auto timeout = failed_at(0, 1, Status::transport(TransportError::timeout));
  EXPECT_TRUE(AwsQuota::withdraw(b, m, charge, timeout));
  EXPECT_EQ(m.missing, 10);
  AwsQuota::told(b, m, charge, succeeded(0, 2));
  EXPECT_EQ(m.missing, 0);
  AwsQuota::told(b, m, charge, succeeded(0));
  EXPECT_EQ(m.missing, 0);  // never above its capacity
  // Two retries, of which the last succeeds: the first one's cost is lost.
  EXPECT_TRUE(AwsQuota::withdraw(b, m, charge, timeout));
  EXPECT_TRUE(AwsQuota::withdraw(b, m, charge, failed_at(0, 2)));
  AwsQuota::told(b, m, charge, succeeded(0, 3));
  EXPECT_EQ(m.missing, 10);
}

constexpr Budget adaptive{.kind = BudgetKind::aws_adaptive,
                          .window = Duration::ms(500),
                          .beta = 0.7,
                          .cubic_scale = 0.4,
                          .rate_per_s_min = 0.5,
                          .smoothing = 0.8};

// botocore, tests/unit/retries/test_throttling.py: values verified by hand there.
TEST(AwsAdaptive, ZeroPointOfTheCubic) {
  EXPECT_DOUBLE_EQ(AwsAdaptive::zero_point_s(adaptive, 10), 1.9574338205844317);
  EXPECT_DOUBLE_EQ(AwsAdaptive::zero_point_s(adaptive, 8), 1.8171205928321397);
}

// The end-to-end case of the AWS SDKs' retry specification, as smithy-kotlin prints it
// (runtime-core, AdaptiveRetryTestCases.kt): one answer every 0.2 s, six decimals.
TEST(AwsAdaptive, TheSpecificationsSequence) {
  struct Row {
    bool throttle;
    double s, measured, rate;
  };
  AwsAdaptive::Memory m;
  AwsAdaptive::Charge charge;
  for (const Row& row :
       {Row{false, 0.2, 0, 0.5}, Row{false, 0.4, 0, 0.5}, Row{false, 0.6, 4.8, 0.5},
        Row{false, 0.8, 4.8, 0.5}, Row{false, 1.0, 4.16, 0.5}, Row{false, 1.2, 4.16, 0.6912},
        Row{false, 1.4, 4.16, 1.0976}, Row{false, 1.6, 5.632, 1.6384}, Row{false, 1.8, 5.632, 2.3328},
        Row{true, 2.0, 4.3264, 3.028480}, Row{false, 2.2, 4.3264, 3.486639},
        Row{false, 2.4, 4.3264, 3.821874}, Row{false, 2.6, 5.66528, 4.053386},
        Row{false, 2.8, 5.66528, 4.200373}, Row{false, 3.0, 4.333056, 4.282037},
        Row{true, 3.2, 4.333056, 2.997426}, Row{false, 3.4, 4.333056, 3.452226}}) {
    Ended e = succeeded(row.s);
    if (row.throttle) e = failed_at(row.s, 1, Status::http(429));
    AwsAdaptive::told(adaptive, m, charge, e);
    EXPECT_NEAR(m.measured_per_s, row.measured, 5e-7) << row.s;
    EXPECT_NEAR(m.rate_per_s, row.rate, 5e-7) << row.s;
  }
}

// "Cubic success" #1 of the same specification: w = 10, throttled at 5 s.
TEST(AwsAdaptive, TheSpecificationsCubic) {
  AwsAdaptive::Charge charge;
  const double rates[] = {7.0,
                          9.64893600966,
                          10.000030849917364,
                          10.453284520772092,
                          13.408697022224185,
                          21.26626835427364,
                          36.425998516920465};
  for (int i = 0; i < 7; ++i) {
    AwsAdaptive::Memory m;
    m.throttled_per_s = 10;
    m.throttled_at = at(5);
    m.throttling = true;
    m.measured_per_s = 1e6;  // so that twice the measured rate is no limit
    m.measured_until = at(1e6);
    AwsAdaptive::Memory slow = m;
    AwsAdaptive::told(adaptive, m, charge, succeeded(5 + i));
    EXPECT_NEAR(m.rate_per_s, rates[i], 1e-9) << i;
    // Never above twice the measured rate.
    slow.measured_per_s = 4.9;
    AwsAdaptive::told(adaptive, slow, charge, succeeded(5 + i));
    EXPECT_NEAR(slow.rate_per_s, std::min(rates[i], 9.8), 1e-9) << i;
  }
}

// The tokens that a high rate has left are cut to what the new one may hold.
TEST(AwsAdaptive, AThrottledBucketKeepsNoMoreThanItHolds) {
  AwsAdaptive::Memory m;
  AwsAdaptive::Charge charge;
  m.throttling = true;
  m.tokens = m.tokens_max = 40;
  m.rate_per_s = m.measured_per_s = 4;
  m.measured_until = at(1e6);
  AwsAdaptive::told(adaptive, m, charge, failed_at(0, 1, Status::http(429)));
  EXPECT_NEAR(m.rate_per_s, 2.8, 1e-12);
  EXPECT_NEAR(m.tokens, 2.8, 1e-12);
}

// With a capacity it is the quota as well: 500 tokens, 5 a retry, 1 for a success at the first try.
TEST(AwsAdaptive, PaysIntoItsQuotaToo) {
  Budget b = adaptive;
  b.capacity = 500;
  b.cost = 5;
  b.timeout_cost = 10;
  AwsAdaptive::Memory m;
  AwsAdaptive::Charge charge;
  EXPECT_EQ(granted<AwsAdaptive>(b, m, 0, 1000), 100);
  for (int i = 0; i < 5; ++i) AwsAdaptive::told(b, m, charge, succeeded(0));
  EXPECT_EQ(granted<AwsAdaptive>(b, m, 0, 1000), 1);
  m = {};
  EXPECT_EQ(granted<AwsAdaptive>(adaptive, m, 0, 1000), 1000);  // without one it only slows down
}

TEST(AwsAdaptive, SendsWaitForTheirToken) {
  AwsAdaptive::Memory m;
  AwsAdaptive::Charge charge;
  Rng rng{Seed{1}};
  for (int i = 0; i < 1000; ++i)  // nothing was throttled yet
    EXPECT_EQ(AwsAdaptive::ask(adaptive, m, at(0), rng), Duration{});
  // The very first answer throttles: nothing was measured, the rate is the least one, 1 send in 2 s.
  AwsAdaptive::told(adaptive, m, charge, failed_at(0, 1, Status::http(429)));
  EXPECT_EQ(m.rate_per_s, 0.5);
  EXPECT_EQ(AwsAdaptive::ask(adaptive, m, at(0), rng), Duration::s(2));
  EXPECT_EQ(AwsAdaptive::ask(adaptive, m, at(1.5), rng), Duration::ms(500));
  EXPECT_EQ(AwsAdaptive::ask(adaptive, m, at(2), rng), Duration{});
  EXPECT_EQ(AwsAdaptive::ask(adaptive, m, at(2), rng), Duration::s(2));
  EXPECT_EQ(AwsAdaptive::ask(adaptive, m, at(1000), rng), Duration{});
  EXPECT_EQ(AwsAdaptive::ask(adaptive, m, at(1000), rng), Duration::s(2));  // it holds one token
}

// SRE book, equation 21-1, with K = 2: while the server takes half of all requests none is refused; when it
// takes none, requests / (requests + 1) are.
TEST(SreThrottle, RefusesByTheEquation) {
  Budget b{.kind = BudgetKind::sre_throttle, .k = 2, .window = Duration::s(120)};
  SreThrottle::Charge charge;
  SreThrottle::Memory m;
  Rng rng{Seed{3}};
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(SreThrottle::ask(b, m, at(1), rng)) << i;
    SreThrottle::told(b, m, charge, i % 2 == 0 ? succeeded(1) : failed_at(1));
  }
  m = {};
  m.requests[0] = 300;
  m.accepts[0] = 100;
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    SreThrottle::Memory again = m;
    refused += SreThrottle::ask(b, again, at(1), rng) ? 0 : 1;
    EXPECT_EQ(again.requests[0], 301U);  // the refused count too
  }
  // Binomial(10000, 100/301): mean 3322, sigma 47.1; six sigma are missed with 2e-9.
  EXPECT_NEAR(refused, 3322, 6 * 47.1);
  // An answer is accepted whatever it says, unless it refuses for load; what is lost on the way is not.
  for (const auto& [status, accepted] :
       {std::pair{Status::http(404), true}, std::pair{Status::http(500), true},
        std::pair{Status::grpc(5), true}, std::pair{Status::http(503), false},
        std::pair{Status::http(429), false}, std::pair{Status::grpc(14), false},
        std::pair{Status::grpc(8), false}, std::pair{Status::transport(TransportError::timeout), false}}) {
    SreThrottle::Memory one;
    SreThrottle::told(b, one, charge, failed_at(1, 1, status));
    EXPECT_EQ(one.accepts[0], accepted ? 1U : 0U) << to_string(status);
  }
  // After the window nothing is remembered.
  EXPECT_TRUE(SreThrottle::ask(b, m, at(121), rng));
  EXPECT_EQ(m.requests[0] + m.requests[1], 1U);  // this one
}

TEST(Classify, WhatSurelyWasNotSent) {
  int safe = 0;
  for (const std::string_view word : status_words()) safe += surely_not_sent(*parse_status(word)) ? 1 : 0;
  EXPECT_EQ(safe, 4);
  for (const char* word : {"dns", "connect-refused", "connect-timeout", "tls"})
    EXPECT_TRUE(surely_not_sent(*parse_status(word))) << word;
  EXPECT_FALSE(surely_not_sent(Status::http(0)));  // the same number, another kind
}

class Breaking : public testing::Test {
 protected:
  Breaker b{.failures = 3, .open_for = Duration::s(10)};
  CircuitBreaker::Memory m;

  bool ask(double s, CircuitBreaker::Permit* permit = nullptr) {
    CircuitBreaker::Permit own;
    return CircuitBreaker::permit(b, m, permit != nullptr ? *permit : own, at(s));
  }
  // Sends one and tells how it ended; false if it was refused.
  bool send(double s, bool failed) {
    CircuitBreaker::Permit permit;
    if (!CircuitBreaker::permit(b, m, permit, at(s))) return false;
    CircuitBreaker::told(b, m, permit,
                         failed ? CircuitBreaker::Result::failure : CircuitBreaker::Result::success, at(s));
    return true;
  }
};

TEST_F(Breaking, OpensAfterFailuresInARow) {
  for (const bool failed : {true, true, false, true, true}) EXPECT_TRUE(send(0, failed));
  EXPECT_TRUE(send(0, true));
  EXPECT_FALSE(send(0, true));
  EXPECT_FALSE(ask(9.999));
  EXPECT_TRUE(ask(10));
}

TEST_F(Breaking, HalfOpenLetsTrialsThroughOneAtATime) {
  b.successes = 2;
  for (int i = 0; i < 3; ++i) send(0, true);
  CircuitBreaker::Permit trial;
  EXPECT_TRUE(ask(10, &trial));
  EXPECT_FALSE(ask(10));
  CircuitBreaker::told(b, m, trial, CircuitBreaker::Result::success, at(11));
  EXPECT_EQ(m.state, CircuitBreaker::State::half_open);
  EXPECT_TRUE(send(11, false));
  EXPECT_EQ(m.state, CircuitBreaker::State::closed);
  // Closed anew: three more failures open it, two do not.
  EXPECT_TRUE(send(12, true) && send(12, true) && send(12, true));
  EXPECT_FALSE(ask(12));
  // A trial that fails opens it for the full time again.
  EXPECT_TRUE(send(22, true));
  EXPECT_FALSE(ask(31.9));
  EXPECT_TRUE(ask(32));
}

// A trial whose caller gave up frees its place and says nothing about the server.
TEST_F(Breaking, ACancelledTrialFreesItsPlace) {
  for (int i = 0; i < 3; ++i) send(0, true);
  CircuitBreaker::Permit trial;
  EXPECT_TRUE(ask(10, &trial));
  CircuitBreaker::told(b, m, trial, CircuitBreaker::Result::none, at(10));
  EXPECT_EQ(m.state, CircuitBreaker::State::half_open);
  EXPECT_TRUE(ask(10));
}

// What was sent before the breaker opened may end when it is half-open: it must not close it.
TEST_F(Breaking, OldResultsAreNotCounted) {
  CircuitBreaker::Permit old;
  EXPECT_TRUE(ask(0, &old));
  for (int i = 0; i < 3; ++i) send(0, true);
  CircuitBreaker::Permit trial;
  EXPECT_TRUE(ask(10, &trial));
  CircuitBreaker::told(b, m, old, CircuitBreaker::Result::success, at(10));
  EXPECT_EQ(m.state, CircuitBreaker::State::half_open);
  EXPECT_FALSE(ask(10));
}

TEST_F(Breaking, OpensByTheShareOfFailures) {
  b = {.failure_ratio = 0.3, .window_calls = 10, .open_for = Duration::s(10)};
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(send(0, i < 3));  // 3 of 9: too few to judge
  EXPECT_EQ(m.state, CircuitBreaker::State::closed);
  EXPECT_TRUE(send(0, false));  // 3 of 10
  EXPECT_FALSE(send(0, false));
  m = {};
  b.window_calls = 64;
  b.failure_ratio = 1;
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(send(0, true)) << i;
  EXPECT_FALSE(send(0, true));
}

}  // namespace
}  // namespace retrygate
