#include "sim/sweep.hpp"

#include <gtest/gtest.h>

#include <new>
#include <set>
#include <stdexcept>

#include "sim/memory.hpp"

namespace retrygate {
namespace {

TEST(Sweep, IsTheSameOnAnyNumberOfThreads) {
  std::vector<NamedPolicy> policies;
  for (const char* name : {"fixed", "full-jitter", "decorrelated"})
    policies.push_back(*find_policy(name, {}));
  const std::vector<Scenario> scenarios = {*find_scenario("outage-then-limit", {}),
                                           *find_scenario("rate-limited-fleet", {}, {"clients=50"})};
  const std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto one = sweep(policies, scenarios, seeds, {"requests", "completion_s"}, 1);
  ASSERT_TRUE(one);
  for (const unsigned threads : {2U, 3U, 0U})
    EXPECT_EQ(*one, *sweep(policies, scenarios, seeds, {"requests", "completion_s"}, threads));
  ASSERT_EQ(one->cells.size(), 6U);
  EXPECT_EQ(one->cells[0].samples[0], std::vector<std::optional<double>>(8, 1500.0));
  EXPECT_FALSE(one->cells[0].drew[0]);
  EXPECT_TRUE(one->cells[1].drew[0]);
  EXPECT_EQ(one->cells[4].scenario, "rate-limited-fleet");
  EXPECT_EQ(one->cells[4].params, std::vector<std::string>{"clients=50"});
  EXPECT_EQ(one->cells[4].samples[0][0], 200.0);  // 50 clients, 4 attempts
  const auto& digests = one->cells[1].digests;
  EXPECT_EQ(std::set(digests.begin(), digests.end()).size(), 8U);
}

TEST(Sweep, ReportsUnknownMetricsAndRunsThatHoldTimeStill) {
  const std::vector<NamedPolicy> hasty = {*find_policy("immediate:max_attempts=1000000", {})};
  const std::vector<Scenario> storm = {*find_scenario("outage-then-limit", {})};
  EXPECT_FALSE(sweep(hasty, storm, {1}, {"request"}, 1));
  EXPECT_FALSE(sweep(hasty, storm, {1}, {"requests"}, 2));
}

template <class Fault>
struct Throws {
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt&, Rng&) const { throw Fault(); }
  Contract contract() const { return {}; }
  bool operator==(const Throws&) const = default;
  friend std::string to_string(const Throws&) { return "throws"; }
};
struct Mistake : std::runtime_error {
  Mistake() : std::runtime_error("a policy that throws") {}
};

TEST(Sweep, WhatIsThrownInAThreadReachesTheCaller) {
  const std::vector<Scenario> storm = {*find_scenario("outage-then-limit", {})};
  const std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const unsigned threads : {1U, 4U}) {
    const auto full =
        sweep({{"greedy", Throws<std::bad_alloc>{}, {}, nullptr}}, storm, seeds, {"requests"}, threads);
    ASSERT_FALSE(full);
    EXPECT_NE(to_string(full.error()).find("policy 'greedy' in scenario 'outage-then-limit': no memory"),
              std::string::npos);
    EXPECT_THROW(
        (void)sweep({{"wrong", Throws<Mistake>{}, {}, nullptr}}, storm, seeds, {"requests"}, threads),
        Mistake);
  }
}

TEST(Sweep, PartsJoinToTheWhole) {
  EXPECT_EQ(seeds_of({1, 2, 3, 4, 5}, {1, 2}), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(seeds_of({1, 2, 3, 4, 5}, {2, 2}), (std::vector<std::uint64_t>{3, 4, 5}));
  EXPECT_EQ(seeds_of({1}, {1, 3}), std::vector<std::uint64_t>{});
  EXPECT_EQ(parse_shard("2/4", {})->index, 2U);
  for (const char* text : {"", "2", "0/4", "5/4", "1/", "a/b", "1/4x"})
    EXPECT_FALSE(parse_shard(text, {})) << text;
}

TEST(Sweep, WhatIsFinishedIsKeptWhenSomebodyInterrupts) {
  const std::vector<NamedPolicy> policies = {*find_policy("fixed", {}), *find_policy("full-jitter", {})};
  const std::vector<Scenario> storm = {*find_scenario("outage-then-limit", {})};
  const std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, 6, 7, 8};
  std::atomic<bool> cancel = false;
  SweepOptions options{1, 0, {}, &cancel};
  std::size_t told = 0;
  options.progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, 16U);
    told = done;
    if (done == 7) cancel = true;  // three seeds of both cells, and one run of the fourth
  };
  const auto part = sweep(policies, storm, seeds, {"requests"}, options);
  ASSERT_TRUE(part);
  EXPECT_EQ(told, 7U);
  EXPECT_EQ(*part, *sweep(policies, storm, {1, 2, 3}, {"requests"}));
}

TEST(Sweep, RefusesWhatDoesNotFitTheMachine) {
  const std::vector<NamedPolicy> policies = {*find_policy("decorrelated", {})};
  Scenario huge = *find_scenario("outage-then-limit", {});
  huge.clients = 2'000'000'000;
  huge.calls = 1000;
  const auto refused = sweep(policies, {huge}, {1}, {"requests", "latency_p99_s"});
  ASSERT_FALSE(refused);
  EXPECT_NE(to_string(refused.error()).find("GB"), std::string::npos) << to_string(refused.error());
  // A trace keeps every attempt.
  Scenario large = *find_scenario("outage-then-limit", {});
  large.clients = static_cast<std::int64_t>(memory_limit_bytes() / 500);
  const Measures nothing;
  std::vector<TraceRow> rows;
  EXPECT_TRUE(fits_memory(policies[0], large, {.measures = &nothing}));
  EXPECT_FALSE(fits_memory(policies[0], large, {.measures = &nothing, .trace = &rows}));
}

TEST(FindScenario, OverridesAndComplaints) {
  EXPECT_EQ(find_scenario("flaky-service", {}, {"clients=7"})->clients, 7);
  for (const EmbeddedFile& file : scenario_files()) EXPECT_TRUE(find_scenario(file.id, {})) << file.id;

  EXPECT_GE(scenario_files().size(), 10U);
  EXPECT_FALSE(find_scenario("flaky-servic", {}));
  EXPECT_FALSE(find_scenario("flaky-service", {}, {"client=7"}));
  EXPECT_FALSE(find_scenario("flaky-service", {}, {"clients=0"}));
  EXPECT_FALSE(find_scenario("flaky-service", {}, {"random_failure=2"}));
  EXPECT_FALSE(find_scenario("flaky-service", {}, {"outage_max=1ms"}));
}

}  // namespace
}  // namespace retrygate
