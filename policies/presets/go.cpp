// Go libraries.
#include "policies/replica.hpp"

namespace retrygate {
namespace {

RetryOn all_5xx_but_501() {
  RetryOn set = on("429 connection");
  for (int code = 500; code <= 599; ++code) {
    if (code != 501) set.statuses.push_back(Status::http(code));
  }
  return set;
}

// n * U[lo, hi).
Duration linear_jitter(const Numbers& p, const Drawing& d) { return evenly(p.base, p.extra, d.rng) * d.n; }

// (2^n - 1) * base * U[0.8, 1.3), cut at the cap.
Duration azcore(const Numbers& p, const Drawing& d) {
  const Duration c = ceiling({GrowthKind::exponential, p.base * 2, 2}, d.n) - p.base;
  return std::min(p.cap, evenly(c.scaled(0.8), c.scaled(1.3), d.rng));
}

// base * 2^(n-1) + U[-j, j), never below 0.
Duration sethvargo(const Numbers& p, const Drawing& d) {
  const Duration c = ceiling({GrowthKind::exponential, p.base, 2}, d.n);
  return std::max(Duration{}, evenly(c - p.extra, c + p.extra, d.rng));
}

// U[base, base * factor^(n-1)), cut at the cap.
Duration jpillora(const Numbers& p, const Drawing& d) {
  const Duration c = ceiling({GrowthKind::exponential, p.base, p.factor}, d.n);
  return std::min(p.cap, evenly(p.base, c, d.rng));
}

Parts cenkalti(Recipe& p) {
  const Duration init = p.duration("init", Duration::ms(500));
  const double mult = p.number("mult", 1.5, 1e-3, 1e3);
  const double r = p.number("r", 0.5, 0, 1);
  Parts parts =
      exponential(init, mult, plus_minus(r), p.duration("cap", Duration::s(60)), CapKind::before_jitter);
  parts.limits.elapsed = p.duration("max_elapsed_time", Duration::s(900));
  return parts;
}

constexpr std::string_view http = "hashicorp/go-retryablehttp fd004584, client.go";
constexpr std::string_view azure_go = "Azure/azure-sdk-for-go 0f9d9f4d, sdk/azcore/runtime/policy_retry.go";
constexpr std::string_view seth = "sethvargo/go-retry a324c680, backoff_exponential.go, backoff.go";

}  // namespace

void add_go(Shelf<Preset>& all) {
  Family shelf(all, "Go");
  shelf.add({"cenkalti-v4", "min(init * mult^(n-1), cap) +- 50 %, within 15 min",
             "cenkalti/backoff v4.3.0 (720b7898), exponential.go, retry.go", [](Reader& r) {
               Recipe p(r);
               p.parts = cenkalti(p);
               return p.compose();
             }});
  shelf.add({"cenkalti-v5",
             "as cenkalti-v4; a RetryAfterError is waited for exactly",
             "cenkalti/backoff v5, retry.go, exponential.go",
             [](Reader& r) {
               Recipe p(r);
               p.parts = cenkalti(p);
               p.parts.guards.retry_after.rule = RetryAfterRule::exact;
               return p.compose();
             },
             {{"retry-after-not-early", "one of 30 min ends the call without a word: it passes the 15 min",
               "cenkalti/backoff#159", false},
              {"retry-after-zero", "Retry-After: 0 is taken as it is: the retry is immediate",
               "cenkalti/backoff v5, retry.go"}}});
  shelf.add({"go-retryablehttp-default",
             "min(base * 2^(n-1), cap) without jitter, 4 retries",
             http,
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::s(1));
               p.parts = exponential(base, 2, no_jitter(), p.duration("cap", Duration::s(30)));
               p.parts.limits = retries(4, all_5xx_but_501());
               p.parts.guards.retry_after = {RetryAfterRule::exact, Duration::max(), AboveLimit::stop,
                                             on("429 503")};
               return p.compose();
             },
             {{"retry-after-bounded", "9223372037 seconds overflow to a negative wait; here they saturate",
               "hashicorp/go-retryablehttp#297", false},
              {"no-futile-wait", "waits although the context ends before; the replica stops",
               "hashicorp/go-retryablehttp#272", false},
              {"retry-after-zero", "Retry-After: 0 is taken as it is: the retry is immediate", http}}});
  shelf.add({"go-retryablehttp-linear-jitter",
             "n * U[lo, hi): hi is no cap, 4 retries",
             http,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("lo", Duration::s(1)), Duration::max(),
                               p.duration("hi", Duration::s(30))};
               p.parts.limits = retries(4, all_5xx_but_501());
               p.parts.guards.retry_after = {RetryAfterRule::exact, Duration::max(), AboveLimit::stop,
                                             on("429 503")};
               return p.draw("go-retryablehttp-linear-jitter", numbers, &linear_jitter,
                             cap_promise(numbers.extra));
             },
             {{"cap-respected", "RetryWaitMax is multiplied by n: 1..30 s give up to 120 s at retry 4",
               "hashicorp/go-retryablehttp fd004584, client.go, LinearJitterBackoff"}}});
  shelf.add({"azcore-go",
             "min((2^n - 1) * base * U[0.8, 1.3), cap), 3 retries",
             azure_go,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("base", Duration::ms(800)), p.duration("cap", Duration::s(60))};
               p.parts.limits = retries(3, on("408 429 500 502 503 504 connection"));
               p.parts.guards.retry_after = {RetryAfterRule::exact_or_stop, numbers.cap};
               return p.draw("azcore-go", numbers, &azcore, cap_promise(numbers.cap));
             },
             {{"jitter-law", "the comment says 0.8 to 1.2, the code draws 0.8 to 1.3", azure_go, false},
              {"jitter-alive-at-cap", "from retry 7 on every client waits the cap", azure_go, false},
              {"degenerate-settings", "a negative delay, documented as no delay, gives the 60 s of the cap",
               azure_go, false}}});
  shelf.add({"sethvargo-go-retry",
             "base * 2^(n-1) +- j, no cap",
             seth,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("base", Duration::s(1)), Duration::max(),
                               p.duration("j", Duration::ms(500))};
               return p.draw("sethvargo-go-retry", numbers, &sethvargo);
             },
             {{"delay-non-negative",
               "the largest delay and its jitter wrap to a negative one, which becomes 0", seth, false},
              {"delay-not-zero", "a cap or deadline takes a jittered 0 for a value above it", seth, false},
              {"degenerate-settings", "a jitter of 0 panics", "sethvargo/go-retry#39", false}}});
  shelf.add({"avast-retry-go", "base * 2^(n-1) + U[0, j), 10 attempts",
             "avast/retry-go 5.0.0 (91e2a667), options.go", [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(100));
               const Duration j = p.duration("j", Duration::ms(100));
               p.parts = exponential(base, 2, up_to(j), Duration::max(), CapKind::clamp);
               p.parts.grid.half_open = true;
               p.parts.limits = attempts(10);
               return p.compose();
             }});
  shelf.add(
      {"jpillora-backoff",
       "U[base, base * factor^(n-1)) cut at the cap: the first one is the base",
       "jpillora/backoff fab01a9d, backoff.go",
       [](Reader& r) {
         Recipe p(r);
         Numbers numbers{p.duration("base", Duration::ms(100))};
         numbers.factor = p.number("factor", 2, 1, 1e3);
         numbers.cap = p.duration("cap", Duration::s(10));
         return p.draw("jpillora-backoff", numbers, &jpillora, cap_promise(numbers.cap));
       },
       {{"fleet-spreads", "the first delay has no jitter, and jitter fades as delays are cut at the cap",
         "jpillora/backoff fab01a9d, backoff.go", false}}});
}

}  // namespace retrygate
