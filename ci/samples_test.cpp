#include "ci/samples.hpp"

#include <gmock/gmock.h>

namespace retrygate::ci {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Samples = std::vector<std::optional<double>>;

Result<std::vector<double>> compared(std::string_view metric, const Samples& samples,
                                     std::string_view scenario = "outage-then-limit") {
  return comparable(samples, *find_metric(metric), *find_scenario(scenario, {}), {"suite.toml", 3, 5});
}

TEST(Comparable, ATimeThatWasNotReachedCountsAsTheHorizon) {
  for (const char* metric : {"completion_s", "finish_s", "latency_p99_s", "latency_all_max_s", "recovery_s"})
    EXPECT_THAT(*compared(metric, {1.5, std::nullopt}), ElementsAre(1.5, 60)) << metric;
}

TEST(Comparable, WhatIsNoTimeOfTheRunIsNotCutAtItsHorizon) {
  // Server time adds up over many requests.
  EXPECT_THAT(*compared("wasted_s", {75, 4000}), ElementsAre(75, 4000));
}

TEST(Comparable, WhatNeverWasIsNoValue) {
  // More spread is better: nobody who sends a third attempt is not the best spread there is.
  for (const char* metric : {"spread_attempt_3_s", "success_rate", "goodput_per_s"})
    EXPECT_THAT(to_string(compared(metric, {1, std::nullopt}).error()),
                AllOf(HasSubstr("suite.toml:3:5"), HasSubstr("has no value in some seeds")))
        << metric;
  EXPECT_THAT(to_string(compared("recovery_s", {std::nullopt}, "rate-limited-fleet").error()),
              HasSubstr("scenario 'rate-limited-fleet' has no outage to recover from"));
}

}  // namespace
}  // namespace retrygate::ci
