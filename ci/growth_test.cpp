// What compare --over says of fleets whose requests can be counted by hand.
#include "ci/growth.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

std::vector<std::int64_t> sizes(std::string_view text) { return parse_over(text, {})->sizes; }

std::string mistake(std::string_view text) {
  const auto over = parse_over(text, {"--over", 1, 1});
  return over ? "" : to_string(over.error());
}

TEST(Over, RangesAndLists) {
  EXPECT_EQ(sizes("clients=200..5000"), (std::vector<std::int64_t>{200, 500, 1000, 2000, 5000}));
  EXPECT_EQ(sizes("clients=30..400"), (std::vector<std::int64_t>{30, 50, 100, 200, 400}));
  EXPECT_EQ(sizes("clients=7..8"), (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(sizes("clients=1,10,25"), (std::vector<std::int64_t>{1, 10, 25}));
  EXPECT_EQ(parse_over("clients=1..10", {})->key, "clients");
}

TEST(Over, Mistakes) {
  EXPECT_NE(mistake("clients").find("'clients' is not of the form key=first..last"), std::string::npos);
  EXPECT_NE(mistake("clients=10..10").find("10 is not above 10"), std::string::npos);
  EXPECT_NE(mistake("clients=0..10").find("no range of whole numbers above 0"), std::string::npos);
  EXPECT_NE(mistake("clients=5,3").find("the sizes must rise: 3 after 5"), std::string::npos);
  EXPECT_NE(mistake("clients=5,x").find("'x' is no whole number"), std::string::npos);
  EXPECT_NE(mistake("clients=5").find("one size shows no growth"), std::string::npos);
}

// A server that is down for 1 s and then takes everybody: every 500 ms that is 3 requests a client (0, 0.5,
// 1), every 250 ms 5.
GrowthRequest by_hand(std::string metric) {
  const Over over{"clients", {10, 100, 1000}};
  return {*find_policy("fixed:base=500ms", {}),
          {*find_policy("fixed:base=250ms", {})},
          {*scenarios_over("outage-then-limit", {"concurrency_limit=1000000"}, over)},
          over,
          {1, 2, 3},
          {std::move(metric)},
          1};
}

TEST(Growth, RequestsOfAFixedDelay) {
  const auto report = grow(by_hand("requests"));
  ASSERT_TRUE(report);
  ASSERT_EQ(report->comparisons.size(), 1);
  const GrowthComparison& c = report->comparisons[0];
  EXPECT_EQ(c.baseline_trend.means, (std::vector<double>{30, 300, 3000}));
  EXPECT_EQ(c.candidate_trend.means, (std::vector<double>{50, 500, 5000}));
  for (const auto& step : c.steps) {
    EXPECT_NEAR(*step.effect, 2.0 / 3, 1e-15);
    EXPECT_FALSE(step.interval.has_value());  // all seeds agree
  }
  EXPECT_NEAR(c.baseline_law.exponent, 1, 1e-14);
  EXPECT_NEAR(c.baseline_law.scale, 3, 1e-12);
  EXPECT_NEAR(c.candidate_law.scale, 5, 1e-12);
  EXPECT_EQ(c.candidate_trend.direction, stats::Direction::rises);
  const std::string text = growth_text(growth_rows(*report)), json = growth_json(*report);
  EXPECT_NE(text.find("      1000        3000        5000    +66.7 %   -\n"), std::string::npos) << text;
  EXPECT_NE(text.find("baseline: exponent 1.000"), std::string::npos) << text;
  std::string words = text;  // however its lines are broken
  for (std::size_t at = 0; (at = words.find("\n  ", at)) != std::string::npos;) words.replace(at, 3, " ");
  EXPECT_NE(
      words.find("In words: with ten times the clients, requests of fixed:base=500ms becomes 10 times as "
                 "large, in proportion, of fixed:base=250ms it becomes 10 times as large, in proportion."),
      std::string::npos)
      << text;
  EXPECT_NE(json.find(R"("schema": "retrygate.growth/1")"), std::string::npos) << json;
}

TEST(Growth, NothingToGrow) {
  const auto report = grow(by_hand("gave_up"));
  ASSERT_TRUE(report);
  const std::string text = growth_text(growth_rows(*report));
  EXPECT_NE(text.find("no power law goes through 0; the mean stays the same"), std::string::npos) << text;
  // What is no power law has nothing to say of ten times.
  EXPECT_NE(text.find("In words: with more clients, gave_up of "), std::string::npos) << text;
}

TEST(Growth, DrawnPoliciesHaveIntervals) {
  GrowthRequest request = by_hand("requests");
  request.candidates = {*find_policy("full-jitter", {})};
  request.seeds = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto report = grow(request);
  ASSERT_TRUE(report);
  const GrowthComparison& c = report->comparisons[0];
  EXPECT_TRUE(c.candidate_law.interval.has_value());
  EXPECT_LT(c.candidate_law.interval->low, 1);
  EXPECT_GT(c.candidate_law.interval->high, 1);
  for (const auto& step : c.steps) EXPECT_TRUE(step.interval.has_value());
}

// Of five storms of 1000 clients some end within the minute: Fieller's set of the ratio reaches below 0,
// where no time lies. And what the horizon cuts off says nothing of which grows faster.
TEST(Growth, TheHorizonIsNoGrowth) {
  GrowthRequest request = by_hand("completion_s");
  request.baseline = *find_policy("full-jitter", {});
  request.candidates = {*find_policy("decorrelated", {})};
  request.scenarios = {*scenarios_over("outage-then-limit", {}, {"clients", {200, 1000, 2000}})};
  request.over = {"clients", {200, 1000, 2000}};
  request.seeds = {1, 2, 3, 4, 5};
  const auto report = grow(request);
  ASSERT_TRUE(report);
  const GrowthComparison& c = report->comparisons[0];
  ASSERT_GT(c.candidate_cut, 0u);
  for (const auto& step : c.steps) EXPECT_GE(step.interval.value_or(stats::Interval{}).low, -1);
  ASSERT_EQ(c.baseline_reached, 3u);
  ASSERT_EQ(c.candidate_reached, 1u);
  EXPECT_EQ(c.candidate_law.status, stats::Status::undefined);
  const std::string words = growth_text(growth_rows(*report));
  EXPECT_NE(words.find("candidate: no exponent, as some runs did not get there"), std::string::npos) << words;
  EXPECT_NE(words.find("cannot be told"), std::string::npos) << words;
  EXPECT_EQ(words.find("difference of the exponents"), std::string::npos) << words;
}

// Every half second from 1 s on 20 of them are served in 50 ms: 100 need 5 turns and 3.05 s, 200 need 10 and
// 5.55 s, and of 500 some have no attempt left, so that the minute of the horizon stands for their end.
TEST(Growth, ALawIsOfTheSizesThatTheHorizonLeavesAlone) {
  GrowthRequest request = by_hand("completion_s");
  request.scenarios = {*scenarios_over("outage-then-limit", {}, {"clients", {100, 200, 500}})};
  request.over = {"clients", {100, 200, 500}};
  const auto report = grow(request);
  ASSERT_TRUE(report);
  const GrowthComparison& c = report->comparisons[0];
  EXPECT_EQ(c.baseline_reached, 2u);
  EXPECT_NEAR(c.baseline_law.exponent, std::log2(5.55 / 3.05), 1e-12);
  const std::string words = growth_text(growth_rows(*report));
  EXPECT_NE(words.find("; up to 200, where every run"), std::string::npos) << words;
}

TEST(Growth, AKeyThatTheScenarioLacks) {
  const auto scenarios = scenarios_over("outage-then-limit", {}, {"clienst", {10, 100}});
  ASSERT_FALSE(scenarios);
  EXPECT_EQ(scenarios.error().size(), 1) << to_string(scenarios.error());
  EXPECT_NE(to_string(scenarios.error()).find("clienst"), std::string::npos);
}

}  // namespace
}  // namespace retrygate::ci
