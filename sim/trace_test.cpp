#include "sim/trace.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/base/testing.hpp"
#include "policies/trace.hpp"
#include "sim/testing.hpp"

namespace retrygate {
namespace {

using namespace testing_sim;

TEST(Trace, IsReadBackByCheck) {
  std::vector<TraceRow> rows;
  const Totals t = play("full-jitter:max_attempts=6", scenario(R"(
    clients = 30
    attempt_timeout = "40ms"
    stages = [{ kind = "rate-limit", rate_per_s = 50, burst = 5, tell_wait = true },
              { kind = "queue", service = "exponential 20ms" }])"),
                        3, {.trace = &rows});
  const auto read = parse_trace(trace_csv(rows), "trace.csv", Duration{});
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(static_cast<std::int64_t>(read->calls.size()), t.calls);
  std::size_t attempts = 0, told = 0, timeouts = 0;
  for (const TracedCall& call : read->calls) {
    attempts += call.attempts.size();
    for (const TracedAttempt& attempt : call.attempts) {
      told += attempt.header == "1" ? 1U : 0U;
      timeouts += attempt.status == Status::transport(TransportError::timeout) ? 1U : 0U;
    }
  }
  EXPECT_EQ(attempts, rows.size());
  EXPECT_GT(told, 0U);
  EXPECT_GT(timeouts, 0U);
}

// The way there takes 30 ms, and callers wait for 20: every request arrives when its caller has left, the
// last one behind the horizon. Calls start at 0 and 10 ms, attempts of a call every 20 + 5 ms.
TEST(Trace, SaysWhenEachRequestReachedTheServer) {
  std::vector<TraceRow> rows;
  play("fixed:base=5ms,max_attempts=3", scenario(R"(
    clients = 2
    arrivals = "interval"
    interval = "10ms"
    horizon = "90ms"
    request_latency = "30ms"
    attempt_timeout = "20ms"
    stages = [{ kind = "service", time = "1ms" }])"),
       1, {.trace = &rows});
  EXPECT_EQ(trace_csv(rows),
            "client,call,attempt,start,arrival,end,status,retry_after\n"
            "0,0,1,0s,30ms,20ms,timeout,\n"
            "1,0,1,10ms,40ms,30ms,timeout,\n"
            "0,0,2,25ms,55ms,45ms,timeout,\n"
            "1,0,2,35ms,65ms,55ms,timeout,\n"
            "0,0,3,50ms,80ms,70ms,timeout,\n"
            "1,0,3,60ms,,80ms,timeout,\n");
}

// Behind a front that takes 3 ms for each, two requests of one instant arrive 3 ms apart; both are in process
// when the run ends.
TEST(Trace, WhatIsUnderWayAtTheHorizonHasNoEnd) {
  std::vector<TraceRow> rows;
  play(once, scenario(R"(
    clients = 2
    horizon = "90ms"
    request_latency = "30ms"
    front_service = "3ms"
    stages = [{ kind = "service", time = "1s" }])"),
       1, {.trace = &rows});
  EXPECT_EQ(trace_csv(rows),
            "client,call,attempt,start,arrival,end,status,retry_after\n"
            "0,0,1,0s,33ms,,,\n"
            "1,0,1,0s,36ms,,,\n");
}

// Each way loses a quarter. Of n calls a quarter has no arrival, three sixteenths lose their answer; five
// standard deviations.
TEST(Trace, WhatIsLostOnTheWayNeverArrives) {
  constexpr double n = 20000;
  std::vector<TraceRow> rows;
  play(once, scenario(R"(
    clients = 20000
    loss = 0.25
    request_latency = "2ms"
    attempt_timeout = "1s"
    stages = [{ kind = "service", time = "1ms" }])"),
       1, {.trace = &rows});
  double lost = 0, unanswered = 0;
  for (const TraceRow& row : rows) {
    const bool timed_out = row.outcome.status == Status::transport(TransportError::timeout);
    EXPECT_EQ(row.end, Instant{timed_out ? Duration::s(1) : Duration::ms(3)});
    if (!row.arrived) {
      EXPECT_TRUE(timed_out);
      ++lost;
    } else {
      EXPECT_EQ(*row.arrived, Instant{Duration::ms(2)});
      unanswered += timed_out ? 1 : 0;
    }
  }
  EXPECT_EQ(static_cast<double>(rows.size()), n);
  EXPECT_NEAR(lost, n / 4, 5 * std::sqrt(n * 3 / 16));
  EXPECT_NEAR(unanswered, n * 3 / 16, 5 * std::sqrt(n * 3 / 16 * 13 / 16));
}

TEST(Trace, ItsFirstAttemptsAreArrivalsAgain) {
  std::vector<TraceRow> rows;
  const std::string server = "stages = [{ kind = \"queue\", service = \"exponential 20ms\" }]";
  const Totals t =
      play("full-jitter", scenario("arrivals = \"poisson\"\nrate_per_s = 40\nclients = 20\n" + server), 3,
           {.trace = &rows});
  const Scratch scratch;
  const std::string path = scratch.file("arrivals.csv", trace_csv(rows));
  EXPECT_EQ(play("full-jitter", scenario("arrivals = \"trace\"\ntrace = \"" + path + "\"\n" + server), 3), t);
}

}  // namespace
}  // namespace retrygate
