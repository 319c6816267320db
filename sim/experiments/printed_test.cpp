#include "sim/experiments/printed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace retrygate {
namespace {

// tenacity 8.2.1, wait_exponential_jitter(initial=.5, max=.., jitter=1): supports by its source.
TEST(Printed, TenacityCapsAfterTheJitter) {
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 6, 0), 16);
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 6, .5), 16.5);
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 7, 0), 30);
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 7, .99), 30);
  EXPECT_EQ(tenacity_exponential_jitter(.5, 16.25, 1, 6, .5), 16.25);
}

// Expected: node -e 'console.log(Number(..))', Node 18 and 20.
TEST(Printed, JavascriptNumber) {
  EXPECT_EQ(javascript_number(std::nullopt), 0);
  EXPECT_EQ(javascript_number(""), 0);
  EXPECT_EQ(javascript_number(" 3 "), 3);
  EXPECT_EQ(javascript_number("-5"), -5);
  EXPECT_EQ(javascript_number("1.5"), 1.5);
  EXPECT_EQ(javascript_number("1e3"), 1000);
  EXPECT_TRUE(std::isinf(*javascript_number("1e999")));
  EXPECT_EQ(javascript_number("Wed, 21 Oct 2026 07:28:00 GMT"), std::nullopt);
  EXPECT_EQ(javascript_number("3s"), std::nullopt);
  EXPECT_EQ(javascript_number("-"), std::nullopt);
}

TEST(Printed, NodeTimeoutOutsideItsRangeIsOneMillisecond) {
  EXPECT_EQ(node_timeout_ms(3000), 3000);
  EXPECT_EQ(node_timeout_ms(2147483647), 2147483647);
  EXPECT_EQ(node_timeout_ms(2147483648.0), 1);
  EXPECT_EQ(node_timeout_ms(0), 1);
  EXPECT_EQ(node_timeout_ms(-5000), 1);
}

// The printed code under Node 20 with a fake clock and calls of 30 ms: 25,640 ms.
TEST(Printed, DeadlineIsTestedBeforeTheSleep) {
  const LoopRun run = longest_run({.max = 20}, Duration::ms(30));
  EXPECT_EQ(run.total, Duration::ms(25'640));
  EXPECT_EQ(run.calls, 8);
  EXPECT_EQ(longest_run({}, Duration{}).total, Duration::ms(6200));
  EXPECT_EQ(longest_run({}, Duration{}).calls, 6);
}

// The printed sleep under Node 20: 201 ms after an abort beforehand, 12 listeners after 12 sleeps.
TEST(Printed, AbortBeforehandDoesNotWake) {
  EXPECT_EQ(printed_sleeps(Duration::ms(200), 1, Duration::ms(-1)).slept, Duration::ms(200));
  EXPECT_EQ(printed_sleeps(Duration::ms(200), 12, std::nullopt).listeners, 12);
  const SleepRun aborted = printed_sleeps(Duration::ms(200), 12, Duration::ms(450));
  EXPECT_EQ(aborted.slept, Duration::ms(450));
  EXPECT_EQ(aborted.listeners, 0);
}

TEST(Printed, LoopsAtTheirEdges) {
  EXPECT_EQ(with_backoff(5).calls, 5);
  EXPECT_EQ(with_backoff(5).error_of_call, 5);
  EXPECT_EQ(with_backoff(0).how, Ending::raises_type_error);
  EXPECT_EQ(retry_decorator(4).error_of_call, 4);
  EXPECT_EQ(retry_decorator(4).how, Ending::raises_the_last_error);
  EXPECT_EQ(retry_decorator(0).how, Ending::returns_none);
  EXPECT_EQ(retry_decorator(0).calls, 0);
}

// Expected: the printed loop run by CPython 3.11.
TEST(Printed, DecoratorCeilings) {
  EXPECT_THAT(decorator_ceilings(.5, 2, 10, 14),
              testing::ElementsAre(.5, 1, 2, 4, 8, 10, 10, 10, 10, 10, 10, 10, 10));
  EXPECT_THAT(decorator_ceilings(20, 2, 10, 5), testing::ElementsAre(10, 10, 10, 10));
  EXPECT_THAT(decorator_ceilings(.5, .5, 10, 6), testing::ElementsAre(.5, .25, .125, .0625, .03125));
}

// Expected: issubclass() under CPython 3.11 with requests 2.28 and aiohttp 3.8.4.
TEST(Printed, ExceptionsInherit) {
  EXPECT_TRUE(is_a("requests.ConnectTimeout", "requests.RequestException"));
  EXPECT_TRUE(is_a("requests.HTTPError", "OSError"));
  EXPECT_FALSE(is_a("requests.ConnectionError", "ConnectionError"));
  EXPECT_FALSE(is_a("requests.Timeout", "TimeoutError"));
  EXPECT_TRUE(is_a("ConnectionResetError", "ConnectionError"));
  EXPECT_FALSE(is_a("TimeoutError", "aiohttp.ClientError"));
  EXPECT_TRUE(is_a("aiohttp.ClientResponseError", "aiohttp.ClientError"));
}

}  // namespace
}  // namespace retrygate
