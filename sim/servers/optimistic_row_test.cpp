#include <gtest/gtest.h>

#include <cmath>

#include "sim/sweep.hpp"

namespace retrygate {
namespace {

std::vector<std::uint64_t> seeds(std::uint64_t n) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= n; ++seed) all.push_back(seed);
  return all;
}

SampleTable contended(const std::string& policy, const std::string& clients,
                      const std::vector<std::uint64_t>& of, const std::vector<std::string>& metrics) {
  return *sweep({*find_policy(policy, {})}, {*find_scenario("occ-contention", {}, {"clients=" + clients})},
                of, metrics);
}

double mean(const std::vector<std::optional<double>>& samples) {
  double sum = 0;
  for (const auto& sample : samples) sum += sample.value();
  return sum / static_cast<double>(samples.size());
}

// The published program under CPython 3.11, random.seed(1), 100 runs of 50 clients: mean and standard
// deviation of calls and of time (s). 100 seeds, five standard errors of the difference of the means.
TEST(OptimisticRow, PublishedProgram) {
  struct Row {
    const char* policy;
    double calls, calls_sd, time, time_sd;
  };
  for (const Row& row :
       {Row{"exponential:base=10ms,cap=2s,max_attempts=100000", 623.18, 30.43, 36.03349, 3.35805},
        Row{"decorrelated:base=5ms,cap=2s,max_attempts=100000", 372.71, 12.36, 2.19467, .55970},
        Row{"equal-jitter:base=10ms,cap=2s,max_attempts=100000", 347.12, 6.17, 4.27768, .55711},
        Row{"full-jitter:base=10ms,cap=2s,max_attempts=100000", 332.37, 4.23, 2.91430, .55652},
        Row{"immediate:max_attempts=100000", 689.97, 17.60, 1.13846, .04199}}) {
    const SampleTable table = contended(row.policy, "50", seeds(100), {"requests", "completion_s"});
    const double reach = 5 * std::sqrt(2.0 / 100);
    EXPECT_NEAR(mean(table.cells[0].samples[0]), row.calls, reach * row.calls_sd) << row.policy;
    EXPECT_NEAR(mean(table.cells[0].samples[1]), row.time, reach * row.time_sd) << row.policy;
  }
}

// Somebody always writes first; with one try the others give up, and nobody writes twice.
TEST(OptimisticRow, OneTryEach) {
  const SampleTable table =
      contended("fixed:max_attempts=1", "20", seeds(50), {"requests", "succeeded", "gave_up"});
  for (std::size_t i = 0; i < 50; ++i) {
    const auto& samples = table.cells[0].samples;
    EXPECT_EQ(samples[0][i], 20);
    EXPECT_GE(*samples[1][i], 1);
    EXPECT_GE(*samples[2][i], 1);
    EXPECT_EQ(*samples[1][i] + *samples[2][i], 20);
  }
}

}  // namespace
}  // namespace retrygate
