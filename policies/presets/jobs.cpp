// Job queues and workflows, and Erlang's backoff.
#include <cmath>

#include "policies/replica.hpp"

namespace retrygate {
namespace {

constexpr Duration second = Duration::s(1);

// Without an answer min(init * coef^(n-1), cap); one of 0 means the cap.
Duration temporal_activity(const Numbers& p, const Drawing& d) {
  const auto asked = d.attempt.outcome.retry_after;
  if (!asked) return capped_ceiling(p, d.n);
  return *asked == Duration{} ? p.cap : std::min(*asked, p.cap);
}

// c = min(init * 2^(n-1), cap, what is left of the expiration); c - U[0, 0.2 c).
Duration temporal_internal(const Numbers& p, const Drawing& d) {
  const Duration left = p.extra - (d.attempt.finished - d.attempt.call_started);
  const Duration c = std::max(Duration{}, std::min(capped_ceiling(p, d.n), left));
  return evenly(c.scaled(0.8), c, d.rng);
}

// k^4 + 15 + {0..10 (k + 1) - 1} seconds, k = n - 1.
Duration sidekiq(const Numbers&, const Drawing& d) {
  const auto k = static_cast<double>(d.n - 1);
  const Duration c = second.scaled(k * k * k * k + 15);
  return c + evenly({}, second * 10 * d.n, d.rng, second);
}

// {N..3N} of the delay N before, at the cap {cap / 3..cap}.
Duration ferd(const Numbers& p, const Drawing& d) {
  const Duration before = d.previous == Duration{} ? p.base : d.previous;
  if (before * 3 < p.cap) return evenly_closed(before, before * 3, d.rng, ms);
  return evenly_closed(cut(p.cap / 3, ms), p.cap, d.rng, ms);
}

// t = mult * 2^min(n, 10); one draw r gives the size, trunc(j r t), and the sign, + from 0.5 on.
Duration oban(const Numbers& p, const Drawing& d) {
  const Duration t = ceiling({GrowthKind::exponential, p.base, 2}, std::min<std::int64_t>(d.n, 10) + 1);
  const double r = d.rng.unit();
  const Duration deviation = cut(t.scaled(p.ratio * r), second);
  return cut(r >= 0.5 ? t + deviation : t - deviation, second);
}

// floor(U x j + x (1 - j)), x = round(2^(n-1) * delay).
Duration bullmq(const Numbers& p, const Drawing& d) {
  const Duration x = cut(ceiling({GrowthKind::exponential, p.base, 2}, d.n), ms);
  return cut(evenly(x.scaled(1 - p.ratio), x, d.rng), ms);
}

constexpr std::string_view temporal_source = "temporalio/temporal 6805caea, common/backoff/retry.go";
constexpr std::string_view oban_source = "oban-bg/oban v2.23.0 (2939e313), lib/oban/backoff.ex";

}  // namespace

void add_jobs(Shelf<Preset>& all) {
  Family shelf(all, "Job queues");
  shelf.add({"temporal-activity",
             "min(init * coef^(n-1), cap), no jitter",
             temporal_source,
             [](Reader& r) {
               Recipe p(r);
               const Duration init = p.duration("init", Duration::s(1));
               const double coef = p.number("coef", 2, 1e-3, 1e3);
               const Duration cap = p.duration("cap", Duration::s(100));
               Numbers numbers{init, cap};
               numbers.factor = coef;
               Contract promise = exponential_promise(init, coef, no_jitter(), cap);
               promise.retry_after = RetryAfterRule::exact;
               promise.retry_after_max = cap;
               promise.retry_after_over = RetryAfterOver::clip;
               return p.draw("temporal-activity", numbers, &temporal_activity, promise);
             },
             {{"retry-after-parsed", "a nextRetryDelay of 0 means the maximum interval", temporal_source}}});
  shelf.add({"temporal-internal", "0.8 c + U[0, 0.2 c), c = min(init * 2^(n-1), cap, what is left of 1 min)",
             "temporalio/temporal 6805caea, common/backoff/retrypolicy.go", [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("init", Duration::ms(50)), p.duration("cap", Duration::s(10))};
               numbers.extra = p.duration("expiration", Duration::s(60));
               // No wait when less is left than the initial interval; a wait never passes the expiration.
               p.parts.limits.elapsed = numbers.extra - numbers.base;
               p.parts.limits.at_elapsed = AtElapsed::ignore;
               p.documented = [&](Contract& c) { c.elapsed = numbers.extra; };
               return p.draw("temporal-internal", numbers, &temporal_internal, cap_promise(numbers.cap));
             }});
  shelf.add({"sidekiq", "k^4 + 15 + {0..10 (k + 1) - 1} s, k = n - 1, 25 retries",
             "sidekiq/sidekiq v8.1.7 (1bb4aa06), lib/sidekiq/job_retry.rb", [](Reader& r) {
               Recipe p(r);
               p.parts.grid.tick = second;
               p.parts.limits = retries(25);
               return p.draw("sidekiq", {}, &sidekiq);
             }});
  shelf.add({"celery-retry-backoff", "{0..min(cap, factor * 2^(n-1))} whole seconds, 3 retries",
             "celery/celery 5dc781f0, celery/utils/time.py, celery/app/autoretry.py", [](Reader& r) {
               Recipe p(r);
               const double factor = p.number("factor", 1, 0, 1e9);
               p.parts = exponential(second * static_cast<std::int64_t>(factor), 2, full_jitter(),
                                     p.duration("cap", Duration::s(600)));
               p.parts.grid.tick = second;
               p.parts.limits = retries(3);
               return p.compose();
             }});
  shelf.add({"oban",
             "mult * 2^min(n, 10) s, less or more trunc(0.1 r t), 20 attempts",
             oban_source,
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers;
               numbers.base = second.scaled(p.number("mult", 1, 0, 1e9));
               numbers.ratio = p.number("j", 0.1, 0, 1);
               p.parts.grid.tick = second;
               p.parts.limits = attempts(20);
               return p.draw("oban", numbers, &oban);
             },
             {{"jitter-law", "not +-10 %: one draw gives size and sign, so [0.95 t, t] and [1.05 t, 1.1 t]",
               oban_source, false}}});
  shelf.add({"bullmq", "floor(U x j + x (1 - j)), x = delay * 2^(n-1); 1 attempt unless told otherwise",
             "taskforcesh/bullmq v6.2.0 (352d3c72), src/classes/backoffs.ts", [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("delay", Duration::s(1))};
               numbers.ratio = p.number("j", 0.5, 0, 1);
               p.parts.grid.tick = ms;
               p.parts.limits = attempts(1);
               return p.draw("bullmq", numbers, &bullmq);
             }});
  shelf.add({"ferd-backoff-jitter", "{N..3N} of the delay N before, at the cap {cap / 3..cap}",
             "ferd/backoff 1.1.6 (4b8c02d0), src/backoff.erl", [](Reader& r) {
               Recipe p(r);
               const Numbers numbers{p.duration("start", Duration::s(1)), p.duration("cap", Duration::s(60))};
               p.parts.grid.tick = ms;
               return p.draw("ferd-backoff-jitter", numbers, &ferd, cap_promise(numbers.cap));
             }});
}

}  // namespace retrygate
