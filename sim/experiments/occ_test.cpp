#include "sim/experiments/occ.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "sim/experiments/calls.hpp"
#include "sim/experiments/ziggurat.hpp"

namespace retrygate {
namespace {

// The published program's structure, message by message and with a plain ordered map for a queue, on the
// same draws.
OccTotals message_by_message(const AnyPolicy& policy, std::uint64_t clients, Seed seed) {
  enum class Step { read, version_known, write, answered };
  struct Client {
    Rng network{0, 0};
    Step step = Step::read;
    std::int64_t version = 0, attempt = 1;
    bool won = false;
    alignas(std::max_align_t) std::array<std::byte, call_slot_bytes> call;
    alignas(std::max_align_t) std::array<std::byte, client_slot_bytes> slot;
  };
  const StreamKey network(seed, Stream::network), chance(seed, Stream::policy);
  const auto delay = [](Client& c) {
    return std::llround(std::abs(10e6 + 2e6 * Ziggurat::instance().draw(c.network)));
  };
  std::vector<Client> all(clients);
  std::map<std::pair<std::int64_t, std::uint64_t>, std::uint64_t> queue;
  for (std::uint64_t i = 0; i < clients; ++i) {
    all[i].network = network.at(i, 0, 1);
    policy.start_client(all[i].slot.data());
    policy.start_call(all[i].call.data());
    queue[{delay(all[i]), i}] = i;
  }
  OccTotals totals;
  std::int64_t version = 0;
  while (!queue.empty()) {
    const auto [when, i] = *queue.begin();
    queue.erase(queue.begin());
    const std::int64_t now = when.first;
    Client& c = all[i];
    totals.time = Duration::ns(now);
    std::int64_t wait = 0;
    switch (c.step) {
      case Step::read:
        c.version = version;
        c.step = Step::version_known;
        break;
      case Step::version_known:
        c.step = Step::write;
        break;
      case Step::write:
        ++totals.calls;
        c.won = c.version == version;
        if (c.won) ++version;
        c.step = Step::answered;
        break;
      case Step::answered: {
        if (c.won) continue;
        Attempt attempt;
        attempt.number = c.attempt;
        attempt.outcome.status = Status::http(409);
        attempt.finished = {Duration::ns(now)};
        Rng rng = chance.at(i, 0, static_cast<std::uint64_t>(c.attempt));
        const Decision d = policy.after(c.slot.data(), c.call.data(), attempt, rng);
        if (d.stops()) {
          ++totals.gave_up;
          continue;
        }
        wait = d.delay().ns();
        c.network = network.at(i, 0, static_cast<std::uint64_t>(++c.attempt));
        c.step = Step::read;
        break;
      }
    }
    queue[{now + wait + delay(c), i}] = i;
  }
  return totals;
}

TEST(Contention, AgreesWithThePublishedStructureMessageByMessage) {
  for (const char* text :
       {"full-jitter:base=10ms,cap=2s,max_attempts=1000", "immediate:max_attempts=1000",
        "decorrelated:base=5ms,cap=2s,max_attempts=1000", "exponential:base=10ms,max_attempts=3"}) {
    const AnyPolicy policy = policy_named(text);
    for (const std::int64_t clients : {1, 2, 7, 33}) {
      Contention contention(policy, clients);
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(contention.run(Seed{seed}),
                  message_by_message(policy, static_cast<std::uint64_t>(clients), Seed{seed}))
            << text << ", " << clients << " clients, seed " << seed;
      }
    }
  }
}

// Four messages of N(10 ms, 2 ms): mean 40 ms, standard deviation 4 ms.
TEST(Contention, OneClientNeedsFourMessages) {
  Contention alone(policy_named("immediate"), 1);
  double sum = 0, squares = 0;
  constexpr int n = 20'000;
  for (std::uint64_t seed = 1; seed <= n; ++seed) {
    const OccTotals totals = alone.run(Seed{seed});
    ASSERT_EQ(totals.calls, 1);
    const double ms = totals.time.seconds() * 1000;
    sum += ms;
    squares += (ms - 40) * (ms - 40);
  }
  EXPECT_NEAR(sum / n, 40, 5 * 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 16, 5 * 16 * std::sqrt(2.0 / n));
}

TEST(Contention, ARunLeavesNothingBehind) {
  const AnyPolicy policy = policy_named("decorrelated:base=5ms,cap=2s,max_attempts=1000");
  Contention used(policy, 50), fresh(policy, 50);
  used.run(Seed{1});
  EXPECT_EQ(used.run(Seed{2}), fresh.run(Seed{2}));
}

TEST(Contention, SomebodyAlwaysWinsAndTheRestMayGiveUp) {
  Contention one_try(policy_named("fixed:max_attempts=1"), 20);
  const OccTotals totals = one_try.run(Seed{1});
  EXPECT_EQ(totals.calls, 20);
  EXPECT_GE(totals.gave_up, 1);
  EXPECT_LT(totals.gave_up, 20);
}

// The published program under CPython 3.11, random.seed(1), 100 runs of 190 clients: mean and standard
// deviation of calls and of time (s). 30 seeds, five standard errors of the difference of the means.
TEST(Contention, PublishedProgram) {
  struct Row {
    const char* policy;
    double calls, calls_sd, time, time_sd;
  };
  for (const Row& row :
       {Row{"exponential:base=10ms,cap=2s,max_attempts=100000", 5165.15, 130.37, 100.76557, 4.25223},
        Row{"decorrelated:base=5ms,cap=2s,max_attempts=100000", 2433.63, 52.10, 8.05677, .97089},
        Row{"equal-jitter:base=10ms,cap=2s,max_attempts=100000", 1760.04, 11.21, 9.49842, .64797},
        Row{"full-jitter:base=10ms,cap=2s,max_attempts=100000", 1771.52, 12.79, 7.38883, .59957},
        Row{"immediate:max_attempts=100000", 7990.57, 76.10, 3.53229, .04788}}) {
    Contention contention(policy_named(row.policy), 190);
    double calls = 0, time = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      const OccTotals totals = contention.run(Seed{seed});
      calls += static_cast<double>(totals.calls) / 30;
      time += totals.time.seconds() / 30;
    }
    const double reach = 5 * std::sqrt(1.0 / 30 + 1.0 / 100);
    EXPECT_NEAR(calls, row.calls, reach * row.calls_sd) << row.policy;
    EXPECT_NEAR(time, row.time, reach * row.time_sd) << row.policy;
  }
}

}  // namespace
}  // namespace retrygate
