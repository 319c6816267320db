// AWS: the blog's simulator and what the SDKs ship.
#include <cmath>

#include "policies/replica.hpp"

namespace retrygate {
namespace {

RetryOn sdk_errors() { return on("429 500 502 503 504 connection"); }
// Every answer from 500 to 599: plugins/retries/error_inspector.rb.
RetryOn ruby_errors() { return on("429 5xx connection"); }

// floor(c/2) + U{0..floor(c/2)} for throttling answers, U{0..c-1} in whole ms for all others.
Duration java_legacy(const Numbers& p, const Drawing& d) {
  if (!throttled(d.attempt.outcome.status))
    return evenly({}, capped_ceiling({p.extra, p.cap}, d.n), d.rng, ms);
  const Duration half = cut(cut(capped_ceiling(p, d.n), ms) / 2, ms);
  return half + evenly_closed({}, half, d.rng, ms);
}

// U[0,1) * 2^(n-1) s up to the n that still fits under the maximum, then the maximum itself.
Duration go_standard(const Numbers& p, const Drawing& d) {
  const double fits = std::floor(std::log2(p.cap.seconds()));
  if (static_cast<double>(d.n - 1) > fits) return p.cap;
  return evenly({}, ceiling({GrowthKind::exponential, Duration::s(1), 2}, d.n), d.rng);
}

// The first one full jitter; then between scale and 3 * the delay before, whichever is larger. A draw from
// an empty range is 0, and 0 means that there was none before.
Duration c_io_decorrelated(const Numbers& p, const Drawing& d) {
  if (d.previous == Duration{}) return evenly({}, capped_ceiling(p, d.n), d.rng);
  const Duration other = std::min(p.cap, d.previous * 3);
  if (other == p.base) return {};
  return evenly(std::min(p.base, other), std::max(p.base, other), d.rng);
}

constexpr std::string_view blog = "aws-samples/aws-arch-backoff-simulator 66cb1692, src/backoff_simulator.py";
constexpr std::string_view go_source = "aws/aws-sdk-go-v2 bf6f5a8a, aws/retry/jitter_backoff.go";
constexpr std::string_view ruby =
    "aws/aws-sdk-ruby bac3491f, gems/aws-sdk-core/lib/aws-sdk-core/plugins/retry_errors.rb";
constexpr std::string_view java =
    "aws/aws-sdk-java-v2 25787b38 and f4286fce, core/retries DefaultRetryStrategy, "
    "ExponentialDelayWithJitter";
constexpr std::string_view c_io = "awslabs/aws-c-io v0.27.7, source/exponential_backoff_retry_strategy.c";

}  // namespace

void add_aws(Shelf<Preset>& all) {
  Family shelf(all, "AWS");
  shelf.add({"aws-blog-full", "U[0, min(cap, base * 2^n)]: the simulator counts n from 1, so 2 base at first",
             blog, [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(5));
               p.parts = exponential(base * 2, 2, full_jitter(), p.duration("cap", Duration::s(2)));
               return p.compose();
             }});
  shelf.add({"aws-blog-equal", "v = min(cap, base * 2^n); v/2 + U[0, v/2]", blog, [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(5));
               p.parts = exponential(base * 2, 2, equal_jitter(), p.duration("cap", Duration::s(2)));
               return p.compose();
             }});
  shelf.add({"aws-blog-decorrelated", "min(cap, U[base, 3 * delay before])", blog, [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(5));
               p.parts = exponential(base, 2, {JitterKind::decorrelated, 0, {}},
                                     p.duration("cap", Duration::s(2)), CapKind::clamp);
               return p.compose();
             }});
  shelf.add({"botocore-legacy",
             "U[0, 1) * 2^(n-1) s without a cap, 5 attempts",
             "boto/botocore 0e6e2404, botocore/retryhandler.py, botocore/data/_retry.json",
             [](Reader& r) {
               Recipe p(r);
               p.parts = exponential(Duration::s(1), p.number("growth", 2, 1e-3, 1e3), full_jitter());
               p.parts.limits = attempts(5, on("429 500 502 503 504 509 connection"));
               return p.compose();
             },
             {{"survives", "from retry 1025 on 2^(n-1) raises OverflowError; the replica saturates",
               "boto/botocore 0e6e2404, botocore/retryhandler.py (executed)", false}}});
  shelf.add({"botocore-standard", "U[0, 1) * min(2^(n-1), 20) s, 3 attempts, quota of 500 tokens",
             "boto/botocore 0e6e2404, botocore/retries/standard.py, quota.py", [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::s(1));
               p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::s(20)));
               p.parts.limits = attempts(3, on("500 502 503 504 429 connection"));
               p.parts.guards.budget = aws_quota();
               return p.compose();
             }});
  shelf.add({"botocore-adaptive", "botocore-standard behind a send rate that follows CUBIC",
             "boto/botocore 0e6e2404, botocore/retries/adaptive.py, throttling.py, bucket.py", [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::s(1));
               p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::s(20)));
               p.parts.limits = attempts(3, on("500 502 503 504 429 connection"));
               Budget b = aws_quota();
               b.kind = BudgetKind::aws_adaptive;
               b.beta = p.number("beta", 0.7, 1e-3, 1);
               b.cubic_scale = p.number("scale", 0.4, 1e-3);
               b.rate_per_s_min = p.number("min_rate", 0.5, 1e-3);
               b.smoothing = p.number("smoothing", 0.8, 1e-3, 1);
               b.window = p.duration("bucket_interval", Duration::ms(500));
               p.parts.guards.budget = b;
               return p.compose();
             }});
  shelf.add(
      {"aws-java-v2-standard",
       "U{0..min(base * 2^(n-1), cap) - 1} ms, 3 attempts, quota",
       java,
       [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::ms(100));
         p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::s(20)));
         p.parts.grid = {Duration::ms(1), true};
         p.parts.limits = attempts(3, sdk_errors());
         p.parts.guards.budget = aws_quota(500, 5, 5);
         p.parts.guards.retry_after.rule = RetryAfterRule::floor;
         return p.compose();
       },
       {{"degenerate-settings", "a ceiling of 0 ms asks for nextInt(0), which throws; here the delay is 0",
         "aws/aws-sdk-java-v2#4724", false}}});
  shelf.add({"aws-java-v2-legacy",
             "half jitter from 500 ms when throttled, full jitter from 100 ms otherwise", java,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("base", Duration::ms(500)), p.duration("cap", Duration::s(20)),
                               Duration::ms(100)};
               p.parts.grid.tick = Duration::ms(1);
               p.parts.limits = attempts(4, sdk_errors());
               p.parts.guards.budget = aws_quota(500, 5, 5);
               p.parts.guards.retry_after.rule = RetryAfterRule::floor;
               // A throttled retry is free; the composed quota charges every retry, so it is not promised.
               p.documented = [](Contract& c) { c.budget.reset(); };
               return p.draw("aws-java-v2-legacy", numbers, &java_legacy, cap_promise(numbers.cap));
             }});
  shelf.add({"smithy-rs-standard", "U[0, 1) * min(init * 2^(n-1), cap), 3 attempts, quota",
             "smithy-lang/smithy-rs 56ee88c5, aws-smithy-runtime/src/client/retries/strategy/standard.rs",
             [](Reader& r) {
               Recipe p(r);
               const Duration init = p.duration("init", Duration::s(1));
               const Duration cap = p.duration("cap", Duration::s(20));
               p.parts = exponential(init, 2, full_jitter(), cap);
               p.parts.limits = attempts(3, sdk_errors());
               p.parts.guards.budget = aws_quota();
               p.parts.guards.retry_after = {RetryAfterRule::exact, cap, AboveLimit::clip};
               return p.compose();
             }});
  shelf.add(
      {"aws-go-v2-standard",
       "U[0, 1) * 2^(n-1) s while that is below the cap, then exactly the cap",
       go_source,
       [](Reader& r) {
         Recipe p(r);
         Numbers numbers{Duration::s(1), p.duration("cap", Duration::s(20))};
         p.parts.limits = attempts(3, sdk_errors());
         p.parts.guards.budget = aws_quota();
         return p.draw("aws-go-v2-standard", numbers, &go_standard,
                       exponential_promise(numbers.base, 2, full_jitter(), numbers.cap));
       },
       {{"jitter-alive-at-cap", "from retry 6 on every client waits exactly the cap",
         "aws/aws-sdk-go-v2#3091", false},
        {"jitter-law", "with a cap below 1 s the jitter is never used", "aws/aws-sdk-go-v2#2227", false}}});
  shelf.add({"aws-ruby-standard", "min(U[0, 1) * 2^(n-1) s, 20 s): an atom at the cap", ruby, [](Reader& r) {
               Recipe p(r);
               p.parts = exponential(Duration::s(1), 2, full_jitter(), p.duration("cap", Duration::s(20)),
                                     CapKind::clamp);
               p.parts.limits = attempts(3, ruby_errors());
               p.parts.guards.budget = aws_quota();
               return p.compose();
             }});
  shelf.add({"aws-ruby-legacy", "0.3 * 2^(n-1) s, neither jitter nor cap, 3 retries", ruby, [](Reader& r) {
               Recipe p(r);
               p.parts = exponential(p.duration("base", Duration::ms(300)), 2, no_jitter());
               p.parts.limits = retries(3, ruby_errors());
               return p.compose();
             }});
  shelf.add({"aws-c-io-full", "U[0, min(scale * 2^(n-1), cap)), 5 retries", c_io, [](Reader& r) {
               Recipe p(r);
               const Duration scale = p.duration("scale", Duration::ms(500));
               p.parts = exponential(scale, 2, full_jitter(), p.duration("cap", Duration::s(20)));
               p.parts.grid.half_open = true;
               p.parts.limits = retries(5);
               return p.compose();
             }});
  shelf.add({"aws-c-io-decorrelated",
             "full jitter first, then between scale and 3 * the delay before",
             c_io,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("scale", Duration::ms(500)), p.duration("cap", Duration::s(20))};
               p.parts.limits = retries(5);
               return p.draw(
                   "aws-c-io-decorrelated", numbers, &c_io_decorrelated,
                   exponential_promise(numbers.base, 2, {JitterKind::decorrelated, 0, {}}, numbers.cap));
             },
             {{"delay-in-bounds",
               "the first delay is drawn from 0, so it and the next may lie below the scale", c_io},
              {"jitter-law", "the first delay is U[0, scale) instead of U[scale, 3 * scale]", c_io},
              {"fleet-spreads", "the first delay spreads over [0, scale), a third of the promised interval",
               c_io}}});
}

}  // namespace retrygate
