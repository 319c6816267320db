// The big queue of a run: three structures, one order.
#include "sim/queues.hpp"

#include <gtest/gtest.h>

#include "policies/composed.hpp"
#include "policies/named.hpp"
#include "sim/run.hpp"
#include "sim/testing.hpp"

namespace retrygate {
namespace {

TEST(Queues, DoNotShowInTheResult) {
  const std::vector<std::vector<std::string>> overrides = {
      {},
      {"request_latency=uniform 200us 2ms", "reply_latency=uniform 200us 2ms"},
      {"clients=3000", "concurrency_limit=300", "ramp=500ms", "request_latency=exponential 20ms"},
      {"clients=300", "attempt_timeout=30ms", "request_latency=exponential 20ms", "loss=0.1"},
      {"calls=5", "think_time=exponential 10s", "horizon=100s"},  // beyond the ring
      {"horizon=700ms", "ramp=2s"},                               // ends while everything is refused
      {"front_service=100us", "attempt_timeout=10ms"},
  };
  for (const auto& override : overrides) {
    const Scenario scenario = *find_scenario("outage-then-limit", {}, override);
    for (const char* name :
         {"full-jitter", "decorrelated", "immediate", "fixed:base=262144ns,max_attempts=60"}) {
      const NamedPolicy policy = *find_policy(name, {});
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto heap = run(policy.policy, scenario, Seed{seed}, {.queue = QueueKind::heap});
        ASSERT_TRUE(heap);
        for (const QueueKind queue : {QueueKind::tree, QueueKind::buckets, QueueKind::automatic})
          EXPECT_EQ(*heap, *run(policy.policy, scenario, Seed{seed}, {.queue = queue}))
              << name << ' ' << (override.empty() ? "" : override[0]) << ' ' << static_cast<int>(queue);
      }
    }
  }
}

// What a run is asked to find out changes what it keeps, not what happens.
TEST(Queues, DoNotShowInAnyMeasure) {
  const std::vector<std::vector<std::string>> asked = {
      {"requests"},        {"peak_3ms", "peak_7s"},
      {"retry_peak_40ms"}, {"spread_attempt_1_s", "spread_attempt_5_s"},
      {"recovery_s"},      {"latency_p99_s", "latency_all_p99_s", "duplicates"}};
  for (const char* outage : {"10ms", "1500ms", "600s"}) {
    for (const char* limit : {"1", "30"}) {
      const Scenario scenario = testing_sim::scenario(fmt::format(
          "clients = 100\nramp = \"50ms\"\nrequest_latency = \"uniform 200us 2ms\"\nreply_latency = "
          "\"uniform 1us 1ms\"\n"
          "stages = [{{ kind = \"outage\", start = \"20ms\", length = \"{}\", every = \"2s\" }}, "
          "{{ kind = \"concurrency-limit\", limit = {} }}, {{ kind = \"service\", time = \"5ms\" }}]",
          outage, limit));
      for (const char* name : {"full-jitter", "decorrelated:max_attempts=70", "immediate:max_attempts=40",
                               "fixed:base=2ms,max_attempts=80"}) {
        const AnyPolicy policy = testing_sim::policy(name);
        for (const auto& ids : asked) {
          std::vector<Metric> metrics;
          for (const std::string& id : ids) metrics.push_back(*find_metric(id));
          const Measures measures = measures_for(metrics);
          const auto heap = run(policy, scenario, Seed{5}, {.measures = &measures, .queue = QueueKind::heap});
          ASSERT_TRUE(heap);
          for (const QueueKind queue : {QueueKind::tree, QueueKind::buckets})
            EXPECT_EQ(*heap, *run(policy, scenario, Seed{5}, {.measures = &measures, .queue = queue}))
                << name << ' ' << outage << ' ' << limit << ' ' << ids[0] << ' ' << static_cast<int>(queue);
        }
      }
    }
  }
}

// A refusal whose answer comes after the outage is an attempt of the first second that is well again.
TEST(Queues, DoNotShowInTheRecovery) {
  const Scenario scenario = testing_sim::scenario(
      "clients = 100\nramp = \"50ms\"\nreply_latency = \"uniform 1us 900ms\"\n"
      "stages = [{ kind = \"outage\", start = \"20ms\", length = \"1500ms\" }, { kind = \"service\", time = "
      "\"5ms\" }]");
  const std::vector<Metric> metrics{*find_metric("recovery_s")};
  const Measures measures = measures_for(metrics);
  for (const char* name :
       {"fixed:base=100ms,max_attempts=80", "full-jitter", "decorrelated:max_attempts=70"}) {
    const AnyPolicy policy = testing_sim::policy(name);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto heap = run(policy, scenario, Seed{seed}, {.measures = &measures, .queue = QueueKind::heap});
      ASSERT_TRUE(heap);
      EXPECT_EQ(*heap, *run(policy, scenario, Seed{seed}, {.measures = &measures, .queue = QueueKind::tree}))
          << name << ", seed " << seed;
    }
  }
}

// Only C++ can compose it: `check` complains about it, and a run goes on without time going back.
TEST(Queues, ANegativeDelayMeansAtOnce) {
  Parts parts;
  parts.limits.max_attempts = 40;
  parts.backoff = {GrowthKind::constant, Duration::s(-1)};
  const AnyPolicy negative = compose(parts);
  parts.backoff.base = {};
  const AnyPolicy immediate = compose(parts);
  for (const char* latency : {"request_latency=0ms", "request_latency=uniform 200us 2ms"}) {
    const Scenario scenario = *find_scenario("outage-then-limit", {}, {latency});
    for (const QueueKind queue : {QueueKind::heap, QueueKind::tree, QueueKind::buckets}) {
      const auto run_of = [&](const AnyPolicy& policy) {
        return *run(policy, scenario, Seed{1}, {.queue = queue});
      };
      EXPECT_EQ(run_of(negative), run_of(immediate)) << latency << ' ' << static_cast<int>(queue);
    }
  }
}

// Every queue against a sorted list: random pushes and pops whose times fall into the current bucket, into
// the ring and beyond it, with ties and attempt numbers of every size.
template <class Queue>
void against_a_sorted_list() {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(Seed{seed});
    constexpr std::uint32_t clients = 50;
    Queue queue;
    queue.start(clients);
    std::vector<Wake> list;
    std::vector<bool> waits(clients, false);
    std::int64_t now = 0;
    for (int step = 0; step < 2000; ++step) {
      const auto client = static_cast<std::uint32_t>(rng.below(clients));
      if (!waits[client]) {
        const std::uint64_t reach = std::uint64_t{1} << rng.below(36);
        const Wake w{now + static_cast<std::int64_t>(rng.below(reach)), client, 0,
                     static_cast<std::uint32_t>(rng.below(std::uint64_t{1} << (1 + rng.below(31)))), client};
        waits[client] = true;
        queue.push(w);
        list.push_back(w);
      } else {
        const auto least = std::min_element(list.begin(), list.end());
        if (!queue.ready()) {
          EXPECT_LE(queue.time(), least->time);
          queue.load();
        }
        ASSERT_EQ(queue.time(), least->time);
        ASSERT_EQ(queue.top().client, least->client);
        const Wake top = queue.take();
        ASSERT_EQ(top.client, least->client);
        ASSERT_EQ(top.attempt, least->attempt);
        now = top.time;
        list.erase(least);
        if (rng.below(2) == 0) {
          const Wake next{now + static_cast<std::int64_t>(rng.below(1'000'000)), top.client, 0, top.attempt,
                          top.client};
          queue.replace(next);
          list.push_back(next);
        } else {
          queue.drop();
          waits[top.client] = false;
        }
      }
    }
  }
}

// Planted together or one by one, some clients not at all.
TEST(Queues, GrowWhatWasPlanted) {
  for (const std::uint32_t clients : {1U, 2U, 16U, 17U, 300U, 5000U}) {
    for (const std::uint32_t at_once : {1U, 3U, clients}) {
      Rng rng(Seed{clients + at_once});
      WinnerTree tree;
      BucketRing ring;
      WakeHeap heap;
      tree.start(clients);
      ring.start(clients);
      heap.start(clients);
      std::uint32_t planted = 0;
      for (std::uint32_t client = 0; client < clients; ++client) {
        if (rng.below(4) == 0) continue;
        const Wake w{static_cast<std::int64_t>(rng.below(1'000'000'000)), client, 0, 1, client};
        tree.plant(w);
        ring.plant(w);
        heap.plant(w);
        if (++planted % at_once != 0) continue;
        tree.grow();
        ring.grow();
      }
      tree.grow();
      ring.grow();
      for (; planted > 0; --planted) {
        if (!ring.ready()) ring.load();
        ASSERT_EQ(tree.time(), heap.time());
        ASSERT_EQ(ring.time(), heap.time());
        ASSERT_EQ(tree.take().client, heap.top().client);
        ASSERT_EQ(ring.take().client, heap.top().client);
        tree.drop();
        ring.drop();
        heap.drop();
      }
      EXPECT_GT(tree.time(), 1'000'000'000);
    }
  }
}

// Numbers that are spread evenly, that crowd together, that are all the same; also near the ends of what they
// can be.
TEST(SpreadSort, AgreesWithSort) {
  Rng rng(Seed{3});
  SpreadSort<std::uint64_t> spread;
  for (int round = 0; round < 400; ++round) {
    const int bits = static_cast<int>(1 + rng.below(64));
    const std::uint64_t least = bits == 64 ? 0 : rng.below(~std::uint64_t{0} >> bits);
    std::vector<std::vector<std::uint64_t>> numbers(1 + rng.below(5));
    std::vector<std::uint64_t> expected;
    for (auto& part : numbers) {
      const std::uint64_t crowded = rng.bits();
      for (std::uint64_t n = rng.below(1U << rng.below(14)); n > 0; --n) {
        const std::uint64_t drawn = rng.below(3) == 0 ? rng.bits() : crowded ^ rng.bits() >> rng.below(64);
        part.push_back(least + (drawn >> (64 - bits)));
      }
      expected.insert(expected.end(), part.begin(), part.end());
    }
    std::sort(expected.begin(), expected.end());
    const std::vector<std::span<const std::uint64_t>> parts(numbers.begin(), numbers.end());
    std::vector<std::uint64_t> sorted(expected.size());
    spread.sort(parts, least, bits, sorted.data());
    ASSERT_EQ(sorted, expected) << round;
  }
}

TEST(Queues, AgreeWithASortedList) {
  against_a_sorted_list<WinnerTree>();
  against_a_sorted_list<WakeHeap>();
  against_a_sorted_list<BucketRing>();
}

}  // namespace
}  // namespace retrygate
