// Rust crates.
#include "policies/replica.hpp"

namespace retrygate {
namespace {

// c + U[0, 1) * c, c = min(base * factor^(n-1), cap).
Duration backon_exponential(const Numbers& p, const Drawing& d) {
  const Duration c = capped_ceiling(p, d.n);
  return evenly(c, c * 2, d.rng);
}

// 1 1 2 3 5 ... times base up to the first value that reaches the cap, which goes on uncut; + U[0, base).
Duration backon_fibonacci(const Numbers& p, const Drawing& d) {
  if (p.base == Duration{}) return {};
  std::int64_t n = 1;
  // From n = 93 on, fibonacci(n) is the largest integer.
  while (n < std::min<std::int64_t>(d.n, 93) && p.base * fibonacci(n) < p.cap) ++n;
  const Duration c = p.base * fibonacci(n);
  return evenly(c, c + p.base, d.rng);
}

// U[base / 2, min(base * 2^(n-1), cap)).
Duration bounded(const Numbers& p, const Drawing& d) {
  return std::min(p.cap, evenly(p.base / 2, capped_ceiling(p, d.n), d.rng));
}

AnyPolicy retry_policies(Reader& r, Limits limits, Duration base) {
  Recipe p(r);
  const Duration from = p.duration("base", base);
  p.parts = exponential(from, 2, full_jitter(), p.duration("cap", Duration::s(1800)));
  p.parts.grid.half_open = true;
  p.parts.limits = std::move(limits);
  return p.compose();
}

RetryOn reqwest_errors() { return on("5xx 408 429 connection"); }

constexpr std::string_view backon = "Xuanwo/backon v1.5.2 (db212c04), backon/src/backoff";
constexpr std::string_view policies =
    "TrueLayer/retry-policies v0.5.1 (a2592b85), src/policies/exponential_backoff.rs";

}  // namespace

void add_rust(Shelf<Preset>& all) {
  Family shelf(all, "Rust");
  shelf.add({"backon-exponential",
             "c + U[0, 1) * c, c = min(base * factor^(n-1), cap): up to twice the cap",
             "Xuanwo/backon v1.5.2 (db212c04), backon/src/backoff/exponential.rs",
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("base", Duration::s(1))};
               numbers.factor = p.number("factor", 2, 1, 1e3);
               numbers.cap = p.duration("cap", Duration::s(60));
               p.parts.limits = retries(3);
               return p.draw("backon-exponential", numbers, &backon_exponential, cap_promise(numbers.cap));
             },
             {{"cap-respected", "jitter is added to the capped delay", backon, false}}});
  shelf.add(
      {"backon-fibonacci",
       "base * F(n) up to the first that reaches the cap, + U[0, base)",
       "Xuanwo/backon v1.5.2 (db212c04), backon/src/backoff/fibonacci.rs",
       [](Reader& r) {
         Recipe p(r);
         const Numbers numbers{p.duration("base", Duration::s(1)), p.duration("cap", Duration::s(60))};
         p.parts.limits = retries(3);
         return p.draw("backon-fibonacci", numbers, &backon_fibonacci, cap_promise(numbers.cap));
       },
       {{"cap-respected", "the first value at or above the cap is not cut: 34, 55, 89, 89 with a cap of 60",
         backon, false}}});
  shelf.add({"tokio-retry", "U[0, 1) * factor * base^n ms, no cap",
             "srijs/rust-tokio-retry 88eab611, src/strategy/exponential_backoff.rs, jitter.rs",
             [](Reader& r) {
               Recipe p(r);
               const double base = p.number("base", 10, 1, 1e9);
               const double factor = p.number("factor", 1, 1, 1e9);
               p.parts = exponential(Duration::ms(1).scaled(base * factor), base, full_jitter(),
                                     p.duration("max_delay", Duration::max()));
               return p.compose();
             }});
  shelf.add({"ihrwein-backoff",
             "min(init * mult^(n-1), cap) +- 50 %, within 15 min",
             "ihrwein/backoff v0.4.0 (587e2da8), src/exponential.rs",
             [](Reader& r) {
               Recipe p(r);
               const Duration init = p.duration("init", Duration::ms(500));
               const double mult = p.number("mult", 1.5, 1e-3, 1e3);
               const double spread = p.number("r", 0.5, 0, 1);
               p.parts = exponential(init, mult, plus_minus(spread), p.duration("cap", Duration::s(60)),
                                     CapKind::before_jitter);
               p.parts.limits.elapsed = p.duration("max_elapsed_time", Duration::s(900));
               p.parts.guards.retry_after.rule = RetryAfterRule::exact;
               return p.compose();
             },
             {{"retry-after-zero", "Retry-After: 0 is taken as it is: the retry is immediate",
               "ihrwein/backoff v0.4.0 (587e2da8), src/retry.rs"}}});
  shelf.add({"retry-policies-full",
             "U[0, 1) * min(base * 2^(n-1), cap)",
             policies,
             [](Reader& r) { return retry_policies(r, without_limit(), Duration::s(1)); },
             {{"deadline-respected", "the timed variant tests before it adds the delay: the last may pass it",
               policies, false}}});
  shelf.add(
      {"retry-policies-bounded",
       "U[base / 2, min(base * 2^(n-1), cap))",
       policies,
       [](Reader& r) {
         Recipe p(r);
         const Numbers numbers{p.duration("base", Duration::s(1)), p.duration("cap", Duration::s(1800))};
         return p.draw("retry-policies-bounded", numbers, &bounded, cap_promise(numbers.cap));
       },
       {{"deadline-respected", "the timed variant tests before it adds the delay: the last may pass it",
         policies, false}}});
  shelf.add({"reqwest-retry",
             "retry-policies-full on 5xx, 408, 429 and lost connections, of any method",
             "TrueLayer/reqwest-middleware 614b9474, reqwest-retry/src/middleware.rs, retryable_strategy.rs",
             [](Reader& r) { return retry_policies(r, retries(3, reqwest_errors()), Duration::s(1)); },
             {{"no-unsafe-repeat", "a POST whose outcome is unknown is sent again",
               "TrueLayer/reqwest-middleware 614b9474, reqwest-retry/src/retryable_strategy.rs", false},
              {"retry-after-not-early", "Retry-After is ignored",
               "TrueLayer/reqwest-middleware 614b9474, reqwest-retry/src/middleware.rs", false}}});
}

}  // namespace retrygate
