#include "sim/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "sim/haste.hpp"
#include "sim/metrics.hpp"
#include "sim/queues.hpp"
#include "sim/server.hpp"
#include "sim/starts.hpp"
#include "sim/window.hpp"

namespace retrygate {
namespace {

constexpr std::int64_t second = 1'000'000'000;

// What the caller's side waits for besides the next request of a client: a reply, a timeout, or a request
// that reaches the server by another way than the big queue.
struct Later {
  Wake wake;
  std::int64_t leaves = never;
  bool stray = false;         // its caller leaves before it arrives
  Outcome outcome = {};       // of a reply
  bool passed_front = false;  // of a request
  friend bool operator<(const Later& a, const Later& b) { return a.wake < b.wake; }
};

// The state of a call under way, or of a fleet's client. Not kept when everything follows from the event.
struct Live {
  std::int64_t started = 0, sent = 0;
  std::uint32_t client = 0, call = 0;
  std::uint32_t awaited = 0;  // the attempt whose end some event will bring; 0 is none
  std::uint32_t asked = 0;    // how often the policy has put the next send off
};

// When a request reached the server, of a run that is recorded.
struct Arrived {
  std::uint32_t client, call, attempt;
  Instant at;
};

struct Second {
  std::int64_t attempts = 0, successes = 0;
};

bool is_fleet(const Scenario& s) { return s.arrivals.kind == Arrivals::Kind::burst; }

std::int64_t timeout_of(Duration d, const Scenario& s) { return d < s.horizon ? d.ns() : never; }

// A negative delay is what `check` complains about; here it means at once. A table that may give one is not
// used.
const RetryTable* usable(const RetryTable* table) {
  if (table == nullptr || std::min(table->clamp, table->base) < Duration{}) return nullptr;
  for (std::size_t i = 0; i < table->ranges.size() && i < table->size; ++i) {
    if (table->ranges[i].lo < Duration{}) return nullptr;
  }
  return table;
}

std::size_t padded(std::size_t bytes) {
  constexpr std::size_t unit = alignof(std::max_align_t);
  return (bytes + unit - 1) / unit * unit;
}

std::optional<Latencies> summary(std::vector<std::int64_t>& all) {
  if (all.empty()) return std::nullopt;
  Latencies l;
  l.count = static_cast<std::int64_t>(all.size());
  // An exact sum: no rounding depends on the order of the calls.
  int128 sum = 0;
  for (const std::int64_t one : all) sum += one;
  l.mean_s = static_cast<double>(sum) / static_cast<double>(all.size()) / 1e9;
  const auto rank = [&](std::size_t per_mille) {
    const std::size_t n = std::max<std::size_t>(1, (all.size() * per_mille + 999) / 1000);
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(n - 1);
    std::nth_element(all.begin(), at, all.end());
    return Duration::ns(*at);
  };
  l.p50 = rank(500);
  l.p95 = rank(950);
  l.p99 = rank(990);
  l.p999 = rank(999);
  l.max = rank(1000);
  return l;
}

}  // namespace

struct Runner::Memory {
  std::tuple<WinnerTree, BucketRing, WakeHeap> queues;
  std::tuple<StampWindows, DeltaWindows> peaks, retry_peaks;
  Agenda agenda;
  Lane<Later> replies, timeouts, arrivals;
  std::vector<Live> live;
  std::vector<std::uint32_t> free;  // slots of calls that have ended
  std::vector<std::byte> client_slots, call_slots;
  std::vector<std::int64_t> latencies, latencies_all;
  std::vector<Second> seconds;  // after the last fault
};

namespace {

// One run. The loop merges its sources by time: the big queue holds for every client that will be heard of
// the moment its next request arrives; all other sources are asked only when nothing in the queue comes
// before them.
//
// A client with one call at a time is alone with its policy's memory, so everything it does between the
// server's answer and its next request is computed at once, and one queued event per attempt is enough. Where
// calls of one client overlap and share memory (`ordered`), sends and replies are events of their own.
//
// Plain: every client makes one call, waits as long as it takes, nothing is lost, and no stage holds a
// request. Then everything about a call follows from its event, no state is kept, and the compiler removes
// what the general loop needs for the rest.
template <class Queue, bool Plain>
class Loop {
  using Memory = Runner::Memory;
  using Stamps = typename Queue::Stamps;
  static constexpr bool plays_apart = Plain && std::is_same_v<Queue, WinnerTree>;

 public:
  Loop(Memory& m, Chain& chain, const AnyPolicy& policy, const Scenario& scenario, Seed seed,
       const RunOptions& options, const Measures& measures)
      : m_(m),
        queue_(std::get<Queue>(m.queues)),
        agenda_(m.agenda),
        peaks_(std::get<Stamps>(m.peaks)),
        retry_peaks_(std::get<Stamps>(m.retry_peaks)),
        policy_(policy),
        table_(usable(policy.retry_table())),
        s_(scenario),
        measures_(measures),
        trace_(options.trace),
        horizon_(scenario.horizon.ns()),
        starts_(scenario, seed),
        policy_key_(seed, Stream::policy, options.policy_salt),
        gate_key_(seed, Stream::policy, ~options.policy_salt),
        network_key_(seed, Stream::network),
        loss_key_(seed, Stream::network, 1),
        think_key_(seed, Stream::arrivals, 1),
        request_latency_(scenario.network.request),
        reply_latency_(scenario.network.reply),
        chain_(chain),
        client_stride_(padded(policy.client_bytes())),
        call_stride_(padded(policy.call_bytes())) {
    request_.chain = &chain_;
    policy_in_a_program_ = options.in_a_program;
    fleet_ = is_fleet(s_);
    ordered_ =
        !fleet_ && policy.client_bytes() > 0 && (s_.calls > 1 || s_.arrivals.kind == Arrivals::Kind::trace);
    timeout_ = timeout_of(s_.attempt_timeout, s_);
    deadline_ = timeout_of(s_.call_deadline, s_);
    timed_ = timeout_ != never || deadline_ != never;
    watches_recovery_ = measures_.recovery;
    measures_peaks_ = !measures_.peaks.empty();
    measures_retry_peaks_ = !measures_.retry_peaks.empty();
    measures_spreads_ = !measures_.spreads.empty();
    may_repeat_ = measures_.duplicates && !s_.idempotent && (timed_ || s_.network.loss > 0);
    // The windows keep as many requests as the widest holds in any case.
    if (measures_peaks_ || measures_retry_peaks_) {
      apart_at_once_ = second / 10;
      for (const auto* widths : {&measures_.peaks, &measures_.retry_peaks}) {
        for (const Duration w : *widths)
          apart_at_once_ = std::max(apart_at_once_, std::min(w.ns(), horizon_));
      }
    }
    const auto fault_end = chain_.last_fault_end();
    fault_end_ = fault_end ? fault_end->since_start.ns() : never;
    prepare();
  }

  // One thing that happens. False when nothing is left.
  [[gnu::always_inline]] bool step() {
    if (queue_.time() >= agenda_.due()) return other_source();
    if constexpr (plays_apart) {
      if (queue_.time() < refused_until_) return play_apart();
    }
    if (!queue_.ready()) [[unlikely]]
      queue_.load();
    else if (ordered())
      send_from_queue();
    else
      arrive_from_queue();
    return true;
  }
  // A call held virtual time still: nothing more is played.
  bool stuck() const { return stuck_; }

  Totals totals() {
    t_.unfinished = t_.calls - t_.succeeded - t_.gave_up;
    t_.last_hop = chain_.has_hops() ? agenda_.inner_requests() : t_.requests;
    t_.horizon = s_.horizon;
    if (last_end_ != none) t_.last_end = Duration::ns(last_end_);
    if (last_success_ != none) t_.last_success = Duration::ns(last_success_);
    t_.wasted += agenda_.wasted();
    if (t_.late_calls == 0) {
      t_.late_calls = t_.calls;
      t_.late_succeeded = t_.succeeded;
    }
    peaks_.finish();
    retry_peaks_.finish();
    for (std::size_t i = 0; i < measures_.peaks.size(); ++i)
      t_.peaks.push_back({measures_.peaks[i], peaks_.most(i)});
    for (std::size_t i = 0; i < measures_.retry_peaks.size(); ++i)
      t_.retry_peaks.push_back({measures_.retry_peaks[i], retry_peaks_.most(i)});
    if (measures_.latencies) t_.latencies = summary(m_.latencies);
    if (measures_.latencies_all) t_.latencies_all = summary(m_.latencies_all);
    if (measures_.recovery) t_.recovery = recovery();
    if (trace_ != nullptr) finish_trace();
    return std::move(t_);
  }

 private:
  void prepare() {
    const auto clients = static_cast<std::size_t>(s_.clients);
    queue_.start(clients);
    agenda_.start();
    peaks_.start(measures_.peaks);
    retry_peaks_.start(measures_.retry_peaks);
    for (Lane<Later>* lane : {&m_.replies, &m_.timeouts, &m_.arrivals}) lane->clear();
    m_.live.clear();
    m_.free.clear();
    if (fleet() && !Plain) m_.live.resize(clients);
    m_.call_slots.resize(fleet() ? clients * call_stride_ : 0);
    m_.client_slots.resize(clients * client_stride_);
    if (client_stride_ > 0) {
      for (std::size_t i = 0; i < clients; ++i)
        policy_.start_client(m_.client_slots.data() + i * client_stride_);
    }
    m_.latencies.clear();
    m_.latencies_all.clear();
    m_.seconds.clear();
    if (trace_ != nullptr) trace_->clear();
    for (const std::int64_t attempt : measures_.spreads) t_.spreads.push_back({attempt, std::nullopt});
    seen_.assign(measures_.spreads.size(), {never, -1});
    agenda_.set_due(std::min(horizon_, starts_.time()));
  }

  // Up to refused_until_ every request gets the same answer, whatever the others do, so no client has to wait
  // for another: each is played on alone, and its next request after that goes into the queue. Only what
  // counts requests in windows wants them in order, so they are kept until all clients are through.
  [[gnu::noinline]] bool play_apart() {
    const std::int64_t from = queue_.time();
    const std::int64_t until = std::min({refused_until_, horizon_, from + apart_at_once_});
    peaks_.begin_unordered();
    retry_peaks_.begin_unordered();
    for (Wake w; starts_.time() < until;) {
      if (launch(w)) queue_.plant(w);
    }
    alone_ = true;
    if (table_ == nullptr || cancelled(request_.outcome.status))
      queue_.play_before(until, [&](Wake& w) { return serve_apart(w); });
    else if (table_->follows)
      play_refusals<true>(until);
    else
      play_refusals<false>(until);
    alone_ = false;
    peaks_.end_unordered(from, until);
    retry_peaks_.end_unordered(from, until);
    if (!stuck_) agenda_.set_due(std::min(horizon_, starts_.time()));
    return true;
  }
  [[gnu::noinline]] bool serve_apart(Wake& w) {
    std::int64_t at = 0;
    return !stuck_ && serve(w, never, false, at) && send(w, at);
  }

  // What `serve_apart` does with the requests of every client that arrive before `until`, as far as a table
  // gives the delays and the next one arrives before the horizon. A function of its own, with nothing in it
  // but this loop, so that what the loop needs stays in registers.
  template <bool Follows>
  [[gnu::noinline]] void play_refusals(std::int64_t until) {
    constexpr std::uint64_t most = 32;
    std::array<std::int64_t, most> unmeasured;
    const RetryTable& table = *table_;
    const Status answer = request_.outcome.status;
    const StreamKey network = network_key_, chance = policy_key_;
    const Sampler request = request_latency_, reply = reply_latency_;
    const Duration longest = Duration::ns(horizon_);
    // Unsigned, so that no sum is undefined: what follows an end beyond the horizon does not matter.
    const auto ns = [](Duration d) { return static_cast<std::uint64_t>(d.ns()); };
    const std::uint64_t horizon = ns(longest), stop = ns(Duration::ns(until));
    const std::uint64_t last_end =
        watches_recovery_ ? std::min(horizon, ns(Duration::ns(fault_end_))) : horizon;
    const bool measures_peaks = measures_peaks_;
    std::int64_t requests = 0, retries = 0;
    std::uint64_t attempts_max = 0, draws = 0, digest = 0;
    queue_.play_before(
        until, [&](Wake & w) __attribute__((always_inline)) {
          std::int64_t* const arrivals = measures_peaks ? peaks_.room(most) : unmeasured.data();
          std::int64_t* end_of_arrivals = arrivals;
          const std::uint64_t client = w.client, first = w.attempt;
          // As many as there is room for, and as need no look at time that stands still.
          const std::uint64_t last =
              std::min<std::uint64_t>({first + most - 1, table.size, most_attempts_a_second - 2});
          RetryTable::Memory nothing;
          RetryTable::Memory& slot = remembered(w, nothing);
          RetryTable::Memory memory = slot;
          std::uint64_t attempt = first, t = ns(Duration::ns(w.time));
          for (; t < stop && attempt <= last; ++attempt) {
            Rng back = network.at(client, 0, 2 * attempt + 1);
            Rng own = chance.at(client, 0, attempt);
            Rng there = network.at(client, 0, 2 * attempt + 2);
            const std::uint64_t end = t + ns(reply.draw(back));
            RetryTable::Memory after = memory;
            const Duration delay =
                Follows ? table.following(after, own) : table.ranged(static_cast<std::int64_t>(attempt), own);
            const std::uint64_t next = end + ns(std::min(delay, longest)) + ns(request.draw(there));
            if (next >= horizon || end >= last_end) break;
            const auto arrival = static_cast<std::int64_t>(t);
            *end_of_arrivals++ = arrival;
            digest += folded(client, 0, attempt, t, answered(arrival, answer));
            draws += own.draws();
            memory = after;
            t = next;
          }
          if (Follows) slot = memory;
          if (measures_peaks) peaks_.added(end_of_arrivals);
          std::int64_t* const first_retry = arrivals + (first == 1 && attempt > 1 ? 1 : 0);
          if (measures_retry_peaks_)
            retry_peaks_.added(std::copy(first_retry, end_of_arrivals, retry_peaks_.room(most)));
          if (measures_spreads_) {
            for (const std::int64_t* one = arrivals; one != end_of_arrivals; ++one)
              widen(static_cast<std::int64_t>(first) + (one - arrivals), *one);
          }
          requests += end_of_arrivals - arrivals;
          retries += end_of_arrivals - first_retry;
          attempts_max = std::max(attempts_max, attempt);
          w.attempt = static_cast<std::uint32_t>(attempt);
          w.time = static_cast<std::int64_t>(t);
          return w.time >= until || serve_apart(w);
        });
    t_.requests += requests;
    t_.sent += requests;
    t_.retries += retries;
    t_.attempts_max = std::max(t_.attempts_max, static_cast<std::int64_t>(attempts_max));
    t_.policy_draws += draws;
    t_.digest += digest;
  }

  bool fleet() const { return Plain || fleet_; }
  bool ordered() const { return !Plain && ordered_; }
  bool timed() const { return !Plain && timed_; }

  // ---- sources other than the big queue ----

  bool other_source() {
    if constexpr (Plain) {
      const std::int64_t t = starts_.time();
      if (stuck_ || t >= horizon_) return false;
      for (Wake w; starts_.time() == t;) {
        if (launch(w)) queue_.plant(w);
      }
      queue_.grow();
      agenda_.set_due(std::min(horizon_, starts_.time()));
      return true;
    } else {
      return other_event();
    }
  }
  bool other_event() {
    Order first = agenda_.next();
    Lane<Later>* lane = nullptr;  // that holds it; none: the agenda
    const auto consider = [&](Lane<Later>& one, Turn turn) {
      if (one.empty() || !(one.front().wake.order(turn) < first)) return;
      first = one.front().wake.order(turn);
      lane = &one;
    };
    consider(m_.replies, Turn::reply);
    consider(m_.timeouts, Turn::timeout);
    consider(m_.arrivals, Turn::arrival);
    const std::int64_t t = std::min(starts_.time(), first.time);
    if (stuck_ || t >= horizon_) return false;
    agenda_.set_now({Duration::ns(t)});
    Wake fresh;
    bool sent = false;
    if (starts_.time() == t) {
      sent = launch(fresh);
    } else if (queue_comes_before(first)) {
      ordered() ? send_from_queue() : arrive_from_queue();
    } else if (lane == nullptr) {
      agenda_.handle_next();
      for (Request& r : agenda_.done()) answered_late(r);
      agenda_.done().clear();
      stuck_ = stuck_ || agenda_.stuck();
    } else {
      const Later e = lane->front();
      lane->pop();
      if (first.turn == Turn::reply)
        follow(e.wake, e.outcome, t);
      else if (first.turn == Turn::arrival)
        arrive(e);
      else if (awaits(e.wake))
        follow(e.wake, timed_out_, t);
    }
    const auto front = [](const Lane<Later>& one) { return one.empty() ? never : one.front().wake.time; };
    agenda_.set_due(std::min({horizon_, starts_.time(), agenda_.next().time, front(m_.replies),
                              front(m_.timeouts), front(m_.arrivals)}));
    if (!sent) return true;
    // What comes next needs no queue.
    if (!ordered() && s_.network.front == Duration{} && fresh.time < queue_.time() &&
        fresh.time < agenda_.due()) {
      agenda_.set_now({Duration::ns(fresh.time)});
      arrive_now(fresh, leaves_of(fresh), false);
    } else {
      queue_.push(fresh);
    }
    return true;
  }

  bool queue_comes_before(const Order& other) {
    if (queue_.time() != other.time) return false;
    if (!queue_.ready()) queue_.load();
    if (queue_.time() != other.time) return false;
    Wake top = queue_.top();
    if (fleet()) top.call = m_.live[top.client].call;  // which not every queue keeps
    return top.order(ordered() ? Turn::send : Turn::arrival) < other;
  }

  // The next call starts. True when its first request (or its send, where that is an event) is on its way.
  bool launch(Wake& w) {
    w = {starts_.time(), starts_.client(), starts_.call(), 1, 0};
    starts_.next();
    w.slot = fleet() ? w.client : open_slot();
    begin_call(w, w.time);
    return ordered() || send(w, w.time);
  }

  std::uint32_t open_slot() {
    if (!m_.free.empty()) {
      const std::uint32_t slot = m_.free.back();
      m_.free.pop_back();
      return slot;
    }
    m_.live.emplace_back();
    m_.call_slots.resize(m_.live.size() * call_stride_);
    return static_cast<std::uint32_t>(m_.live.size() - 1);
  }

  void later(Lane<Later>& lane, const Later& e) {
    lane.push(e);
    agenda_.set_due(std::min(agenda_.due(), e.wake.time));
  }

  // ---- the client ----

  std::byte* client_slot(const Wake& w) { return m_.client_slots.data() + w.client * client_stride_; }
  std::byte* call_slot(const Wake& w) { return m_.call_slots.data() + w.slot * call_stride_; }
  RetryTable::Memory& remembered(const Wake& w, RetryTable::Memory& nothing) {
    return RetryTable::Memory::of(call_slot(w), call_stride_, nothing);
  }
  std::int64_t started(const Wake& w) const { return Plain ? starts_.of(w.client) : m_.live[w.slot].started; }

  void begin_call(const Wake& w, std::int64_t at) {
    ++t_.calls;
    if (at >= fault_end_) ++t_.late_calls;
    if (call_stride_ > 0) policy_.start_call(call_slot(w));
    if (!Plain) m_.live[w.slot] = {at, at, w.client, w.call, 0};
  }

  void end_call(const Wake& w, bool success, std::int64_t at) {
    const std::int64_t start = started(w);
    last_end_ = std::max(last_end_, at);
    if (success) {
      ++t_.succeeded;
      last_success_ = std::max(last_success_, at);
      if (start >= fault_end_) ++t_.late_succeeded;
      if (measures_.latencies) m_.latencies.push_back(at - start);
    } else {
      ++t_.gave_up;
    }
    if (measures_.latencies_all) m_.latencies_all.push_back(at - start);
    fold(w.client, w.call, w.attempt, static_cast<std::uint64_t>(at), success ? 1 : 2);
  }

  // The client's next call, if there is one before the horizon: `at` becomes its start.
  bool next_call(Wake& w, std::int64_t& at) {
    if (!fleet()) {
      m_.free.push_back(w.slot);
      return false;
    }
    if (Plain || w.call + 1 >= s_.calls) return false;
    ++w.call;
    w.attempt = 1;
    Rng rng = think_key_.at(w.client, w.call);
    at += within(s_.arrivals.think.draw(rng));
    if (at >= horizon_) return false;
    begin_call(w, at);
    return true;
  }

  // An attempt ended at `end` < horizon. True when the client sends again: attempt w.attempt, at `at`.
  [[gnu::always_inline]] bool judge(Wake& w, const Outcome& outcome, bool success, std::int64_t end,
                                    std::int64_t& at) {
    const std::int64_t deadline = timed() ? deadline_of(started(w)) : never;
    std::int64_t delay = -1;  // none: the call ends
    if (table_ != nullptr && deadline == never && (success || table_->decides(w.attempt, outcome.status))) {
      if (!success) {
        Rng rng = policy_key_.at(w.client, w.call, w.attempt);
        RetryTable::Memory nothing;
        delay = std::min(table_->delay(w.attempt, remembered(w, nothing), rng).ns(), horizon_);
        t_.policy_draws += rng.draws();
      }
    } else {
      const Decision decision = ask(w, outcome, end, deadline);
      // A negative delay is what `check` complains about; here it means at once.
      if (!success && !decision.stops()) delay = within(decision.delay());
    }
    if (!Plain) m_.live[w.slot].awaited = 0;
    if (!Plain && trace_ != nullptr) {
      TraceRow& row = (*trace_)[last_row_[w.slot]];
      row.end = Instant{Duration::ns(end)};
      row.outcome = outcome;
    }
    if (watches_recovery_ && end >= fault_end_) {
      const auto i = static_cast<std::size_t>((end - fault_end_) / second);
      if (i >= m_.seconds.size()) m_.seconds.resize(i + 1);
      ++m_.seconds[i].attempts;
      m_.seconds[i].successes += success ? 1 : 0;
    }
    if (delay >= 0) {
      at = end + delay;
      if (!timed() || at < deadline) {
        ++w.attempt;
        return true;
      }
      if (deadline >= horizon_) return false;
      end = deadline;
      abandon(w, end);
    }
    end_call(w, success, end);
    at = end;
    return next_call(w, at);
  }

  Decision ask(const Wake& w, const Outcome& outcome, std::int64_t end, std::int64_t deadline) {
    const Attempt attempt{w.attempt,           outcome,
                          s_.idempotent,       {Duration::ns(started(w))},
                          {Duration::ns(end)}, {Duration::ns(deadline)}};
    Rng rng = policy_key_.at(w.client, w.call, w.attempt);
    const Decision decision = policy_.after(client_slot(w), call_slot(w), attempt, rng);
    t_.policy_draws += rng.draws();
    return decision;
  }

  // Is the request let out at `at`? It may also be put off, which moves `at`, or be refused, which ends the
  // call.
  enum class Gate : std::uint8_t { open, ended, over };
  [[gnu::always_inline]] Gate pass_gate(const Wake& w, std::int64_t& at) {
    const std::int64_t deadline = timed() ? deadline_of(started(w)) : never;
    for (;;) {
      if (at >= horizon_) return Gate::over;
      if (timed() && at >= deadline) {
        at = deadline;
        abandon(w, at);
        return Gate::ended;
      }
      if (Plain || !policy_.gates()) return Gate::open;
      std::uint32_t& asked = m_.live[w.slot].asked;
      Rng rng = gate_key_.at(w.client, w.call, std::uint64_t{asked} << 32 | w.attempt);
      const Sending sending{
          w.attempt, {Duration::ns(at)}, {Duration::ns(started(w))}, {Duration::ns(deadline)}};
      const Decision decision = policy_.before(client_slot(w), call_slot(w), sending, rng);
      t_.policy_draws += rng.draws();
      if (decision.stops()) return Gate::ended;
      if (decision.delay() <= Duration{}) {
        asked = 0;
        return Gate::open;
      }
      ++asked;
      at += within(decision.delay());
      if (puts_off_for_ever(w, asked, at)) return Gate::over;
      if (ordered()) return Gate::open;  // asked again when that time has come
    }
  }

  // The caller has left between two attempts.
  void abandon(const Wake& w, std::int64_t at) {
    if (!Plain) policy_.abandoned(client_slot(w), call_slot(w), {Duration::ns(at)});
  }

  // Sends attempt w.attempt at `at` and does whatever the client does until a request is on its way: then
  // w.time is when it arrives. False when nothing more comes of this client before the horizon.
  [[gnu::always_inline]] bool send(Wake& w, std::int64_t at) {
    for (;;) {
      const Gate gate = pass_gate(w, at);
      if (gate == Gate::over) return false;
      if (gate == Gate::ended) {
        end_call(w, false, at);
        if (!next_call(w, at)) return false;
        continue;
      }
      const std::int64_t leaves = depart(w, at);
      if (w.time <= leaves) return w.time < horizon_;
      // Its caller has left when it reaches the server, if it does.
      if (w.time < horizon_) later(m_.arrivals, {w, leaves, true, {}});
      if (leaves >= horizon_ || !judge(w, timed_out_, false, leaves, at)) return false;
    }
  }

  // One attempt leaves the client: w.time becomes the moment it arrives (never if it is lost). Returns when
  // its caller stops waiting.
  [[gnu::always_inline]] std::int64_t depart(Wake& w, std::int64_t at) {
    ++t_.sent;
    if (w.attempt > t_.attempts_max) t_.attempts_max = w.attempt;
    if (w.attempt >= Haste::few && holds_time_still(w, at)) [[unlikely]]
      return w.time = never;
    Rng rng = network_key_.at(w.client, w.call, 2 * std::uint64_t{w.attempt});
    w.time = at + std::min(request_latency_.draw(rng).ns(), horizon_);
    if (Plain) return never;
    m_.live[w.slot].sent = at;
    if (trace_ != nullptr) trace_send(w, at);
    if (lost(w, 0)) w.time = never;
    return leaves_of(w);
  }
  std::int64_t leaves_of(const Wake& w) const {
    if (!timed()) return never;
    const Live& live = m_.live[w.slot];
    return std::min(timeout_ == never ? never : live.sent + timeout_,
                    deadline_ == never ? never : live.started + deadline_);
  }
  bool lost(const Wake& w, std::uint64_t way) const {
    return !Plain && s_.network.loss > 0 &&
           loss_key_.at(w.client, w.call, 2 * std::uint64_t{w.attempt} + way).unit() < s_.network.loss;
  }
  std::int64_t within(Duration d) const { return std::clamp<std::int64_t>(d.ns(), 0, horizon_); }

  // Attempt numbers beyond the limit are rare; when they were at the last multiple of it is worth a map.
  [[gnu::noinline]] bool holds_time_still(const Wake& w, std::int64_t at) {
    if (will_hold_time_still(w, at)) return true;
    if (w.attempt % most_attempts_a_second != 0) return false;
    return holds_up(watched_.try_emplace({w.client, w.call}, started(w)).first->second, at);
  }
  // The same of one that is put off, and put off, and never sent. The first time nobody knows since when.
  bool puts_off_for_ever(const Wake& w, std::uint32_t asked, std::int64_t at) {
    if (asked >= Haste::few && will_hold_time_still(w, at)) return true;
    if (asked % most_attempts_a_second != 0) return false;
    return holds_up(put_off_.try_emplace({w.client, w.call}, at - second).first->second, at);
  }
  // Among many calls that take turns: see Haste. The one that is at hand stands for all.
  bool will_hold_time_still(const Wake& w, std::int64_t at) {
    if (alone_ || policy_in_a_program_) return false;
    const auto pace =
        haste_.suspected(agenda_.now(), fleet() ? static_cast<std::size_t>(s_.clients) : m_.live.size());
    if (!pace) return false;
    // What everybody is told now, or that nobody answers in time.
    const Outcome& last = request_.outcome;
    const std::int64_t deadline = deadline_of(started(w));
    const std::int64_t until = std::min({horizon_, deadline, at < refused_until_ ? refused_until_ : never});
    stuck_ = goes_on_for_ever(
        policy_, {{w.attempt, {Duration::ns(at)}, {Duration::ns(started(w))}, {Duration::ns(deadline)}},
                  s_.idempotent,
                  last.status.succeeded() ? timed_out_ : last,
                  *pace,
                  {Duration::ns(until)},
                  client_slot(w),
                  call_slot(w),
                  policy_key_.at(w.client, w.call, w.attempt)});
    if (stuck_) agenda_.set_due(-1);
    return stuck_;
  }
  // The last time is `seen`, and becomes `at`.
  bool holds_up(std::int64_t& seen, std::int64_t at) {
    if (at - seen < second) {
      stuck_ = true;
      agenda_.set_due(-1);
    }
    seen = at;
    return stuck_;
  }

  std::int64_t deadline_of(std::int64_t start) const {
    return !timed() || deadline_ == never ? never : start + deadline_;
  }

  // What follows the end of an attempt that was awaited by an event.
  void follow(Wake w, const Outcome& outcome, std::int64_t end) {
    std::int64_t at = end;
    if (!judge(w, outcome, outcome.status.succeeded(), end, at)) return;
    if (ordered()) {
      w.time = at;
      if (at < horizon_) queue_.push(w);
    } else if (send(w, at)) {
      queue_.push(w);
    }
  }

  // Calls of one client overlap: a send is an event.
  void send_from_queue() {
    Wake w = queue_.take();
    queue_.drop();
    std::int64_t at = w.time;
    const Gate gate = pass_gate(w, at);
    if (gate == Gate::over) return;
    if (gate == Gate::ended) {
      end_call(w, false, at);
      next_call(w, at);
      return;
    }
    if (at > w.time) {
      w.time = at;
      if (at < horizon_) queue_.push(w);
      return;
    }
    const std::int64_t leaves = depart(w, at);
    m_.live[w.slot].awaited = w.attempt;
    if (w.time < horizon_) later(m_.arrivals, {w, leaves, w.time > leaves, {}});
    if (leaves < horizon_) await_timeout(w, leaves);
  }

  bool awaits(const Wake& w) const {
    const Live& live = m_.live[w.slot];
    return live.client == w.client && live.call == w.call && live.awaited == w.attempt;
  }
  void await_timeout(Wake w, std::int64_t leaves) {
    w.time = leaves;
    later(m_.timeouts, {w, leaves, false, {}});
  }

  // ---- the server ----

  void arrive_from_queue() {
    Wake w = queue_.take();
    if (!Plain) w.call = m_.live[w.slot].call;
    const std::int64_t leaves = leaves_of(w);
    std::int64_t at = 0;
    if (!Plain && s_.network.front > Duration{}) {
      // In time the client hears of it after the front; if not, it goes on when it has waited enough.
      const bool in_time = pass_front({w, leaves, false, {}}) <= leaves;
      if (!in_time && leaves < horizon_ && judge(w, timed_out_, false, leaves, at) && send(w, at))
        queue_.replace(w);
      else
        queue_.drop();
      return;
    }
    agenda_.set_now({Duration::ns(w.time)});
    if (serve(w, leaves, false, at) && send(w, at))
      queue_.replace(w);
    else
      queue_.drop();
  }

  // Returns when the request leaves the front.
  std::int64_t pass_front(Later e) {
    front_free_ = (Duration::ns(std::max(e.wake.time, front_free_)) + s_.network.front).ns();
    e.wake.time = front_free_;
    e.passed_front = true;
    e.stray = e.stray || front_free_ > e.leaves;
    later(m_.arrivals, e);
    return front_free_;
  }

  void arrive(const Later& e) {
    if (s_.network.front > Duration{} && !e.passed_front)
      pass_front(e);
    else
      arrive_now(e.wake, e.leaves, e.stray);
  }
  void arrive_now(Wake w, std::int64_t leaves, bool stray) {
    std::int64_t at = 0;
    if (serve(w, leaves, stray, at) && send(w, at)) queue_.push(w);
  }

  // The request of w reaches the server at w.time. True when its client is known to send again, attempt
  // w.attempt at `at`.
  [[gnu::always_inline]] bool serve(Wake& w, std::int64_t leaves, bool stray, std::int64_t& at) {
    ++t_.requests;
    if (!Plain && trace_ != nullptr)
      arrived_.push_back({w.client, w.call, w.attempt, {Duration::ns(w.time)}});
    if (measures_peaks_) peaks_.add(w.time);
    if (w.attempt > 1) {
      ++t_.retries;
      if (measures_retry_peaks_) retry_peaks_.add(w.time);
    }
    if (measures_spreads_) widen(w.attempt, w.time);
    Request& r = request_;
    r.at = {Duration::ns(w.time)};
    if (!Plain) {
      r.call = w.call;
      r.leaves = {Duration::ns(leaves)};
      r.slot = w.slot;
      r.stray = stray;
    }
    if (w.time < refused_until_ || pass_stages(r, w)) {
      const Reply reply = reply_to(r, w, w.time);
      if (stray) return false;
      if (ordered()) {
        w.time = reply.end;
        // A timeout comes from its own event.
        if (!reply.in_time || reply.end >= horizon_) return false;
        m_.live[w.slot].awaited = 0;
        later(m_.replies, {w, never, false, r.outcome});
        return false;
      }
      const Outcome& seen = reply.in_time ? r.outcome : timed_out_;
      return reply.end < horizon_ && judge(w, seen, reply.in_time && reply.success, reply.end, at);
    }
    if (!stray && !ordered()) {
      m_.live[w.slot].awaited = w.attempt;
      if (leaves < horizon_) await_timeout(w, leaves);
    }
    return false;
  }

  // False when a stage holds it. An outage that turns everything away is not asked again.
  [[gnu::always_inline]] bool pass_stages(Request& r, const Wake& w) {
    r.client = w.client;
    r.attempt = w.attempt;
    r.lineage = w.attempt;
    r.arrived = r.at;
    r.outcome.status = Status::http(200);
    r.outcome.retry_after.reset();
    r.work = {};
    r.replayed = false;
    if (chain_.go(r, 0, agenda_) != Step::answer) return false;
    if (r.stage == 0 && r.at == r.arrived) refused_until_ = chain_.refuses_until(r.at).since_start.ns();
    return true;
  }

  void widen(std::int64_t attempt, std::int64_t time) {
    for (std::size_t i = 0; i < t_.spreads.size(); ++i) {
      Totals::Spread& spread = t_.spreads[i];
      if (spread.attempt != attempt) continue;
      auto& [first, last] = seen_[i];
      first = std::min(first, time);
      last = std::max(last, time);
      spread.width = Duration::ns(last - first);
    }
  }

  struct Reply {
    std::int64_t end;  // of the attempt
    bool in_time;      // the answer reaches a caller that still waits
    bool success;
  };
  // The server's answer is on its way at r.at.
  [[gnu::always_inline]] Reply reply_to(const Request& r, const Wake& w, std::int64_t arrived) {
    const bool success = r.outcome.status.succeeded();
    fold(w.client, w.call, w.attempt, static_cast<std::uint64_t>(arrived),
         answered(r.at.since_start.ns(), r.outcome.status));
    if (may_repeat_ && success && !r.replayed && r.at.since_start.ns() < horizon_ &&
        !processed_.insert(std::uint64_t{w.client} << 32 | w.call).second)
      ++t_.duplicates;
    Rng rng = network_key_.at(w.client, w.call, 2 * std::uint64_t{w.attempt} + 1);
    std::int64_t reply = (r.at + reply_latency_.draw(rng)).since_start.ns();
    if (lost(w, 1)) reply = never;
    const std::int64_t leaves = r.leaves.since_start.ns();
    const bool in_time = Plain || (reply <= leaves && reply != never && !r.stray);
    if (r.work > Duration{} && (!success || !in_time)) t_.wasted += r.work;
    return {Plain ? reply : std::min(reply, leaves), in_time, success};
  }

  // The answer to a request that a stage had held.
  void answered_late(const Request& r) {
    Wake w{r.at.since_start.ns(), r.client, r.call, static_cast<std::uint32_t>(r.attempt), r.slot};
    const Reply reply = reply_to(r, w, r.arrived.since_start.ns());
    // Otherwise the caller's timeout is an event of its own, or has been.
    if (!reply.in_time || reply.end >= horizon_ || !awaits(w)) return;
    m_.live[w.slot].awaited = 0;
    if (ordered()) {
      w.time = reply.end;
      later(m_.replies, {w, never, false, r.outcome});
    } else {
      follow(w, r.outcome, reply.end);
    }
  }

  // ---- results ----

  void trace_send(const Wake& w, std::int64_t at) {
    if (w.slot >= last_row_.size()) last_row_.resize(m_.live.size());
    last_row_[w.slot] = trace_->size();
    trace_->push_back({w.client, w.call, w.attempt, {Duration::ns(at)}, {}, {}, {}});
  }
  // A request may arrive when its client is at a later attempt: arrivals meet their rows at the end.
  void finish_trace() {
    const auto by_attempt = [](const auto& a, const auto& b) {
      return std::tie(a.client, a.call, a.attempt) < std::tie(b.client, b.call, b.attempt);
    };
    std::sort(trace_->begin(), trace_->end(), by_attempt);
    std::sort(arrived_.begin(), arrived_.end(), by_attempt);
    auto row = trace_->begin();
    for (const Arrived& one : arrived_) {
      while (by_attempt(*row, one)) ++row;
      row->arrived = one.at;
    }
    std::sort(trace_->begin(), trace_->end(), [](const TraceRow& a, const TraceRow& b) {
      return std::tie(a.start, a.client, a.call, a.attempt) < std::tie(b.start, b.client, b.call, b.attempt);
    });
  }

  // A sum of well mixed words: what happened counts, not in which order it was computed.
  void fold(std::uint64_t client, std::uint64_t call, std::uint64_t attempt, std::uint64_t a,
            std::uint64_t b) {
    t_.digest += folded(client, call, attempt, a, b);
  }
  static std::uint64_t folded(std::uint64_t client, std::uint64_t call, std::uint64_t attempt,
                              std::uint64_t a, std::uint64_t b) {
    return detail::mix(a * detail::golden + client * 0xd1342543de82ef95 + call * 0xaf251af3b0f025b5 +
                           attempt * 0xc2b2ae3d27d4eb4f,
                       b);
  }
  static std::uint64_t answered(std::int64_t at, Status status) {
    return static_cast<std::uint64_t>(at) * 64 ^ static_cast<std::uint64_t>(status.code());
  }

  // The start of the first second after the fault from which on 90 % of the attempts that end succeed.
  std::optional<Duration> recovery() const {
    std::size_t good = m_.seconds.size();
    bool any = false;
    while (good > 0) {
      const Second& one = m_.seconds[good - 1];
      if (one.attempts > 0 && 10 * one.successes < 9 * one.attempts) break;
      any = any || one.attempts > 0;
      --good;
    }
    if (!any) return std::nullopt;
    return Duration::s(static_cast<std::int64_t>(good));
  }

  Memory& m_;
  Queue& queue_;
  Agenda& agenda_;
  Stamps& peaks_;
  Stamps& retry_peaks_;
  const AnyPolicy& policy_;
  const RetryTable* table_;
  const Scenario& s_;
  const Measures& measures_;
  std::vector<TraceRow>* trace_;
  std::vector<std::size_t> last_row_;  // of the trace, by slot
  std::vector<Arrived> arrived_;
  std::int64_t horizon_;
  Starts starts_;
  StreamKey policy_key_, gate_key_, network_key_, loss_key_, think_key_;
  Sampler request_latency_, reply_latency_;
  Chain& chain_;
  const Outcome timed_out_{Status::transport(TransportError::timeout), {}, {}};
  Request request_;                         // that arrives: what does not change is written once
  std::int64_t refused_until_ = -1;         // as the last one was
  std::int64_t apart_at_once_ = never / 2;  // ns
  std::size_t client_stride_, call_stride_;
  std::int64_t timeout_ = never, deadline_ = never, fault_end_ = never;
  bool fleet_ = false;    // every client has its own slot and one call at a time
  bool ordered_ = false;  // overlapping calls share their client's memory
  bool timed_ = false;    // callers may stop waiting
  bool may_repeat_ = false, watches_recovery_ = false;
  bool measures_peaks_ = false, measures_retry_peaks_ = false, measures_spreads_ = false;
  bool stuck_ = false;
  bool alone_ = false;  // a client is played on while the clock waits for it
  bool policy_in_a_program_;
  Haste haste_;
  static constexpr std::int64_t none = -1;
  std::int64_t last_end_ = none, last_success_ = none;
  std::int64_t front_free_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> seen_;  // of every spread: the first and the last
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> watched_, put_off_;  // by client and call
  std::unordered_set<std::uint64_t> processed_;
  Totals t_;
};

QueueKind fitting(const Scenario& s, QueueKind wanted) {
  if (!is_fleet(s)) return QueueKind::heap;  // calls come and go
  if (wanted != QueueKind::automatic) return wanted;
  const auto clients = static_cast<std::size_t>(s.clients);
  return s.clients <= 131'072 && WinnerTree::fits(clients, s.horizon.ns()) ? QueueKind::tree
                                                                           : QueueKind::buckets;
}

// See Loop; its stages must not suspend requests either.
bool is_plain(const AnyPolicy& policy, const Scenario& s, const RunOptions& options) {
  return is_fleet(s) && s.calls == 1 && timeout_of(s.attempt_timeout, s) == never &&
         timeout_of(s.call_deadline, s) == never && s.network.front == Duration{} && s.network.loss == 0 &&
         !policy.gates() && options.trace == nullptr;
}

const Measures& everything() {
  static const Measures all = measures_for(metrics());
  return all;
}

}  // namespace

double estimated_bytes(const AnyPolicy& policy, const Scenario& s, const RunOptions& options) {
  const Measures& measures = options.measures != nullptr ? *options.measures : everything();
  constexpr double attempts_per_call = 6;  // of a retry storm (outage-then-limit with full jitter)
  const auto clients = static_cast<double>(s.clients);
  const double calls = clients * static_cast<double>(s.calls);
  const bool tree = fitting(s, QueueKind::automatic) == QueueKind::tree;
  const bool dense = fitting(s, QueueKind::automatic) == QueueKind::buckets;
  double bytes = 1e6;
  if (is_fleet(s)) bytes += clients * (tree ? 48 : 10);
  const bool plain = is_plain(policy, s, options);
  if (!plain) bytes += (is_fleet(s) ? clients : 0) * sizeof(Live);
  bytes += clients * static_cast<double>(padded(policy.client_bytes()));
  if (is_fleet(s)) bytes += clients * static_cast<double>(padded(policy.call_bytes()));
  if (!measures.peaks.empty()) bytes += calls * attempts_per_call * (dense ? 2 : 16);
  if (!measures.retry_peaks.empty()) bytes += calls * attempts_per_call * (dense ? 2 : 16);
  bytes += calls * ((measures.latencies ? 8 : 0) + (measures.latencies_all ? 8 : 0));
  if (measures.duplicates && !s.idempotent) bytes += calls * 40;
  constexpr double line_of_csv = 70;
  if (options.trace != nullptr)
    bytes += calls * attempts_per_call * (2 * (sizeof(TraceRow) + sizeof(Arrived)) + line_of_csv);
  bytes += static_cast<double>(s.arrivals.starts.size() * sizeof(Arrivals::Start));
  return bytes;
}

Runner::Runner() : memory_(std::make_unique<Memory>()) {}
Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

Result<Totals> Runner::run(const AnyPolicy& policy, const Scenario& scenario, Seed seed,
                           const RunOptions& options) {
  const Measures& measures = options.measures != nullptr ? *options.measures : everything();
  const World world{
      seed, scenario.horizon, scenario.idempotent, &policy, options.in_a_program, options.policy_salt, 0};
  Chain chain(scenario.stages, world);
  const auto play = [&]<class Queue, bool Plain>(Loop<Queue, Plain> loop) -> Result<Totals> {
    while (loop.step()) {
    }
    if (!loop.stuck()) return loop.totals();
    const auto& hop = memory_->agenda.stuck();
    const std::string tested = options.name.empty() ? to_string(policy) : std::string(options.name);
    return failure(
        {},
        fmt::format("policy '{}'{} in scenario '{}': a call that goes on failing makes {} attempts within a "
                    "second of virtual time",
                    hop && !hop->empty() ? *hop : tested, hop ? " of a hop" : "", scenario.id,
                    most_attempts_a_second),
        "the policy lacks a limit: set max_attempts, or a longer delay");
  };
  const bool plain = is_plain(policy, scenario, options) && !chain.suspends();
  const QueueKind queue = fitting(scenario, options.queue);
  // A large fleet takes turns, so that a call that holds time still would show after hours. While everything
  // is refused from the start, the first client does alone what it does among others.
  if (plain && queue == QueueKind::buckets && scenario.clients > 1) {
    Scenario first = scenario;
    first.clients = 1;
    first.horizon = std::min(scenario.horizon, chain.refuses_until(Instant{}).since_start);
    const Measures nothing;
    RunOptions alone = options;
    alone.measures = &nothing;
    if (first.horizon > Duration{}) {
      if (auto played = retrygate::run(policy, first, seed, alone); !played) return played;
    }
  }
  const auto with = [&]<class Queue>(const Queue*) {
    return plain ? play(Loop<Queue, true>(*memory_, chain, policy, scenario, seed, options, measures))
                 : play(Loop<Queue, false>(*memory_, chain, policy, scenario, seed, options, measures));
  };
  switch (queue) {
    case QueueKind::tree:
      return with(static_cast<const WinnerTree*>(nullptr));
    case QueueKind::buckets:
      return with(static_cast<const BucketRing*>(nullptr));
    case QueueKind::heap:
    case QueueKind::automatic:
      break;
  }
  // Always the general loop: tests compare the two.
  return play(Loop<WakeHeap, false>(*memory_, chain, policy, scenario, seed, options, measures));
}

Result<Totals> run(const AnyPolicy& policy, const Scenario& scenario, Seed seed, const RunOptions& options) {
  return Runner().run(policy, scenario, seed, options);
}

std::int64_t busiest_window(std::span<const std::int64_t> sorted, Duration w) {
  StampWindows windows;
  windows.start({w});
  for (const std::int64_t t : sorted) windows.add(t);
  windows.finish();
  return windows.most(0);
}

}  // namespace retrygate
