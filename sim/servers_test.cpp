// A scenario per stage that can be worked out by hand; the working is beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "policies/base/testing.hpp"
#include "sim/testing.hpp"

namespace retrygate {
namespace {

using namespace testing_sim;

TEST(Outage, WindowsRepeat) {
  // Calls at 0, 0.5 .. 9.5 s; down in [1,2), [4,5), [7,8): 1, 1.5, 4, 4.5, 7, 7.5 fail.
  const Totals t = play(once, scenario(R"(
    horizon = "10s"
    clients = 20
    interval = "500ms"
    stages = [{ kind = "outage", start = "1s", length = "1s", every = "3s" }])"));
  EXPECT_EQ(t.succeeded, 14);
  EXPECT_EQ(t.gave_up, 6);
}

TEST(Outage, ALogOfWindowsAndCallersWhoHang) {
  const Scratch scratch;
  const std::string path = scratch.file("outages.csv", "start,end\n2s,2.5s\n1s,1.2s\n1.1s,1.4s\n");
  // Calls every 100 ms; the log's union is [1,1.4) and [2,2.5): 9 fail, each after its timeout.
  const Totals t =
      play(once, scenario("horizon = \"10s\"\nclients = 40\ninterval = \"100ms\"\nattempt_timeout = "
                          "\"50ms\"\nstages = [{ kind = \"outage\", hang = true, file = \"" +
                          path + "\" }]"));
  EXPECT_EQ(t.gave_up, 9);
  EXPECT_EQ(t.latencies_all->max, Duration::ms(50));
  EXPECT_EQ(t.latencies->max, Duration{});
  std::remove(path.c_str());
}

TEST(RateLimit, GrantsItsTokensAndTellsTheWait) {
  // A bucket of 3, 2 tokens per second; 5 requests at 0. Three pass; the next token is there after 0.5 s,
  // told as 1 s. At 1 s the bucket holds two.
  const Scenario s = scenario(R"(
    clients = 5
    stages = [{ kind = "rate-limit", rate_per_s = 2, burst = 3, tell_wait = true }])");
  std::vector<TraceRow> trace;
  const Totals t = play("fixed:base=1ms,max_attempts=9,retry_after=floor", s, 1, {.trace = &trace});
  EXPECT_EQ(t.requests, 7);
  EXPECT_EQ(t.last_success, Duration::s(1));
  ASSERT_EQ(trace.size(), 7U);
  EXPECT_EQ(trace[3].outcome.status, Status::http(429));
  EXPECT_EQ(trace[3].outcome.retry_after, Duration::s(1));
  EXPECT_EQ(trace[5].start, Instant{Duration::s(1)});
  // Who does not obey asks again every millisecond until a token is there, at 0.5 s and 1 s.
  EXPECT_EQ(play("fixed:base=1ms,max_attempts=5000,retry_after=ignore", s).requests, 5 + 500 + 500 + 500);
}

TEST(Queue, FirstComeFirstServedAndFull) {
  const Totals t = play(once, scenario(R"(
    clients = 3
    stages = [{ kind = "queue", workers = 1, capacity = 1, service = "100ms" }])"));
  EXPECT_EQ(t.succeeded, 2);
  EXPECT_EQ(t.gave_up, 1);
  EXPECT_EQ(t.latencies->max, Duration::ms(200));
  // Calls at 0, 50, 100 ms: at 100 ms the second leaves the queue before the third comes (departures go
  // first).
  EXPECT_EQ(play(once, scenario(R"(
    clients = 3
    interval = "50ms"
    stages = [{ kind = "queue", workers = 1, capacity = 1, service = "100ms" }])"))
                .succeeded,
            3);
}

TEST(Queue, OrderDecidesWhoWaits) {
  // Calls at 0, 10, 20 ms, 100 ms of work each. fifo ends at 100, 200, 300; lifo takes the third before the
  // second.
  const auto ends = [](const std::string& order) {
    std::vector<TraceRow> trace;
    play(once,
         scenario("clients = 3\ninterval = \"10ms\"\nstages = [{ kind = \"queue\", service = \"100ms\", "
                  "order = \"" +
                  order + "\" }]"),
         1, {.trace = &trace});
    std::vector<std::int64_t> all;
    for (const TraceRow& row : trace) all.push_back(row.end->since_start.ns() / 1'000'000);
    return all;
  };
  EXPECT_EQ(ends("fifo"), (std::vector<std::int64_t>{100, 200, 300}));
  EXPECT_EQ(ends("lifo"), (std::vector<std::int64_t>{100, 300, 200}));
}

TEST(Queue, WorksForCallersWhoHaveLeft) {
  // Three at 0, 100 ms each, timeout 150 ms: two answers come too late, 200 ms of work for nobody. A server
  // that looks first begins the second (at 100 ms) and drops the third (at 200 ms).
  for (const char* order : {"fifo", "lifo"}) {
    const auto with = [&](const std::string& skip) {
      return play(
          once, scenario("clients = 3\nattempt_timeout = \"150ms\"\nstages = [{ kind = \"queue\", service = "
                         "\"100ms\", order = \"" +
                         std::string(order) + "\", skip_abandoned = " + skip + " }]"));
    };
    EXPECT_EQ(with("false").succeeded, 1);
    EXPECT_EQ(with("false").wasted, Duration::ms(200));
    EXPECT_EQ(with("true").wasted, Duration::ms(100));
    EXPECT_EQ(with("true").last_end, Duration::ms(150));
    // Who leaves before the request has even arrived is not served by an idle worker either.
    const auto late = [&](const char* skip) {
      return play(once, scenario(fmt::format("clients = 1\nattempt_timeout = \"10ms\"\nrequest_latency = "
                                             "\"20ms\"\nstages = [{{ kind = \"queue\", service = "
                                             "\"100ms\", order = \"{}\", skip_abandoned = {} }}]",
                                             order, skip)));
    };
    EXPECT_EQ(late("false").wasted, Duration::ms(100));
    EXPECT_EQ(late("true").wasted, Duration{});
    // One worker cannot waste more than the second that the run takes, however long its queue is.
    EXPECT_EQ(play(once, scenario(fmt::format("clients = 50\nhorizon = \"1s\"\nattempt_timeout = \"50ms\"\n"
                                              "stages = [{{ kind = \"queue\", service = \"100ms\", order = "
                                              "\"{}\" }}]",
                                              order)))
                  .wasted,
              Duration::s(1));
  }
}

TEST(Degradation, SlowForAWhileAndUnderLoad) {
  const Totals brown = play(once, scenario(R"(
    clients = 2
    interval = "1s"
    stages = [{ kind = "brownout", length = "1s", extra = "300ms" }])"));
  EXPECT_EQ(brown.latencies->max, Duration::ms(300));
  EXPECT_EQ(brown.latencies->p50, Duration{});
  // Two at 0: 100 ms with nobody there, 100 * (1 + 1/2) with one there.
  const Totals load = play(once, scenario(R"(
    clients = 2
    stages = [{ kind = "congestion", time = "100ms", half_speed_at = 2 }])"));
  EXPECT_EQ(load.latencies->p50, Duration::ms(100));
  EXPECT_EQ(load.latencies->max, Duration::ms(150));
}

TEST(Deduplication, OneProcessingPerCall) {
  // 100 ms of work, timeout 50 ms, 10 ms between: attempts at 0, 60, 120 ms are all processed and all too
  // late.
  const std::string caller = "idempotent = false\nattempt_timeout = \"50ms\"\nstages = [";
  const std::string service = R"({ kind = "service", time = "100ms" }])";
  const Totals plain = play("fixed:base=10ms,max_attempts=3", scenario(caller + service));
  EXPECT_EQ(plain.duplicates, 2);
  EXPECT_EQ(plain.succeeded, 0);
  // A server that remembers says 409 at 60, 70, 80 and 90 ms, and at 100 ms the first attempt's result,
  // whatever works behind it and however early that knows its end.
  for (const std::string& rest : {service, std::string(R"({ kind = "queue", service = "100ms" }])"),
                                  std::string(R"({ kind = "queue", order = "lifo", service = "100ms" },
                                                 { kind = "service", time = "0ms" }])"),
                                  std::string(R"({ kind = "hop", policy = "fixed:max_attempts=1", stages = [
                                                 { kind = "service", time = "100ms" }] }])")}) {
    const Totals once_only =
        play("fixed:base=10ms,max_attempts=9", scenario(caller + R"({ kind = "deduplication" }, )" + rest));
    EXPECT_EQ(once_only.requests, 6) << rest;
    EXPECT_EQ(once_only.duplicates, 0) << rest;
    EXPECT_EQ(once_only.last_success, Duration::ms(100)) << rest;
    EXPECT_EQ(once_only.wasted, Duration::ms(100)) << rest;
  }
  EXPECT_EQ(
      play("fixed:base=10ms,max_attempts=3", scenario("attempt_timeout = \"50ms\"\nstages = [" + service))
          .duplicates,
      0);  // harmless repeats are none
}

TEST(Hop, EachLayerRetriesForItself) {
  // The backend fails twice; the frontend asks it at 0, 100, 200 ms, 5 ms each.
  const std::string text = R"(
    stages = [{ kind = "hop", policy = "fixed:base=100ms,max_attempts=3", stages = [
      { kind = "fail-first", attempts = 2 }, { kind = "service", time = "5ms" }] }])";
  const Totals t = play(once, scenario(text));
  EXPECT_EQ(t.requests, 1);
  EXPECT_EQ(t.last_hop, 3);
  EXPECT_EQ(t.last_success, Duration::ms(205));
  // Three layers of 4 attempts against a dead backend: 4 * 4 * 4 (the amplification of stacked retries).
  const Totals dead = play("fixed:base=1ms,max_attempts=4", scenario(R"(
    stages = [{ kind = "hop", policy = "fixed:base=1ms,max_attempts=4", stages = [
      { kind = "hop", policy = "subject", stages = [{ kind = "outage", length = "1h" }] }] }])"));
  EXPECT_EQ(dead.last_hop, 64);
  EXPECT_EQ(value(dead, "amplification"), 64);
  EXPECT_EQ(dead.gave_up, 1);
  // A hop that waits 30 ms for a backend of 50 ms gives up each time: at 30, 131, 232 with 101 ms from send
  // to send.
  const Totals slow = play(once, scenario(R"(
    stages = [{ kind = "hop", policy = "fixed:base=71ms,max_attempts=3", attempt_timeout = "30ms", stages = [
      { kind = "service", time = "50ms" }] }])"));
  EXPECT_EQ(slow.gave_up, 1);
  EXPECT_EQ(slow.last_end, Duration::ms(232));
}

TEST(Hop, AnAnswerAtTheLastMomentIsInTimeInEveryLayer) {
  for (const char* stages : {R"({ kind = "service", time = "50ms" })",
                             R"({ kind = "queue", order = "lifo", service = "50ms" })"}) {
    const std::string inner = fmt::format("stages = [{}]", stages);
    EXPECT_EQ(play(once, scenario("attempt_timeout = \"50ms\"\n" + inner)).succeeded, 1) << stages;
    EXPECT_EQ(play(once, scenario("stages = [{ kind = \"hop\", policy = \"fixed:max_attempts=1\", "
                                  "attempt_timeout = \"50ms\", " +
                                  inner + " }]"))
                  .succeeded,
              1)
        << stages;
  }
}

TEST(Hop, ACallThatHoldsTimeStillIsAnErrorThatNamesItsPolicy) {
  for (const char* hop :
       {"immediate:max_attempts=1000000", "fixed:base=1ns,max_attempts=1000000", "subject"}) {
    const Scenario s = scenario(fmt::format(
        R"(stages = [{{ kind = "hop", policy = "{}", stages = [{{ kind = "outage", length = "1h" }}] }}])",
        hop));
    const auto totals = run(policy("immediate:max_attempts=1000000"), s, Seed{1}, {.name = "hasty"});
    ASSERT_FALSE(totals) << hop;
    const std::string message = to_string(totals.error());
    const std::string name = std::string(hop) == "subject" ? "hasty" : hop;
    for (const std::string& part : {"policy '" + name + "' of a hop", std::string("max_attempts")})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  // As many in a hop are none of its business where time goes on.
  EXPECT_EQ(
      play(once,
           scenario(R"(stages = [{ kind = "hop", policy = "fixed:base=20us,max_attempts=200000", stages = [
      { kind = "outage", length = "1h" }] }])"))
          .last_hop,
      200'000);
}

TEST(Stages, ASlotIsFreeBeforeAnybodyAsksForIt) {
  // The worker of a lifo without room is free at 100 ms, when the second request comes to it: whoever has the
  // lower number.
  Scenario s = scenario(R"(stages = [{ kind = "service", time = "50ms" },
      { kind = "queue", order = "lifo", capacity = 0, service = "50ms" }])");
  s.arrivals.kind = Arrivals::Kind::trace;
  s.clients = 2;
  for (const std::uint32_t first : {0U, 1U}) {
    s.arrivals.starts = {{Duration{}, first, 0}, {Duration::ms(50), 1 - first, 0}};
    EXPECT_EQ(play(once, s).succeeded, 2) << first;
  }
}

TEST(Hop, WorkThatNobodyWaitsForIsWasted) {
  // The hop stops waiting for each of two attempts (50 ms of work, 30 ms of patience) long before the answer,
  // and has no third: 100 ms for nothing, whether the end was known at once or came as an event.
  for (const char* order : {"fifo", "lifo"}) {
    const Totals t = play(once, scenario(fmt::format(R"(
      stages = [{{ kind = "hop", policy = "fixed:base=71ms,max_attempts=2", attempt_timeout = "30ms", stages = [
        {{ kind = "queue", workers = 2, order = "{}", service = "50ms" }}] }}])",
                                                     order)));
    EXPECT_EQ(t.gave_up, 1) << order;
    EXPECT_EQ(t.wasted, Duration::ms(100)) << order;
  }
  // Slow until 10 ms: the first attempt takes 105 ms and is given up, the second takes 5 ms. The call
  // succeeds, the 105 ms were for nothing all the same.
  const Totals t = play(once, scenario(R"(
    stages = [{ kind = "hop", policy = "fixed:base=20ms,max_attempts=2", attempt_timeout = "30ms", stages = [
      { kind = "brownout", length = "10ms", extra = "100ms" }, { kind = "service", time = "5ms" }] }])"));
  EXPECT_EQ(t.last_success, Duration::ms(55));
  EXPECT_EQ(t.wasted, Duration::ms(105));
}

TEST(Deduplication, WhatWillFailIsStillBeingProcessed) {
  // Fails after 100 ms; timeout 50 ms, 10 ms between. The repeats at 60 and 70 ms find it in process (409 at
  // once); the one at 140 ms is tried anew: 200 ms of work, never two at a time.
  const std::string server = R"(stages = [{ kind = "deduplication" },
    { kind = "brownout", length = "1h", extra = "100ms", probability = 1.0 }])";
  const std::string caller = "attempt_timeout = \"50ms\"\n";
  const Totals three = play("fixed:base=10ms,max_attempts=3", scenario(caller + server));
  EXPECT_EQ(three.requests, 3);
  EXPECT_EQ(three.last_end, Duration::ms(70));
  EXPECT_EQ(three.wasted, Duration::ms(100));
  const Totals late = play("fixed:base=90ms,max_attempts=2", scenario(caller + server));
  EXPECT_EQ(late.wasted, Duration::ms(200));
}

TEST(Network, LatencyLossAndDeadline) {
  const Totals far =
      play(once, scenario("request_latency = \"10ms\"\nreply_latency = \"20ms\"\nstages = []"));
  EXPECT_EQ(far.last_success, Duration::ms(30));
  // Everything is lost: attempts at 0 and 1.5 s, each ends after 1 s.
  const Totals lost =
      play("fixed:base=500ms,max_attempts=2", scenario("loss = 1.0\nattempt_timeout = \"1s\"\nstages = []"));
  EXPECT_EQ(lost.requests, 0);
  EXPECT_EQ(lost.sent, 2);
  EXPECT_EQ(lost.last_end, Duration::ms(2500));
  // The request takes longer than its caller waits: the server still gets it.
  const Totals late = play(once, scenario("request_latency = \"2s\"\nattempt_timeout = \"1s\"\nstages = []"));
  EXPECT_EQ(late.requests, 1);
  EXPECT_EQ(late.gave_up, 1);
  EXPECT_EQ(late.last_end, Duration::s(1));
  // Attempts at 0, 0.4, 0.8 s; the next would come after the deadline.
  const Totals deadline = play("fixed:base=400ms", scenario(R"(
    call_deadline = "1s"
    stages = [{ kind = "outage", length = "1h" }])"));
  EXPECT_EQ(deadline.sent, 3);
  EXPECT_EQ(deadline.last_end, Duration::ms(800));
}

TEST(Network, WhatIsLostIsLostHoweverLongItsCallerWaits) {
  // A timeout that the horizon does not reach: what is lost stays open.
  for (const char* wait :
       {"attempt_timeout = \"60s\"", "attempt_timeout = \"2h\"", "call_deadline = \"60s\""}) {
    const Totals all = play("fixed", scenario(std::string("loss = 1.0\nstages = []\n") + wait));
    EXPECT_EQ(all.requests, 0) << wait;
    EXPECT_EQ(all.unfinished, 1) << wait;
    // Half of the requests and half of the replies are lost: n p (1 - p) with p = 1/2 and 1/4, five standard
    // deviations. Whatever was served for a reply that is lost was for nothing.
    const Totals some = play(once, scenario(std::string("clients = 10000\nloss = 0.5\n") + wait +
                                            "\nstages = [{ kind = \"service\", time = \"10ms\" }]"));
    EXPECT_NEAR(static_cast<double>(some.requests), 5000, 5 * 50) << wait;
    EXPECT_NEAR(static_cast<double>(some.succeeded), 2500, 5 * 43.4) << wait;
    EXPECT_EQ(some.unfinished, 10'000 - some.succeeded) << wait;
    EXPECT_EQ(some.wasted, Duration::ms(10) * (some.requests - some.succeeded)) << wait;
  }
}

TEST(Fleet, EveryCallOfAClientMeetsItsEarlierAttemptsAlike) {
  // The second attempt of each call comes at the instant at which the first one fails, which goes first: it
  // is processed, too. 2 calls x 2 attempts x 60 ms of work for callers who have left after 30 ms.
  EXPECT_EQ(play("fixed:base=30ms,max_attempts=2", scenario(R"(
    clients = 1
    calls = 2
    attempt_timeout = "30ms"
    stages = [{ kind = "deduplication" }, { kind = "service", time = "60ms" }, { kind = "fail-first", attempts = 2 }])"))
                .wasted,
            Duration::ms(240));
}

TEST(Fleet, AClientMakesItsCallsOneAfterTheOther) {
  // Three calls of 50 ms with 200 ms of thought between: 50, 300, 550 ms.
  const Totals t = play(once, scenario(R"(
    arrivals = "closed"
    calls = 3
    think_time = "200ms"
    clients = 2
    stages = [{ kind = "service", time = "50ms" }])"));
  EXPECT_EQ(t.calls, 6);
  EXPECT_EQ(t.last_success, Duration::ms(550));
  EXPECT_EQ(t.latencies->max, Duration::ms(50));
}

TEST(Metrics, OfAnOutageByHand) {
  // Four calls at 0, 1, 2, 3 s; down in [0, 1.5): the first two fail and retry every second: attempts of call
  // 0 at 0, 1, 2; of call 1 at 1, 2. Recovery: from 1.5 s on everything succeeds.
  const Totals t = play("fixed:base=1s,max_attempts=9", scenario(R"(
    clients = 4
    interval = "1s"
    stages = [{ kind = "outage", length = "1500ms" }])"));
  EXPECT_EQ(value(t, "requests"), 7);
  EXPECT_EQ(value(t, "retries"), 3);
  EXPECT_EQ(value(t, "recovery_s"), 0);
  EXPECT_EQ(value(t, "collapse"), 0);
  EXPECT_EQ(value(t, "spread_attempt_2_s"), 1);
  EXPECT_EQ(value(t, "spread_attempt_3_s"), 0);
  EXPECT_EQ(value(t, "latency_mean_s"), 0.75);
  EXPECT_EQ(value(t, "latency_p50_s"), 0);
  EXPECT_EQ(value(t, "latency_p99_s"), 2);
  EXPECT_EQ(value(t, "goodput_per_s"), 4.0 / 3);
  EXPECT_EQ(value(t, "attempts_mean"), 1.75);
  const Totals dead = play(once, scenario("clients = 4\nstages = [{ kind = \"outage\", length = \"1h\" }]"));
  EXPECT_EQ(value(dead, "collapse"), 1);
  EXPECT_EQ(value(dead, "recovery_s"), std::nullopt);
  // With parameters.
  const Metric peak = *find_metric("retry_peak_250ms");
  const Measures measures = measures_for(std::vector{peak, *find_metric("spread_attempt_4_s")});
  const Totals few = play("fixed:base=1s,max_attempts=9",
                          scenario("clients = 7\nstages = [{ kind = \"fail-first\", attempts = 1 }]"), 1,
                          {.measures = &measures});
  EXPECT_EQ(peak.read(few), 7);
  EXPECT_EQ(value(few, "spread_attempt_4_s"), std::nullopt);
  EXPECT_TRUE(few.peaks.empty());  // not asked for
  EXPECT_FALSE(find_metric("peak_0s"));
  EXPECT_FALSE(find_metric("peak_fast"));
  EXPECT_FALSE(find_metric("spread_attempt_x_s"));
}

TEST(Stages, MistakesAreNamedTogether) {
  auto table = parse_toml(R"(
clients = 0
stages = [
  { kind = "outrage" },
  { kind = "queue", service = "fast", workers = 0 },
  { kind = "rate-limit", rate_per_s = -1 },
  { kind = "service", time = "$missing" },
  { kind = "hop", policy = "nobody", stages = [{ kind = "service", tim = "1ms" }] },
])",
                          "bad.toml");
  const auto made = read_scenario("bad", *table);
  ASSERT_FALSE(made);
  const std::string all = to_string(made.error());
  for (const char* part : {"bad.toml:2:", "did you mean 'outage'", "bad.toml:5:", "workers", "rate_per_s",
                           "$missing", "nobody", "did you mean 'time'"})
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
}

// Else a scenario whose failure nobody wrote down would be one that every policy passes.
TEST(Stages, WhatMakesAStageWhatItIsMustBeThere) {
  const auto refusal = [](const std::string& stage) {
    const auto made = read_scenario("test", *parse_toml("stages = [" + stage + "]", "bad.toml"));
    return made ? std::string("accepted") : to_string(made.error());
  };
  for (const auto& [stage, error] :
       {std::pair(R"({ kind = "outage" })", "an outage needs to be some time"),
        std::pair(R"({ kind = "outage", start = "1s" })", "'start' needs a 'length'"),
        std::pair(R"({ kind = "outage", gap = "1s" })", "'gap' needs a 'max'"),
        std::pair(R"({ kind = "outage", length = "1s", max = "1s" })", "'max' belongs to a 'gap'"),
        std::pair(R"({ kind = "brownout", length = "1s" })", "a brownout needs 'extra' or 'probability'"),
        std::pair(R"({ kind = "queue" })", "'service' is missing"),
        std::pair(R"({ kind = "service" })", "'time' is missing"),
        std::pair(R"({ kind = "congestion", half_speed_at = 2 })", "'time' is missing"),
        std::pair(R"({ kind = "random-failure" })", "'probability' is missing"),
        std::pair(R"({ kind = "optimistic-row" })", "'round_trip' is missing")})
    EXPECT_NE(refusal(stage).find(error), std::string::npos) << stage << "\n" << refusal(stage);
}

TEST(Stages, ExtremeNumbersAreRefusedOrSaturate) {
  const auto refusal = [](const std::string& stage, const std::string& more = "") {
    const auto made = read_scenario("test", *parse_toml(more + "\nstages = [" + stage + "]", "bad.toml"));
    return made ? std::string("accepted") : to_string(made.error());
  };
  for (const char* stage :
       {R"({ kind = "outage", length = "1ns", every = "2ns" })",
        R"({ kind = "outage", gap = "1ns", max = "1us" })",
        R"({ kind = "hop", policy = "fixed", stages = [{ kind = "outage", gap = "10us", max = "1us" }] })"})
    EXPECT_NE(refusal(stage).find("more than 1000000 outages within the horizon of "), std::string::npos)
        << stage;
  EXPECT_NE(refusal(R"({ kind = "outage", gap = "1ns", max = "1us" })").find("bad.toml:2:36:"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({ kind = "outage", gap = "1ms", max = "1us" })"), "accepted");
  EXPECT_NE(refusal(R"({ kind = "outage", gap = "1ms", max = "1us" })", "horizon = \"1h\""), "accepted");
  for (const char* law : {"lognormal 0s 1", "gamma 0s 1", "weibull 0s 1", "lognormal 1ms 1000",
                          "gamma 1ms 1e-300", "weibull 1ms 1e300"})
    EXPECT_FALSE(parse_law(law)) << law;
  for (const char* law :
       {"lognormal 2562047h 20", "gamma 2562047h 0.01", "weibull 2562047h 0.01", "gamma 1ms 10000"}) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      Rng rng = StreamKey(Seed{1}, Stream::generator).at(i);
      EXPECT_GE(parse_law(law)->draw(rng), Duration{}) << law;
    }
  }
  // One token in 317 years: the first request has it, the second is told to wait for longer than there is
  // time.
  std::vector<TraceRow> trace;
  play(once,
       scenario("clients = 2\nstages = [{ kind = \"rate-limit\", rate_per_s = 1e-10, tell_wait = true }]"), 1,
       {.trace = &trace});
  ASSERT_EQ(trace.size(), 2U);
  EXPECT_EQ(trace[1].outcome.retry_after, Duration::s(9'223'372'036));  // 2^63 - 1 ns
}

TEST(Law, ReadsWhatItPrintsAndHasItsMean) {
  struct Row {
    const char* text;
    double mean_ms, sd_ms;
  };
  // Means and deviations by the textbook: lognormal exp(mu + s^2/2); gamma mean m, sd m / sqrt(k); Weibull
  // scale * Gamma(1 + 1/k) with k = 2: Gamma(1.5) = 0.886227, sd = scale * sqrt(1 - pi/4); normal cut at 0
  // with mean 3 sd: nothing visible of the cut is left beyond 0.5 % of sd.
  constexpr Row rows[] = {{"10ms", 10, 0},
                          {"uniform 10ms 20ms", 15, 2.8868},
                          {"exponential 10ms", 10, 10},
                          {"normal 50ms 10ms", 50, 10},
                          {"lognormal 10ms 0.5", 11.3315, 6.0390},
                          {"gamma 10ms 4", 10, 5},
                          {"gamma 10ms 0.5", 10, 14.1421},
                          {"weibull 10ms 2", 8.86227, 4.6325}};
  for (const Row& row : rows) {
    const Law law = *parse_law(row.text);
    EXPECT_EQ(to_string(law), row.text);
    constexpr int n = 100'000;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      Rng rng = StreamKey(Seed{1}, Stream::generator).at(static_cast<std::uint64_t>(i));
      const double ms = law.draw(rng).seconds() * 1000;
      sum += ms;
      squares += ms * ms;
    }
    const double mean = sum / n;
    EXPECT_NEAR(mean, row.mean_ms, 5 * row.sd_ms / std::sqrt(n) + 1e-9) << row.text;
    // The relative error of a deviation is sqrt((kurtosis - 1) / 4n), at most 1.2 % here at five of it.
    EXPECT_NEAR(std::sqrt(std::max(0.0, squares / n - mean * mean)), row.sd_ms, 0.04 * row.sd_ms + 1e-4)
        << row.text;
  }
  for (const char* text :
       {"", "fast", "uniform 2ms 1ms", "uniform 1ms", "gamma 1ms -1", "exponential", "weibull 1ms nan"})
    EXPECT_FALSE(parse_law(text)) << text;
}

}  // namespace
}  // namespace retrygate
