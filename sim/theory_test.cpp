// The simulator against closed forms of queueing theory (Kleinrock, "Queueing Systems", vol. 1, 1975), which
// are written here and use nothing of it. Each figure is a mean over seeds and may lie five standard errors
// off.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

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

// Stations in a row, and a share of all that comes out at the end goes back to the start: each station is as
// if it were alone under the load that it really gets, which counts every attempt (Jackson, "Networks of
// Waiting Lines", Operations Research 5, 1957). A fixed delay between two attempts is a station without a
// queue.
TEST(Theory, JacksonsChainWithRetries) {
  constexpr double lambda = 60, failing = 0.25, visits = 1 / (1 - failing), load = lambda * visits;
  const auto time_in = [&](int c, double mu) { return erlang_c(c, load / mu) / (c * mu - load) + 1 / mu; };
  const double all = visits * (time_in(1, 100) + time_in(4, 25) + time_in(2, 50)) + (visits - 1) * 0.03;
  const Scenario chain = open(lambda, R"({ kind = "queue", service = "exponential 10ms" },
      { kind = "queue", workers = 4, service = "exponential 40ms" },
      { kind = "hop", policy = "fixed:max_attempts=1", stages = [
        { kind = "queue", workers = 2, service = "exponential 20ms" }] },
      { kind = "random-failure", probability = 0.25 })");
  expect_near(over_seeds("fixed:base=30ms,max_attempts=1000", chain, "latency_mean_s", 20), all, 0.02);
}

// Callers under way on average = their rate of arrival times their mean time in the system (J. D. C. Little,
// "A Proof for the Queuing Formula L = lambda W", Operations Research 9, 1961), whatever the system is. The
// first is seen by an observer who comes at Poisson instants of his own and so sees averages over time (R. W.
// Wolff, "Poisson Arrivals See Time Averages", Operations Research 30, 1982); the rate is the one that was
// asked for.
void expect_littles_law(const std::string& policy_name, double lambda, const std::string& stages) {
  const Scenario s = open(lambda, stages);
  constexpr int seeds = 20;
  std::vector<double> seen, differences;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::vector<TraceRow> trace;
    const Totals t = play(policy_name, s, seed, {.trace = &trace});
    ASSERT_EQ(t.unfinished, 0);
    std::map<std::uint32_t, std::pair<Duration, Duration>> calls;  // by client, who makes one
    for (const TraceRow& row : trace) {
      auto& [start, end] = calls.try_emplace(row.client, row.start.since_start, Duration{}).first->second;
      end = row.end->since_start;
    }
    std::vector<Duration> starts, ends;
    for (const auto& [client, call] : calls) {
      starts.push_back(call.first);
      ends.push_back(call.second);
    }
    std::sort(starts.begin(), starts.end());
    std::sort(ends.begin(), ends.end());
    const auto until = [](const std::vector<Duration>& sorted, Duration at) {
      return std::upper_bound(sorted.begin(), sorted.end(), at) - sorted.begin();
    };
    Rng observer(Seed{1000 + seed});
    double sum = 0, looks = 0;
    for (Duration at; at <= starts.back(); at = at + observer.exponential(Duration::ms(20))) {
      sum += static_cast<double>(until(starts, at) - until(ends, at));
      ++looks;
    }
    seen.push_back(sum / looks);
    differences.push_back(sum / looks - lambda * t.latencies_all->mean_s);
  }
  const MeanOfSeeds under_way = mean_of(seen), difference = mean_of(differences);
  EXPECT_NEAR(difference.mean, 0, 5 * difference.error) << under_way.mean;
  EXPECT_LT(difference.error, 0.01 * under_way.mean);  // else the test could not fail
}

TEST(Theory, LittlesLaw) {
  expect_littles_law(once, 80, R"({ kind = "queue", service = "exponential 10ms" })");
  // Callers who come back, who are refused, and some of whom give up.
  expect_littles_law("full-jitter:max_attempts=3", 80, R"({ kind = "random-failure", probability = 0.2 },
      { kind = "rate-limit", rate_per_s = 90, burst = 20, tell_wait = true },
      { kind = "queue", workers = 3, order = "lifo", capacity = 4, service = "gamma 30ms 0.5" })");
}

// Clients who fail together and come back once, each after a delay of [0, c] or [c / 2, c].
Scenario together(int clients) {
  return scenario(fmt::format(
      "clients = {}\nhorizon = \"1h\"\nstages = [{{ kind = \"outage\", length = \"2h\" }}]", clients));
}
std::string once_more(const char* jitter, const char* c) {
  return fmt::format("{}-jitter:base={},cap=1h,max_attempts=2", jitter, c);
}

// The range of n uniform numbers: H. A. David and H. N. Nagaraja, "Order Statistics", 2003, section 2.3.
TEST(FirstWave, IsAsWideAsOrderStatisticsSay) {
  for (const int n : {2, 20, 200}) {
    const double share = (n - 1.0) / (n + 1);
    const double sd = std::sqrt(2 * (n - 1.0) / ((n + 1.0) * (n + 1) * (n + 2)));
    for (const auto& [jitter, width] : {std::pair("full", 0.5), std::pair("equal", 0.25)}) {
      const MeanOfSeeds seen =
          over_seeds(once_more(jitter, "500ms"), together(n), "spread_attempt_2_s", 2000);
      EXPECT_NEAR(seen.mean, width * share, 5 * width * sd / std::sqrt(2000)) << jitter << ", " << n;
    }
  }
}

// Two clients share a window of w with probability 1 - (1 - w / c)^2.
TEST(FirstWave, OfTwoClients) {
  const MeanOfSeeds seen = over_seeds(once_more("full", "1s"), together(2), "retry_peak_200ms", 20000);
  EXPECT_NEAR(seen.mean, 1.36, 5 * std::sqrt(0.36 * 0.64 / 20000));
}

// The mean of the fullest window of a wave (a scan statistic), by a program in Python of its own: mean and
// standard error of 40,000 runs with 20 clients, 8,000 with 200.
TEST(FirstWave, ItsFullestWindow) {
  struct Row {
    int clients;
    const char *jitter, *c, *metric;
    double mean, error;
  };
  for (const Row& row : {Row{20, "full", "200ms", "retry_peak_10ms", 3.861875, 0.003963},
                         Row{20, "full", "500ms", "retry_peak_100ms", 7.5814, 0.005864},
                         Row{20, "full", "30s", "retry_peak_10ms", 1.119475, 0.001628},
                         Row{20, "equal", "200ms", "retry_peak_10ms", 5.278275, 0.004802},
                         Row{20, "equal", "30s", "retry_peak_100ms", 2.064375, 0.002244},
                         Row{200, "full", "200ms", "retry_peak_10ms", 18.6645, 0.020353},
                         Row{200, "full", "200ms", "retry_peak_100ms", 110.809125, 0.052940},
                         Row{200, "full", "4s", "retry_peak_100ms", 12.1015, 0.015148}}) {
    const MeanOfSeeds seen =
        over_seeds(once_more(row.jitter, row.c), together(row.clients), row.metric, 2000);
    EXPECT_NEAR(seen.mean, row.mean, 5 * std::hypot(seen.error, row.error))
        << row.clients << ", " << row.jitter << ", " << row.c << ", " << row.metric;
    EXPECT_LT(seen.error, 0.02 * row.mean);  // else the test could not fail
  }
}

}  // namespace
}  // namespace retrygate
