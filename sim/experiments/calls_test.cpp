#include "sim/experiments/calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retrygate {
namespace {

TEST(Calls, DelaysUntilThePolicyStops) {
  EXPECT_THAT(failing_call("exponential:base=200ms,max_attempts=4"),
              testing::ElementsAre(Duration::ms(200), Duration::ms(400), Duration::ms(800)));
  EXPECT_EQ(total(failing_call("exponential:base=200ms,max_attempts=4")), Duration::ms(1400));
  EXPECT_EQ(failing_call(policy_named("fixed:max_attempts=12"), {1}, 0, 3).size(), 3U);
}

TEST(Calls, ArrivalsAreSumsOfDelaysOfAllClients) {
  const auto at = [](Attempts attempts) {
    return arrivals(policy_named("exponential:base=1s,max_attempts=3"), 2, {1}, attempts);
  };
  EXPECT_THAT(at({1, 64}),
              testing::ElementsAre(0, 0, 1'000'000'000, 1'000'000'000, 3'000'000'000, 3'000'000'000));
  EXPECT_THAT(at({2, 2}), testing::ElementsAre(1'000'000'000, 1'000'000'000));
  EXPECT_TRUE(at({4, 9}).empty());
}

TEST(Calls, WhetherThePolicyGoesOn) {
  const AnyPolicy picky = policy_named("article-002-retry");  // 429 503 connection-reset
  EXPECT_TRUE(retries_after(picky, Status::http(503)));
  EXPECT_FALSE(retries_after(picky, Status::http(404)));
  EXPECT_FALSE(retries_after(policy_named("fixed:max_attempts=1"), Status::http(503)));
}

TEST(Calls, ClientsAndSeedsDrawApart) {
  const AnyPolicy policy = policy_named("full-jitter");
  EXPECT_NE(failing_call(policy, {1}, 0), failing_call(policy, {1}, 1));
  EXPECT_NE(failing_call(policy, {1}, 0), failing_call(policy, {2}, 0));
  EXPECT_EQ(failing_call(policy, {2}, 7), failing_call(policy, {2}, 7));
}

}  // namespace
}  // namespace retrygate
