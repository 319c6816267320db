#include "ci/merge.hpp"

#include <gtest/gtest.h>

#include "ci/json_io.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {
namespace {

TEST(Merge, PartsAreTheSameBytesAsTheWhole) {
  const std::vector<NamedPolicy> policies = {*find_policy("fixed", {}),
                                             *find_policy("full-jitter:cap=2s", {})};
  const std::vector<Scenario> scenarios = {
      *find_scenario("outage-then-limit", {}, {"clients=50", "reply_latency=3ms"})};
  const std::vector<std::string> metrics = {"requests", "completion_s", "latency_p99_s"};
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= 11; ++seed) seeds.push_back(seed);
  const std::string whole = samples_json({*sweep(policies, scenarios, seeds, metrics)});
  for (const std::size_t n : {1U, 3U, 4U, 13U}) {
    std::vector<SampleText> parts;
    for (std::size_t i = n; i >= 1; --i)  // in any order
      parts.push_back(
          {"part", samples_json({*sweep(policies, scenarios, seeds_of(seeds, {i, n}), metrics)})});
    const auto merged = merge_samples(parts);
    ASSERT_TRUE(merged) << to_string(merged.error());
    EXPECT_EQ(samples_json({*merged}), whole);
  }
}

TEST(Merge, RefusesWhatDoesNotBelongTogether) {
  const std::vector<Scenario> storm = {*find_scenario("outage-then-limit", {})};
  const auto samples = [&](const char* policy, std::uint64_t seed, const char* metric) {
    return SampleText{"part", samples_json({*sweep({*find_policy(policy, {})}, storm, {seed}, {metric})})};
  };
  const SampleText first = samples("fixed", 1, "requests");
  EXPECT_TRUE(merge_samples({first, samples("fixed", 2, "requests")}));
  EXPECT_FALSE(merge_samples({first, samples("fixed", 1, "requests")}));
  EXPECT_FALSE(merge_samples({first, samples("linear", 2, "requests")}));
  EXPECT_FALSE(merge_samples({first, samples("fixed", 2, "retries")}));
  EXPECT_FALSE(merge_samples({first, {"other.json", R"({"schema":"retrygate.report/1"})"}}));
  EXPECT_FALSE(merge_samples({first, {"broken.json", "{"}}));
}

}  // namespace
}  // namespace retrygate::ci
