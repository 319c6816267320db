// Faults of the loop around the policy: its clock, its last wait, its cancellation, its layers.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

// A loop that is one function.
struct Loops {
  using Run = Outcome (*)(const Contract&, Clock&, Transport&);
  Contract promise;
  Run body;
  Outcome run(Clock& clock, Transport& transport) { return body(promise, clock, transport); }
  Contract contract() const { return promise; }
  friend std::string to_string(const Loops& l) { return l.promise.name; }
};

Contract flat(Duration base, std::int64_t attempts) {
  Contract c = constant(base);
  c.max_attempts = attempts;
  return c;
}

// It sleeps inside the loop, and the loop ends only then.
Outcome sleeps_after_the_last(const Contract& c, Clock& clock, Transport& transport) {
  Outcome outcome;
  for (std::int64_t n = 1; n <= *c.max_attempts; ++n) {
    outcome = transport.send();
    if (outcome.status.succeeded() || !clock.sleep_unless_cancelled(*c.base)) return outcome;
  }
  return outcome;
}

// The sleep knows nothing of the context.
Outcome sleeps_through(const Contract& c, Clock& clock, Transport& transport) {
  for (std::int64_t n = 1;; ++n) {
    const Outcome outcome = transport.send();
    if (outcome.status.succeeded() || n == *c.max_attempts || clock.cancelled()) return outcome;
    clock.sleep(*c.base);
  }
}

// A cancelled scrape still burns its backoff, and is sent once more.
Outcome looks_after_the_sleep(const Contract& c, Clock& clock, Transport& transport) {
  for (std::int64_t n = 1;; ++n) {
    const Outcome outcome = transport.send();
    if (outcome.status.succeeded() || n == *c.max_attempts) return outcome;
    clock.sleep(*c.base);
  }
}

// Waits for a point of the wall clock.
Outcome until_the_wall_says(const Contract& c, Clock& clock, Transport& transport) {
  for (std::int64_t n = 1;; ++n) {
    const Outcome outcome = transport.send();
    if (outcome.status.succeeded() || n == *c.max_attempts) return outcome;
    const Instant due = clock.wall() + *c.base;
    while (clock.wall() < due) {
      if (!clock.sleep_unless_cancelled(due - clock.wall())) return outcome;
    }
  }
}

// The deadline is a point of the wall clock.
Outcome deadline_on_the_wall(const Contract& c, Clock& clock, Transport& transport) {
  const Instant deadline = clock.wall() + *c.deadline;
  for (;;) {
    const Outcome outcome = transport.send();
    if (outcome.status.succeeded() || clock.wall() + *c.base >= deadline) return outcome;
    if (!clock.sleep_unless_cancelled(*c.base)) return outcome;
  }
}

// The next wait is after the deadline; it sleeps up to it, and fails then.
Outcome sleeps_to_the_deadline(const Contract& c, Clock& clock, Transport& transport) {
  const Instant deadline = clock.now() + *c.deadline;
  for (;;) {
    const Outcome outcome = transport.send();
    if (outcome.status.succeeded() || clock.now() >= deadline) return outcome;
    const Duration left = deadline - clock.now();
    if (!clock.sleep_unless_cancelled(std::min(*c.base, left)) || clock.now() >= deadline) return outcome;
  }
}

// The caller sees the deadline's error in place of the cause.
Outcome masks_the_cause(const Contract& c, Clock& clock, Transport& transport) {
  for (std::int64_t n = 1;; ++n) {
    const Outcome outcome = transport.send();
    if (outcome.status.succeeded()) return outcome;
    if (n == *c.max_attempts) return {Status::transport(TransportError::timeout)};
    if (!clock.sleep_unless_cancelled(*c.base)) return outcome;
  }
}

// `tries` of a layer around what it is given to send.
Outcome layer(std::int64_t tries, Duration delay, Clock& clock, const std::function<Outcome()>& send) {
  for (std::int64_t n = 1;; ++n) {
    const Outcome outcome = send();
    if (outcome.status.succeeded() || n == tries || !clock.sleep_unless_cancelled(delay)) return outcome;
  }
}

// The library retries twice under an application that tries four times.
Outcome two_layers_4_3(const Contract& c, Clock& clock, Transport& transport) {
  return layer(4, *c.base, clock, [&] { return layer(3, *c.base, clock, [&] { return transport.send(); }); });
}
Outcome two_layers_12_3(const Contract& c, Clock& clock, Transport& transport) {
  return layer(12, *c.base, clock,
               [&] { return layer(3, *c.base, clock, [&] { return transport.send(); }); });
}

}  // namespace

void add_loops(Shelf<Mutant>& shelf) {
  const auto loop = [](Contract c, Loops::Run run) { return AnyLoop(Loops{std::move(c), run}); };
  shelf.add({"sleep-after-the-last", "sleep_after_last_attempt", "no-wait-after-last", "instructlab/eval#84",
             loop(flat(Duration::s(1), 3), &sleeps_after_the_last)});
  Contract growing = exponential(Duration::s(1), 1, Duration::max(), JitterKind::none);
  growing.max_attempts = 12;
  shelf.add({"sleep-before-giving-up", "sleep_after_last_attempt", "no-wait-after-last",
             "aws-actions/configure-aws-credentials#1937", loop(growing, &sleeps_after_the_last)});
  shelf.add({"sleeps-through-the-cancel", "cancellation_ignored", "cancel-prompt", "gojek/heimdall#145",
             loop(flat(Duration::s(30), 4), &sleeps_through)});
  shelf.add({"burns-the-backoff", "cancellation_ignored", "cancel-prompt", "homeylab/tdarr-exporter#105",
             loop(flat(Duration::s(3), 4), &looks_after_the_sleep)});
  shelf.add({"waits-for-the-wall", "clock", "clock-independent", "oven-sh/bun#40009",
             loop(flat(Duration::ms(250), 10), &until_the_wall_says)});
  Contract ten = constant(Duration::s(1));
  ten.deadline = Duration::s(10);
  shelf.add({"deadline-on-the-wall", "clock", "clock-independent", "aponysus/redress#23",
             loop(ten, &deadline_on_the_wall)});
  Contract minutes = constant(Duration::s(600));
  minutes.deadline = Duration::s(300);
  shelf.add({"sleeps-to-the-deadline", "deadline_overshoot", "no-futile-wait",
             "hashicorp/go-retryablehttp#272", loop(minutes, &sleeps_to_the_deadline)});
  Contract seconds = constant(Duration::s(3));
  seconds.deadline = Duration::s(1);
  shelf.add({"sleeps-to-the-context-end", "deadline_overshoot", "no-futile-wait", "milvus-io/milvus#27992",
             loop(seconds, &sleeps_to_the_deadline)});
  shelf.add({"masks-the-cause", "deadline_overshoot", "survives", "temporalio/temporal#4403",
             loop(flat(Duration::s(10), 3), &masks_the_cause)});
  shelf.add({"library-under-application",
             "retry_amplification",
             "amplification-bounded",
             "HKUDS/nanobot#2760",
             loop(flat(Duration::ms(500), 4), &two_layers_4_3),
             {"attempts-exact"},
             "attempts are missing; a layer that repeats the other makes more attempts than promised"});
  shelf.add({"twelve-times-three",
             "retry_amplification",
             "amplification-bounded",
             "microsoft/openaivec#186",
             loop(flat(Duration::s(1), 12), &two_layers_12_3),
             {"attempts-exact"},
             "attempts are missing; a layer that repeats the other makes more attempts than promised"});
}

}  // namespace retrygate
