// Retry budgets alone, without any delay: what libraries put around their policies.
#include <cmath>

#include "policies/replica.hpp"

namespace retrygate {
namespace {

// Retries under way <= max(percent of the requests under way, a least number). Counts from sends to their
// ends, so it is asked before every send.
struct EnvoyBudget {
  double percent;
  std::int64_t least;
  Limits limits;

  struct Client {
    std::int32_t active = 0, retries = 0;
  };
  struct Call {
    bool counted = false, retry = false;  // is an attempt under way, and a retry?
  };

  Decision before(Client& client, Call& call, const Sending& sending, Rng&) const {
    const bool retry = sending.attempt > 1;
    const double allowed = std::max(percent / 100 * (client.active + 1), static_cast<double>(least));
    if (retry && client.retries + 1 > allowed) return Decision::stop(Stop::budget);
    call = {true, retry};
    ++client.active;
    client.retries += retry ? 1 : 0;
    return Decision::wait({});
  }
  Decision after(Client& client, Call& call, const Attempt& attempt, Rng&) const {
    if (call.counted) {
      --client.active;
      client.retries -= call.retry ? 1 : 0;
    }
    call = {};
    if (const auto stop = last(limits, attempt)) return Decision::stop(*stop);
    return within_time(limits, attempt, {});
  }
  Contract contract() const {
    Contract c = contract_of(no_delay());
    promise_limits(limits, {}, c);
    return c;
  }
  bool operator==(const EnvoyBudget&) const = default;
  friend std::string to_string(const EnvoyBudget& p) {
    return "envoy retry budget: " + std::to_string(static_cast<int>(p.percent)) +
           " % of the requests, at least " + std::to_string(p.least);
  }
};

constexpr std::string_view tower_budget =
    "tower-rs/tower 8358ee71, tower/src/retry/budget/tps_budget.rs; "
    "linkerd/linkerd2-proxy 29637b64";

}  // namespace

void add_budgets(Shelf<Preset>& all) {
  Family shelf(all, "Retry budgets");
  shelf.add({"budget-grpc-retry-throttling",
             "a failure costs 1 token, a success gives 0.1, retries above half",
             "grpc/proposal, A6-client-retries.md at 1fd061ad", [](Reader& r) {
               Recipe p(r);
               p.parts = no_delay();
               Budget b;
               b.kind = BudgetKind::grpc_throttle;
               b.capacity = p.number("maxTokens", 10, 1, 1000);
               b.ratio = p.number("tokenRatio", 0.1, 1e-3, 1e3);
               p.parts.guards.budget = b;
               return p.compose();
             }});
  shelf.add({"budget-envoy", "retries under way <= max(20 % of the requests under way, 3)",
             "envoyproxy/envoy 01c2c1fa, source/common/upstream/resource_manager_impl.h", [](Reader& r) {
               Recipe p(r);
               const double percent = p.number("budget_percent", 20, 0, 100);
               const double least = p.number("min_retry_concurrency", 3, 0, 1e6);
               p.parts.limits = retries(1);
               return AnyPolicy(EnvoyBudget{percent, static_cast<std::int64_t>(least), p.limits()});
             }});
  shelf.add(
      {"budget-tower-linkerd",
       "retries <= 20 % of the calls of 10 s, and 10 a second",
       tower_budget,
       [](Reader& r) {
         Recipe p(r);
         p.parts = no_delay();
         // A retry costs trunc(1 / ratio) deposits: 0.3 gives 33.3 %, 0.4 50 %, above 0.5 100 %.
         const double asked = p.number("retry_ratio", 0.2, 1e-3, 1000);
         const double ratio = asked <= 1 ? 1 / std::floor(1 / asked + 1e-9) : asked;
         const Duration ttl = p.duration("ttl", Duration::s(10));
         p.parts.guards.budget = ratio_budget(ratio, p.number("min_per_sec", 10), ttl);
         return p.compose();
       },
       {{"budget-conserved", "1 / ratio is cut to a whole number: a ratio of 0.3 allows 33.3 %, 0.4 50 %",
         tower_budget, false}}});
  shelf.add({"budget-aws-quota", "500 tokens, a retry costs 5 (10 after a timeout), no refill by time",
             "boto/botocore 0e6e2404, botocore/retries/quota.py; smithy-rs, aws-sdk-java-v2 and others alike",
             [](Reader& r) {
               Recipe p(r);
               p.parts = no_delay();
               const double capacity = p.number("capacity", 500, 1);
               const double cost = p.number("cost", 5, 1e-3);
               p.parts.guards.budget = aws_quota(capacity, cost, p.number("timeout_cost", 10, 1e-3));
               return p.compose();
             }});
}

}  // namespace retrygate
