#include "sim/experiments/flaky.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/experiments/cpython.hpp"

namespace retrygate {
namespace {

TEST(Flaky, PrintedScriptSeed42BitForBit) {
  // Expected values: the article's script with its lost ** put back, run by CPython 3.11.7.
  const FlakyResult r = flaky(42, FlakyVariant::literal);
  EXPECT_EQ(r.outages, 24);
  EXPECT_DOUBLE_EQ(100 * r.down_fraction, 10.563384778762924);
  EXPECT_NEAR(100 * r.covered_fraction, 10.2431, 1e-4);
  EXPECT_EQ(r.rows[0].successes, 8886);
  EXPECT_EQ(r.rows[1].successes, 9969);
  EXPECT_EQ(r.rows[2].successes, 9988);
  EXPECT_EQ(r.rows[0].attempts, 10000);
  EXPECT_EQ(r.rows[1].attempts, 10234);
  EXPECT_EQ(r.rows[2].attempts, 10197);
  EXPECT_EQ(r.rows[0].mean_ms, 20.0);
  EXPECT_EQ(r.rows[1].mean_ms, 0x1.5b27fbaf924bfp+4);
  EXPECT_EQ(r.rows[2].mean_ms, 0x1.541f59b16cdccp+4);
  for (const FlakyRow& row : r.rows) EXPECT_EQ(row.p95_ms, 20.0) << row.policy;
  EXPECT_EQ(r.rows[0].draws, 8977U);
  EXPECT_EQ(r.rows[1].draws, 10064U);
  EXPECT_EQ(r.rows[2].draws, 10295U);
  // What the cursor hides.
  EXPECT_EQ(r.rows[1].truly_down, 1151);
  EXPECT_EQ(r.rows[1].answered_up, 981);
  EXPECT_EQ(r.rows[2].truly_down, 1096);
  EXPECT_EQ(r.rows[2].answered_up, 997);
  EXPECT_EQ(r.rows[0].answered_up, 0);
}

TEST(Flaky, CorrectedSeed42) {
  // Expected values: an independent Python model with a whole search for the outage.
  const FlakyResult r = flaky(42, FlakyVariant::corrected);
  EXPECT_EQ(r.outages, 24);
  EXPECT_EQ(r.rows[1].attempts, 11975);
  EXPECT_EQ(r.rows[2].attempts, 12399);
  EXPECT_NEAR(r.rows[1].mean_ms, 41.74, 0.005);
  EXPECT_NEAR(r.rows[2].mean_ms, 40.45, 0.005);
  EXPECT_NEAR(r.rows[1].p95_ms, 260.0, 1e-9);
  EXPECT_NEAR(r.rows[2].p95_ms, 193.6, 0.05);
  EXPECT_NEAR(r.rows[1].mean_all_ms, 43.7, 1e-9);
  EXPECT_NEAR(r.rows[2].mean_all_ms, 43.36854049464764, 1e-9);
  for (const FlakyRow& row : r.rows) EXPECT_EQ(row.answered_up, 0) << row.policy;
  EXPECT_GE(r.rows[0].truly_down, 1023);  // arrivals inside an outage
}

TEST(Flaky, RankingOfSuccessReversesInEverySeed) {
  // -0.506 points with a 95 % interval [-0.534, -0.479], lower in 200 of 200: the independent model.
  double sum = 0;
  double squares = 0;
  int lower = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const FlakyResult r = flaky(seed, FlakyVariant::corrected);
    const double d = static_cast<double>(r.rows[2].successes - r.rows[1].successes) / 100;
    sum += d;
    squares += d * d;
    if (d < 0) ++lower;
  }
  const double mean = sum / 200;
  const double half = 1.971956544 * std::sqrt((squares - sum * mean) / 199 / 200);  // t(0.975, 199)
  EXPECT_NEAR(mean, -0.5064, 1e-9);
  EXPECT_NEAR(mean - half, -0.5336307657954125, 1e-7);
  EXPECT_NEAR(mean + half, -0.4791692342045875, 1e-7);
  EXPECT_EQ(lower, 200);
}

TEST(Flaky, CommonRandomNumbersKeepTheOutagesAndShareTheFailures) {
  const FlakyResult common = flaky(7, FlakyVariant::common);
  const FlakyResult stream = flaky(7, FlakyVariant::corrected);
  EXPECT_EQ(common.outages, stream.outages);
  EXPECT_EQ(common.covered_fraction, stream.covered_fraction);
  for (const FlakyRow& row : common.rows) {
    EXPECT_EQ(row.draws, 0U) << row.policy;
    // The first attempt of a request is the same event whatever comes after it.
    EXPECT_EQ(row.first_successes, common.rows[0].successes) << row.policy;
  }
}

TEST(Flaky, CommonRandomNumbersFailEachAttemptAnew) {
  // The same law as the one stream: were a failed request to fail again for the same reason, 1 % would be
  // lost.
  double difference = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    difference += static_cast<double>(flaky(seed, FlakyVariant::common).rows[1].successes -
                                      flaky(seed, FlakyVariant::corrected).rows[1].successes);
  EXPECT_LT(std::abs(difference / 20), 15);
}

TEST(Flaky, TenTimesTheFailures) {
  // Closed form of the stationary service: 97.5457 (fixed) and 97.0085 % (backoff). One run of 50 s has a
  // standard deviation of about 1 point; 100 seeds, five standard errors.
  double fixed = 0;
  double backoff = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const FlakyResult r = flaky(seed, FlakyVariant::corrected, 0.1);
    fixed += static_cast<double>(r.rows[1].successes) / 10'000;
    backoff += static_cast<double>(r.rows[2].successes) / 10'000;
  }
  EXPECT_NEAR(fixed, 97.54567, 0.5);
  EXPECT_NEAR(backoff, 97.00845, 0.5);
}

}  // namespace
}  // namespace retrygate
