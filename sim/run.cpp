#include "sim/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace retrygate {
namespace {

// In the order of equal times.
enum class Kind : std::uint32_t { departure, reply, send, arrival };

struct Event {
  std::int64_t time;  // ns
  Kind kind;
  std::uint32_t client;
  std::int64_t attempt;
};

// std::*_heap keep the greatest in front; ours is the earliest.
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    if (a.time != b.time) return a.time > b.time;
    if (a.kind != b.kind) return a.kind > b.kind;
    if (a.client != b.client) return a.client > b.client;
    return a.attempt > b.attempt;
  }
};

struct Call {
  std::int64_t started = 0;
  std::int64_t sent = 0;   // the latest attempt
  std::int64_t still = 0;  // attempts in a row that were sent at that same time
  Status status = Status::http(200);
};

constexpr std::int64_t most_attempts_at_one_time = 100'000;

// The outages whose gaps run from start to start, asked at times that never decrease.
class PoissonOutages {
 public:
  PoissonOutages(const Scenario& scenario, Seed seed)
      : scenario_(scenario), key_(seed, Stream::faults, 1), on_(scenario.outage_gap > Duration{}) {
    if (on_) draw();
  }

  bool down(Instant now) {
    if (!on_) return false;
    while (next_start_ <= now) {
      down_until_ = std::max(down_until_, next_start_ + next_length_);
      draw();
    }
    return now < down_until_;
  }

 private:
  void draw() {
    Rng rng = key_.at(0, number_++);
    // At least 1 ns, so that a tiny mean gap cannot hold time still.
    next_start_ = next_start_ + std::max(Duration::ns(1), rng.exponential(scenario_.outage_gap));
    next_length_ = rng.between(scenario_.outage_min, scenario_.outage_max);
  }

  const Scenario& scenario_;
  StreamKey key_;
  bool on_;
  std::uint64_t number_ = 0;
  Instant next_start_;
  Duration next_length_;
  Instant down_until_;
};

class Run {
 public:
  Run(const AnyPolicy& policy, const Scenario& scenario, Seed seed, std::uint64_t salt)
      : policy_(policy),
        scenario_(scenario),
        policy_key_(seed, Stream::policy, salt),
        failure_key_(seed, Stream::faults),
        outages_(scenario, seed),
        client_stride_(padded(policy.client_bytes())),
        call_stride_(padded(policy.call_bytes())) {
    const std::size_t n = static_cast<std::size_t>(scenario.clients);
    calls_.reserve(n);
    heap_.reserve(2 * n);  // at most a departure and another event per client
    client_slots_.resize(n * client_stride_);
    call_slots_.resize(n * call_stride_);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t start = (scenario.interval * static_cast<std::int64_t>(i)).ns();
      if (start >= scenario.horizon.ns()) break;
      policy.start_client(client_slots_.data() + i * client_stride_);
      policy.start_call(call_slots_.data() + i * call_stride_);
      calls_.push_back({start, start, 0});
      // In increasing order, which is a heap already.
      heap_.push_back({start, Kind::send, static_cast<std::uint32_t>(i), 1});
    }
    totals_.calls = static_cast<std::int64_t>(calls_.size());
  }

  // False when a call holds virtual time still.
  bool play() {
    while (!heap_.empty() && heap_.front().time < scenario_.horizon.ns()) {
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      const Event e = heap_.back();
      heap_.pop_back();
      handle(e);
      if (stuck_) return false;
    }
    return true;
  }

  Totals totals() {
    totals_.requests = static_cast<std::int64_t>(arrivals_.size());
    totals_.retries = static_cast<std::int64_t>(retries_.size());
    totals_.unfinished = totals_.calls - totals_.succeeded - totals_.gave_up;
    for (std::size_t i = 0; i < peak_windows.size(); ++i) {
      totals_.peak[i] = busiest_window(arrivals_, peak_windows[i]);
      totals_.retry_peak[i] = busiest_window(retries_, peak_windows[i]);
    }
    if (!latencies_.empty()) {
      // An exact sum: no rounding depends on the order of the successes.
      int128 sum = 0;
      for (const std::int64_t latency : latencies_) sum += latency;
      totals_.latency_mean = static_cast<double>(sum) / static_cast<double>(latencies_.size()) / 1e9;
      const std::size_t rank = (latencies_.size() * 95 + 99) / 100;
      const auto at = latencies_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
      std::nth_element(latencies_.begin(), at, latencies_.end());
      totals_.latency_p95 = Duration::ns(*at);
    }
    return totals_;
  }

 private:
  static std::size_t padded(std::size_t bytes) {
    constexpr std::size_t unit = alignof(std::max_align_t);
    return (bytes + unit - 1) / unit * unit;
  }

  void push(std::int64_t time, Kind kind, const Event& cause, std::int64_t attempt) {
    heap_.push_back({time, kind, cause.client, attempt});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }

  void handle(const Event& e) {
    fold(e);
    switch (e.kind) {
      case Kind::departure:
        --in_process_;
        return;
      case Kind::send:
        return send(e);
      case Kind::arrival:
        return arrive(e);
      case Kind::reply:
        return reply(e);
    }
  }

  void send(const Event& e) {
    Call& call = calls_[e.client];
    call.still = call.sent == e.time ? call.still + 1 : 1;
    call.sent = e.time;
    stuck_ = call.still >= most_attempts_at_one_time;
    if (scenario_.front_service == Duration{}) return arrive(e);
    front_free_ = (Duration::ns(std::max(e.time, front_free_)) + scenario_.front_service).ns();
    push(front_free_, Kind::arrival, e, e.attempt);
  }

  void arrive(const Event& e) {
    arrivals_.push_back(e.time);
    if (e.attempt > 1) retries_.push_back(e.time);
    totals_.attempts_max = std::max(totals_.attempts_max, e.attempt);
    const Status status = decide(e);
    Duration end = Duration::ns(e.time);
    if (status.succeeded()) {
      end += scenario_.service_time;
      ++in_process_;
      push(end.ns(), Kind::departure, e, e.attempt);
    }
    calls_[e.client].status = status;
    push((end + scenario_.reply_latency).ns(), Kind::reply, e, e.attempt);
  }

  Status decide(const Event& e) {
    const Instant now{Duration::ns(e.time)};
    const Duration since = now.since_start - scenario_.outage_start;
    if (since >= Duration{} && since < scenario_.outage) return Status::http(503);
    if (scenario_.concurrency_limit > 0 && in_process_ + 1 > scenario_.concurrency_limit)
      return Status::http(503);
    if (e.attempt <= scenario_.fail_first) return Status::http(scenario_.fail_first_status);
    if (scenario_.random_failure > 0 &&
        failure_key_.at(e.client, 0, static_cast<std::uint64_t>(e.attempt)).unit() < scenario_.random_failure)
      return Status::http(503);
    if (outages_.down(now)) return Status::http(503);
    return Status::http(200);
  }

  void reply(const Event& e) {
    const Call& call = calls_[e.client];
    Attempt attempt;
    attempt.number = e.attempt;
    attempt.outcome.status = call.status;
    attempt.call_started = {Duration::ns(call.started)};
    attempt.finished = {Duration::ns(e.time)};
    Rng rng = policy_key_.at(e.client, 0, static_cast<std::uint64_t>(e.attempt));
    const Decision decision = policy_.after(client_slots_.data() + e.client * client_stride_,
                                            call_slots_.data() + e.client * call_stride_, attempt, rng);
    totals_.policy_draws += rng.draws();
    if (call.status.succeeded()) {
      ++totals_.succeeded;
      totals_.last_success = totals_.last_end = attempt.finished.since_start;
      latencies_.push_back(e.time - call.started);
    } else if (decision.stops()) {
      ++totals_.gave_up;
      totals_.last_end = attempt.finished.since_start;
    } else {
      // A negative delay is what `check` complains about; here it means at once.
      const Duration delay = std::max(Duration{}, decision.delay());
      push((attempt.finished + delay).since_start.ns(), Kind::send, e, e.attempt + 1);
    }
  }

  void fold(const Event& e) {
    const std::uint64_t what = static_cast<std::uint64_t>(e.kind) << 32 | e.client;
    const auto status =
        e.kind == Kind::reply ? static_cast<std::uint64_t>(calls_[e.client].status.code()) : 0;
    totals_.digest = detail::mix(totals_.digest + static_cast<std::uint64_t>(e.time) * detail::golden,
                                 detail::mix(what, static_cast<std::uint64_t>(e.attempt) << 16 ^ status));
  }

  const AnyPolicy& policy_;
  const Scenario& scenario_;
  StreamKey policy_key_;
  StreamKey failure_key_;
  PoissonOutages outages_;
  std::size_t client_stride_, call_stride_;
  std::vector<std::byte> client_slots_, call_slots_;
  std::vector<Call> calls_;  // of the clients that start before the horizon
  std::vector<Event> heap_;
  std::int64_t front_free_ = 0;
  std::int64_t in_process_ = 0;
  bool stuck_ = false;
  std::vector<std::int64_t> arrivals_, retries_, latencies_;
  Totals totals_;
};

}  // namespace

Result<Totals> run(const AnyPolicy& policy, const Scenario& scenario, Seed seed, std::uint64_t policy_salt,
                   std::string_view name) {
  Run one(policy, scenario, seed, policy_salt);
  if (!one.play()) {
    const std::string called = name.empty() ? to_string(policy) : std::string(name);
    return failure({},
                   fmt::format("policy '{}' in scenario '{}': a call made {} attempts while virtual time "
                               "stood still",
                               called, scenario.id, most_attempts_at_one_time),
                   "the policy lacks a limit: set max_attempts, or a delay above 0");
  }
  return one.totals();
}

std::int64_t busiest_window(std::span<const std::int64_t> sorted, Duration w) {
  std::size_t most = 0;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < sorted.size(); ++begin) {
    while (end < sorted.size() && sorted[end] - sorted[begin] < w.ns()) ++end;
    most = std::max(most, end - begin);
  }
  return static_cast<std::int64_t>(most);
}

}  // namespace retrygate
