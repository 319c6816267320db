// Google: gRPC and the API clients.
#include "policies/replica.hpp"

namespace retrygate {
namespace {

RetryOn unavailable() { return on("UNAVAILABLE"); }

Parts grpc_retry(Recipe& p, Jitter jitter, CapKind kind) {
  const Duration init = p.duration("init", Duration::s(1));
  const double mult = p.number("mult", 2, 1e-3, 1e3);
  Parts parts = exponential(init, mult, jitter, p.duration("cap", Duration::s(10)), kind);
  parts.limits = attempts(5, unavailable());
  parts.guards.retry_after.rule = RetryAfterRule::exact;  // the server's pushback
  return parts;
}

// The first delay is exact, the others are spread around min(base * mult^(n-1), cap).
Duration go_connection(const Numbers& p, const Drawing& d) {
  if (d.n == 1) return p.base;
  const Duration c = capped_ceiling(p, d.n);
  return evenly(c - c.scaled(p.ratio), c + c.scaled(p.ratio), d.rng);
}

// 1 ns + U{0..cur-1}; only the delays after the first are capped.
Duration gax_go(const Numbers& p, const Drawing& d) {
  return evenly_closed(Duration::ns(1), d.n == 1 ? p.base : capped_ceiling(p, d.n), d.rng);
}

// Each interval is the one before times the multiplier, cut to whole ms; at cap / mult it jumps to the cap.
Duration http_java(const Numbers& p, const Drawing& d) {
  Duration current = p.base;
  for (std::int64_t n = 1; n < d.n && current < p.cap; ++n) {
    const Duration next =
        current.seconds() >= p.cap.seconds() / p.factor ? p.cap : cut(current.scaled(p.factor), ms);
    if (next == current) break;
    current = next;
  }
  const Duration delta = current.scaled(p.ratio);
  // (int) (lo + U[0, 1) * (hi - lo + 1)): the value one above the interval's floor may come up.
  return cut(evenly(current - delta, current + delta + ms, d.rng), ms);
}

// U[start, end); the range slides up by `scaling` and keeps a full width at the cap.
Duration cloud_cpp(const Numbers& p, const Drawing& d) {
  const Duration start = ceiling({GrowthKind::exponential, p.base, p.factor}, d.n);
  const Duration lo = start < p.cap ? start : std::max(p.cap.scaled(1 / p.factor), p.base);
  return evenly(lo, std::min(p.cap, start.scaled(p.factor)), d.rng);
}

constexpr std::string_view a6 =
    "grpc/proposal, A6-client-retries.md at 1fd061ad; grpc/grpc-go 4793ad04, stream.go";
constexpr std::string_view http_java_source =
    "googleapis/google-http-java-client cf8ec81f, ExponentialBackOff.java";

}  // namespace

void add_google(Shelf<Preset>& all) {
  Family shelf(all, "Google");
  shelf.add(
      {"grpc-a6-2024",
       "min(init * mult^(n-1), cap) * U[0.8, 1.2]: up to 20 % above the cap",
       a6,
       [](Reader& r) {
         Recipe p(r);
         p.parts = grpc_retry(p, plus_minus(0.2), CapKind::before_jitter);
         return p.compose();
       },
       {{"retry-after-parsed",
         "a pushback that is negative or no number ends the call; here what is malformed is absent", a6,
         false},
        {"no-futile-wait", "a retry that would start after the deadline is waited for; the replica stops",
         "grpc/grpc-go 4793ad04, stream.go", false},
        {"retry-after-zero", "a pushback of 0 is taken as it is: the retry is immediate", a6}}});
  shelf.add({"grpc-a6-old", "U(0, min(init * mult^(n-1), cap)): gRPC before August 2024, grpc-node still",
             "grpc/proposal, A6-client-retries.md before dc9fd4fe; grpc/grpc-node#2959", [](Reader& r) {
               Recipe p(r);
               p.parts = grpc_retry(p, full_jitter(), CapKind::hard);
               return p.compose();
             }});
  shelf.add({"grpc-go-connection",
             "base exactly at first, then min(base * mult^(n-1), cap) +- 20 %",
             "grpc/grpc-go 4793ad04, internal/backoff/backoff.go",
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("base", Duration::s(1))};
               numbers.factor = p.number("mult", 1.6, 1e-3, 1e3);
               numbers.ratio = p.number("jitter", 0.2, 0, 1);
               numbers.cap = p.duration("cap", Duration::s(120));
               return p.draw("grpc-go-connection", numbers, &go_connection,
                             exponential_promise(numbers.base, numbers.factor, plus_minus(numbers.ratio),
                                                 numbers.cap, CapKind::before_jitter));
             },
             {{"cap-respected", "the first delay is the base even where the cap is smaller",
               "grpc/grpc-go 4793ad04, internal/backoff/backoff.go", false},
              {"jitter-law", "the first delay has no jitter; the specification jitters every one",
               "grpc/grpc, doc/connection-backoff.md against grpc-go internal/backoff/backoff.go"},
              {"fleet-spreads", "clients that fail together come back together the first time",
               "grpc/grpc-go 4793ad04, internal/backoff/backoff.go"},
              {"instances-independent", "the first delay is the same for all",
               "grpc/grpc-go 4793ad04, internal/backoff/backoff.go"},
              {"processes-independent", "the first delay is the same for all",
               "grpc/grpc-go 4793ad04, internal/backoff/backoff.go"}}});
  shelf.add(
      {"grpc-core-java-connection", "min(base * mult^(n-1), cap) +- 20 %",
       "grpc/grpc 15bab7a3, src/core/util/backoff.cc; grpc/grpc-java 5fda0c7c, ExponentialBackoffPolicy.java",
       [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::s(1));
         const double mult = p.number("mult", 1.6, 1e-3, 1e3);
         p.parts = exponential(base, mult, plus_minus(p.number("jitter", 0.2, 0, 1)),
                               p.duration("cap", Duration::s(120)), CapKind::before_jitter);
         return p.compose();
       }});
  shelf.add({"gax-go",
             "1 ns + U{0..cur - 1} ns; the first delay is not capped",
             "googleapis/gax-go 5a1e0eb0, v2/call_option.go, Backoff.Pause",
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("init", Duration::s(1))};
               numbers.factor = p.number("mult", 2, 1e-3, 1e3);
               numbers.cap = p.duration("cap", Duration::s(30));
               return p.draw("gax-go", numbers, &gax_go,
                             exponential_promise(numbers.base, numbers.factor, full_jitter(), numbers.cap));
             },
             {{"cap-respected", "an initial delay above the maximum is not capped",
               "gax-go v2/call_option.go", false}}});
  shelf.add({"python-api-core", "U[0, min(init * mult^(n-1), cap)] within 120 s",
             "googleapis/python-api-core bfc66514, google/api_core/retry/retry_base.py", [](Reader& r) {
               Recipe p(r);
               const Duration init = p.duration("init", Duration::s(1));
               const double mult = p.number("mult", 2, 1e-3, 1e3);
               p.parts = exponential(init, mult, full_jitter(), p.duration("cap", Duration::s(60)));
               p.parts.limits = without_limit(on("500 429 503 connection"));
               p.parts.limits.elapsed = Duration::s(120);
               return p.compose();
             }});
  shelf.add({"google-http-java",
             "min(init * mult^(n-1), cap) +- 50 % in whole ms, within 15 min",
             http_java_source,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("init", Duration::ms(500))};
               numbers.factor = p.number("mult", 1.5, 1, 1e3);
               numbers.ratio = p.number("r", 0.5, 0, 0.999999);
               numbers.cap = p.duration("cap", Duration::s(60));
               p.parts.grid.tick = Duration::ms(1);
               p.parts.limits = without_limit(on("5xx"));
               p.parts.limits.elapsed = Duration::s(900);
               p.parts.limits.at_elapsed = AtElapsed::ignore;
               Contract promise = cap_promise(numbers.cap, CapKind::before_jitter);
               promise.jitter = plus_minus(numbers.ratio);
               return p.draw("google-http-java", numbers, &http_java, promise);
             },
             // Under 5 of 100 seeds no call comes near enough to the limit.
             {{"deadline-respected", "the elapsed time is tested before the wait: the last one may pass it",
               http_java_source, false}}});
  shelf.add({"google-cloud-cpp", "U[init * s^(n-1), init * s^n), at the cap U[cap / s, cap)",
             "googleapis/google-cloud-cpp 0004ea98, google/cloud/internal/backoff_policy.cc", [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("init", Duration::s(1))};
               numbers.factor = p.number("scaling", 2, 1.000001, 1e3);
               numbers.cap = p.duration("cap", Duration::s(30));
               return p.draw("google-cloud-cpp", numbers, &cloud_cpp, cap_promise(numbers.cap));
             }});
}

}  // namespace retrygate
