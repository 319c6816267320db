// Faults of the delay computation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

constexpr Duration uncapped = Duration::max();

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

Contract constant(Duration base, JitterKind jitter, double ratio = 0) {
  Contract c;
  c.growth = GrowthKind::constant;
  c.base = base;
  c.jitter = Jitter{jitter, ratio, {}};
  return c;
}

}  // namespace

void add_delays(Shelf<Mutant>& shelf) {
  using J = JitterKind;
  shelf.add({"float-overflow", "survives", "hynek/stamina#104",
             faulty(exponential(Duration::ms(100), 2, Duration::s(5), J::none), &float_overflow)});
  shelf.add({"jitter-zero-crash", "survives", "m3db/m3x#165",
             faulty(exponential(Duration::ns(1), 2, uncapped, J::equal), &draw_below_zero)});
  shelf.add({"infinite-product", "delay-finite", "openai/openai-agents-python#3226",
             faulty(exponential(Duration::s(1), 100, Duration::s(60), J::none), &infinite)});
  shelf.add({"shift-wraps", "delay-non-negative", "aws/aws-sdk-java#874",
             faulty(exponential(Duration::s(5), 2, Duration::s(20), J::none), &shift_wraps)});
  shelf.add({"jitter-above-delay", "delay-non-negative", "failsafe-lib/failsafe#115",
             faulty(constant(Duration::ms(100), J::proportional, 1), &jitter_above_delay)});
  shelf.add(
      {"cap-then-jitter", "cap-respected", "NousResearch/hermes-agent#40606",
       faulty(exponential(Duration::s(1), 2, Duration::s(120), J::proportional, 0.5), &cap_then_jitter)});
  shelf.add({"limit-before-doubling", "cap-respected", "socketio/socket.io-client#531",
             faulty(exponential(Duration::ms(100), 2, Duration::s(2), J::none), &tested_before_doubling)});
  shelf.add({"cap-unused", "cap-respected", "apache/cassandra-gocql-driver#980",
             faulty(exponential(Duration::ms(100), 2, Duration::s(1), J::none), &cap_unused)});
  shelf.add({"jitter-compounds", "delay-in-bounds", "slackhq/EitherNet#60", Compounding{}});
  shelf.add({"first-delay-doubled", "growth-law", "avast/retry-go#127",
             faulty(exponential(Duration::s(2), 2, uncapped, J::none), &first_doubled)});
  shelf.add({"first-delay-missing", "growth-law", "urllib3/urllib3#847",
             faulty(exponential(Duration::ms(100), 2, uncapped, J::none), &first_missing)});
  shelf.add({"multiplier-one", "growth-law", "neo4j/neo4j-java-driver#1622",
             faulty(exponential(Duration::s(1), 2, uncapped, J::none), &multiplier_one)});
  shelf.add({"quarter-of-the-range", "jitter-law", "echoVic/orca-agent#42",
             faulty(constant(Duration::s(1), J::proportional, 0.1), &quarter_of_the_range)});
  shelf.add({"herd", "fleet-spreads", "StarRocks/starrocks#74108",
             faulty(exponential(Duration::ms(100), 2, uncapped, J::full), &without_jitter)});
  shelf.add({"jitter-lost", "fleet-spreads", "yoshuawuyts/exponential-backoff#36",
             faulty(constant(Duration::s(1), J::proportional, 0.3), &constant_second)});
  shelf.add({"jitter-not-wanted", "synchronised-without-jitter", "socketio/socket.io-client#1483",
             faulty(constant(Duration::s(1), J::none), &unwanted_jitter)});
}

}  // namespace retrygate
