// What holds in every scenario: generated worlds, one seed of generation each (fixed).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <map>
#include <set>

#include "sim/testing.hpp"
#include "sim/window.hpp"

namespace retrygate {
namespace {

using namespace testing_sim;
namespace rcd = rc::detail;

template <class Body>
void always(const char* id, Body body, int cases = 300) {
  rcd::TestParams params;
  params.seed = 17;
  params.maxSuccess = cases;
  rcd::TestMetadata data;
  data.id = data.description = id;
  rcd::TestListenerAdapter quiet;
  const auto result = rcd::checkProperty(rcd::toProperty(body), data, params, quiet, {});
  std::ostringstream text;
  if (!result.template is<rcd::SuccessResult>()) rcd::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rcd::SuccessResult>()) << id << ": " << text.str();
}

std::string one_of(std::initializer_list<const char*> words) {
  return *rc::gen::elementOf(std::vector<std::string>(words.begin(), words.end()));
}

std::string any_policy() {
  return one_of({"immediate", "full-jitter", "decorrelated", "fixed:base=30ms,max_attempts=5",
                 "equal-jitter:cap=1s", "exponential:deadline=2s", "full-jitter:retry_after=floor"});
}

Scenario any_world() {
  std::string text = fmt::format("horizon = \"20s\"\nclients = {}\ncalls = {}\n", *rc::gen::inRange(1, 40),
                                 *rc::gen::inRange(1, 4));
  text += one_of({"arrivals = \"burst\"\n", "arrivals = \"burst\"\nramp = \"1s\"\n",
                  "arrivals = \"closed\"\nthink_time = \"exponential 100ms\"\n", "interval = \"7ms\"\n",
                  "arrivals = \"poisson\"\nrate_per_s = 100\n"});
  text += one_of({"", "request_latency = \"uniform 1ms 30ms\"\n", "request_latency = \"5ms\"\n",
                  "request_latency = \"exponential 40ms\"\n"});
  text += one_of({"", "reply_latency = \"gamma 10ms 2\"\n", "reply_latency = \"5ms\"\n"});
  text += one_of({"", "attempt_timeout = \"50ms\"\n", "attempt_timeout = \"50ms\"\nloss = 0.2\n",
                  "attempt_timeout = \"1h\"\nloss = 0.2\n", "call_deadline = \"700ms\"\n",
                  "attempt_timeout = \"80ms\"\ncall_deadline = \"1s\"\n"});
  text += one_of({"", "", "front_service = \"2ms\"\n"});
  text += one_of({"", "idempotent = false\n"});
  text +=
      "stages = [" +
      one_of({"", "{ kind = \"outage\", length = \"300ms\" },",
              "{ kind = \"outage\", gap = \"1s\", max = \"300ms\" },",
              "{ kind = \"random-failure\", probability = 0.3 },",
              "{ kind = \"brownout\", length = \"1s\", extra = \"exponential 30ms\", probability = 0.2 },"}) +
      one_of({"", "{ kind = \"rate-limit\", rate_per_s = 50, burst = 5, tell_wait = true },",
              "{ kind = \"concurrency-limit\", limit = 3 },", "{ kind = \"deduplication\" },"}) +
      one_of({"", "{ kind = \"service\", time = \"exponential 20ms\" }",
              "{ kind = \"queue\", workers = 2, service = \"exponential 20ms\" }",
              "{ kind = \"queue\", order = \"lifo\", capacity = 9, service = \"exponential 20ms\" }",
              "{ kind = \"hop\", policy = \"full-jitter:max_attempts=3\", attempt_timeout = \"60ms\", stages "
              "= [{ kind = "
              "\"random-failure\", probability = 0.3 }, { kind = \"queue\", workers = 3, service = "
              "\"exponential 20ms\" }] }"}) +
      "]";
  return scenario(text);
}

TEST(Always, NothingIsLostAndNothingHappensBeforeItsCause) {
  always("conservation and causality", [] {
    const Scenario s = any_world();
    const std::string name = any_policy();
    std::vector<TraceRow> trace;
    const Totals t = play(name, s, 5, {.trace = &trace});
    RC_ASSERT(t.calls == t.succeeded + t.gave_up + t.unfinished);
    RC_ASSERT(t.requests <= t.sent);
    RC_ASSERT(t.retries <= t.requests);
    const auto count = [](const std::optional<Latencies>& some) { return some ? some->count : 0; };
    RC_ASSERT(count(t.latencies) == t.succeeded);
    RC_ASSERT(count(t.latencies_all) == t.succeeded + t.gave_up);
    RC_ASSERT(t.last_success.has_value() == (t.succeeded > 0));
    RC_ASSERT(t.last_end.has_value() == (t.succeeded + t.gave_up > 0));
    RC_ASSERT(static_cast<std::int64_t>(trace.size()) == t.sent);
    RC_ASSERT(t.duplicates == 0 || !s.idempotent);
    std::map<std::pair<std::uint32_t, std::uint32_t>, TraceRow> last;
    std::int64_t successes = 0, under_way = 0;
    std::vector<std::int64_t> arrivals;
    for (const TraceRow& row : trace) {
      RC_ASSERT(row.start.since_start < s.horizon);
      if (row.arrived) {
        RC_ASSERT(row.start <= *row.arrived);
        RC_ASSERT(row.arrived->since_start < s.horizon);
        arrivals.push_back(row.arrived->since_start.ns());
      }
      if (row.end) {
        RC_ASSERT(row.start <= *row.end);
        RC_ASSERT(row.end->since_start < s.horizon);
        if (s.attempt_timeout != Duration::max()) RC_ASSERT(*row.end - row.start <= s.attempt_timeout);
        // A success is an answer to a request that came.
        RC_ASSERT(!row.outcome.status.succeeded() || (row.arrived && *row.arrived <= *row.end));
      } else {
        ++under_way;
      }
      const auto [before, first] = last.try_emplace({row.client, row.call}, row);
      RC_ASSERT(row.attempt == (first ? 1 : before->second.attempt + 1));
      if (!first) {
        RC_ASSERT(before->second.end.has_value());
        RC_ASSERT(row.start >= *before->second.end);
        RC_ASSERT(!before->second.outcome.status.succeeded());
      }
      before->second = row;
      successes += row.end && row.outcome.status.succeeded() ? 1 : 0;
    }
    RC_ASSERT(successes == t.succeeded);
    RC_ASSERT(under_way <= t.unfinished);
    RC_ASSERT(static_cast<std::int64_t>(arrivals.size()) == t.requests);
    std::sort(arrivals.begin(), arrivals.end());
    RC_ASSERT(busiest_window(arrivals, t.peaks[0].window) == t.peaks[0].most);
  });
}

TEST(Always, NeitherTheQueueNorAskingMoreChangesWhatHappens) {
  always("queues", [] {
    const Scenario s = any_world();
    const AnyPolicy p = policy(any_policy());
    const Totals t = *run(p, s, Seed{3}, {.queue = QueueKind::heap});
    for (const QueueKind queue : {QueueKind::tree, QueueKind::buckets, QueueKind::automatic})
      RC_ASSERT(*run(p, s, Seed{3}, {.queue = queue}) == t);
    const Measures nothing;
    std::vector<TraceRow> trace;
    RC_ASSERT(run(p, s, Seed{3}, {.measures = &nothing})->digest == t.digest);
    RC_ASSERT(run(p, s, Seed{3}, {.trace = &trace})->digest == t.digest);
    Runner used;
    (void)used.run(policy("full-jitter"), any_world(), Seed{9});
    RC_ASSERT(*used.run(p, s, Seed{3}) == t);
  });
}

// Worlds without chance, whose calls start at different times.
struct Steady {
  std::vector<Arrivals::Start> starts;
  std::int64_t ms;  // the unit of every other time
};
Scenario steady(const Steady& world) {
  Scenario s =
      scenario(fmt::format("horizon = \"{0}ms\"\nrequest_latency = \"{1}ms\"\nreply_latency = "
                           "\"{1}ms\"\nattempt_timeout = \"{2}ms\"\n"
                           "stages = [{{ kind = \"outage\", start = \"{1}ms\", length = \"{3}ms\" }}, {{ "
                           "kind = \"concurrency-limit\", limit = 2 }}, "
                           "{{ kind = \"queue\", workers = 1, service = \"{4}ms\" }}]",
                           100'000 * world.ms, 2 * world.ms, 90 * world.ms, 150 * world.ms, 13 * world.ms));
  s.arrivals.kind = Arrivals::Kind::trace;
  s.arrivals.starts = world.starts;
  s.clients = 64;
  return s;
}
Steady any_steady() {
  const auto times = *rc::gen::unique<std::vector<int>>(rc::gen::inRange(0, 5000));
  Steady world{{}, 1};
  std::set<int> sorted(times.begin(), times.end());
  int client = 0;
  // Odd microseconds, so that calls of two clients never meet in the same nanosecond.
  for (const int t : sorted) {
    world.starts.push_back({Duration::us(100 * t + client), static_cast<std::uint32_t>(client), 0});
    if (++client == 64) break;
  }
  return world;
}
const std::string nine_attempts = "fixed:base={}ms,max_attempts=9";

TEST(Always, ClientsAreAlike) {
  always("permutation", [] {
    Steady world = any_steady();
    Totals t = play(fmt::format(fmt::runtime(nine_attempts), 40), steady(world));
    // Clients change places: who starts when is turned around.
    const auto n = static_cast<std::uint32_t>(world.starts.size());
    for (Arrivals::Start& start : world.starts) start.client = n - 1 - start.client;
    Totals turned = play(fmt::format(fmt::runtime(nine_attempts), 40), steady(world));
    t.digest = turned.digest = 0;
    RC_ASSERT(t == turned);
  });
}

// Calls on a grid of milliseconds, one each, in worlds whose times lie on that grid too. So departures and
// timeouts meet arrivals all the time, but no two arrivals meet at one stage, where only numbers could
// decide.
TEST(Always, ClientsAreAlikeWhereEverythingMeets) {
  always("permutation on a grid", [] {
    Scenario s = scenario(
        "horizon = \"60s\"\nstages = [" +
        one_of({R"({ kind = "service", time = "3ms" },
                   { kind = "queue", order = "lifo", capacity = 1, service = "7ms" })",
                R"({ kind = "hop", policy = "fixed:max_attempts=1", attempt_timeout = "9ms", stages = [
                     { kind = "queue", order = "lifo", capacity = 2, service = "3ms" }] },
                   { kind = "queue", order = "lifo", capacity = 1, service = "4ms" })",
                R"({ kind = "optimistic-row", round_trip = "5ms" },
                   { kind = "queue", order = "lifo", capacity = 0, service = "6ms" })"}) +
        "]");
    const auto times = *rc::gen::unique<std::vector<int>>(rc::gen::inRange(0, 200));
    const std::set<int> sorted(times.begin(), times.end());
    s.clients = 200;
    s.arrivals.kind = Arrivals::Kind::trace;
    std::uint32_t client = 0;
    for (const int t : sorted) s.arrivals.starts.push_back({Duration::ms(t), client++, 0});
    Totals there = play("fixed:max_attempts=1", s);
    for (Arrivals::Start& start : s.arrivals.starts) start.client = client - 1 - start.client;
    Totals back = play("fixed:max_attempts=1", s);
    there.digest = back.digest = 0;
    RC_ASSERT(there == back);
  });
}

TEST(Always, TimeHasNoUnit) {
  always("scaling", [] {
    Steady world = any_steady();
    const Totals t = play(fmt::format(fmt::runtime(nine_attempts), 40), steady(world));
    for (Arrivals::Start& start : world.starts) start.time = start.time * 3;
    world.ms = 3;
    const Totals slow = play(fmt::format(fmt::runtime(nine_attempts), 120), steady(world));
    RC_ASSERT(slow.sent == t.sent);
    RC_ASSERT(slow.requests == t.requests);
    RC_ASSERT(slow.succeeded == t.succeeded);
    RC_ASSERT(slow.last_end.has_value() == t.last_end.has_value());
    if (t.last_end) RC_ASSERT(*slow.last_end == *t.last_end * 3);
    RC_ASSERT(slow.latencies.has_value() == t.latencies.has_value());
    if (t.latencies) RC_ASSERT(slow.latencies->p95 == t.latencies->p95 * 3);
    RC_ASSERT(slow.wasted == t.wasted * 3);
  });
}

template <class Windows>
void windows_agree_with_brute_force(Rng& rng) {
  std::vector<std::int64_t> times;
  std::int64_t now = 0;
  const std::uint64_t reach = std::uint64_t{1} << rng.below(40);  // gaps that fit a difference, and others
  for (std::uint64_t i = rng.below(300); i > 0; --i)
    times.push_back(now += static_cast<std::int64_t>(rng.below(reach)));
  const std::vector<Duration> widths = {Duration::ns(1),
                                        Duration::ns(static_cast<std::int64_t>(1 + rng.below(reach))),
                                        Duration::ns(static_cast<std::int64_t>(1 + rng.below(50 * reach)))};
  Windows windows;
  windows.start(widths);
  for (const std::int64_t t : times) windows.add(t);
  windows.finish();
  for (std::size_t w = 0; w < widths.size(); ++w) {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      std::int64_t inside = 0;
      for (std::size_t j = i; j < times.size() && times[j] < times[i] + widths[w].ns(); ++j) ++inside;
      most = std::max(most, inside);
    }
    ASSERT_EQ(windows.most(w), most);
  }
}

TEST(Windows, AgreeWithBruteForce) {
  Rng rng(Seed{1});
  for (int round = 0; round < 200; ++round) {
    windows_agree_with_brute_force<StampWindows>(rng);
    windows_agree_with_brute_force<DeltaWindows>(rng);
  }
}

TEST(Windows, AgreeWithEachOtherForLong) {
  Rng rng(Seed{2});
  for (const std::uint64_t pause : {1U, 1000U, 10'000'000U}) {  // busy and quiet times take turns
    StampWindows stamps;
    DeltaWindows deltas;
    const std::vector<Duration> widths = {Duration::us(3), Duration::ms(1), Duration::ms(40)};
    stamps.start(widths);
    deltas.start(widths);
    std::int64_t now = 0;
    for (int i = 0; i < 50'000; ++i) {
      now += static_cast<std::int64_t>(rng.below(i / 5000 % 2 == 0 ? 500 : pause));
      stamps.add(now);
      deltas.add(now);
    }
    stamps.finish();
    deltas.finish();
    for (std::size_t w = 0; w < widths.size(); ++w) EXPECT_EQ(stamps.most(w), deltas.most(w));
  }
}

// The same stamps in order, and in order only from one stretch of time to the next: at any times, crowded in
// a short time, or at a steady rate, so that all windows are about as full as the fullest.
TEST(Windows, TakeStampsInAnyOrder) {
  Rng rng(Seed{4});
  StampWindows ordered, unordered;
  const auto up_to = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + rng.below(most)); };
  for (int round = 0; round < 10'000; ++round) {
    const std::uint64_t most_stamps = 2U << rng.below(round % 20 == 0 ? 13 : 9);
    const std::int64_t gap = up_to(std::uint64_t{1} << rng.below(20));
    const auto reach = most_stamps * static_cast<std::uint64_t>(gap);
    const auto width = [&] {
      return Duration::ns(up_to(std::max<std::uint64_t>(1, 4 * reach >> rng.below(12))));
    };
    const std::vector<Duration> widths = {width(), width(), width(), width()};
    if (round % 10 == 0) unordered = StampWindows();  // or it finds the memory of the round before
    ordered.start(widths);
    unordered.start(widths);
    std::int64_t now = 0;
    for (std::uint64_t stretch = 1 + rng.below(6); stretch > 0; --stretch) {
      const std::int64_t length = up_to(reach), crowded = up_to(static_cast<std::uint64_t>(length));
      const std::uint64_t kind = rng.below(3);
      std::vector<std::int64_t> times;
      if (kind == 0) {
        for (std::int64_t t = 0; t < length; t += gap) times.push_back(now + t);
        for (std::size_t i = times.size(); i > 1; --i) std::swap(times[i - 1], times[rng.below(i)]);
      } else {
        for (std::uint64_t n = rng.below(most_stamps); n > 0; --n)
          times.push_back(now - 1 + up_to(static_cast<std::uint64_t>(kind == 1 ? length : crowded)));
      }
      const bool shuffled = rng.below(3) > 0;
      if (shuffled) {
        unordered.begin_unordered();
        for (const std::int64_t t : times) unordered.add(t);
        // The stretch may be far longer than what comes in it.
        unordered.end_unordered(now, now + (rng.below(2) == 0 ? length : 40 * length));
      }
      std::sort(times.begin(), times.end());
      for (const std::int64_t t : times) {
        ordered.add(t);
        if (!shuffled) unordered.add(t);
      }
      now += length;
    }
    ordered.finish();
    unordered.finish();
    for (std::size_t w = 0; w < widths.size(); ++w)
      ASSERT_EQ(unordered.most(w), ordered.most(w)) << round << ", " << widths[w].ns() << " ns";
  }
}

// 4096 stamps are gathered: then 1500 are kept, among them those of a quiet stretch, out of order, in which
// no window was busy. The next burst makes one busy that begins there.
TEST(Windows, KeepStampsThatCameInAnyOrder) {
  Rng rng(Seed{5});
  for (int round = 0; round < 50; ++round) {
    StampWindows ordered, unordered;
    for (StampWindows* windows : {&ordered, &unordered}) windows->start({Duration::us(600)});
    std::int64_t now = 0;
    const auto add = [&](int stamps, std::int64_t gap) {
      for (int i = 0; i < stamps; ++i, now += gap) {
        ordered.add(now);
        unordered.add(now);
      }
    };
    add(3000, 400);
    unordered.begin_unordered();
    std::vector<std::int64_t> times;
    for (int i = 0; i < 1000; ++i) {
      times.push_back(now + static_cast<std::int64_t>(rng.below(1'000'000)));
      unordered.add(times.back());
    }
    unordered.end_unordered(now, now + 1'000'000);
    now += 1'000'000;
    std::sort(times.begin(), times.end());
    for (const std::int64_t t : times) ordered.add(t);
    add(200, 1000);
    add(2000, 1);
    ordered.finish();
    unordered.finish();
    EXPECT_EQ(unordered.most(0), ordered.most(0));
  }
}

// One stamp per 100 ns: any window of w holds ceil(w / 100) of them once so many have come. Blocks hold 8192
// differences, 4096 stamps are gathered.
template <class Windows>
void windows_go_on() {
  Windows windows;
  for (int run = 0; run < 2; ++run) {  // the second finds the memory of the first
    windows.start({Duration::us(1), Duration::ms(5), Duration::ns(50)});
    for (std::int64_t i = 0; i < 100'000; ++i) windows.add(100 * i);
    windows.finish();
    EXPECT_EQ(windows.most(0), 10);
    EXPECT_EQ(windows.most(1), 50'000);
    EXPECT_EQ(windows.most(2), 1);
  }
}

TEST(Windows, GoOnForLong) {
  windows_go_on<StampWindows>();
  windows_go_on<DeltaWindows>();
}

}  // namespace
}  // namespace retrygate
