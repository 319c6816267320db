// Faults of the delay computation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

double doubled(std::int64_t n) { return std::exp2(static_cast<double>(n - 1)); }

// 0.1 s * 2.0**(n-1): raises where the double would overflow, at attempt 1025, before min() is reached.
Duration float_overflow(std::int64_t n, Rng&) {
  if (n >= 1025) throw std::overflow_error("Result too large");
  return std::min(Duration::s(5), Duration::seconds(0.1 * doubled(n)));
}

// Half of 1 ns is 0, and a draw below 0 panics.
Duration draw_below_zero(std::int64_t n, Rng& rng) {
  const Duration half = Duration::ns(n > 60 ? std::int64_t{1} << 60 : std::int64_t{1} << (n - 1)) / 2;
  if (half == Duration{}) throw std::invalid_argument("invalid argument to Int63n");
  return half + rng.between({}, half);
}

// multiplier 100, attempt 200: the product is infinite, and the cap is laid on finite ones only.
Duration infinite(std::int64_t n, Rng&) {
  const double s = std::pow(100.0, static_cast<double>(n - 1));
  return std::isfinite(s) ? std::min(Duration::s(60), Duration::seconds(s)) : Duration::max();
}

// (1 << retries) * 5000 ms in 32 bits, then min with 20000 ms.
Duration shift_wraps(std::int64_t n, Rng&) {
  const std::uint32_t ms = (std::uint32_t{1} << ((n - 1) & 31)) * std::uint32_t{5000};
  return Duration::ms(std::min<std::int32_t>(static_cast<std::int32_t>(ms), 20'000));
}

// 100 ms with a jitter of 200 ms both ways.
Duration jitter_above_delay(std::int64_t, Rng& rng) {
  return Duration::ms(100) + rng.between(Duration::ms(-200), Duration::ms(200));
}

// Capped at 120 s, then up to half of that on top.
Duration cap_then_jitter(std::int64_t n, Rng& rng) {
  const Duration capped = std::min(Duration::s(120), Duration::s(1).scaled(doubled(n)));
  return capped + rng.between({}, capped / 2);
}

// The limit of 2000 ms is tested before the doubling: the delay stays at 3200 ms.
Duration tested_before_doubling(std::int64_t n, Rng&) {
  Duration d = Duration::ms(100);
  for (std::int64_t i = 1; i < n && d < Duration::ms(2000); ++i) d = d * 2;
  return d;
}

// The maximum of 1000 ms is declared and never used.
Duration cap_unused(std::int64_t n, Rng&) { return Duration::ms(100).scaled(doubled(n)); }

// The jittered value is kept as the next base, so jitter compounds: 1.69..7.8 s where 3..5 s is meant.
struct Compounding {
  using Client = Stateless;
  struct Call {
    Duration last;
  };
  Decision after(Client&, Call& call, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    const Duration next = call.last == Duration{} ? Duration::s(1) : call.last * 2;
    call.last = rng.between(next.scaled(0.75), next.scaled(1.25));
    return Decision::wait(call.last);
  }
  Contract contract() const {
    return exponential(Duration::s(1), 2, uncapped, JitterKind::proportional, 0.25);
  }
  bool operator==(const Compounding&) const = default;
  friend std::string to_string(const Compounding&) { return "jitter that compounds"; }
};

Contract decorrelated(Duration base, Duration cap) {
  Contract c;
  c.base = base;
  c.cap = cap;
  c.jitter = Jitter{JitterKind::decorrelated, 0, {}};
  return c;
}

Duration first_doubled(std::int64_t n, Rng&) { return Duration::s(2).scaled(doubled(n + 1)); }
Duration first_missing(std::int64_t n, Rng&) {
  return n == 1 ? Duration{} : Duration::ms(100).scaled(doubled(n));
}
Duration multiplier_one(std::int64_t, Rng&) { return Duration::s(1); }

// Nanoseconds below one second divided by 2^32 - 1: never above 0.233 of the intended unit draw.
Duration quarter_of_the_range(std::int64_t, Rng& rng) {
  return Duration::s(1).scaled(0.9 + 0.2 * 0.233 * rng.unit());
}

Duration without_jitter(std::int64_t n, Rng&) { return Duration::ms(100).scaled(doubled(n)); }
Duration constant_second(std::int64_t, Rng&) { return Duration::s(1); }

// A factor of 0 is taken for "not set", and the default of 0.5 is used.
Duration unwanted_jitter(std::int64_t, Rng& rng) {
  return rng.between(Duration::ms(500), Duration::ms(1500));
}

// The clamped delay of 10 s times up to 1.125.
Duration clamped_then_stretched(std::int64_t n, Rng& rng) {
  return std::min(Duration::s(10), Duration::ms(500).scaled(doubled(n))).scaled(1 + 0.125 * rng.unit());
}

// A quarter on top of the cap of 60 s: 75 s at the sixth retry.
Duration quarter_on_top(std::int64_t n, Rng& rng) {
  return std::min(Duration::s(60), Duration::s(2).scaled(doubled(n))).scaled(1 + 0.25 * rng.unit());
}

// int arithmetic in milliseconds, times 200: negative from retry 24 on.
Duration int_milliseconds(std::int64_t n, Rng&) {
  const auto grown = static_cast<std::uint32_t>(n > 32 ? 0 : (std::uint64_t{1} << (n - 1)) & 0xffffffff);
  return Duration::ms(std::min<std::int32_t>(static_cast<std::int32_t>(grown * 200U), 10'000));
}

// A product cast to int: what has turned negative is taken for 0.
Duration negative_is_zero(std::int64_t n, Rng&) {
  const auto ms = static_cast<std::int32_t>(static_cast<std::uint32_t>(
      static_cast<std::uint64_t>(std::min(doubled(std::min<std::int64_t>(n, 60)), 0x1p52)) * 2000));
  return std::clamp(Duration::ms(ms), Duration{}, Duration::s(120));
}

// The limit of one second is tested first and the minimum of ten is returned as it is.
Duration minimum_above_cap(std::int64_t n, Rng&) {
  return std::max(Duration::s(10), std::min(Duration::s(1), Duration::ms(100).scaled(doubled(n))));
}

// 500 / 1000 in integers is 0, and 0 * 2 stays 0.
Duration half_a_second_in_integers(std::int64_t n, Rng&) {
  Duration delay = Duration::s(500 / 1000);
  for (std::int64_t i = 1; i < std::min<std::int64_t>(n, 64); ++i)
    delay = std::min(Duration::s(30), delay * 2);
  return delay;
}
Duration never_waits(std::int64_t, Rng&) { return Duration::s(500 / 1000); }

// At the maximum of 30 s the delay wraps back to the minimum.
Duration wraps_at_max(std::int64_t n, Rng&) { return Duration::ms(100).scaled(doubled((n - 1) % 9 + 1)); }

// 1000 meant as milliseconds, used as seconds.
Duration thousand_seconds(std::int64_t, Rng&) { return Duration::s(1000); }
// The unit is converted again on every iteration: 1 s, 2000 s, ...
Duration converted_again(std::int64_t n, Rng&) {
  return Duration::s(1).scaled(doubled(n) * std::pow(1000.0, static_cast<double>(n - 1)));
}

// 2 ^ n is exclusive or: 3, 0, 1, 6 s for 2, 4, 8, 16.
Duration exclusive_or(std::int64_t n, Rng&) { return Duration::s(2 ^ n); }
// 100 ms * (2 ^ n), first 300, 0, 100, 600 ms.
Duration exclusive_or_ms(std::int64_t n, Rng&) { return Duration::ms(100) * (2 ^ n); }

// Reaching the cap of 60 s sets the steps that are left to 0.
Decision ends_at_cap(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  const Duration grown = c.base->scaled(doubled(a.number));
  if (grown >= *c.cap) return Decision::stop(Stop::attempts);
  return Decision::wait(grown);
}

// The lower end of the draw is the previous delay: it ratchets up and never falls.
struct Ratchet {
  using Client = Stateless;
  struct Call {
    Duration previous;
  };
  Decision after(Client&, Call& call, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    const Duration previous = call.previous == Duration{} ? Duration::ms(5) : call.previous;
    call.previous = std::min(Duration::ms(200), rng.between(previous, previous * 3));
    return Decision::wait(call.previous);
  }
  Contract contract() const { return decorrelated(Duration::ms(5), Duration::ms(200)); }
  bool operator==(const Ratchet&) const = default;
  friend std::string to_string(const Ratchet&) { return "ratchet"; }
};

// The first draw begins at 0, so three times it may lie below the scale and the ends swap.
struct Swapped {
  using Client = Stateless;
  struct Call {
    Duration previous;
  };
  Decision after(Client&, Call& call, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    const Duration scale = Duration::ms(500);
    const Duration upper = a.number == 1 ? scale : call.previous * 3;
    const Duration lower = a.number == 1 ? Duration{} : scale;
    call.previous = std::min(Duration::s(20), rng.between(std::min(lower, upper), std::max(lower, upper)));
    return Decision::wait(call.previous);
  }
  Contract contract() const { return decorrelated(Duration::ms(500), Duration::s(20)); }
  bool operator==(const Swapped&) const = default;
  friend std::string to_string(const Swapped&) { return "ends that swap"; }
};

}  // namespace

void add_delays(Shelf<Mutant>& shelf) {
  using J = JitterKind;
  shelf.add({"float-overflow", "float_overflow", "survives", "hynek/stamina#104",
             faulty(exponential(Duration::ms(100), 2, Duration::s(5), J::none), &float_overflow)});
  shelf.add({"jitter-zero-crash",
             "jitter_zero_crash",
             "survives",
             "m3db/m3x#165",
             faulty(exponential(Duration::ns(1), 2, uncapped, J::equal), &draw_below_zero),
             {"degenerate-settings"},
             "the settings are an edge, and the exception shows on every attempt"});
  shelf.add({"infinite-product",
             "float_overflow",
             "delay-finite",
             "openai/openai-agents-python#3226",
             faulty(exponential(Duration::s(1), 100, Duration::s(60), J::none), &infinite),
             {"cap-respected", "delay-in-bounds", "growth-law"},
             "such a delay lies outside the interval; without jitter the law is one delay; a delay without "
             "end exceeds the cap"});
  shelf.add({"shift-wraps",
             "integer_overflow",
             "delay-non-negative",
             "aws/aws-sdk-java#874",
             faulty(exponential(Duration::s(5), 2, Duration::s(20), J::none), &shift_wraps),
             {"cap-goes-on", "delay-in-bounds", "delay-not-zero", "growth-law"},
             "such a delay lies outside the interval; without jitter the law is one delay; some delays are "
             "0; at the cap the delay falls back"});
  shelf.add({"jitter-above-delay",
             "jitter_negative_or_below_base",
             "delay-non-negative",
             "failsafe-lib/failsafe#115",
             faulty(constant(Duration::ms(100), J::proportional, 1), &jitter_above_delay),
             {"delay-in-bounds", "fleet-spreads", "jitter-law"},
             "the delays follow another law; such a delay lies outside the interval"});
  shelf.add({"cap-then-jitter",
             "cap_before_jitter",
             "cap-respected",
             "NousResearch/hermes-agent#40606",
             faulty(exponential(Duration::s(1), 2, Duration::s(120), J::proportional, 0.5), &cap_then_jitter),
             {"delay-in-bounds", "fleet-spreads", "jitter-law"},
             "the delays follow another law; the interval ends at the cap"});
  shelf.add({"limit-before-doubling",
             "cap_ignored",
             "cap-respected",
             "socketio/socket.io-client#531",
             faulty(exponential(Duration::ms(100), 2, Duration::s(2), J::none), &tested_before_doubling),
             {"delay-in-bounds", "growth-law"},
             "the interval ends at the cap; without jitter the law is one delay"});
  shelf.add({"cap-unused",
             "cap_ignored",
             "cap-respected",
             "apache/cassandra-gocql-driver#980",
             faulty(exponential(Duration::ms(100), 2, Duration::s(1), J::none), &cap_unused),
             {"delay-finite", "delay-in-bounds", "growth-law"},
             "the interval ends at the cap; without jitter the law is one delay; what is never capped ends "
             "at the largest Duration"});
  shelf.add({"jitter-compounds",
             "decorrelated_state",
             "delay-in-bounds",
             "slackhq/EitherNet#60",
             Compounding{},
             {"fleet-spreads", "jitter-law"},
             "the delays follow another law"});
  shelf.add({"first-delay-doubled",
             "exponent_wrong",
             "growth-law",
             "avast/retry-go#127",
             faulty(exponential(Duration::s(2), 2, uncapped, J::none), &first_doubled),
             {"delay-in-bounds"},
             "without jitter the interval is one point"});
  shelf.add({"first-delay-missing",
             "exponent_wrong",
             "growth-law",
             "urllib3/urllib3#847",
             faulty(exponential(Duration::ms(100), 2, uncapped, J::none), &first_missing),
             {"delay-in-bounds", "delay-not-zero"},
             "without jitter the interval is one point; some delays are 0"});
  shelf.add({"multiplier-one",
             "exponent_wrong",
             "growth-law",
             "neo4j/neo4j-java-driver#1622",
             faulty(exponential(Duration::s(1), 2, uncapped, J::none), &multiplier_one),
             {"delay-in-bounds"},
             "without jitter the interval is one point"});
  shelf.add({"quarter-of-the-range",
             "jitter_not_applied",
             "jitter-law",
             "echoVic/orca-agent#42",
             faulty(constant(Duration::s(1), J::proportional, 0.1), &quarter_of_the_range),
             {"fleet-spreads"},
             "the delays follow another law"});
  shelf.add({"herd",
             "no_jitter_thundering_herd",
             "fleet-spreads",
             "StarRocks/starrocks#74108",
             faulty(exponential(Duration::ms(100), 2, uncapped, J::full), &without_jitter),
             {"instances-independent", "jitter-law", "processes-independent"},
             "equal delays are another law, and equal everywhere"});
  shelf.add({"jitter-lost",
             "jitter_not_applied",
             "fleet-spreads",
             "yoshuawuyts/exponential-backoff#36",
             faulty(constant(Duration::s(1), J::proportional, 0.3), &constant_second),
             {"instances-independent", "jitter-law", "processes-independent"},
             "equal delays are another law, and equal everywhere"});
  shelf.add({"jitter-not-wanted",
             "jitter_not_applied",
             "synchronised-without-jitter",
             "socketio/socket.io-client#1483",
             faulty(constant(Duration::s(1), J::none), &unwanted_jitter),
             {"delay-in-bounds", "growth-law"},
             "such a delay lies outside the interval; without jitter the law is one delay"});
  shelf.add({"clamped-then-stretched",
             "cap_before_jitter",
             "cap-respected",
             "openai/openai-agents-python#2676",
             faulty(exponential(Duration::ms(500), 2, Duration::s(10), J::additive, 0, Duration::ms(1250)),
                    &clamped_then_stretched),
             {"delay-in-bounds", "fleet-spreads", "jitter-law"},
             "the delays follow another law; the interval ends at the cap"});
  shelf.add({"quarter-on-top",
             "cap_before_jitter",
             "cap-respected",
             "langchain-ai/langchain#40280",
             faulty(exponential(Duration::s(2), 2, Duration::s(60), J::additive, 0, Duration::s(15)),
                    &quarter_on_top),
             {"delay-in-bounds", "fleet-spreads", "jitter-law"},
             "the delays follow another law; the interval ends at the cap"});
  shelf.add({"int-milliseconds",
             "integer_overflow",
             "delay-non-negative",
             "dotnet/docs#16754",
             faulty(exponential(Duration::ms(200), 2, Duration::s(10), J::none), &int_milliseconds),
             {"cap-goes-on", "delay-in-bounds", "delay-not-zero", "growth-law"},
             "such a delay lies outside the interval; without jitter the law is one delay; some delays are "
             "0; at the cap the delay falls back"});
  shelf.add({"negative-is-zero",
             "integer_overflow",
             "growth-law",
             "Dixin/EnterpriseLibrary.TransientFaultHandling.Core#2",
             faulty(exponential(Duration::s(2), 2, Duration::s(120), J::none), &negative_is_zero),
             {"cap-goes-on", "delay-in-bounds", "delay-not-zero"},
             "without jitter the interval is one point; some delays are 0; at the cap the delay falls back"});
  shelf.add({"minimum-above-cap",
             "cap_ignored",
             "cap-respected",
             "Xuanwo/backon#240",
             faulty(exponential(Duration::ms(100), 2, Duration::s(1), J::none), &minimum_above_cap),
             {"delay-in-bounds", "growth-law"},
             "the interval ends at the cap; without jitter the law is one delay"});
  shelf.add({"half-a-second-in-integers",
             "rounds_to_zero",
             "delay-not-zero",
             "open-feature/dotnet-sdk-contrib#699",
             faulty(exponential(Duration::ms(500), 2, Duration::s(30), J::none), &half_a_second_in_integers),
             {"cap-goes-on", "delay-in-bounds", "growth-law"},
             "such a delay lies outside the interval; without jitter the law is one delay; at the cap the "
             "delay falls back"});
  shelf.add({"never-waits",
             "rounds_to_zero",
             "delay-not-zero",
             "sakuninfinix/MQL5#324",
             faulty(constant(Duration::ms(500), J::full), &never_waits),
             {"fleet-spreads", "instances-independent", "jitter-law", "processes-independent"},
             "equal delays are another law, and equal everywhere"});
  shelf.add({"wraps-at-max",
             "reset_too_early",
             "cap-goes-on",
             "smartrent/tortoise311#15",
             faulty(exponential(Duration::ms(100), 2, Duration::ms(25'600), J::none), &wraps_at_max),
             {"delay-in-bounds", "growth-law"},
             "such a delay lies outside the interval; without jitter the law is one delay"});
  Contract hundred = exponential(Duration::s(1), 2, Duration::s(60), J::none);
  hundred.max_attempts = 101;
  shelf.add({"ends-at-cap",
             "cap_terminates_or_wraps",
             "cap-goes-on",
             "kubernetes/kubernetes#131122",
             Misjudges{hundred, &ends_at_cap},
             {"attempts-exact"},
             "attempts are missing"});
  shelf.add({"thousand-seconds",
             "unit_ms_vs_s",
             "growth-law",
             "binance/binance-connector-python#431",
             faulty(constant(Duration::ms(1000)), &thousand_seconds),
             {"delay-in-bounds"},
             "without jitter the interval is one point"});
  shelf.add({"converted-again",
             "unit_ms_vs_s",
             "growth-law",
             "dehora/nakadi-java#315",
             faulty(exponential(Duration::s(1), 2, uncapped, J::none), &converted_again),
             {"delay-in-bounds"},
             "without jitter the interval is one point"});
  Contract powers = exponential(Duration::s(2), 2, uncapped, J::none);
  shelf.add({"exclusive-or",
             "xor_as_power",
             "growth-law",
             "openshift/osde2e#3210",
             faulty(powers, &exclusive_or),
             {"delay-in-bounds", "delay-not-zero"},
             "without jitter the interval is one point; some delays are 0"});
  powers.base = Duration::ms(200);
  shelf.add({"exclusive-or-ms",
             "xor_as_power",
             "growth-law",
             "apache/rocketmq#10993",
             faulty(powers, &exclusive_or_ms),
             {"delay-in-bounds", "delay-not-zero"},
             "without jitter the interval is one point; some delays are 0"});
  shelf.add(
      {"ratchet", "decorrelated_state", "jitter-law", "twitter/finagle decorrelatedJittered", Ratchet{}});
  shelf.add({"ends-swap",
             "decorrelated_state",
             "delay-in-bounds",
             "awslabs/aws-c-io decorrelated",
             Swapped{},
             {"fleet-spreads", "jitter-law"},
             "the delays follow another law"});
}

}  // namespace retrygate
