// Faults of counting, of time limits and of state that is shared.
#include <limits>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

constexpr Duration usual_delay = Duration::ms(100);

Contract promise(std::string name) {
  Contract c;
  c.name = std::move(name);
  c.growth = GrowthKind::constant;
  c.base = usual_delay;
  c.jitter = Jitter{};
  return c;
}

// Promises one number of attempts and makes another.
struct Miscounts {
  std::int64_t promised;
  std::int64_t made;
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    return a.number >= made ? Decision::stop(Stop::attempts) : Decision::wait(usual_delay);
  }
  Contract contract() const {
    Contract c = promise("miscounts");
    c.max_attempts = promised;
    return c;
  }
  bool operator==(const Miscounts&) const = default;
  friend std::string to_string(const Miscounts&) { return "miscounts"; }
};

// Tests the time that has passed, without the wait to come.
struct Overshoots {
  Duration limit;
  Duration wait;
  bool is_deadline;
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    return a.finished - a.call_started >= limit ? Decision::stop(Stop::deadline) : Decision::wait(wait);
  }
  Contract contract() const {
    Contract c = promise("overshoots");
    c.base = wait;
    (is_deadline ? c.deadline : c.elapsed) = limit;
    return c;
  }
  bool operator==(const Overshoots&) const = default;
  friend std::string to_string(const Overshoots&) { return "overshoots"; }
};

// The last delay is kept by the object that all calls share, and doubled by each.
struct Shared {
  Duration base;
  double factor;
  using Call = Stateless;
  struct Client {
    Duration last;
  };
  Decision after(Client& client, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    client.last = client.last == Duration{} ? base : client.last.scaled(factor);
    return Decision::wait(client.last);
  }
  Contract contract() const { return exponential(base, factor, Duration::max(), JitterKind::none); }
  bool operator==(const Shared&) const = default;
  friend std::string to_string(const Shared&) { return "shared"; }
};

}  // namespace

void add_limits(Shelf<Mutant>& shelf) {
  shelf.add({"one-extra-call",
             "attempts_off_by_one",
             "attempts-exact",
             "failsafe-go/failsafe-go#22",
             Miscounts{4, 5},
             {"amplification-bounded"},
             "one attempt more in every call is that much more load"});
  shelf.add({"attempts-are-retries",
             "attempts_off_by_one",
             "attempts-exact",
             "takezoe/scala-retry#1",
             Miscounts{3, 4},
             {"amplification-bounded"},
             "one attempt more in every call is that much more load"});
  // A maximum that is null is taken for no maximum; no retry was meant.
  shelf.add({"null-is-for-ever",
             "infinite_retry",
             "attempts-exact",
             "lightning-js/renderer#648",
             Miscounts{1, std::numeric_limits<std::int64_t>::max()},
             {"amplification-bounded"},
             "retries without end are load without end"});
  // Five retries configured, so six attempts; four retries made.
  shelf.add(
      {"one-retry-short", "attempts_off_by_one", "attempts-exact", "NLnetLabs/domain#354", Miscounts{6, 5}});
  shelf.add({"elapsed-without-the-wait", "deadline_overshoot", "deadline-respected", "ihrwein/backoff#42",
             Overshoots{Duration::s(15), Duration::ms(500), false}});
  shelf.add({"wait-beyond-the-deadline", "deadline_overshoot", "deadline-respected",
             "temporalio/temporal#4403", Overshoots{Duration::s(5), Duration::s(10), true}});
  // The reporter's library starts at 500 ms and grows by 1.5.
  shelf.add({"shared-backoff",
             "thread_safety_shared_state",
             "calls-isolated",
             "cenkalti/backoff#183",
             Shared{Duration::ms(500), 1.5},
             {"delay-in-bounds", "growth-law", "reset-after-success"},
             "such a delay lies outside the interval; without jitter the law is one delay; a success does "
             "not set the shared delay back"});
  shelf.add({"stateful-last-delay",
             "exponent_wrong",
             "calls-isolated",
             "apache/flink#23830",
             Shared{Duration::ms(100), 2},
             {"delay-in-bounds", "growth-law", "reset-after-success"},
             "such a delay lies outside the interval; without jitter the law is one delay; a success does "
             "not set the shared delay back"});
}

}  // namespace retrygate
