// JavaScript libraries; their timers count whole milliseconds.
#include <algorithm>
#include <cmath>
#include <vector>

#include "policies/replica.hpp"

namespace retrygate {
namespace {

Duration rounded(Duration d) { return cut(d + Duration::us(500), ms); }

// x = max(2^n * factor, Retry-After), then x * (1 + 0.2 U[0, 1)): the header is a lower bound.
Duration axios(const Numbers& p, const Drawing& d) {
  const Duration own = ceiling({GrowthKind::exponential, p.base * 2, 2}, d.n);
  const Duration x = std::max(own, d.attempt.outcome.retry_after.value_or(Duration{}));
  return evenly(x, x.scaled(1.2), d.rng, ms);
}

// min(round(R * base * factor^(n-1)), cap), R = U[1, ratio).
Duration randomized(const Numbers& p, std::int64_t n, Rng& rng) {
  const Duration x = ceiling({GrowthKind::exponential, std::max(p.base, ms), p.factor}, n);
  return std::min(p.cap, rounded(evenly(x, x.scaled(p.ratio), rng)));
}

Duration p_retry(const Numbers& p, const Drawing& d) { return randomized(p, d.n, d.rng); }

// All delays of a call are drawn before its first attempt and sorted. `kept` is what they are drawn from; 0
// before.
Duration node_retry(const Numbers& p, const Drawing& d) {
  if (d.kept == 0) d.kept = d.rng.bits() | 1;
  constexpr std::int64_t most = 1000;
  const auto count = std::clamp<std::int64_t>(p.count, 1, most);
  std::vector<Duration> all;
  Rng rng{Seed{d.kept}};
  for (std::int64_t n = 1; n <= count; ++n) all.push_back(randomized(p, n, rng));
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(std::min(d.n, count)) - 1];
}

// x = base * 2^(n-1); one draw gives the size, floor(r * j * x), and by the parity of floor(10 r) the sign.
Duration backo2(const Numbers& p, const Drawing& d) {
  const Duration x = ceiling({GrowthKind::exponential, p.base, 2}, d.n);
  const double r = d.rng.unit();
  const Duration deviation = cut(x.scaled(r * p.ratio), ms);
  const bool minus = (static_cast<int>(r * 10) & 1) == 0;
  return std::min(p.cap, cut(minus ? x - deviation : x + deviation, ms));
}

RetryOn got_errors() { return on("408 413 429 500 502 503 504 521 522 524 connection"); }
RetryOn ky_errors() { return on("408 413 429 500 502 503 504 connection"); }

Numbers timeouts(Recipe& p, Duration cap) {
  Numbers numbers{p.duration("base", Duration::s(1))};
  numbers.factor = p.number("factor", 2, 1e-3, 1e3);
  numbers.ratio = p.number("R", 2, 1, 2);
  numbers.cap = p.duration("cap", cap);
  return numbers;
}

constexpr std::string_view axios_source = "softonic/axios-retry dd9b700d, src/index.ts";
constexpr std::string_view p_retry_source = "sindresorhus/p-retry e11ca9c9, index.js";
constexpr std::string_view node_source = "tim-kos/node-retry 11efd6e4, lib/retry.js, lib/retry_operation.js";
constexpr std::string_view ky_source = "sindresorhus/ky 3419113b, source/core/Ky.ts";
constexpr std::string_view backo2_source =
    "socketio/socket.io d2d753fe, socket.io-client/lib/contrib/backo2.ts";

}  // namespace

void add_node(Shelf<Preset>& all) {
  Family shelf(all, "JavaScript");
  shelf.add(
      {"axios-retry-exponential",
       "max(2^n * factor, Retry-After) * (1 + 0.2 U[0, 1)), 3 retries",
       axios_source,
       [](Reader& r) {
         Recipe p(r);
         Numbers numbers{p.duration("factor", Duration::ms(100))};
         p.parts.grid.tick = ms;
         p.parts.limits = retries(3, on("429 5xx dns connect-refused connect-timeout tls connection-reset"));
         p.parts.limits.idempotent_only = true;
         p.documented = [](Contract& c) { c.retry_after = RetryAfterRule::floor; };
         return p.draw("axios-retry-exponential", numbers, &axios);
       },
       {{"fits-timer", "a delay of 2^31 ms or more, from retry 25 on, fires after 1 ms; here it does not",
         axios_source, false}}});
  shelf.add(
      {"p-retry",
       "min(round(R * base * factor^(n-1)), cap), R = U[1, 2), 10 retries",
       p_retry_source,
       [](Reader& r) {
         Recipe p(r);
         const Numbers numbers = timeouts(p, Duration::s(60));
         p.parts.grid.tick = ms;
         p.parts.limits = retries(10);
         p.parts.limits.elapsed = p.duration("max_retry_time", Duration::max());
         p.parts.limits.at_elapsed = AtElapsed::clip;
         return p.draw("p-retry", numbers, &p_retry, cap_promise(numbers.cap));
       },
       {{"jitter-alive-at-cap", "at a cap every client waits the cap", p_retry_source, false},
        {"fits-timer", "without a maximum the timer overflows and fires at once", p_retry_source, false}}});
  shelf.add({"node-retry",
             "as p-retry, but all delays are drawn up front and sorted",
             node_source,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers = timeouts(p, Duration::s(16));
               p.parts.grid.tick = ms;
               p.parts.limits = retries(10);
               numbers.count = std::max<std::int64_t>(1, p.limits().max_attempts - 1);
               return p.draw("node-retry", numbers, &node_retry, cap_promise(numbers.cap));
             },
             {{"jitter-alive-at-cap", "from retry 5 on every client waits the cap", node_source, false},
              {"fleet-spreads", "`forever` repeats one drawn delay", node_source, false}}});
  shelf.add({"got",
             "min(base * 2^(n-1), cap) + U[0, noise): up to noise above the cap, 2 retries",
             "sindresorhus/got d00d845a, source/core/calculate-retry-delay.ts",
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::s(1));
               const Duration noise = p.duration("noise", Duration::ms(100));
               p.parts = exponential(base, 2, up_to(noise), p.duration("cap", Duration::s(10)),
                                     CapKind::before_jitter);
               p.parts.grid = {ms, true};
               p.parts.limits = retries(2, got_errors());
               p.parts.limits.idempotent_only = true;
               p.parts.guards.retry_after = {RetryAfterRule::exact_or_stop,
                                             p.duration("max_retry_after", Duration::max())};
               return p.compose();
             },
             {{"retry-after-zero", "Retry-After: 0 is taken as it is: the retry is immediate",
               "sindresorhus/got d00d845a, calculate-retry-delay.ts"},
              {"all-retryable", "413 is repeated only with a Retry-After; here with and without",
               "sindresorhus/got d00d845a, calculate-retry-delay.ts", false}}});
  shelf.add(
      {"ky",
       "min(backoffLimit, U[0, 1) * base * 2^(n-1)): an atom at the limit, 2 retries",
       ky_source,
       [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::ms(300));
         p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::s(10)), CapKind::clamp);
         p.parts.grid.tick = ms;
         p.parts.limits = retries(2, ky_errors());
         p.parts.limits.idempotent_only = true;
         p.parts.guards.retry_after = {RetryAfterRule::exact, p.duration("max_retry_after", Duration::max()),
                                       AboveLimit::clip};
         p.parts.guards.timer_max = Duration::ms(2147483647);
         return p.compose();
       },
       {{"jitter-alive-at-cap", "the limit is applied after the draw: at retry 10 93.5 % wait exactly 10 s",
         ky_source, false}}});
  shelf.add({"undici-retry",
             "min(base * 2^(n-1), cap) without jitter, 5 retries",
             "nodejs/undici 7eb7c8ec, lib/handler/retry-handler.js",
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(500));
               const Duration cap = p.duration("cap", Duration::s(30));
               p.parts = exponential(base, 2, no_jitter(), cap);
               p.parts.grid.tick = ms;
               p.parts.limits = retries(5, on("429 500 502 503 504 connection"));
               p.parts.limits.idempotent_only = true;
               p.parts.guards.retry_after = {RetryAfterRule::exact, cap, AboveLimit::clip};
               return p.compose();
             },
             {{"retry-after-zero", "Retry-After: 0 is taken as it is: the retry is immediate",
               "nodejs/undici 7eb7c8ec, lib/handler/retry-handler.js"}}});
  shelf.add({"cockatiel",
             "decorrelated-v2 from `initial`, cut at the cap",
             "connor4312/cockatiel f475a690, src/backoff/ExponentialBackoffGenerators.ts",
             [](Reader& r) {
               Recipe p(r);
               const Duration initial = p.duration("initial", Duration::ms(128));
               p.parts = exponential(initial, 2, {JitterKind::decorrelated_v2, 0, {}},
                                     p.duration("cap", Duration::s(30)), CapKind::clamp);
               p.parts.grid.tick = ms;
               return p.compose();
             },
             {{"jitter-alive-at-cap", "later every client waits the cap",
               "connor4312/cockatiel f475a690, ExponentialBackoffGenerators.ts", false},
              {"delay-finite", "NaN after 1025 retries before the fix", "connor4312/cockatiel#86", false}}});
  shelf.add(
      {"socketio-backo2",
       "min(base * 2^(n-1) -+ floor(r j x), cap), sign by the parity of floor(10 r)",
       backo2_source,
       [](Reader& r) {
         Recipe p(r);
         Numbers numbers{p.duration("base", Duration::s(1))};
         numbers.ratio = p.number("j", 0.5, 0, 1);
         numbers.cap = p.duration("cap", Duration::s(5));
         p.parts.grid.tick = ms;
         return p.draw("socketio-backo2", numbers, &backo2, cap_promise(numbers.cap));
       },
       {{"delay-not-zero", "from attempt 1016 on half of the delays are NaN and so 0; here they saturate",
         "socketio/socket.io d2d753fe, backo2.ts (executed)", false},
        {"jitter-alive-at-cap", "from retry 5 on every client waits the cap", backo2_source, false}}});
}

}  // namespace retrygate
