// Expected numbers: deterministic rows follow from arithmetic (see each test); the jittered rows are of an
// independent Python model of the published experiment (200 seeds each).
#include "sim/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "policies/named.hpp"
#include "sim/metrics.hpp"

namespace retrygate {
namespace {

NamedPolicy named(const std::string& reference) {
  auto found = find_policy(reference, {"test", 1, 1});
  EXPECT_TRUE(found) << (found ? "" : to_string(found.error()));
  return *found;
}

Scenario shipped(const std::string& id, const std::vector<std::string>& overrides = {}) {
  auto found = find_scenario(id, {"test", 1, 1}, overrides);
  EXPECT_TRUE(found) << (found ? "" : to_string(found.error()));
  return *found;
}

std::optional<double> value(const Totals& totals, std::string_view metric) {
  return find_metric(metric)->read(totals);
}

using Expected = std::map<std::string, std::optional<double>>;

void expect(const std::string& name, const Scenario& s, const Expected& expected) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto totals = run(named(name).policy, s, Seed{seed});
    ASSERT_TRUE(totals) << to_string(totals.error());
    for (const auto& [metric, number] : expected)
      EXPECT_EQ(value(*totals, metric), number) << name << ' ' << metric << " seed " << seed;
    EXPECT_EQ(totals->policy_draws, 0U);
  }
}

TEST(OutageThenLimit, PoliciesWithoutJitterAreExactForEverySeed) {
  const Scenario s = shipped("outage-then-limit");
  // 12 attempts of 200 clients at t = 0.
  expect("immediate", s,
         {{"requests", 2400},
          {"gave_up", 200},
          {"peak_10ms", 2400},
          {"completion_s", std::nullopt},
          {"success_rate", 0},
          {"latency_mean_s", std::nullopt},
          {"finish_s", 0}});
  // 200 at 0 s and at 0.5 s, then 20 fewer every half second: 400 + (200 + 180 + .. + 20) = 1500; the
  // last at 5.5 s.
  expect("fixed", s,
         {{"requests", 1500},
          {"retries", 1300},
          {"attempts_max", 12},
          {"gave_up", 0},
          {"peak_100ms", 200},
          {"peak_1s", 400},
          {"completion_s", 5.55},
          {"amplification", 7.5},
          {"completed", 1},
          {"succeeded", 200}});
  // Attempts at 0 .1 .3 .7 1.5 3.1 6.3 11.3 16.3 21.3 26.3 31.3 s; four rounds meet the outage, eight
  // rounds serve 20 each: 4 * 200 + 200 + 180 + .. + 60 = 1840.
  expect("exponential", s,
         {{"requests", 1840},
          {"gave_up", 40},
          {"peak_100ms", 200},
          {"peak_1s", 800},
          {"completion_s", std::nullopt},
          {"finish_s", 31.35}});
}

TEST(OutageThenLimit, JitterAgreesWithAnIndependentModel) {
  struct Row {
    const char* policy;
    const char* scenario;
    double requests, peak_100ms, peak_1s, completion_s, attempts_max;
  };
  constexpr Row rows[] = {
      {"full-jitter", "outage-then-limit", 1199.815, 454.74, 998.685, 4.752775564560267, 8.035},
      {"equal-jitter", "outage-then-limit", 1072.535, 400, 840.01, 2.824441257589232, 6},
      {"decorrelated", "outage-then-limit", 952.525, 200, 745.89, 2.9520113040633174, 7.975},
      {"full-jitter", "outage-then-limit-lan", 1179.855, 378.21, 977.895, 4.64688425411907, 7.94},
      {"equal-jitter", "outage-then-limit-lan", 1054.63, 310.9, 818.87, 2.9018652561041605, 6},
      {"decorrelated", "outage-then-limit-lan", 933.42, 200, 726.115, 2.9418757886126046, 7.54},
  };
  constexpr int seeds = 200;
  for (const Row& row : rows) {
    const Scenario s = shipped(row.scenario);
    const NamedPolicy p = named(row.policy);
    std::map<std::string, std::vector<double>> samples;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto totals = run(p.policy, s, Seed{seed});
      ASSERT_TRUE(totals);
      EXPECT_GT(totals->policy_draws, 0U);
      for (const char* metric : {"requests", "peak_100ms", "peak_1s", "completion_s", "attempts_max"}) {
        const auto number = value(*totals, metric);
        ASSERT_TRUE(number) << row.policy << ' ' << metric << " seed " << seed;
        samples[metric].push_back(*number);
      }
    }
    const std::map<std::string, double> model = {{"requests", row.requests},
                                                 {"peak_100ms", row.peak_100ms},
                                                 {"peak_1s", row.peak_1s},
                                                 {"completion_s", row.completion_s},
                                                 {"attempts_max", row.attempts_max}};
    for (const auto& [metric, all] : samples) {
      double mean = 0;
      for (const double x : all) mean += x / seeds;
      double squares = 0;
      for (const double x : all) squares += (x - mean) * (x - mean);
      // Both sides are means of 200 seeds, so the combined error is sqrt(2) of ours.
      const double error = std::sqrt(2 * squares / (seeds - 1) / seeds);
      EXPECT_NEAR(mean, model.at(metric), 5 * error + 1e-9)
          << row.policy << ' ' << row.scenario << ' ' << metric;
    }
  }
}

TEST(OutageThenLimitLan, TheFrontAndTheReplyTakeTheirTime) {
  // The front is never idle: 2400 * 0.1 ms, then the last reply's 12 ms; 1000 fit a half-open 100 ms.
  expect("immediate", shipped("outage-then-limit-lan"),
         {{"requests", 2400}, {"gave_up", 200}, {"finish_s", 0.252}, {"peak_100ms", 1000}});
  // Independent Python model of the published experiment: last success at 5.7151 s.
  expect("fixed", shipped("outage-then-limit-lan"),
         {{"requests", 1500}, {"completion_s", 5.7151}, {"peak_100ms", 200}, {"peak_1s", 400}});
}

TEST(RateLimitedFleet, WithoutJitterTheFleetIsDoneTogether) {
  // 200 + 400 + 800 ms of waiting and four attempts of 30.75 ms.
  expect("exponential:base=200ms", shipped("rate-limited-fleet"),
         {{"completion_s", 1.523},
          {"latency_mean_s", 1.523},
          {"latency_p95_s", 1.523},
          {"requests", 80},
          {"peak_10ms", 20},
          {"retry_peak_10ms", 20},
          {"attempts_max", 4},
          {"attempts_mean", 4}});
}

TEST(FlakyService, BackoffSucceedsHalfAPointLessOftenThanFixed) {
  // Closed forms of the stationary process: 98.13144621871362 and 97.62435813802516 percent. The run
  // starts with no outage, which lifts both a little (below 0.04 points); a paired difference hardly.
  const Scenario s = shipped("flaky-service");
  const NamedPolicy fixed = named("fixed:base=100ms,max_attempts=4");
  const NamedPolicy backoff = named("proportional:base=40ms,ratio=0.5,cap=1h,max_attempts=4");
  constexpr int seeds = 200;
  double sum = 0, squares = 0, first = 0, first_squares = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto a = run(fixed.policy, s, Seed{seed});
    const auto b = run(backoff.policy, s, Seed{seed});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->calls, 10000);
    EXPECT_EQ(a->unfinished, 0);
    const double f = 100 * *value(*a, "success_rate");
    const double d = 100 * *value(*b, "success_rate") - f;
    sum += d / seeds;
    squares += d * d / seeds;
    first += f / seeds;
    first_squares += f * f / seeds;
  }
  const double error = std::sqrt((squares - sum * sum) / seeds);
  EXPECT_NEAR(sum, 97.62435813802516 - 98.13144621871362, 5 * error + 0.01);
  EXPECT_LT(error, 0.03);
  EXPECT_NEAR(first, 98.13144621871362, 5 * std::sqrt((first_squares - first * first) / seeds) + 0.04);
}

TEST(Run, ACallThatHoldsTimeStillIsAnErrorThatNamesTheLimit) {
  // A nanosecond at a time it would go on for ever, too.
  const std::string hasty[] = {"immediate:max_attempts=1000000", "fixed:base=1ns,max_attempts=100000000",
                               "full-jitter:base=1ns,cap=2ns,max_attempts=100000000"};
  for (const std::string& policy : hasty) {
    for (const QueueKind queue : {QueueKind::tree, QueueKind::buckets, QueueKind::heap}) {
      const auto totals = run(named(policy).policy, shipped("outage-then-limit", {"clients=10"}), Seed{1},
                              {.name = "hasty", .queue = queue});
      ASSERT_FALSE(totals) << policy;
      const std::string message = to_string(totals.error());
      for (const char* part : {"'hasty'", "'outage-then-limit'", "max_attempts"})
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  // Among a million clients that take turns it would show after hours.
  EXPECT_FALSE(run(named(hasty[1]).policy, shipped("outage-then-limit", {"clients=1000000"}), Seed{1}));
}

// 100,000 attempts within a second are too many, and within two are not.
TEST(Run, ManyAttemptsAreNoErrorWhereTimeGoesOn) {
  const Scenario down = shipped("outage-then-limit", {"clients=2", "outage=20s"});
  EXPECT_FALSE(run(named("fixed:base=9us,max_attempts=300000").policy, down, Seed{1}));
  const auto totals = run(named("fixed:base=20us,max_attempts=300000").policy, down, Seed{1});
  ASSERT_TRUE(totals) << to_string(totals.error());
  EXPECT_EQ(totals->requests, 2 * 300'000);
}

// Never lets a request out, and is asked again so soon that it would be asked for ever.
struct Procrastinator {
  Duration later;
  using Client = Stateless;
  using Call = Stateless;
  Decision before(Client&, Call&, const Sending&, Rng&) const { return Decision::wait(later); }
  Decision after(Client&, Call&, const Attempt&, Rng&) const { return Decision::stop(Stop::attempts); }
  Contract contract() const { return {}; }
  bool operator==(const Procrastinator&) const = default;
  friend std::string to_string(const Procrastinator&) { return "procrastinator"; }
};

TEST(Run, WhoeverPutsASendOffForEverIsAnError) {
  for (const char* arrivals :
       {"arrivals = \"burst\"", "arrivals = \"interval\"\ninterval = \"1ms\"\ncalls = 2"}) {
    const auto table =
        parse_toml(std::string("horizon = \"60s\"\nclients = 2\nstages = []\n") + arrivals, "test");
    const Scenario s = *read_scenario("test", *table);
    const auto totals = run(AnyPolicy(Procrastinator{Duration::ns(1)}), s, Seed{1});
    ASSERT_FALSE(totals) << arrivals;
    EXPECT_NE(to_string(totals.error()).find("procrastinator"), std::string::npos);
    // 600,000 times in a minute.
    const auto slow = run(AnyPolicy(Procrastinator{Duration::us(100)}), s, Seed{1});
    ASSERT_TRUE(slow) << arrivals;
    EXPECT_EQ(slow->requests, 0);
  }
}

TEST(Run, TheHorizonCutsACallOff) {
  const auto totals = run(named("fixed").policy, shipped("outage-then-limit", {"horizon=1s"}), Seed{1});
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->unfinished, 200);
  EXPECT_EQ(totals->gave_up, 0);
  EXPECT_EQ(value(*totals, "completion_s"), std::nullopt);
  EXPECT_EQ(value(*totals, "finish_s"), std::nullopt);  // nobody has finished
  // Half of two calls, 1 s each and 700 ms apart, ends in time.
  const auto table = parse_toml(
      "horizon = \"1.5s\"\nclients = 2\ninterval = \"700ms\"\nstages = [{ kind = \"service\", time = \"1s\" "
      "}]",
      "test");
  const auto half = run(named("fixed").policy, *read_scenario("test", *table), Seed{1});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->last_end, Duration::s(1));
  EXPECT_EQ(value(*half, "finish_s"), std::nullopt);
  EXPECT_EQ(value(*half, "latency_max_s"), 1);
}

TEST(Run, TheSaltChangesThePolicyAndNotTheWorld) {
  const Scenario s = shipped("flaky-service");
  const auto fixed = named("fixed:max_attempts=4");
  EXPECT_EQ(*run(fixed.policy, s, Seed{7}), *run(fixed.policy, s, Seed{7}, {.policy_salt = 1}));
  EXPECT_NE(run(fixed.policy, s, Seed{7})->digest, run(fixed.policy, s, Seed{8})->digest);
  const auto full = named("full-jitter");
  const Scenario storm = shipped("outage-then-limit");
  EXPECT_EQ(*run(full.policy, storm, Seed{7}), *run(full.policy, storm, Seed{7}));
  EXPECT_NE(run(full.policy, storm, Seed{7})->digest,
            run(full.policy, storm, Seed{7}, {.policy_salt = 1})->digest);
}

// Lets a request out with even chances, else is asked again a millisecond later. It shares its clients'
// memory among their calls.
struct Hesitant {
  struct Client {
    int calls = 0;
  };
  using Call = Stateless;
  Decision before(Client&, Call&, const Sending&, Rng& rng) const {
    return Decision::wait(rng.unit() < 0.5 ? Duration{} : Duration::ms(1));
  }
  Decision after(Client&, Call&, const Attempt&, Rng&) const { return Decision::stop(Stop::attempts); }
  Contract contract() const { return {}; }
  bool operator==(const Hesitant&) const = default;
  friend std::string to_string(const Hesitant&) { return "hesitant"; }
};

TEST(Run, WhoeverPutsASendOffDrawsAfreshWhenAskedAgain) {
  // Geometric waits: of n calls half goes at once, a quarter after 1 ms .. (mean 1 ms, standard deviation
  // sqrt(2) ms); none waits 9 s. The calls of a client overlap where they come as a stream.
  constexpr int n = 10'000;
  for (const char* arrivals :
       {"arrivals = \"interval\"\ninterval = \"100us\"\ncalls = 100", "arrivals = \"burst\"\ncalls = 100"}) {
    const auto table =
        parse_toml(std::string("horizon = \"10s\"\nclients = 100\nstages = []\n") + arrivals, "test");
    const auto totals = run(AnyPolicy(Hesitant{}), *read_scenario("test", *table), Seed{1});
    ASSERT_TRUE(totals);
    EXPECT_EQ(totals->succeeded, n) << arrivals;
    EXPECT_NEAR(totals->latencies->mean_s, 1e-3, 5 * std::sqrt(2.0 / n) * 1e-3) << arrivals;
  }
}

TEST(BusiestWindow, AgreesWithBruteForce) {
  Rng rng(Seed{1});
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> times(rng.below(60));
    for (auto& t : times) t = static_cast<std::int64_t>(rng.below(100));
    std::sort(times.begin(), times.end());
    const Duration w = Duration::ns(static_cast<std::int64_t>(1 + rng.below(30)));
    std::int64_t most = 0;
    for (const auto from : times)
      most = std::max<std::int64_t>(most, std::count_if(times.begin(), times.end(), [&](auto t) {
                                      return t >= from && t < from + w.ns();
                                    }));
    EXPECT_EQ(busiest_window(times, w), most);
  }
}

}  // namespace
}  // namespace retrygate
