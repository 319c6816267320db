// A whole retry loop under test: it sleeps and sends through a clock and a transport that are passed in, so
// that everything it does can be observed.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policies/policy.hpp"

namespace retrygate {

// Time as the loop sees it. Nobody really sleeps.
class Clock {
 public:
  virtual Instant now() const = 0;   // monotonic: starts anywhere, never jumps
  virtual Instant wall() const = 0;  // the wall clock: may be set, in both directions
  // When the caller gives up; never() when it does not say.
  virtual Instant deadline() const = 0;
  // Did the caller cancel the call? While a sleep runs, that becomes true at an instant of its own.
  virtual bool cancelled() const = 0;
  virtual void sleep(Duration) = 0;  // to its end, cancelled or not; a negative one is none
  // To its end, or to the instant at which the call is cancelled. Was it slept to the end?
  virtual bool sleep_unless_cancelled(Duration) = 0;

 protected:
  ~Clock() = default;
};

// Where the attempts go.
class Transport {
 public:
  virtual Outcome send() = 0;           // one attempt; time passes
  virtual bool idempotent() const = 0;  // may the request be sent again without harm?

 protected:
  ~Transport() = default;
};

// A client that makes one call after the other: `run` makes one, and returns how it ended, which is what its
// caller sees. A copy is another client. With an Rng as third argument its randomness is ours too, and its
// findings are repeated and shrunk.
template <class L>
concept SeededLoop = requires(L loop, Clock& clock, Transport& transport, Rng& rng) {
  { loop.run(clock, transport, rng) } -> std::same_as<Outcome>;
};
template <class L>
concept Loop = std::copyable<L> && requires(L loop, const L& same, Clock& clock, Transport& transport) {
  { same.contract() } -> std::same_as<Contract>;
  { to_string(same) } -> std::convertible_to<std::string>;
} &&(SeededLoop<L> || requires(L loop, Clock& clock, Transport& transport) {
  { loop.run(clock, transport) } -> std::same_as<Outcome>;
});

// Any Loop. The held value is a client that has made no call yet.
class AnyLoop {
 public:
  class Client {
   public:
    virtual ~Client() = default;
    virtual Outcome run(Clock&, Transport&, Rng&) = 0;
  };

  template <class L>
  requires(!std::same_as<L, AnyLoop>) && Loop<L>  // in this order, see AnyPolicy
      AnyLoop(L loop)
      : held_(std::make_shared<const Held<L>>(std::move(loop))) {}  // NOLINT: meant to convert

  std::unique_ptr<Client> client() const { return held_->client(); }  // a fresh one
  bool seeded() const { return held_->seeded(); }
  Contract contract() const { return held_->contract(); }
  friend std::string to_string(const AnyLoop& loop) { return loop.held_->text(); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual std::unique_ptr<Client> client() const = 0;
    virtual bool seeded() const = 0;
    virtual Contract contract() const = 0;
    virtual std::string text() const = 0;
  };
  template <class L>
  struct Running final : Client {
    explicit Running(const L& from) : loop(from) {}
    Outcome run(Clock& clock, Transport& transport, Rng& rng) override {
      if constexpr (SeededLoop<L>)
        return loop.run(clock, transport, rng);
      else
        return loop.run(clock, transport);
    }
    L loop;
  };
  template <class L>
  struct Held final : Base {
    explicit Held(L from) : loop(std::move(from)) {}
    std::unique_ptr<Client> client() const override { return std::make_unique<Running<L>>(loop); }
    bool seeded() const override { return SeededLoop<L>; }
    Contract contract() const override { return loop.contract(); }
    std::string text() const override { return to_string(loop); }
    L loop;
  };

  std::shared_ptr<const Base> held_;
};

// The loop around a policy: asks its gate, sends, and waits as it decides. What a policy is without.
class PolicyLoop {
 public:
  // A template, or copying one would ask whether a PolicyLoop is a Policy, and so on.
  template <std::same_as<AnyPolicy> P>
  explicit PolicyLoop(P policy) : policy_(std::move(policy)), client_(words(policy_.client_bytes())) {
    policy_.start_client(bytes(client_));
  }

  Outcome run(Clock& clock, Transport& transport, Rng& rng) {
    Slot call(words(policy_.call_bytes()));
    policy_.start_call(bytes(call));
    Attempt attempt;
    attempt.idempotent = transport.idempotent();
    attempt.call_started = clock.now();
    attempt.deadline = clock.deadline();
    // What the caller sees when the gate lets nothing through: no attempt was made.
    attempt.outcome.status = Status::transport(TransportError::cancelled);
    for (;; ++attempt.number) {
      if (!admitted(clock, call, attempt, rng)) return attempt.outcome;
      attempt.outcome = transport.send();
      attempt.finished = clock.now();
      const Decision decision = policy_.after(bytes(client_), bytes(call), attempt, rng);
      if (decision.stops() || !waited(clock, call, decision.delay())) return attempt.outcome;
    }
  }
  Contract contract() const { return policy_.contract(); }
  friend std::string to_string(const PolicyLoop& loop) { return to_string(loop.policy_); }

 private:
  using Slot = std::vector<std::max_align_t>;
  static std::size_t words(std::size_t n) { return n / sizeof(std::max_align_t) + 1; }
  static std::byte* bytes(Slot& slot) { return reinterpret_cast<std::byte*>(slot.data()); }

  bool admitted(Clock& clock, Slot& call, const Attempt& next, Rng& rng) {
    for (;;) {
      const Sending sending{next.number, clock.now(), next.call_started, next.deadline};
      const Decision decision = policy_.before(bytes(client_), bytes(call), sending, rng);
      if (decision.stops()) return false;
      if (decision.delay() <= Duration{}) return true;
      if (!waited(clock, call, decision.delay())) return false;
    }
  }
  bool waited(Clock& clock, Slot& call, Duration delay) {
    if (clock.sleep_unless_cancelled(delay)) return true;
    policy_.abandoned(bytes(client_), bytes(call), clock.now());
    return false;
  }

  AnyPolicy policy_;
  Slot client_;
};

}  // namespace retrygate
