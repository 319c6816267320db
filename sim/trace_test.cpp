#include "sim/trace.hpp"

#include <gtest/gtest.h>

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
