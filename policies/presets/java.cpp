// Libraries of the Java platform; their delays are whole milliseconds.
#include <cmath>

#include "policies/replica.hpp"

namespace retrygate {
namespace {

// Every interval is the one before times the multiplier, cut to whole ms.
Duration cut_each_step(const Numbers& p, std::int64_t n, Duration stop_at) {
  Duration current = p.base;
  for (std::int64_t i = 1; i < n && current < stop_at; ++i) {
    const Duration next = cut(current.scaled(p.factor), ms);
    if (next <= current) break;
    current = next;
  }
  return current;
}

Duration resilience4j(const Numbers& p, const Drawing& d) {
  return std::min(p.cap, cut_each_step(p, d.n, p.cap));
}

// x = cur +- ratio * cur, up to 1 ms more, at least 1 ms; cut at the cap, which cur itself outgrows.
Duration resilience4j_random(const Numbers& p, const Drawing& d) {
  // Beyond cap / (1 - ratio) every draw is the cap.
  const Duration current =
      cut_each_step(p, d.n, p.ratio < 1 ? p.cap.scaled(2 / (1 - p.ratio)) : Duration::max());
  const Duration delta = current.scaled(p.ratio);
  const Duration x = cut(evenly(current - delta, current + delta + ms, d.rng), ms);
  return std::min(p.cap, std::max(ms, x));
}

// cur * (1 + U[0, 1) * (mult - 1)), cut at the cap.
Duration spring_random(const Numbers& p, const Drawing& d) {
  const Duration c = capped_ceiling(p, d.n);
  return std::min(p.cap, cut(evenly(c, c.scaled(std::max(1.0, p.factor)), d.rng), ms));
}

// interval +- jitter * (interval / initial), the quotient an integer; never below the initial interval or
// above the maximum. Half-open: min + (long) (U * (max - min)).
Duration spring_framework(const Numbers& p, const Drawing& d) {
  const Duration interval = std::min(p.cap, cut_each_step(p, d.n, p.cap));
  const std::int64_t scale = p.base > Duration{} ? interval.ns() / p.base.ns() : 1;
  const Duration j = p.extra * scale;
  return evenly(std::max(interval - j, p.base), std::min(interval + j, p.cap), d.rng, ms);
}

// cur + U[max(base - cur, -off), min(cap - cur, off)), off = cur * whole percents of the jitter.
Duration reactor(const Numbers& p, const Drawing& d) {
  const Duration c = capped_ceiling(p, d.n);
  const Duration off = cut(c, ms) * static_cast<std::int64_t>(100 * p.ratio) / 100;
  return evenly(std::max(p.base, c - off), std::min(p.cap, c + off), d.rng, ms);
}

// (long) (min(init * mult^(n-1), cap) * U[1 - j, 1 + j)), cut at the cap.
Duration kafka(const Numbers& p, const Drawing& d) {
  if (p.base >= p.cap) return p.cap;
  const Duration c = capped_ceiling(p, d.n);
  return std::min(p.cap, cut(evenly(c - c.scaled(p.ratio), c + c.scaled(p.ratio), d.rng), ms));
}

Numbers growing(Recipe& p, Duration init, double mult, Duration cap) {
  Numbers numbers{p.duration("init", init)};
  numbers.factor = p.number("mult", mult, 1e-3, 1e3);
  numbers.cap = p.duration("cap", cap);
  return numbers;
}

constexpr std::string_view r4j = "resilience4j/resilience4j af9e7c97, IntervalFunction.java";
constexpr std::string_view spring_retry = "spring-projects/spring-retry c8977dda";
constexpr std::string_view kafka_source =
    "apache/kafka 1eb76443, clients common/utils/ExponentialBackoff.java";

}  // namespace

void add_java(Shelf<Preset>& all) {
  Family shelf(all, "Java");
  shelf.add({"resilience4j-exponential",
             "(long) (delay before * mult), up to the cap, 3 attempts",
             r4j,
             [](Reader& r) {
               Recipe p(r);
               const Numbers numbers = growing(p, Duration::ms(500), 1.5, Duration::s(60));
               p.parts.grid.tick = ms;
               p.parts.limits = attempts(3);
               Contract promise = exponential_promise(numbers.base, numbers.factor, no_jitter(), numbers.cap);
               return p.draw("resilience4j-exponential", numbers, &resilience4j, promise);
             },
             {{"growth-law", "each step is cut to whole ms: from retry 6 on more than 1 ms below the law",
               r4j, false}}});
  shelf.add({"resilience4j-exponential-random",
             "cur +- r * cur, then cut at the cap, which cur outgrows",
             r4j,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers = growing(p, Duration::ms(500), 1.5, Duration::s(60));
               numbers.ratio = p.number("r", 0.5, 0, 1);
               p.parts.grid.tick = ms;
               p.parts.limits = attempts(3);
               return p.draw("resilience4j-exponential-random", numbers, &resilience4j_random,
                             cap_promise(numbers.cap));
             },
             {{"jitter-alive-at-cap", "cur keeps growing, so at the cap no jitter is left", r4j, false}}});
  shelf.add({"spring-retry-exponential", "min(init * mult^(n-1), cap), 3 attempts",
             "spring-projects/spring-retry c8977dda, ExponentialBackOffPolicy.java", [](Reader& r) {
               Recipe p(r);
               const Numbers numbers = growing(p, Duration::ms(100), 2, Duration::s(30));
               p.parts = exponential(numbers.base, numbers.factor, no_jitter(), numbers.cap);
               p.parts.grid.tick = ms;
               p.parts.limits = attempts(3);
               return p.compose();
             }});
  shelf.add({"spring-retry-exponential-random",
             "cur * (1 + U[0, 1) * (mult - 1)), cut at the cap, 3 attempts",
             "spring-projects/spring-retry c8977dda, ExponentialRandomBackOffPolicy.java",
             [](Reader& r) {
               Recipe p(r);
               const Numbers numbers = growing(p, Duration::ms(100), 2, Duration::s(30));
               p.parts.grid.tick = ms;
               p.parts.limits = attempts(3);
               return p.draw("spring-retry-exponential-random", numbers, &spring_random,
                             cap_promise(numbers.cap));
             },
             {{"jitter-alive-at-cap", "at the cap every client waits the cap", spring_retry, false}}});
  shelf.add({"spring-retry-uniform",
             "U{lo..hi - 1} ms every time, 3 attempts",
             "spring-projects/spring-retry c8977dda, UniformRandomBackOffPolicy.java",
             [](Reader& r) {
               Recipe p(r);
               const Duration lo = p.duration("lo", Duration::ms(500));
               const Duration hi = p.duration("hi", Duration::ms(1500));
               p.parts.backoff = {GrowthKind::constant, lo};
               p.parts.jitter = up_to(hi - lo);
               p.parts.grid = {ms, true};
               p.parts.limits = attempts(3);
               return p.compose();
             },
             {{"instances-independent",
               "seeded with the milliseconds of its construction; here each client draws its own",
               spring_retry, false}}});
  shelf.add(
      {"spring-framework-7", "interval +- j * (interval / init) within [init, cap], 3 retries",
       "spring-projects/spring-framework 91eb4264, org/springframework/util/backoff/ExponentialBackOff.java",
       [](Reader& r) {
         Recipe p(r);
         Numbers numbers = growing(p, Duration::s(2), 1.5, Duration::s(30));
         numbers.extra = p.duration("j", Duration::ms(500));
         p.parts.grid.tick = ms;
         p.parts.limits = retries(3);
         return p.draw("spring-framework-7", numbers, &spring_framework, cap_promise(numbers.cap));
       }});
  shelf.add({"failsafe",
             "min(init * factor^(n-1), cap) +- 25 %: up to 25 % above the cap, 2 retries",
             "failsafe-lib/failsafe ed3f9273, RetryPolicyExecutor.java, RandomDelay.java",
             [](Reader& r) {
               Recipe p(r);
               const Duration init = p.duration("init", Duration::s(1));
               const double factor = p.number("factor", 2, 1e-3, 1e3);
               const double f = p.number("f", 0.25, 0, 1);
               p.parts = exponential(init, factor, plus_minus(f), p.duration("cap", Duration::s(30)),
                                     CapKind::before_jitter);
               p.parts.limits = retries(2);
               p.parts.limits.elapsed = p.duration("max_duration", Duration::max());
               p.parts.limits.at_elapsed = AtElapsed::clip;
               return p.compose();
             },
             {{"delay-non-negative", "a fixed jitter above the delay gave negative ones before the fix",
               "failsafe-lib/failsafe#115", false}}});
  shelf.add({"reactor",
             "min(base * 2^(n-1), cap) +- j, within [base, cap]",
             "reactor/reactor-core c4900cdb, RetryBackoffSpec.java",
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("base", Duration::ms(100))};
               numbers.ratio = p.number("j", 0.5, 0, 1);
               numbers.cap = p.duration("cap", Duration::s(10));
               p.parts.grid.tick = ms;
               return p.draw("reactor", numbers, &reactor, cap_promise(numbers.cap));
             },
             {{"degenerate-settings", "the jitter is cut to whole percents: 0.005 is none, 0.29 is 28 %",
               "reactor/reactor-core c4900cdb, RetryBackoffSpec.java", false}}});
  shelf.add({"kafka-client",
             "min((long) (min(init * mult^(n-1), cap) * U[0.8, 1.2)), cap): an atom at the cap", kafka_source,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers = growing(p, Duration::ms(100), 2, Duration::s(1));
               numbers.ratio = p.number("j", 0.2, 0, 1);
               p.parts.grid.tick = ms;
               p.parts.limits.elapsed = p.duration("delivery_timeout", Duration::s(120));
               return p.draw("kafka-client", numbers, &kafka, cap_promise(numbers.cap));
             }});
}

}  // namespace retrygate
