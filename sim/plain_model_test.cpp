// The simulator against a second one that shares nothing with it: one map of events, one at a time, no table,
// no shortcut, nothing known before it happens. Both play worlds of arbitrary stages in arbitrary order,
// without chance, whose times meet often.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "sim/testing.hpp"

namespace retrygate::plain_model {
namespace {

using namespace testing_sim;
using std::int64_t;

constexpr int64_t ms = 1'000'000;
constexpr int64_t no_end = int64_t{1} << 60;

// A stage as data for both: `kind` as in a scenario; what the numbers mean follows from it.
struct Part {
  std::string kind;
  int64_t a = 0, b = 0, c = 0;
  bool flag = false, other = false;
  std::vector<Part> inside = {};
};

std::string written(const std::vector<Part>& parts);
std::string written(const Part& p) {
  const auto flag = [](bool set) { return set ? "true" : "false"; };
  std::string keys;
  if (p.kind == "outage")
    keys = fmt::format("start = \"{}ns\", length = \"{}ns\", hang = {}", p.a, p.b, flag(p.flag));
  if (p.kind == "brownout")
    keys = fmt::format("start = \"{}ns\", length = \"{}ns\", extra = \"{}ns\"", p.a, p.b, p.c);
  if (p.kind == "concurrency-limit") keys = fmt::format("limit = {}", p.a);
  if (p.kind == "rate-limit") keys = fmt::format("rate_per_s = {}, burst = {}", 1000 * ms / p.a, p.b);
  if (p.kind == "fail-first") keys = fmt::format("attempts = {}", p.a);
  if (p.kind == "service") keys = fmt::format("time = \"{}ns\"", p.a);
  if (p.kind == "congestion") keys = fmt::format("time = \"{}ns\", half_speed_at = {}", p.a, p.b);
  if (p.kind == "deduplication") keys = fmt::format("remember = \"{}ns\"", p.a);
  if (p.kind == "optimistic-row") keys = fmt::format("round_trip = \"{}ns\"", p.a);
  if (p.kind == "queue")
    keys = fmt::format("service = \"{}ns\", workers = {}, capacity = {}, order = \"{}\", skip_abandoned = {}",
                       p.a, p.b, p.c, p.flag ? "lifo" : "fifo", flag(p.other));
  if (p.kind == "hop")
    keys =
        fmt::format("policy = \"fixed:base={}ns,max_attempts={}\", attempt_timeout = \"{}ns\", stages = [{}]",
                    p.a, p.b, p.c, written(p.inside));
  return fmt::format("{{ kind = \"{}\", {} }}", p.kind, keys);
}
std::string written(const std::vector<Part>& parts) {
  std::vector<std::string> texts;
  for (const Part& p : parts) texts.push_back(written(p));
  return fmt::format("{}", fmt::join(texts, ", "));
}

struct Made {
  int64_t horizon, clients, calls, think, ramp, there, back, timeout, deadline, wait, attempts;
  std::vector<Part> parts;
  int64_t
      interval;  // between two starts, whether or not a client's other calls are over; 0: one after the other
  bool remembers;  // the policy has memory that all calls of a client share, and is asked before it sends

  std::string policy() const {
    return fmt::format("kind = \"fixed\"\nbase = \"{}ns\"\nmax_attempts = {}\n{}", wait, attempts,
                       remembers ? "breaker = { failures = 1000000, open_for = \"1s\" }\n" : "");
  }
  std::string text() const {
    const std::string starts =
        interval > 0
            ? fmt::format("interval = \"{}ns\"", interval)
            : fmt::format("arrivals = \"closed\"\nthink_time = \"{}ns\"\nramp = \"{}ns\"", think, ramp);
    return fmt::format(
        "horizon = \"{}ns\"\nclients = {}\ncalls = {}\n{}\nrequest_latency = \"{}ns\"\nreply_latency = "
        "\"{}ns\"\n"
        "attempt_timeout = \"{}ns\"\ncall_deadline = \"{}ns\"\nidempotent = false\nstages = [{}]",
        horizon, clients, calls, starts, there, back, timeout, deadline, written(parts));
  }
};

class Chooser {
 public:
  explicit Chooser(std::uint64_t seed) : rng_(Seed{seed}) {}
  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(rng_.below(static_cast<std::uint64_t>(hi - lo + 1)));
  }
  bool chance(int64_t percent) { return between(1, 100) <= percent; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[between(0, static_cast<int64_t>(all.size()) - 1)];
  }
  // Mostly whole milliseconds, so that much happens at the same time.
  int64_t time(int64_t lo_ms, int64_t hi_ms) {
    return between(lo_ms, hi_ms) * ms + (chance(60) ? 0 : between(0, ms - 1));
  }

  Part part(int depth) {
    const std::string kind =
        one_of({"outage", "brownout", "concurrency-limit", "rate-limit", "fail-first", "service",
                "congestion", "deduplication", "optimistic-row", "queue", "queue", "hop"});
    if (kind == "outage") return {kind, time(0, 300), time(1, 200), 0, chance(20)};
    if (kind == "brownout") return {kind, time(0, 300), time(1, 300), time(0, 50)};
    if (kind == "concurrency-limit") return {kind, between(1, 8)};
    if (kind == "rate-limit") return {kind, one_of({1, 2, 5, 10, 20}) * ms, between(1, 10)};
    if (kind == "fail-first") return {kind, between(0, 2)};
    if (kind == "congestion") return {kind, between(1, 20) * ms, one_of({1, 2, 4, 5})};
    if (kind == "deduplication") return {kind, time(0, 300)};
    if (kind == "optimistic-row") return {kind, time(1, 30)};
    if (kind == "queue")
      return {kind, time(0, 30), between(1, 4), one_of({0, 1, 3, 10, 1000}), chance(50), chance(40)};
    if (kind == "service" || depth == 2) return {"service", time(0, 40)};
    return {kind,
            time(0, 40),
            between(1, 4),
            chance(60) ? time(5, 100) : 3'600'000 * ms,
            false,
            false,
            parts(between(0, 3), depth + 1)};
  }
  std::vector<Part> parts(int64_t n, int depth) {
    std::vector<Part> all;
    while (n-- > 0) all.push_back(part(depth));
    return all;
  }
  Made world() {
    return {one_of({3000, 20'000}) * ms,
            between(1, 40),
            between(1, 3),
            time(0, 100),
            one_of<int64_t>({0, 100 * ms, 777 * ms}),
            one_of<int64_t>({0, 0, 2 * ms, 3'300'001}),
            one_of<int64_t>({0, 0, 5 * ms, 1'234'567}),
            one_of<int64_t>({3'600'000 * ms, 30 * ms, 60 * ms, 61'000'003}),
            one_of<int64_t>({3'600'000 * ms, 200 * ms, 333'333'333}),
            time(1, 90),
            between(1, 7),
            parts(between(0, 5), 0),
            chance(40) ? time(1, 20) : 0,
            chance(50)};
  }

 private:
  Rng rng_;
};

// ---- the second simulator ----

// A request on its way through a service. `done` hears when it leaves, now or later.
struct Visit {
  int64_t client, call, attempt;
  std::uint64_t lineage;  // names it among the attempts of its call through all layers
  int64_t leaves;         // when its caller does
  bool success = true, replayed = false;
  int64_t work = 0;
  std::function<void(Visit&, int64_t)> done = {};
};
using Ptr = std::shared_ptr<Visit>;

enum Happens { departs, is_answered, times_out, sends, arrives };

class Clock {
 public:
  int64_t now = 0;
  void at(int64_t time, Happens what, const Visit& v, std::function<void()> then) {
    events_.emplace(std::tuple(time, what, v.client, v.call, v.lineage, ++number_), std::move(then));
  }
  void run_until(int64_t horizon) {
    while (!events_.empty() && std::get<0>(events_.begin()->first) < horizon) {
      const auto event = events_.extract(events_.begin());
      now = std::get<0>(event.key());
      event.mapped()();
    }
  }

 private:
  std::map<std::tuple<int64_t, Happens, int64_t, int64_t, std::uint64_t, int64_t>, std::function<void()>>
      events_;
  int64_t number_ = 0;
};

class Service;
struct Station {
  virtual ~Station() = default;
  virtual void arrive(const Ptr&, Service&, std::size_t place) = 0;
  virtual void leave(const Visit&, int64_t /*at*/) {}  // a request that it let pass leaves the service
};

class Service {
 public:
  Service(Clock& all, std::vector<std::unique_ptr<Station>> stations)
      : clock(all), stations_(std::move(stations)) {}
  Clock& clock;

  void enter(const Ptr& v, std::size_t place = 0) {
    if (place == stations_.size()) return left(v, place, clock.now);
    stations_[place]->arrive(v, *this, place);
  }
  // The station at `place` is done with it, at once or at `at`.
  void pass(const Ptr& v, std::size_t place, int64_t at) {
    if (at == clock.now && place + 1 < stations_.size()) return enter(v, place + 1);
    release(v, place, at);
  }
  // The same of one that has been held.
  void release(const Ptr& v, std::size_t place, int64_t at) {
    if (place + 1 == stations_.size()) return left(v, place + 1, at);
    clock.at(at, arrives, *v, [=, this] { enter(v, place + 1); });
  }
  void answer(const Ptr& v, std::size_t place, bool success) {
    v->success = success;
    left(v, place, clock.now);
  }

 private:
  void left(const Ptr& v, std::size_t passed, int64_t at) {
    for (std::size_t i = 0; i < passed; ++i) stations_[i]->leave(*v, at);
    v->done(*v, at);
  }
  std::vector<std::unique_ptr<Station>> stations_;
};

struct Outage : Station {
  Part p;
  explicit Outage(Part part) : p(std::move(part)) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    if (s.clock.now < p.a || s.clock.now >= p.a + p.b) return s.pass(v, place, s.clock.now);
    if (!p.flag) s.answer(v, place, false);
  }
};
// brownout, service, congestion: takes a while, however many there are.
struct Delay : Station {
  Part p;
  std::multiset<int64_t> ends;
  explicit Delay(Part part) : p(std::move(part)) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    const int64_t now = s.clock.now;
    int64_t time = p.a;
    if (p.kind == "brownout") time = now >= p.a && now < p.a + p.b ? p.c : 0;
    if (p.kind == "congestion") {
      ends.erase(ends.begin(), ends.upper_bound(now));
      time = p.a * (p.b + static_cast<int64_t>(ends.size())) / p.b;
      ends.insert(now + time);
    }
    v->work += time;
    s.pass(v, place, now + time);
  }
};
struct Limit : Station {
  Clock& clock;
  int64_t most, inside = 0;
  Limit(Clock& all, int64_t limit) : clock(all), most(limit) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    if (inside == most) return s.answer(v, place, false);
    ++inside;
    s.pass(v, place, clock.now);
  }
  void leave(const Visit& v, int64_t at) override {
    if (at <= clock.now)
      --inside;
    else
      clock.at(at, departs, v, [this] { --inside; });
  }
};
struct Rate : Station {
  Part p;
  int64_t full_at = 0;  // when the bucket is full again
  explicit Rate(Part part) : p(std::move(part)) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    const int64_t full = std::max(full_at, s.clock.now);
    if (full - s.clock.now > p.a * (p.b - 1)) return s.answer(v, place, false);
    full_at = full + p.a;
    s.pass(v, place, s.clock.now);
  }
};
struct FailFirst : Station {
  int64_t attempts;
  explicit FailFirst(int64_t n) : attempts(n) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    v->attempt <= attempts ? s.answer(v, place, false) : s.pass(v, place, s.clock.now);
  }
};
struct Remember : Station {
  struct Known {
    int64_t end = no_end;
    bool success = false;
  };
  int64_t remember;
  std::map<std::pair<int64_t, int64_t>, Known> known;
  explicit Remember(int64_t time) : remember(time) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    const auto [at, fresh] = known.try_emplace({v->client, v->call});
    const Known k = at->second;
    const bool ended = s.clock.now >= k.end;
    if (fresh || (ended && (!k.success || s.clock.now - k.end > remember))) {
      at->second = {};
      return s.pass(v, place, s.clock.now);
    }
    v->replayed = true;
    s.answer(v, place, ended);
  }
  void leave(const Visit& v, int64_t at) override { known[{v.client, v.call}] = {at, v.success}; }
};
struct Row : Station {
  int64_t trip, version = 0;
  explicit Row(int64_t time) : trip(time) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    s.clock.at(s.clock.now + trip, departs, *v, [=, this, &s, read = version] {
      if (read != version) return s.answer(v, place, false);
      ++version;
      s.release(v, place, s.clock.now);
    });
  }
};
struct Workers : Station {
  Part p;
  int64_t busy = 0;
  std::vector<Ptr> waiting;
  explicit Workers(Part part) : p(std::move(part)) {}
  bool nobody_waits(const Visit& v, int64_t now) const { return p.other && now > v.leaves; }
  int64_t begin(const Ptr& v, Service& s, std::size_t place) {
    v->work += p.a;
    s.clock.at(s.clock.now + p.a, departs, *v, [=, this, &s] { free(s, place); });
    return s.clock.now + p.a;
  }
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    if (busy < p.b) {
      if (nobody_waits(*v, s.clock.now)) return s.answer(v, place, false);
      ++busy;
      return s.pass(v, place, begin(v, s, place));
    }
    static_cast<int64_t>(waiting.size()) < p.c ? waiting.push_back(v) : s.answer(v, place, false);
  }
  void free(Service& s, std::size_t place) {
    while (!waiting.empty()) {
      const auto next = p.flag ? std::prev(waiting.end()) : waiting.begin();
      const Ptr v = *next;
      waiting.erase(next);
      if (!nobody_waits(*v, s.clock.now)) return s.release(v, place, begin(v, s, place));
      s.answer(v, place, false);
    }
    --busy;
  }
};

std::unique_ptr<Service> service_of(Clock& clock, const std::vector<Part>& parts);
struct Behind : Station {
  Part p;
  std::unique_ptr<Service> inner;
  Behind(Clock& clock, Part part) : p(std::move(part)), inner(service_of(clock, p.inside)) {}
  void arrive(const Ptr& v, Service& s, std::size_t place) override {
    s.clock.at(s.clock.now, arrives, *v, [=, this, &s] { send(v, 1, s, place); });
  }
  void send(const Ptr& outer, int64_t attempt, Service& s, std::size_t place) {
    const auto over = std::make_shared<bool>(false);
    const auto end = [=, this, &s](bool success) {
      if (std::exchange(*over, true)) return;
      if (success) return s.release(outer, place, s.clock.now);
      if (attempt == p.b) return s.answer(outer, place, false);
      s.clock.at(s.clock.now + p.a, arrives, *outer, [=, this, &s] { send(outer, attempt + 1, s, place); });
    };
    const auto v = std::make_shared<Visit>();
    *v = {outer->client, outer->call, attempt,
          outer->lineage * 0x100000001b3 + static_cast<std::uint64_t>(attempt), s.clock.now + p.c};
    v->done = [=, &s](Visit& inside, int64_t at) {
      if (*over || at > inside.leaves) return;
      s.clock.at(at, is_answered, *outer, [=, success = inside.success] { end(success); });
    };
    s.clock.at(v->leaves, times_out, *outer, [=] { end(false); });
    inner->enter(v);
  }
};

std::unique_ptr<Service> service_of(Clock& clock, const std::vector<Part>& parts) {
  std::vector<std::unique_ptr<Station>> stations;
  for (const Part& p : parts) {
    const auto add = [&](auto station) {
      stations.push_back(std::make_unique<decltype(station)>(std::move(station)));
    };
    if (p.kind == "outage") add(Outage(p));
    if (p.kind == "brownout" || p.kind == "service" || p.kind == "congestion") add(Delay(p));
    if (p.kind == "concurrency-limit") add(Limit(clock, p.a));
    if (p.kind == "rate-limit") add(Rate(p));
    if (p.kind == "fail-first") add(FailFirst(p.a));
    if (p.kind == "deduplication") add(Remember(p.a));
    if (p.kind == "optimistic-row") add(Row(p.a));
    if (p.kind == "queue") add(Workers(p));
    if (p.kind == "hop") add(Behind(clock, p));
  }
  return std::make_unique<Service>(clock, std::move(stations));
}

// What both must agree on.
struct Seen {
  int64_t calls = 0, sent = 0, requests = 0, retries = 0, succeeded = 0, gave_up = 0, duplicates = 0,
          attempts_max = 0;
  int64_t peak_10ms = 0, retry_peak_100ms = 0, last_success = -1, last_end = -1, longest = -1;
  bool operator==(const Seen&) const = default;
};
std::string shown(const Seen& s) {
  return fmt::format(
      "calls {} sent {} requests {} retries {} succeeded {} gave up {} duplicates {} most attempts {} "
      "peaks {} {} last success {} last end {} longest {}",
      s.calls, s.sent, s.requests, s.retries, s.succeeded, s.gave_up, s.duplicates, s.attempts_max,
      s.peak_10ms, s.retry_peak_100ms, s.last_success, s.last_end, s.longest);
}

class Plain {
 public:
  explicit Plain(const Made& made) : m_(made), service_(service_of(clock_, made.parts)) {}

  Seen play() {
    for (int64_t c = 0; c < m_.clients && m_.interval == 0; ++c) start(c, 0, m_.ramp * c / m_.clients);
    for (int64_t n = 0; n < m_.clients * m_.calls && m_.interval > 0; ++n)
      start(n % m_.clients, n / m_.clients, m_.interval * n);
    clock_.run_until(m_.horizon);
    seen_.peak_10ms = fullest(arrivals_, 10 * ms);
    seen_.retry_peak_100ms = fullest(retries_, 100 * ms);
    return seen_;
  }

 private:
  void start(int64_t client, int64_t call, int64_t at) {
    if (at >= m_.horizon) return;
    clock_.at(at, sends, {client, call, 0, 0, 0}, [=, this] {
      ++seen_.calls;
      send(client, call, 1, clock_.now);
    });
  }
  void send(int64_t client, int64_t call, int64_t attempt, int64_t started) {
    ++seen_.sent;
    seen_.attempts_max = std::max(seen_.attempts_max, attempt);
    const auto over = std::make_shared<bool>(false);
    const auto v = std::make_shared<Visit>();
    *v = {client, call, attempt, static_cast<std::uint64_t>(attempt),
          std::min(clock_.now + m_.timeout, started + m_.deadline)};
    const auto end = [=, this](bool success) {
      if (!std::exchange(*over, true)) judge(client, call, attempt, started, success);
    };
    v->done = [=, this](Visit& done, int64_t at) {
      if (done.success && !done.replayed && at < m_.horizon && !processed_.insert({client, call}).second)
        ++seen_.duplicates;
      if (at + m_.back <= done.leaves)
        clock_.at(at + m_.back, is_answered, done, [=, success = done.success] { end(success); });
    };
    clock_.at(v->leaves, times_out, *v, [=] { end(false); });
    clock_.at(clock_.now + m_.there, arrives, *v, [=, this] {
      ++seen_.requests;
      arrivals_.push_back(clock_.now);
      if (attempt > 1) {
        ++seen_.retries;
        retries_.push_back(clock_.now);
      }
      service_->enter(v);
    });
  }
  // No policy sends when the caller will have left.
  void judge(int64_t client, int64_t call, int64_t attempt, int64_t started, bool success) {
    const int64_t now = clock_.now, next = now + m_.wait;
    if (!success && attempt < m_.attempts && next < started + m_.deadline) {
      clock_.at(next, sends, {client, call, attempt + 1, static_cast<std::uint64_t>(attempt + 1), 0},
                [=, this] { send(client, call, attempt + 1, started); });
      return;
    }
    ++(success ? seen_.succeeded : seen_.gave_up);
    seen_.last_end = now;
    if (success) {
      seen_.last_success = now;
      seen_.longest = std::max(seen_.longest, now - started);
    }
    if (m_.interval == 0 && call + 1 < m_.calls) start(client, call + 1, now + m_.think);
  }
  static int64_t fullest(const std::vector<int64_t>& times, int64_t w) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      std::size_t j = i;
      while (j < times.size() && times[j] < times[i] + w) ++j;
      most = std::max(most, j - i);
    }
    return static_cast<int64_t>(most);
  }

  const Made& m_;
  Clock clock_;
  std::unique_ptr<Service> service_;
  Seen seen_;
  std::vector<int64_t> arrivals_, retries_;
  std::set<std::pair<int64_t, int64_t>> processed_;
};

Seen simulated(const Made& made) {
  const auto policy = read_policy("test", *parse_toml(made.policy(), "test"));
  const Totals t = *run(policy->policy, scenario(made.text()), Seed{1});
  const auto whole = [&](const char* id) { return static_cast<int64_t>(*value(t, id)); };
  const auto ns = [](const std::optional<Duration>& d) { return d ? d->ns() : -1; };
  return {t.calls,
          t.sent,
          t.requests,
          t.retries,
          t.succeeded,
          t.gave_up,
          t.duplicates,
          t.attempts_max,
          whole("peak_10ms"),
          whole("retry_peak_100ms"),
          ns(t.last_success),
          ns(t.last_end),
          t.latencies ? t.latencies->max.ns() : -1};
}

TEST(PlainModel, AgreesOnStagesInAnyOrder) {
  Seen all;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Made made = Chooser(seed).world();
    const Seen plain = Plain(made).play();
    EXPECT_EQ(shown(simulated(made)), shown(plain)) << made.policy() << "\n" << made.text();
    all.succeeded += plain.succeeded;
    all.gave_up += plain.gave_up;
    all.duplicates += plain.duplicates;
  }
  // Worlds in which nothing happens would agree, too.
  EXPECT_GT(all.succeeded, 10'000);
  EXPECT_GT(all.gave_up, 5000);
  EXPECT_GT(all.duplicates, 100);
}

}  // namespace
}  // namespace retrygate::plain_model
