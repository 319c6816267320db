// Kubernetes: apimachinery, client-go, the kubelet.
#include "policies/replica.hpp"

namespace retrygate {
namespace {

// cur + U[0, jitter) * cur around the capped interval.
Duration wait_backoff(const Numbers& p, const Drawing& d) {
  const Duration c = capped_ceiling(p, d.n);
  return evenly(c, c + c.scaled(p.ratio), d.rng);
}

// The jitter is part of what is doubled next; the first value is not capped.
Duration flowcontrol(const Numbers& p, const Drawing& d) {
  if (d.previous == Duration{}) return evenly(p.base, p.base + p.base.scaled(p.ratio), d.rng);
  const Duration twice = d.previous * 2;
  return std::min(p.cap, evenly(twice, twice + d.previous.scaled(p.ratio), d.rng));
}

// The rate limiter of a controller's queue: the longer of an exponential delay and of the wait for a token of
// a bucket that all items share (10 per second, burst 100). Tokens may be owed: a reservation is never
// refused.
struct Workqueue {
  Duration base, cap;
  Limits limits;
  static constexpr double per_s = 10, burst = 100;

  struct Client {
    double owed = 0;  // tokens below the burst
    Instant counted;
  };
  using Call = Stateless;

  Decision after(Client& client, Call&, const Attempt& attempt, Rng&) const {
    if (const auto stop = last(limits, attempt)) return Decision::stop(*stop);
    client.owed = std::max(0.0, client.owed - per_s * (attempt.finished - client.counted).seconds()) + 1;
    client.counted = attempt.finished;
    const Duration reserved = Duration::seconds(std::max(0.0, (client.owed - burst) / per_s));
    return within_time(limits, attempt, std::max(reserved, capped_ceiling({base, cap}, attempt.number)));
  }
  Contract contract() const {
    Contract c;
    promise_limits(limits, {}, c);
    c.jitter = no_jitter();
    return c;
  }
  bool operator==(const Workqueue&) const = default;
  friend std::string to_string(const Workqueue& p) {
    return "k8s-workqueue base " + to_string(p.base) + " cap " + to_string(p.cap);
  }
};

// Only answers with a Retry-After are tried again, after exactly that; a reset connection counts as one of
// 1 s where a repeat is safe.
struct RestClient {
  Limits limits;
  using Client = Stateless;
  using Call = Stateless;

  Decision after(Client&, Call&, const Attempt& attempt, Rng&) const {
    if (const auto stop = last(limits, attempt)) return Decision::stop(*stop);
    const bool reset = attempt.outcome.status == Status::transport(TransportError::connection_reset);
    const auto wait =
        reset && attempt.idempotent ? std::optional(Duration::s(1)) : attempt.outcome.retry_after;
    if (!wait) return Decision::stop(Stop::not_retryable);
    return within_time(limits, attempt, *wait);
  }
  Contract contract() const {
    Contract c;
    promise_limits(limits, {}, c);
    // Without the header none is tried again, and a call may end before its last attempt.
    c.retry_on.reset();
    c.max_attempts.reset();
    c.retry_after = RetryAfterRule::exact;
    return c;
  }
  bool operator==(const RestClient&) const = default;
  friend std::string to_string(const RestClient&) { return "client-go-rest: only with Retry-After"; }
};

}  // namespace

void add_kubernetes(Shelf<Preset>& all) {
  Family shelf(all, "Kubernetes");
  shelf.add({"k8s-wait-backoff",
             "c + U[0, jitter) * c, c = min(init * factor^(n-1), cap)",
             "kubernetes/apimachinery eed236ce, pkg/util/wait/backoff.go, Backoff.Step",
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("init", Duration::ms(10))};
               numbers.factor = p.number("factor", 5, 1e-3, 1e3);
               numbers.ratio = p.number("jitter", 0.1, 0, 1e3);
               numbers.cap = p.duration("cap", Duration::s(1000));
               return p.draw("k8s-wait-backoff", numbers, &wait_backoff, cap_promise(numbers.cap));
             },
             {{"cap-respected", "jitter is added to the capped interval",
               "kubernetes/apimachinery eed236ce, pkg/util/wait/backoff.go"},
              {"attempts-exact", "reaching the cap sets the steps to 0: ExponentialBackoff ends early",
               "kubernetes/kubernetes#131122", false},
              {"cap-goes-on", "without a cap the product overflows to a negative duration",
               "kubernetes/apimachinery eed236ce, pkg/util/wait/backoff.go", false}}});
  shelf.add({"k8s-workqueue",
             "min(base * 2^(n-1), cap), or the wait for a token of 10/s, burst 100",
             "kubernetes/client-go 32ce75a7, util/workqueue/default_rate_limiters.go",
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(5));
               const Duration cap = p.duration("cap", Duration::s(1000));
               const Limits limits = p.limits();
               return AnyPolicy(Workqueue{base, cap, limits});
             },
             {{"reset-after-success", "Forget() resets an item's failures, not the bucket of the whole queue",
               "kubernetes/client-go 32ce75a7, util/workqueue/default_rate_limiters.go"}}});
  shelf.add({"k8s-flowcontrol",
             "doubles what was drawn, up to the cap; the first value is not capped",
             "kubernetes/client-go 32ce75a7, util/flowcontrol/backoff.go",
             [](Reader& r) {
               Recipe p(r);
               Numbers numbers{p.duration("init", Duration::s(10))};
               numbers.ratio = p.number("j", 0, 0, 1e3);
               numbers.cap = p.duration("cap", Duration::s(300));
               Contract promise = cap_promise(numbers.cap);
               if (numbers.ratio == 0)
                 promise = exponential_promise(numbers.base, 2, no_jitter(), numbers.cap);
               return p.draw("k8s-flowcontrol", numbers, &flowcontrol, promise);
             },
             {{"cap-respected", "the first value may exceed the cap",
               "kubernetes/client-go 32ce75a7, util/flowcontrol/backoff.go", false}}});
  shelf.add({"client-go-rest", "exactly what Retry-After asks, and nothing without it; 10 retries",
             "kubernetes/client-go 32ce75a7, rest/with_retry.go, rest/urlbackoff.go", [](Reader& r) {
               Recipe p(r);
               p.parts.limits = retries(10, on("429 5xx connection-reset"));
               return AnyPolicy(RestClient{p.limits()});
             }});
  shelf.add(
      {"kubelet-crashloop",
       "min(base * 2^(n-1), cap) between restarts",
       "kubernetes/kubernetes, pkg/kubelet constants; kubernetes/client-go 32ce75a7, "
       "util/flowcontrol/backoff.go",
       [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::s(10));
         p.parts = exponential(base, 2, no_jitter(), p.duration("cap", Duration::s(300)));
         return p.compose();
       },
       {{"reset-after-success",
         "a start that succeeds resets nothing: the delay starts anew after ten minutes (twice the cap) "
         "without a failure; here the next call starts anew",
         "kubernetes/client-go 32ce75a7, util/flowcontrol/backoff.go", false}}});
}

}  // namespace retrygate
