// Proxies and RPC stacks: Envoy, Finagle, Linkerd, Tower.
#include <cmath>

#include "policies/replica.hpp"

namespace retrygate {
namespace {

// What the header asks, or the interval without one, and up to half of it on top; never earlier.
Duration envoy_rate_limited(const Numbers& p, const Drawing& d) {
  const auto& header = d.attempt.outcome.retry_after;
  const Duration x = header && *header <= p.extra ? *header : p.base;
  return evenly(x, x + x / 2, d.rng, Duration::ms(1));
}

// start, then U[previous, min(cap, 3 * previous)): it never comes down.
Duration finagle_decorrelated(const Numbers& p, const Drawing& d) {
  if (d.previous == Duration{}) return p.base;
  return evenly(d.previous, std::min(p.cap, d.previous * 3), d.rng);
}

// start, then U[0, previous * 2^(n-1)) until that bound reaches the cap, then the cap for ever.
Duration finagle_exponential(const Numbers& p, const Drawing& d) {
  if (d.n == 1) return p.base;
  const Duration bound = ceiling({GrowthKind::exponential, d.previous, 2}, d.n);
  return bound >= p.cap ? p.cap : evenly({}, bound, d.rng);
}

// start, then h + U[0, h) with h = start * 2^(n-2), cut at the cap.
Duration finagle_equal(const Numbers& p, const Drawing& d) {
  if (d.n == 1) return p.base;
  const Duration half = ceiling({GrowthKind::exponential, p.base, 2}, d.n - 1);
  return std::min(p.cap, evenly(half, half * 2, d.rng));
}

// c + min(j, cap - c); the whole seconds and the rest of c are scaled by the same draw apart, and each
// product is cut to whole seconds and whole nanoseconds.
Duration truncated_jitter(const Numbers& p, const Drawing& d) {
  const Duration c = capped_ceiling(p, d.n);
  if (p.ratio == 0) return c;
  const double share = d.rng.unit() * p.ratio;
  const auto seconds = static_cast<double>(c.ns() / 1'000'000'000);
  const auto rest = static_cast<double>(c.ns() % 1'000'000'000);
  const Duration j =
      Duration::seconds(std::floor(seconds * share)) + Duration::ns(static_cast<std::int64_t>(rest * share));
  return c + std::min(j, p.cap - c);
}

constexpr std::string_view finagle = "twitter/finagle 4feb34cb, finagle-core Backoff.scala";
constexpr std::string_view tower =
    "tower-rs/tower 8358ee71, tower/src/retry/backoff.rs, tower/src/util/rng.rs";

Numbers finagle_numbers(Recipe& p) {
  return {p.duration("start", Duration::ms(5)), p.duration("cap", Duration::ms(200))};
}

AnyPolicy seconds_and_nanoseconds(Reader& r, std::string_view name, Numbers numbers, Limits limits,
                                  std::optional<Budget> budget) {
  Recipe p(r);
  numbers.base = p.duration("base", numbers.base);
  numbers.ratio = p.number("ratio", numbers.ratio, 0, 100);
  numbers.cap = p.duration("cap", numbers.cap);
  p.parts.limits = std::move(limits);
  p.parts.guards.budget = budget;
  return p.draw(name, numbers, &truncated_jitter, cap_promise(numbers.cap));
}

}  // namespace

void add_proxies(Shelf<Preset>& all) {
  Family shelf(all, "Proxies and RPC");
  shelf.add({"envoy-retry", "U{0..min(base * 2^(n-1), cap) - 1} ms, 1 retry",
             "envoyproxy/envoy, source/common/common/backoff_strategy.cc; source/common/router/"
             "retry_state_impl.cc at e78906c5",
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(25));
               p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::ms(250)));
               p.parts.grid = {Duration::ms(1), true};
               p.parts.limits = retries(1, on("5xx connection"));
               return p.compose();
             }});
  shelf.add({"envoy-rate-limited", "what the header asks and up to half of it on top, 1 retry",
             "envoyproxy/envoy, source/common/common/backoff_strategy.cc; source/common/router/"
             "reset_header_parser.cc at e05a2af4",
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("interval", Duration::s(1))};
               numbers.extra = p.duration("max_interval", Duration::s(300));
               p.parts.grid.tick = Duration::ms(1);
               p.parts.limits = retries(1, on("429 503"));
               return p.draw("envoy-rate-limited", numbers, &envoy_rate_limited);
             }});
  shelf.add({"finagle-decorrelated", "start, then U[delay before, min(cap, 3 * delay before))", finagle,
             [](Reader& r) {
               Recipe p(r);
               const Numbers numbers = finagle_numbers(p);
               p.parts.guards.budget = ratio_budget(0.2, 10, Duration::s(10));
               return p.draw("finagle-decorrelated", numbers, &finagle_decorrelated,
                             cap_promise(numbers.cap));
             }});
  shelf.add({"finagle-exponential-jittered",
             "start, then U[0, delay before * 2^(n-1)) until that meets the cap",
             finagle,
             [](Reader& r) {
               Recipe p(r);
               const Numbers numbers = finagle_numbers(p);
               p.parts.guards.budget = ratio_budget(0.2, 10, Duration::s(10));
               return p.draw("finagle-exponential-jittered", numbers, &finagle_exponential,
                             exponential_promise(numbers.base, 2, full_jitter(), numbers.cap));
             },
             {{"delay-in-bounds", "documented as start * 2^n, but the draw before is multiplied", finagle},
              {"jitter-law", "the first delay is exactly the start, later ones compound", finagle},
              {"jitter-alive-at-cap", "once the bound meets the cap every client waits the cap", finagle},
              {"fleet-spreads", "the first delay has no jitter: a fleet comes back together", finagle},
              {"survives", "a draw of 0 makes the next nextLong(0) throw; here the next delay is 0", finagle,
               false},
              {"instances-independent", "the first delay is the same for all", finagle},
              {"processes-independent", "the first delay is the same for all", finagle}}});
  shelf.add({"finagle-equal-jittered", "start, then h + U[0, h), h = start * 2^(n-2), cut at the cap",
             finagle, [](Reader& r) {
               Recipe p(r);
               const Numbers numbers = finagle_numbers(p);
               p.parts.guards.budget = ratio_budget(0.2, 10, Duration::s(10));
               return p.draw("finagle-equal-jittered", numbers, &finagle_equal, cap_promise(numbers.cap));
             }});
  shelf.add({"finagle-retry-budget",
             "no delay; retries <= 20 % of the calls of 10 s, and 10 a second",
             "twitter/finagle 4feb34cb, RetryBudget.scala; twitter/util 17c8187d, TokenBucket",
             [](Reader& r) {
               Recipe p(r);
               p.parts = no_delay();
               const double share = p.number("percent_can_retry", 0.2, 1e-3, 1e3);
               const double reserve = p.number("min_retries_per_sec", 10);
               p.parts.guards.budget = ratio_budget(share, reserve, p.duration("ttl", Duration::s(10)));
               return p.compose();
             },
             {{"budget-conserved", "large ttl * minimum overflows an Int",
               "twitter/finagle RetryBudget.scala", false}}});
  shelf.add({"linkerd2-proxy",
             "c + U[0, ratio) * c up to the cap, c = min(base * 2^(n-1), cap)",
             "linkerd/linkerd2-proxy 29637b64, linkerd/exp-backoff/src/lib.rs",
             [](Reader& r) {
               return seconds_and_nanoseconds(r, "linkerd2-proxy",
                                              {Duration::ms(25), Duration::ms(250), {}, 2, 1.0},
                                              retries(1, on("5xx")), ratio_budget(0.2, 10, Duration::s(10)));
             },
             {{"jitter-alive-at-cap", "no jitter is left once c is the cap", "linkerd/exp-backoff/src/lib.rs",
               false},
              {"jitter-law", "a base of 1 s or 2 s with ratio 0.5 has no jitter at all: its seconds are cut",
               "linkerd/exp-backoff/src/lib.rs (its arithmetic, measured)", false}}});
  shelf.add(
      {"tower-exponential",
       "as linkerd2-proxy: c + U[0, ratio) * c up to the cap",
       tower,
       [](Reader& r) {
         return seconds_and_nanoseconds(r, "tower-exponential",
                                        {Duration::ms(50), Duration::s(60), {}, 2, 0.99}, without_limit(),
                                        std::nullopt);
       },
       {{"jitter-alive-at-cap", "no jitter is left once c is the cap", tower, false},
        {"instances-independent",
         "a maker clones its generator: all its sessions draw one sequence; here each client draws its own",
         "tower-rs/tower 8358ee71, tower/src/util/rng.rs (measured)", false}}});
}

}  // namespace retrygate
