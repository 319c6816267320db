// The simulator against closed forms of queueing theory (Kleinrock, "Queueing Systems", vol. 1, 1975), which
// are written here and use nothing of it. Each figure is a mean over seeds and may lie five standard errors
// off.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/testing.hpp"

namespace retrygate {
namespace {

using namespace testing_sim;

// P(all c servers busy), offered load a, customers lost (B) or waiting (C).
double erlang_b(int c, double a) {
  double b = 1;
  for (int k = 1; k <= c; ++k) b = a * b / (k + a * b);
  return b;
}
double erlang_c(int c, double a) {
  const double b = erlang_b(c, a);
  return b / (1 - a / c * (1 - b));
}
// P(K in the system) of M/M/c/K.
double full(int c, int k, double a) {
  double term = 1, sum = 1, last = 1;
  for (int n = 1; n <= k; ++n) {
    term *= a / std::min(n, c);
    sum += term;
    last = term;
  }
  return last / sum;
}

Scenario open(double rate_per_s, const std::string& stages) {
  return scenario(
      fmt::format("arrivals = \"poisson\"\nrate_per_s = {}\nclients = 20000\nhorizon = \"1h\"\nstages = [{}]",
                  rate_per_s, stages));
}

void expect_near(const MeanOfSeeds& seen, double theory, double most_relative_error) {
  EXPECT_NEAR(seen.mean, theory, 5 * seen.error);
  EXPECT_LT(seen.error, most_relative_error * theory);  // else the test could not fail
}

TEST(Theory, MM1) {
  // mu = 100, lambda = 80 per second: 1 / (mu - lambda) = 50 ms in the system.
  expect_near(
      over_seeds(once, open(80, R"({ kind = "queue", service = "exponential 10ms" })"), "latency_mean_s", 20),
      0.05, 0.02);
}

TEST(Theory, MMcWaitsAsErlangCSays) {
  constexpr double lambda = 340, mu = 20;
  constexpr int c = 20;
  const double wait = erlang_c(c, lambda / mu) / (c * mu - lambda);
  expect_near(
      over_seeds(once, open(lambda, R"({ kind = "queue", workers = 20, service = "exponential 50ms" })"),
                 "latency_mean_s", 20),
      1 / mu + wait, 0.02);
}

TEST(Theory, LastComeFirstServedHasTheSameMean) {
  expect_near(
      over_seeds(once, open(70, R"({ kind = "queue", order = "lifo", service = "exponential 10ms" })"),
                 "latency_mean_s", 20),
      1.0 / 30, 0.02);
}

TEST(Theory, MMcKTurnsAwayTheRightShare) {
  constexpr double lambda = 90, mu = 20;
  const double lost = full(4, 10, lambda / mu);
  expect_near(
      over_seeds(
          once,
          open(lambda, R"({ kind = "queue", workers = 4, capacity = 6, service = "exponential 50ms" })"),
          "success_rate", 20),
      1 - lost, 0.01);
}

TEST(Theory, ErlangBWhateverTheLawOfService) {
  // Blocking depends on the mean alone (insensitivity).
  constexpr double lambda = 100, mean_s = 0.05;
  const double lost = erlang_b(8, lambda * mean_s);
  for (const char* law : {"exponential 50ms", "50ms", "uniform 0ms 100ms", "gamma 50ms 0.5"}) {
    const Scenario s =
        open(lambda,
             fmt::format(
                 R"({{ kind = "concurrency-limit", limit = 8 }}, {{ kind = "service", time = "{}" }})", law));
    expect_near(over_seeds(once, s, "success_rate", 20), 1 - lost, 0.01);
  }
  expect_near(
      over_seeds(once, open(lambda, R"({ kind = "queue", workers = 8, capacity = 0, service = "50ms" })"),
                 "success_rate", 20),
      1 - lost, 0.01);
}

TEST(Theory, LittlesLaw) {
  // The area under the number of callers in the system is the sum of their times in it: counted from the
  // trace event by event on one side, from the latencies on the other. Exact.
  std::vector<TraceRow> trace;
  const Totals t =
      play(once, open(80, R"({ kind = "queue", service = "exponential 10ms" })"), 3, {.trace = &trace});
  std::vector<std::pair<std::int64_t, int>> events;
  for (const TraceRow& row : trace) {
    events.emplace_back(row.start.since_start.ns(), 1);
    events.emplace_back(row.end.since_start.ns(), -1);
  }
  std::sort(events.begin(), events.end());
  int128 area = 0;
  std::int64_t inside = 0, last = 0;
  for (const auto& [time, change] : events) {
    area += int128{inside} * (time - last);
    last = time;
    inside += change;
  }
  EXPECT_EQ(inside, 0);
  EXPECT_NEAR(static_cast<double>(area) / 1e9, t.latencies->mean_s * static_cast<double>(t.calls), 1e-6);
}

}  // namespace
}  // namespace retrygate
