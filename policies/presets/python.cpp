// Python libraries and API clients.
#include "policies/replica.hpp"

namespace retrygate {
namespace {

// No delay before the first retry, then min(cap, factor * 2^(n-1) + U[0, j)).
Duration urllib3(const Numbers& p, const Drawing& d) {
  if (d.n == 1) return {};
  const Duration c = ceiling({GrowthKind::exponential, p.base, 2}, d.n);
  return std::min(p.cap, evenly(c, c + p.extra, d.rng));
}

// min(cap, U[base, max(base, 3 * delay before)]), the delay before 0 at first: the first one is the base.
Duration redis_decorrelated(const Numbers& p, const Drawing& d) {
  return std::min(p.cap, evenly_closed(p.base, std::max(p.base, d.previous * 3), d.rng));
}

// c * (1 - ratio * U[0, 1)).
Duration subtractive(const Numbers& p, const Drawing& d) {
  const Duration c = capped_ceiling(p, d.n);
  return c - evenly({}, c.scaled(p.ratio), d.rng);
}

// max(init, c * U[0.5, 1]), c = min(init * 2^(n-1), cap): the floor is the first ceiling.
Duration stripe(const Numbers& p, const Drawing& d) {
  const Duration c = capped_ceiling(p, d.n);
  return std::max(p.base, evenly_closed(c - c / 2, c, d.rng));
}

RetryOn api_errors() { return on("408 409 429 5xx connection"); }
RetryOn redis_errors() { return on("connection"); }

Numbers api_client(Recipe& p) {
  Numbers numbers{p.duration("init", Duration::ms(500)), p.duration("cap", Duration::s(8))};
  numbers.ratio = 0.25;
  return numbers;
}

Parts redis(Recipe& p, Jitter jitter, CapKind kind) {
  const Duration base = p.duration("base", Duration::ms(8));
  Parts parts = exponential(base * 2, 2, jitter, p.duration("cap", Duration::ms(512)), kind);
  parts.limits = without_limit(redis_errors());
  return parts;
}

Limits tenacity() { return without_limit(); }

constexpr std::string_view wait = "jd/tenacity c650fb45, tenacity/wait.py";
constexpr std::string_view redis_source = "redis/redis-py 34817ce2, redis/backoff.py";
constexpr std::string_view redis_overflow = "redis/redis-py 34817ce2, redis/backoff.py (executed)";
constexpr std::string_view urllib3_source = "urllib3/urllib3 6a8536b6, src/urllib3/util/retry.py";
constexpr std::string_view stripe_source =
    "stripe/stripe-python 6c6e3736, stripe/_http_client.py; stripe/stripe-ruby 51a18099, "
    "lib/stripe/api_requestor.rb";
constexpr std::string_view anthropic =
    "anthropics/anthropic-sdk-python 009b0353, src/anthropic/_base_client.py";
constexpr std::string_view azure_python =
    "Azure/azure-sdk-for-python b12d98b6, azure/core/pipeline/policies/_retry.py";

}  // namespace

void add_python(Shelf<Preset>& all) {
  Family shelf(all, "Python");
  shelf.add({"tenacity-wait-exponential", "min(mult * 2^(n-1), max), no jitter", wait, [](Reader& r) {
               Recipe p(r);
               const Duration mult = p.duration("mult", Duration::s(1));
               p.parts = exponential(mult, 2, no_jitter(), p.duration("cap", Duration::s(60)));
               p.parts.limits = tenacity();
               return p.compose();
             }});
  shelf.add({"tenacity-wait-random-exponential", "U[0, min(mult * 2^(n-1), max)]", wait, [](Reader& r) {
               Recipe p(r);
               const Duration mult = p.duration("mult", Duration::s(1));
               p.parts = exponential(mult, 2, full_jitter(), p.duration("cap", Duration::s(60)));
               p.parts.limits = tenacity();
               return p.compose();
             }});
  shelf.add({"tenacity-wait-exponential-jitter",
             "min(mult * 2^(n-1) + U[0, j], max): at the max no jitter is left",
             wait,
             [](Reader& r) {
               Recipe p(r);
               const Duration mult = p.duration("mult", Duration::s(1));
               const Duration j = p.duration("j", Duration::s(1));
               p.parts = exponential(mult, 2, up_to(j), p.duration("cap", Duration::s(60)), CapKind::clamp);
               p.parts.limits = tenacity();
               return p.compose();
             },
             {{"jitter-alive-at-cap", "from retry 7 on every client waits the maximum", "jd/tenacity#703",
               false}}});
  shelf.add({"litl-backoff-expo",
             "U[0, min(factor * base^(n-1), max_value)]",
             "litl/backoff d82b23c4, backoff/_wait_gen.py, _jitter.py, _common.py",
             [](Reader& r) {
               Recipe p(r);
               const Duration factor = p.duration("factor", Duration::s(1));
               const double base = p.number("base", 2, 1e-3, 1e3);
               p.parts = exponential(factor, base, full_jitter(), p.duration("cap", Duration::s(60)));
               p.parts.limits.at_elapsed = AtElapsed::clip;
               p.parts.limits.elapsed = p.duration("max_time", Duration::max());
               return p.compose();
             },
             {{"deadline-respected", "the time is read before the call: how long it takes comes on top",
               "litl/backoff#186", false}}});
  shelf.add(
      {"urllib3-retry",
       "0 at first, then min(cap, bf * 2^(n-1) + U[0, j)), 10 retries, only of safe methods",
       urllib3_source,
       [](Reader& r) {
         Recipe p(r);
         Numbers numbers{p.duration("bf", Duration::s(1))};
         numbers.extra = p.duration("j", {});
         numbers.cap = p.duration("cap", Duration::s(120));
         p.parts.limits = retries(10, on("413 429 503 connection"));
         p.parts.limits.idempotent_only = true;
         p.parts.guards.retry_after = {RetryAfterRule::exact, Duration::s(6 * 3600), AboveLimit::clip,
                                       on("413 429 503")};
         return p.draw("urllib3-retry", numbers, &urllib3, cap_promise(numbers.cap));
       },
       {{"survives", "a float factor raises OverflowError from retry 1025 on", urllib3_source, false},
        {"all-retryable",
         "413, 429 and 503 are repeated only with a Retry-After, where status_forcelist does not name them; "
         "here with and without",
         urllib3_source, false},
        {"retry-after-parsed", "a value such as \"1.5\" or \"-1\" raises InvalidHeader; here it is absent",
         urllib3_source, false}}});
  shelf.add(
      {"azure-core-python",
       "0 at first, then min(cap, bf * 2^(n-1)), 10 retries",
       azure_python,
       [](Reader& r) {
         Recipe p(r);
         Numbers numbers{p.duration("bf", Duration::ms(800)), p.duration("cap", Duration::s(120))};
         RetryOn statuses = on("408 429 500 502 503 504 connection");
         for (int code = 506; code <= 599; ++code) statuses.statuses.push_back(Status::http(code));
         p.parts.limits = retries(10, statuses);
         p.parts.limits.idempotent_only = true;
         p.parts.guards.retry_after.rule = RetryAfterRule::exact;
         return p.draw("azure-core-python", numbers, &urllib3, cap_promise(numbers.cap));
       },
       {{"retry-after-parsed", "a malformed header raises TypeError; here it is absent", azure_python, false},
        {"degenerate-settings", "retry_backoff_max of the constructor is ignored",
         "Azure/azure-sdk-for-python#42444", false}}});
  shelf.add({"redis-py-full",
             "U[0, min(cap, base * 2^n))",
             redis_source,
             [](Reader& r) {
               Recipe p(r);
               p.parts = redis(p, full_jitter(), CapKind::hard);
               return p.compose();
             },
             {{"survives", "base * 2^n raises OverflowError from failure 1031 on with retries = -1",
               redis_overflow, false}}});
  shelf.add({"redis-py-exp-jitter",
             "min(cap, U[0, 1) * base * 2^n): an atom at the cap",
             redis_source,
             [](Reader& r) {
               Recipe p(r);
               p.parts = redis(p, full_jitter(), CapKind::clamp);
               return p.compose();
             },
             {{"survives", "base * 2^n raises OverflowError from failure 1031 on with retries = -1",
               redis_overflow, false}}});
  shelf.add(
      {"redis-py-decorrelated",
       "min(cap, U[base, max(base, 3 * delay before)]): the base at first",
       redis_source,
       [](Reader& r) {
         Recipe p(r);
         const Numbers numbers{p.duration("base", Duration::ms(8)), p.duration("cap", Duration::ms(512))};
         p.parts.limits = without_limit(redis_errors());
         return p.draw("redis-py-decorrelated", numbers, &redis_decorrelated, cap_promise(numbers.cap));
       },
       {{"calls-isolated",
         "the delay before is kept in the policy object, which connections share; here in the call",
         redis_source, false}}});
  shelf.add({"openai-python",
             "min(init * 2^(n-1), cap) * (1 - 0.25 U[0, 1)), 2 retries",
             "openai/openai-python e43b4224, src/openai/_base_client.py",
             [](Reader& r) {
               Recipe p(r);
               const Numbers numbers = api_client(p);
               p.parts.limits = retries(2, api_errors());
               p.parts.guards.retry_after = {RetryAfterRule::exact_or_stop, Duration::s(120)};
               p.parts.guards.retry_after.skip_zero = true;
               return p.draw("openai-python", numbers, &subtractive, cap_promise(numbers.cap));
             },
             {{"retry-after-parsed", "a wait of 0, such as a date just gone, is taken for no header",
               "openai/openai-python e43b4224, src/openai/_base_client.py"}}});
  shelf.add(
      {"anthropic-python",
       "as openai-python; a Retry-After above 60 s is ignored",
       "anthropics/anthropic-sdk-python 009b0353, src/anthropic/_base_client.py",
       [](Reader& r) {
         Recipe p(r);
         const Numbers numbers = api_client(p);
         p.parts.limits = retries(2, api_errors());
         p.parts.guards.retry_after = {RetryAfterRule::exact, Duration::s(60), AboveLimit::own};
         p.parts.guards.retry_after.skip_zero = true;
         return p.draw("anthropic-python", numbers, &subtractive, cap_promise(numbers.cap));
       },
       {{"retry-after-not-early", "above 60 s the header is ignored: retried after at most 8 s", anthropic},
        {"retry-after-parsed", "above 60 s the header is ignored: retried after at most 8 s", anthropic}}});
  shelf.add(
      {"stripe", "max(init, min(init * 2^(n-1), cap) * U[0.5, 1]), 2 retries", stripe_source, [](Reader& r) {
         Recipe p(r);
         const Numbers numbers{p.duration("init", Duration::ms(500)), p.duration("cap", Duration::s(5))};
         p.parts.limits = retries(2, on("409 5xx connection"));
         return p.draw("stripe", numbers, &stripe, cap_promise(numbers.cap));
       }});
}

}  // namespace retrygate
