// What a designed experiment says of a fleet whose requests can be counted by hand.
#include "ci/sensitivity.hpp"

#include <gtest/gtest.h>

namespace retrygate::ci {
namespace {

// A server that is down for 1 s and then takes everybody; 200 clients.
SensitivityRequest by_hand(std::string policy, std::vector<std::string> vary) {
  SensitivityRequest request;
  request.policy = std::move(policy);
  request.where = {"P", 1, 1};
  request.scenario = "outage-then-limit";
  request.overrides = {"concurrency_limit=1000000"};
  request.seeds = {1, 2, 3};
  request.metrics = {"requests"};
  request.vary = std::move(vary);
  request.threads = 1;
  return request;
}

// Requests a client: every 250 ms 5 (at 0, 0.25 .. 1), every 500 ms 3, with 2 attempts at most 2.
TEST(Sensitivity, ByHand) {
  const auto report = sensitivity(by_hand("fixed", {"base=250ms..500ms", "max_attempts=2..12"}));
  ASSERT_TRUE(report) << to_string(report.error());
  const SensitivityMetric& m = report->metrics.at(0);
  EXPECT_EQ(m.nominal, 600);  // fixed is 500 ms, 12 attempts
  EXPECT_EQ(m.experiment.mean, 600);
  ASSERT_EQ(m.experiment.effects.size(), 3);
  EXPECT_EQ(m.experiment.effects[0].estimate, -200);  // base: 0 with 2 attempts, 600 - 1000 with 12
  EXPECT_EQ(m.experiment.effects[1].estimate, 400);   // max_attempts: 1000 - 400 and 600 - 400
  EXPECT_EQ(m.experiment.effects[2].estimate, -200);  // (-400 - 0) / 2
  EXPECT_EQ(m.curvature.estimate, 0);
  EXPECT_FALSE(m.experiment.effects[0].interval.has_value());  // nothing was drawn
  const std::string text = sensitivity_text(*report);
  EXPECT_NE(text.find("all 4 combinations"), std::string::npos) << text;
  EXPECT_NE(text.find("base x max_attempts"), std::string::npos) << text;
  EXPECT_NE(text.find("In words: what matters for requests, most first: max_attempts (+400 requests"),
            std::string::npos)
      << text;
  EXPECT_NE(sensitivity_json(*report).find(R"("schema": "retrygate.sensitivity/1")"), std::string::npos);
}

TEST(Sensitivity, UsualSettings) {
  const std::string own = "full-jitter:base=200ms,max_attempts=3";
  const auto settings = usual_settings(by_hand(own, {}), *find_policy(own, {}));
  EXPECT_EQ(settings, (std::vector<Setting>{{"base", "100ms", "200ms", "400ms"},
                                            {"factor", "1.5", "2", "3"},
                                            {"cap", "2.5s", "5s", "10s"},
                                            {"max_attempts", "2", "3", "6"}}));
  EXPECT_TRUE(sensitivity(by_hand(own, {})));
}

TEST(Sensitivity, FractionsNameTheirAliases) {
  SensitivityRequest request = by_hand("full-jitter", {});
  request.runs = 8;
  const auto report = sensitivity(request);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->metrics[0].experiment.effects.size(), 7);
  const std::string text = sensitivity_text(*report);
  EXPECT_NE(text.find("8 of 16 combinations, resolution 4"), std::string::npos) << text;
  EXPECT_NE(text.find("base x factor = cap x max_attempts"), std::string::npos) << text;
}

TEST(Sensitivity, Mistakes) {
  const auto says = [](const SensitivityRequest& request, std::string_view words) {
    const auto report = sensitivity(request);
    return !report && to_string(report.error()).find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(by_hand("fixed", {"base=1s"}), "'base=1s' is not of the form key=low..high"));
  EXPECT_TRUE(says(by_hand("fixed", {"base=1s..2s", "base=3s..4s"}), "'base' is given twice"));
  EXPECT_TRUE(says(by_hand("fixed", {"bose=1s..2s"}), "fixed:bose=1s: unknown key 'bose'"));
  EXPECT_TRUE(
      says(by_hand("full-jitter", {"cap=1ms..5s"}), "full-jitter:cap=1ms: cap (1ms) is below base (100ms)"));
  SensitivityRequest request = by_hand("full-jitter", {});
  request.runs = 12;
  EXPECT_TRUE(says(request, "--runs:1:1: error: no design of 4 factors has 12 runs"));
  request = by_hand("full-jitter", {});
  request.metrics = {"peek_1s"};
  EXPECT_TRUE(says(request, "peek_1s"));
}

}  // namespace
}  // namespace retrygate::ci
