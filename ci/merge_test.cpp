#include "ci/merge.hpp"

#include <fmt/format.h>
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
      parts.push_back({"part", samples_json({*sweep(policies, scenarios, seeds_of(seeds, {i, n}), metrics)},
                                            {{i, n}, true})});
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

std::string refusal(const std::vector<SampleText>& parts) {
  const auto merged = merge_samples(parts);
  return merged ? "" : to_string(merged.error());
}

// A job of a matrix that failed left no file, and one that was stopped left half of one.
TEST(Merge, EveryPartMustBeThereOnceAndWhole) {
  const std::vector<NamedPolicy> policies = {*find_policy("fixed", {})};
  const std::vector<Scenario> scenarios = {*find_scenario("outage-then-limit", {}, {"clients=2"})};
  const auto part = [&](std::size_t i, std::size_t n, bool complete = true) {
    return SampleText{fmt::format("{}of{}", i, n),
                      samples_json({*sweep(policies, scenarios, {i}, {"requests"})}, {{i, n}, complete})};
  };
  EXPECT_EQ(refusal({part(1, 3), part(2, 3), part(3, 3)}), "");
  EXPECT_NE(refusal({part(1, 3), part(3, 3)}).find("part 2/3 is missing"), std::string::npos);
  EXPECT_NE(refusal({part(1, 2)}).find("part 2/2 is missing"), std::string::npos);
  EXPECT_NE(refusal({part(1, 2), part(2, 2), part(2, 2)}).find("2of2: error: part 2/2 is in 2of2, too"),
            std::string::npos);
  EXPECT_NE(refusal({part(1, 2), part(2, 3)}).find("2of3: error: this is a part of 3, and 1of2 one of 2"),
            std::string::npos);
  EXPECT_NE(refusal({part(1, 2), part(2, 2, false)}).find("2of2:1:"), std::string::npos);
  EXPECT_NE(refusal({part(1, 2), part(2, 2, false)}).find("was interrupted"), std::string::npos);
}

TEST(Merge, AnAlteredSampleIsSeen) {
  const auto policies = std::vector{*find_policy("full-jitter", {})};
  const std::string whole = samples_json(
      {*sweep(policies, {*find_scenario("outage-then-limit", {})}, {1, 2}, {"requests", "completion_s"})});
  EXPECT_EQ(refusal({{"x.json", whole}}), "");
  // Any digit of a seed, a digest, a sample or a name.
  std::size_t altered = 0;
  const std::size_t end = whole.find("\"sum\"");
  for (std::size_t i = whole.find("\"cells\""); i < end; ++i) {
    if (whole[i] < '0' || whole[i] > '9') continue;
    std::string other = whole;
    other[i] = whole[i] == '7' ? '8' : '7';
    const std::string why = refusal({{"x.json", other}});
    EXPECT_NE(why, "") << other;
    altered += why.find("these samples were altered") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(altered, 20u);
}

TEST(Merge, WhatIsNoSampleIsNamedWithItsPlace) {
  const auto file = [](std::string_view seed, std::string_view value) {
    return SampleText{"x.json", fmt::format(R"({{"schema":"retrygate.samples/1","cells":[
{{"policy":"a","definition":"a","scenario":"s","params":{{}},"seeds":[{}],"digest":["0"],
"metrics":{{"requests":[{}]}}}}]}})",
                                            seed, value)};
  };
  for (const char* good : {"1", "1.5", "null"}) EXPECT_EQ(refusal({file("7", good)}), "") << good;
  for (const char* bad : {"\"abc\"", "true", "[1]", "{}"})
    EXPECT_NE(refusal({file("7", bad)}).find("x.json:3:24: error: a sample must be a number"),
              std::string::npos)
        << refusal({file("7", bad)});
  for (const char* bad : {"-1", "1.5", "\"1\""})
    EXPECT_NE(refusal({file(bad, "1")}).find("a seed must be a whole number, not below 0"), std::string::npos)
        << bad;
}

}  // namespace
}  // namespace retrygate::ci
