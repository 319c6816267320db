#include "ci/bench/yardsticks.hpp"

#include <algorithm>
#include <queue>
#include <vector>

#include "ci/bench/world.hpp"

namespace retrygate::bench {

Storm storm(u64 clients, Retry retry, u64 seed) {
  struct Event {
    u64 time;
    u32 client, kind;                       // 0 completion, 1 arrival: completions first
    bool operator<(const Event& o) const {  // std::priority_queue keeps the greatest in front
      if (time != o.time) return time > o.time;
      return kind != o.kind ? kind > o.kind : client > o.client;
    }
  };
  struct Client {
    u64 previous = 100 * ms;
    u32 attempts = 0;
  };
  static_assert(sizeof(Event) == 16);
  const Draws draws(seed);
  const u64 limit = std::max<u64>(1, clients / 10);
  const auto latency = [&](u64 client, u64 attempt, u64 way) {
    return ms / 5 + draws.below(ms * 9 / 5, client, attempt, way);
  };
  std::vector<Client> state(clients);
  std::priority_queue<Event> queue;
  for (u32 c = 0; c < clients; ++c) queue.push({latency(c, 0, 0), c, 1});
  Window short_window(100 * ms), long_window(1000 * ms);
  Storm result;
  u64 in_process = 0, last = 0;
  while (!queue.empty()) {
    const Event e = queue.top();
    queue.pop();
    if (e.kind == 0) {
      --in_process;
      continue;
    }
    short_window.arrive(e.time);
    long_window.arrive(e.time);
    ++result.requests;
    result.digest += scramble(e.time * 0x9e3779b97f4a7c15 + e.client);
    Client& client = state[e.client];
    const u64 attempt = client.attempts++;
    result.attempts_max = std::max(result.attempts_max, attempt + 1);
    const u64 back = latency(e.client, attempt, 1);
    if (e.time >= 1000 * ms && in_process < limit) {
      ++in_process;
      last = std::max(last, e.time + 50 * ms + back);
      queue.push({e.time + 50 * ms, e.client, 0});
    } else if (attempt + 1 == 12) {
      ++result.gave_up;
    } else {
      u64 wait = 0;
      if (retry == Retry::full) {
        wait = draws.below(std::min<u64>(5000 * ms, (100 * ms) << attempt) + 1, e.client, attempt, 2);
      } else {
        wait = 100 * ms + draws.below(3 * client.previous - 100 * ms + 1, e.client, attempt, 2);
        client.previous = wait = std::min<u64>(wait, 5000 * ms);
      }
      queue.push({e.time + back + wait + latency(e.client, attempt + 1, 0), e.client, 1});
    }
  }
  result.peak_100ms = short_window.most();
  result.peak_1s = long_window.most();
  result.completion_s = static_cast<double>(last) * 1e-9;
  return result;
}

Queueing queueing(u64 calls, double rho, u64 seed) {
  enum Kind : u32 { arrival, retry, completion, timeout };
  struct Event {
    u64 time, number;
    u32 call;
    std::uint8_t kind, attempt;
    bool operator<(const Event& o) const { return time != o.time ? time > o.time : number > o.number; }
  };
  struct Call {
    u64 started = 0;
    std::uint8_t attempt = 0;
    bool over = false;
  };
  constexpr u64 workers = 20, mean_service = 50 * ms, patience = 300 * ms, most_attempts = 4;
  const Draws draws(seed);
  const double gap = static_cast<double>(mean_service) / (rho * workers);
  std::priority_queue<Event> queue;
  std::queue<std::pair<u32, std::uint8_t>> waiting;
  std::vector<Call> state(calls);
  Queueing result;
  u64 number = 0, busy = 0;
  double latency = 0;
  const auto push = [&](u64 time, u32 call, Kind kind, std::uint8_t attempt) {
    queue.push({time, number++, call, static_cast<std::uint8_t>(kind), attempt});
  };
  const auto serve = [&](u64 now, u32 call, std::uint8_t attempt) {
    push(now + draws.exponential(mean_service, call, attempt, 1), call, completion, attempt);
  };
  const auto enter = [&](u64 now, u32 call, std::uint8_t attempt) {
    ++result.attempts;
    push(now + patience, call, timeout, attempt);
    if (busy < workers) {
      ++busy;
      serve(now, call, attempt);
    } else {
      waiting.push({call, attempt});
    }
  };
  if (calls > 0) push(draws.exponential(gap, 0, 0, 0), 0, arrival, 0);
  while (!queue.empty()) {
    const Event e = queue.top();
    queue.pop();
    Call& call = state[e.call];
    const bool current = !call.over && call.attempt == e.attempt;
    switch (e.kind) {
      case arrival:
        call.started = e.time;
        if (e.call + 1 < calls)
          push(e.time + draws.exponential(gap, e.call + 1, 0, 0), e.call + 1, arrival, 0);
        enter(e.time, e.call, 0);
        break;
      case retry:
        enter(e.time, e.call, e.attempt);
        break;
      case completion:
        if (current) {
          call.over = true;
          ++result.succeeded;
          latency += static_cast<double>(e.time - call.started);
        } else {
          ++result.wasted;
        }
        --busy;
        if (!waiting.empty()) {
          const auto [next, attempt] = waiting.front();
          waiting.pop();
          ++busy;
          serve(e.time, next, attempt);
        }
        break;
      default:
        if (!current) break;
        if (e.attempt + 1u == most_attempts) {
          call.over = true;
          ++result.gave_up;
        } else {
          const u64 ceiling = (100 * ms) << e.attempt;
          ++call.attempt;
          push(e.time + draws.below(ceiling + 1, e.call, e.attempt, 2), e.call, retry,
               static_cast<std::uint8_t>(e.attempt + 1));
        }
    }
  }
  result.latency_mean_s = result.succeeded > 0 ? latency / static_cast<double>(result.succeeded) * 1e-9 : 0;
  return result;
}

}  // namespace retrygate::bench
