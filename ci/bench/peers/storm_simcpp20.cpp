// W1 (ci/bench/yardsticks.hpp) as coroutines of simcpp20 (github.com/fschuetz04/simcpp20): one for every
// client, one timeout an attempt. The draws are those of the yardstick, and so are the results.
// Usage: storm_simcpp20 CLIENTS REPETITIONS
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fschuetz04/simcpp20.hpp>

#include "ci/bench/world.hpp"
#include "ci/bench/yardsticks.hpp"

namespace retrygate::bench {
namespace {

using Simulation = simcpp20::simulation<>;  // its own kind of time, double: ns, exact up to 2^53

struct Server {
  Draws draws;
  u64 limit, in_process = 0, last = 0;
  Window short_window{100 * ms}, long_window{1000 * ms};
  Storm result = {};

  u64 latency(u64 client, u64 attempt, u64 way) const {
    return ms / 5 + draws.below(ms * 9 / 5, client, attempt, way);
  }
};

simcpp20::process<> client(Simulation& simulation, Server& server, u64 self) {
  Storm& result = server.result;
  u64 wait = server.latency(self, 0, 0);
  for (u64 attempt = 0;; ++attempt) {
    co_await simulation.timeout(static_cast<double>(wait));
    const auto now = static_cast<u64>(simulation.now());
    server.short_window.arrive(now);
    server.long_window.arrive(now);
    ++result.requests;
    result.digest += scramble(now * 0x9e3779b97f4a7c15 + self);
    result.attempts_max = std::max(result.attempts_max, attempt + 1);
    const u64 back = server.latency(self, attempt, 1);
    if (now >= 1000 * ms && server.in_process < server.limit) {
      ++server.in_process;
      server.last = std::max(server.last, now + 50 * ms + back);
      co_await simulation.timeout(static_cast<double>(50 * ms));
      --server.in_process;
      co_return;
    }
    if (attempt + 1 == 12) {
      ++result.gave_up;
      co_return;
    }
    wait = back + server.draws.below(std::min<u64>(5000 * ms, (100 * ms) << attempt) + 1, self, attempt, 2) +
           server.latency(self, attempt + 1, 0);
  }
}

Storm storm_of_coroutines(u64 clients, u64 seed) {
  Simulation simulation;
  Server server{Draws(seed), std::max<u64>(1, clients / 10)};
  for (u64 c = 0; c < clients; ++c) client(simulation, server, c);
  simulation.run();
  server.result.peak_100ms = server.short_window.most();
  server.result.peak_1s = server.long_window.most();
  server.result.completion_s = static_cast<double>(server.last) * 1e-9;
  return server.result;
}

// The yardstick's results, or the comparison is void.
bool same_as_yardstick(u64 clients) {
  const Storm ours = storm_of_coroutines(clients, 1), theirs = storm(clients, Retry::full, 1);
  return ours.digest == theirs.digest && ours.requests == theirs.requests &&
         ours.peak_100ms == theirs.peak_100ms && ours.peak_1s == theirs.peak_1s &&
         ours.gave_up == theirs.gave_up && ours.completion_s == theirs.completion_s;
}

}  // namespace
}  // namespace retrygate::bench

int main(int argc, char** argv) {
  using namespace retrygate::bench;
  if (argc != 3) return 2;
  const u64 clients = std::strtoull(argv[1], nullptr, 10);
  const u64 repetitions = std::strtoull(argv[2], nullptr, 10);
  if (!same_as_yardstick(clients)) {
    std::fputs("storm_simcpp20: other results than the yardstick\n", stderr);
    return 1;
  }
  u64 requests = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (u64 seed = 1; seed <= repetitions; ++seed) requests += storm_of_coroutines(clients, seed).requests;
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  std::printf("%.3f ns/attempt %.6f requests\n", spent.count() / static_cast<double>(requests),
              static_cast<double>(requests) / static_cast<double>(repetitions));
}
