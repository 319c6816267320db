#include "sim/haste.hpp"

#include <gtest/gtest.h>

#include "policies/base/testing.hpp"
#include "policies/named.hpp"
#include "sim/run.hpp"
#include "sim/scenario.hpp"

namespace retrygate {
namespace {

struct Ahead {
  Duration pace = {}, until = Duration::max();
};

// A call before its attempt 40, 1 s after its start.
bool for_ever(const std::string& reference, const Ahead& ahead = {}, std::optional<Duration> hint = {}) {
  const auto named = find_policy(reference, {});
  if (!named) throw std::runtime_error(to_string(named.error()));
  const AnyPolicy& policy = named->policy;
  alignas(std::max_align_t) std::array<std::byte, client_slot_bytes> client{};
  alignas(std::max_align_t) std::array<std::byte, call_slot_bytes> call{};
  if (policy.client_bytes() > 0) policy.start_client(client.data());
  if (policy.call_bytes() > 0) policy.start_call(call.data());
  const Instant now{Duration::s(1)};
  return goes_on_for_ever(policy, {{40, now, {}, Instant::never()},
                                   true,
                                   {Status::http(503), hint, {}},
                                   ahead.pace,
                                   ahead.until == Duration::max() ? Instant::never() : now + ahead.until,
                                   client.data(),
                                   call.data(),
                                   StreamKey(Seed{1}, Stream::policy).at(0, 0, 40)});
}

TEST(Haste, WhoNeverStopsAndHardlyWaitsGoesOnForEver) {
  EXPECT_TRUE(for_ever("immediate:max_attempts=1000000"));
  EXPECT_TRUE(for_ever("fixed:base=1ns,max_attempts=1000000"));
  EXPECT_TRUE(for_ever("full-jitter:base=1ns,cap=2ns,max_attempts=1000000"));
  EXPECT_TRUE(for_ever("fixed:base=9us,max_attempts=1000000"));
  EXPECT_TRUE(for_ever("fixed:base=9us,max_attempts=1000000", {Duration::us(9)}));
  EXPECT_TRUE(for_ever("full-jitter:base=8us,cap=8us,max_attempts=1000000", {Duration::us(9)}));
  EXPECT_TRUE(for_ever("fixed:base=1us,max_attempts=1000000", {Duration::us(9)}));
}

// The 100,000th attempt after this one is the first that is too many.
TEST(Haste, WhoeverStopsOrWaitsDoesNot) {
  EXPECT_FALSE(for_ever("fixed:base=1ns,max_attempts=100038"));
  EXPECT_TRUE(for_ever("fixed:base=1ns,max_attempts=100040"));
  EXPECT_FALSE(for_ever("fixed:base=10us,max_attempts=1000000"));
  EXPECT_FALSE(for_ever("fixed:base=1ms,max_attempts=1000000"));
  EXPECT_FALSE(for_ever("fixed:base=1us,max_attempts=1000000", {Duration::us(10)}));
  EXPECT_FALSE(for_ever("exponential:base=1ns,cap=1h,max_attempts=1000000"));
  // The outage is over before that.
  EXPECT_FALSE(for_ever("fixed:base=1ns,max_attempts=1000000", {{}, Duration::us(100)}));
  EXPECT_TRUE(for_ever("fixed:base=1ns,max_attempts=1000000", {{}, Duration::us(101)}));
  // It waits as the server asks, or has no money left.
  EXPECT_FALSE(for_ever("fixed:base=1ns,max_attempts=1000000,retry_after=floor", {}, Duration::s(1)));
  EXPECT_FALSE(for_ever("botocore-standard:base=1ns,max_attempts=1000000"));
}

TEST(Haste, LooksAtTheClockFromTimeToTime) {
  // A look every 2^24 attempts; of 10,000 calls each makes one in 10 us where one or another does every ns.
  const auto pace = [](Duration between, std::size_t calls) {
    Haste haste;
    std::optional<Duration> last;
    for (int i = 0; i <= 1 << 24; ++i) last = haste.suspected(Instant{Duration::s(5) + between * i}, calls);
    return last;
  };
  EXPECT_EQ(pace(Duration{}, 1000), Duration{});
  EXPECT_EQ(pace(Duration::ns(1), 10'000), Duration::us(10));
  EXPECT_EQ(pace(Duration::ns(1), 10'001), std::nullopt);
}

Scenario hold(const std::string& text) {
  const auto table = parse_toml("horizon = \"60s\"\n" + text, "test");
  if (!table) throw std::runtime_error(to_string(table.error()));
  auto scenario = read_scenario("hold", *table);
  if (!scenario) throw std::runtime_error(to_string(scenario.error()));
  return *scenario;
}
AnyPolicy policy(const std::string& reference) { return find_policy(reference, {})->policy; }

// 20 million attempts that hold time still for a while, of calls that end: suspected, and let go.
TEST(Haste, AFleetThatComesToItsEndIsPlayed) {
  if (sanitized) GTEST_SKIP() << "40 million attempts; the sanitizers see the same code in the other tests";
  const Measures nothing;
  const auto limited =
      run(policy("fixed:base=1ns,max_attempts=50000"),
          hold("clients = 400\nattempt_timeout = \"1ns\"\nstages = [{ kind = \"service\", time = \"1s\" }]"),
          Seed{1}, {.measures = &nothing, .queue = QueueKind::buckets});
  ASSERT_TRUE(limited) << to_string(limited.error());
  EXPECT_EQ(limited->requests, 20'000'000);
  // Up to the end of an outage that begins after the first request has passed.
  const auto ended =
      run(policy("fixed:base=1ns,max_attempts=1000000"),
          hold("clients = 401\nstages = [{ kind = \"outage\", start = \"1ns\", length = \"50us\" },"
               "{ kind = \"concurrency-limit\", limit = 400 },"
               "{ kind = \"service\", time = \"1us\" }]\n"
               "arrivals = \"interval\"\ninterval = \"1ns\""),
          Seed{1}, {.measures = &nothing});
  ASSERT_TRUE(ended) << to_string(ended.error());
  EXPECT_EQ(ended->succeeded, 401);
  EXPECT_GT(ended->requests, 400 * 49'000);
}

}  // namespace
}  // namespace retrygate
