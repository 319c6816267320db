// Faults of randomness: jitter that dies, starts at zero, repeats itself, or raises.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

using J = JitterKind;

Duration doubled(Duration base, std::int64_t n) { return base.scaled(std::exp2(static_cast<double>(n - 1))); }

// The randomised increment is added, and the maximum of 60000 ms laid on afterwards.
Duration frozen_at_max(std::int64_t n, Rng& rng) {
  const Duration grown = doubled(Duration::ms(1000), n);
  return std::min(Duration::s(60), rng.between(grown, grown * 3));
}

// min(60000, jitter(5000 * 2^n)) with a quarter more or less.
Duration min_of_jittered(std::int64_t n, Rng& rng) {
  const Duration grown = doubled(Duration::s(5), n);
  return std::min(Duration::s(60), rng.between(grown.scaled(0.75), grown.scaled(1.25)));
}

// Up to 1 s is added, then the sum is cut at 60 s.
Duration sum_is_cut(std::int64_t n, Rng& rng) {
  return std::min(Duration::s(60), doubled(Duration::s(1), n) + rng.between({}, Duration::s(1)));
}

// Equal jitter without its fixed half: the draw may be 0.
Duration from_zero(std::int64_t n, Rng& rng) {
  return rng.between({}, std::min(Duration::s(30), doubled(Duration::s(1), n)));
}

// random(0, x) where 0.8 x .. 1.2 x is specified.
Duration from_zero_to_ceiling(std::int64_t n, Rng& rng) {
  return rng.between({}, doubled(Duration::s(1), n));
}

// A minimum of 1 s that random exponential growth does not enforce.
Duration minimum_forgotten(std::int64_t n, Rng& rng) { return rng.between({}, doubled(Duration::s(2), n)); }

// The factor of 0.5 moves the delay by its whole length, both ways.
Duration twice_the_factor(std::int64_t n, Rng& rng) {
  const Duration d = doubled(Duration::s(1), n);
  return d - d.scaled(1.1) + rng.between({}, d.scaled(2.2));
}

// A panic for an interval of no length: jitter 0.
Duration jitter_of_nothing(std::int64_t, Rng& rng) {
  const Duration jitter = Duration::ns(0);
  if (jitter <= Duration{}) throw std::invalid_argument("invalid argument to Int63n");
  return Duration::ms(500) + rng.between({}, jitter);
}

// 1 ms * 0.2 in whole milliseconds is 0, and the bound of a draw must be positive.
Duration bound_rounds_to_zero(std::int64_t, Rng& rng) {
  const std::int64_t bound_ms = static_cast<std::int64_t>(1 * 0.2);
  if (bound_ms <= 0) throw std::invalid_argument("bound must be positive");
  return Duration::ms(1) + rng.between({}, Duration::ms(bound_ms));
}

Duration flat_two_seconds(std::int64_t, Rng&) { return Duration::s(2); }

// 5 % in integers: 5 / 100 is 0.
Duration percent_in_integers(std::int64_t n, Rng& rng) {
  const std::int64_t percent = 5;
  return doubled(Duration::ms(100), n) + rng.between({}, doubled(Duration::ms(100), n) * (percent / 100));
}

// Jitter = wall-clock microseconds modulo the range: the same for all that fail together.
Decision by_the_clock(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  const Duration ceiling = doubled(*c.base, a.number);
  const std::int64_t us = a.finished.since_start.ns() / 1'000;
  // Spread by a multiplier, so that the clock's order does not show.
  const std::uint64_t mixed = static_cast<std::uint64_t>(us) * 0x9e3779b97f4a7c15;
  return Decision::wait(ceiling.scaled(static_cast<double>(mixed >> 11) * 0x1p-53));
}

// new Random(currentTimeMillis()) per policy.
Decision seeded_by_the_millisecond(const Contract& c, Notes&, Notes& call, const Attempt& a, Rng&) {
  if (call.count == 0) call.count = 1 + a.finished.since_start.ns() / 1'000'000;
  Rng own(Seed{static_cast<std::uint64_t>(call.count)});
  Duration drawn;
  for (std::int64_t n = 0; n < std::min<std::int64_t>(a.number, 64); ++n)
    drawn = own.between({}, Duration::ns(1'000'000'000));
  return Decision::wait(drawn.scaled(c.base->seconds()));
}

// One generator for the whole process that nobody seeded: every process draws the same numbers in turn.
struct NeverSeeded {
  std::shared_ptr<Rng> generator = std::make_shared<Rng>(Seed{1});
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    return Decision::wait(generator->between({}, Duration::ms(500).scaled(std::pow(1.5, a.number - 1))));
  }
  Contract contract() const { return exponential(Duration::ms(500), 1.5, uncapped, J::full); }
  bool operator==(const NeverSeeded&) const = default;
  friend std::string to_string(const NeverSeeded&) { return "never seeded"; }
};

// Each call seeds a generator from a counter of the process: the n-th call draws the same in each.
struct SeededByCounter {
  std::shared_ptr<std::uint64_t> calls = std::make_shared<std::uint64_t>(0);
  using Client = Stateless;
  struct Call {
    std::uint64_t number;
  };
  Decision after(Client&, Call& call, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (call.number == 0) call.number = ++*calls;
    Rng own = StreamKey(Seed{1}, Stream::policy).at(call.number, 0, static_cast<std::uint64_t>(a.number));
    return Decision::wait(own.between({}, std::min(Duration::s(10), doubled(Duration::ms(50), a.number))));
  }
  Contract contract() const { return exponential(Duration::ms(50), 2, Duration::s(10), J::full); }
  bool operator==(const SeededByCounter&) const = default;
  friend std::string to_string(const SeededByCounter&) { return "seeded by a counter"; }
};

}  // namespace

void add_jitter(Shelf<Mutant>& shelf) {
  Contract at_max = exponential(Duration::ms(1000), 2, Duration::s(60), J::additive, 0, Duration::s(60));
  shelf.add({"jitter-dies-at-max", "jitter_frozen_at_cap", "jitter-alive-at-cap", "ferd/backoff#8",
             faulty(at_max, &frozen_at_max)});
  shelf.add(
      {"min-after-jitter", "jitter_frozen_at_cap", "jitter-alive-at-cap", "OriginTrail/dkg#2291",
       faulty(exponential(Duration::s(5), 2, Duration::s(60), J::proportional, 0.25), &min_of_jittered)});
  shelf.add(
      {"sum-is-cut", "jitter_frozen_at_cap", "jitter-alive-at-cap", "jd/tenacity#703",
       faulty(exponential(Duration::s(1), 2, Duration::s(60), J::additive, 0, Duration::s(1)), &sum_is_cut)});
  shelf.add({"half-is-not-fixed",
             "jitter_lower_bound_zero",
             "delay-in-bounds",
             "vellum-ai/vellum-assistant#3405",
             faulty(exponential(Duration::s(1), 2, Duration::s(30), J::equal), &from_zero),
             {"cap-goes-on", "fleet-spreads", "jitter-law"},
             "the delays follow another law; at the cap the delay falls back"});
  shelf.add({"from-zero",
             "jitter_lower_bound_zero",
             "delay-in-bounds",
             "grpc/grpc-java#10831",
             faulty(exponential(Duration::s(1), 2, uncapped, J::proportional, 0.2), &from_zero_to_ceiling),
             {"fleet-spreads", "jitter-law"},
             "the delays follow another law"});
  shelf.add({"minimum-forgotten",
             "jitter_negative_or_below_base",
             "delay-in-bounds",
             "jd/tenacity#223",
             faulty(exponential(Duration::s(2), 2, uncapped, J::equal), &minimum_forgotten),
             {"fleet-spreads", "jitter-law"},
             "the delays follow another law"});
  shelf.add({"factor-of-the-whole",
             "jitter_negative_or_below_base",
             "delay-non-negative",
             "miguelgrinberg/python-socketio#893",
             faulty(exponential(Duration::s(1), 2, uncapped, J::proportional, 0.5), &twice_the_factor),
             {"delay-in-bounds", "fleet-spreads", "jitter-law"},
             "the delays follow another law; such a delay lies outside the interval"});
  Contract nothing = constant(Duration::ms(500));
  nothing.factor = 1;
  shelf.add({"no-jitter-panics",
             "jitter_zero_crash",
             "survives",
             "sethvargo/go-retry#37",
             faulty(nothing, &jitter_of_nothing),
             {"degenerate-settings"},
             "the settings are an edge, and the exception shows on every attempt"});
  shelf.add({"bound-rounds-to-zero",
             "jitter_zero_crash",
             "degenerate-settings",
             "langchain4j/langchain4j#5722",
             faulty(
                 [] {
                   Contract c = constant(Duration::ms(1), J::proportional, 0.2);
                   c.tick = Duration::ms(1);
                   return c;
                 }(),
                 &bound_rounds_to_zero),
             {"survives"},
             "the settings are an edge, and the exception shows on every attempt"});
  shelf.add({"lockstep",
             "no_jitter_thundering_herd",
             "fleet-spreads",
             "nats-io/nats.go#563",
             faulty(constant(Duration::s(2), J::full), &flat_two_seconds),
             {"instances-independent", "jitter-law", "processes-independent"},
             "equal delays are another law, and equal everywhere"});
  shelf.add({"percent-in-integers",
             "jitter_not_applied",
             "fleet-spreads",
             "Azure/azure-iot-sdk-c#143",
             faulty(exponential(Duration::ms(100), 2, uncapped, J::proportional, 0.05), &percent_in_integers),
             {"instances-independent", "jitter-law", "processes-independent"},
             "equal delays are another law, and equal everywhere"});
  shelf.add({"jitter-by-the-clock",
             "rng_seed",
             "instances-independent",
             "gabrielkoerich/orch#1959",
             Misjudges{exponential(Duration::ms(100), 2, uncapped, J::full), &by_the_clock},
             {"fleet-spreads", "jitter-law", "processes-independent", "clock-independent", "reset-not-early"},
             "the fleet of the other checks starts at one instant, in every process; another start, and "
             "attempts that take time, change the draw"});
  shelf.add({"seeded-by-the-millisecond",
             "rng_seed",
             "instances-independent",
             "spring-projects/spring-retry UniformRandomBackOffPolicy",
             Misjudges{constant(Duration::s(1), J::full), &seeded_by_the_millisecond},
             {"fleet-spreads", "jitter-law", "processes-independent", "clock-independent"},
             "the fleet of the other checks starts at one instant, in every process; another start changes "
             "the draw"});
  shelf.add({"never-seeded",
             "rng_seed",
             "processes-independent",
             "cenkalti/backoff#42",
             NeverSeeded{},
             {},
             {},
             {},
             [](std::uint64_t) -> AnyPolicy { return NeverSeeded{}; },
             false});
  shelf.add({"seeded-by-a-counter",
             "rng_seed",
             "processes-independent",
             "restatedev/restate#4856",
             SeededByCounter{},
             {},
             {},
             {},
             [](std::uint64_t) -> AnyPolicy { return SeededByCounter{}; },
             false});
}

}  // namespace retrygate
