// Faults of budgets and breakers.
#include <algorithm>

#include "policies/composed.hpp"
#include "policies/guarded.hpp"
#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

// The retry quota of the AWS SDKs, with what a report says is wrong with it.
struct Quota {
  enum class Fault : std::uint8_t { no_bucket, not_replenished, overfilled };
  Fault fault;
  std::int64_t max_attempts;
  struct Client {
    double tokens = 500;
  };
  struct Call {
    double paid = 0;
  };
  Decision after(Client& client, Call& call, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) {
      const double back = call.paid > 0 ? call.paid : 1;
      if (fault != Fault::not_replenished) client.tokens += back;
      if (fault != Fault::overfilled) client.tokens = std::min(500.0, client.tokens);
      return Decision::stop(Stop::success);
    }
    if (a.number >= max_attempts) return Decision::stop(Stop::attempts);
    if (fault == Fault::no_bucket) return Decision::wait(Duration::ms(100));
    if (client.tokens < 5) return Decision::stop(Stop::budget);
    client.tokens -= 5;
    call.paid = 5;
    return Decision::wait(Duration::ms(100));
  }
  Contract contract() const {
    Contract c = constant(Duration::ms(100));
    c.max_attempts = max_attempts;
    c.budget = Budget{};
    c.budget->kind = BudgetKind::aws_quota;
    c.budget->capacity = 500;
    c.budget->cost = 5;
    c.budget->timeout_cost = 10;
    return c;
  }
  bool operator==(const Quota&) const = default;
  friend std::string to_string(const Quota&) { return "retry quota"; }
};

// Counts every attempt where calls are declared, or opens at the first failure.
struct Opens {
  BreakerUnit declared;
  std::int64_t failures;  // declared
  std::int64_t opens_at;  // failed attempts
  std::int64_t max_attempts;
  static constexpr Duration open_for = Duration::s(30);
  struct Client {
    std::int64_t failed = 0;
    Instant open_until = {};
  };
  using Call = Stateless;
  Decision after(Client& client, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) {
      client.failed = 0;
      return Decision::stop(Stop::success);
    }
    if (++client.failed >= opens_at) client.open_until = a.finished + open_for;
    if (a.number >= max_attempts) return Decision::stop(Stop::attempts);
    return Decision::wait(Duration::ms(100));
  }
  Decision before(Client& client, Call&, const Sending& sending, Rng&) const {
    if (client.failed >= opens_at && sending.now < client.open_until) return Decision::stop(Stop::breaker);
    return Decision::wait({});
  }
  Contract contract() const {
    Contract c = constant(Duration::ms(100));
    c.max_attempts = max_attempts;
    c.breaker = Breaker{};
    c.breaker->unit = declared;
    c.breaker->failures = failures;
    c.breaker->open_for = open_for;
    return c;
  }
  bool operator==(const Opens&) const = default;
  friend std::string to_string(const Opens&) { return "breaker"; }
};

// Does what `real` says and promises something else; a success may look like a failure to the breaker.
template <class Spending, class Circuit>
struct Promises {
  using Real = Guarded<PartsLaw, Spending, Circuit>;
  Real real;
  Contract declared;
  bool success_is_failure = false;
  using Client = typename Real::Client;
  using Call = typename Real::Call;
  Decision after(Client& client, Call& call, const Attempt& a, Rng& rng) const {
    if (!success_is_failure || !a.outcome.status.succeeded()) return real.after(client, call, a, rng);
    Attempt seen = a;
    seen.outcome.status = Status::http(503);
    real.after(client, call, seen, rng);
    return Decision::stop(Stop::success);
  }
  Decision before(Client& client, Call& call, const Sending& sending, Rng& rng) const
      requires(Spending::gates || Circuit::gates) {
    return real.before(client, call, sending, rng);
  }
  Contract contract() const { return declared; }
  bool operator==(const Promises&) const = default;
  friend std::string to_string(const Promises& p) { return to_string(p.real); }
};

Parts every_100ms() {
  Parts parts;
  parts.backoff = {GrowthKind::constant, Duration::ms(100)};
  return parts;
}
// Spends as `real` and promises `declared`.
template <class Spending>
AnyPolicy spends(const Budget& declared, const Budget& real) {
  Parts parts = every_100ms();
  parts.guards.budget = declared;
  const Contract promise = contract_of(parts);
  parts.guards.budget = real;
  return Promises<Spending, NoBreaker>{{PartsLaw{parts}}, promise};
}
AnyPolicy breaks(const Breaker& declared, const Breaker& real, bool success_is_failure = false) {
  Parts parts = every_100ms();
  parts.limits.max_attempts = 4;
  parts.guards.breaker = declared;
  const Contract promise = contract_of(parts);
  parts.guards.breaker = real;
  return Promises<NoBudget, CircuitBreaker>{{PartsLaw{parts}}, promise, success_is_failure};
}

Budget budget(BudgetKind kind) {
  Budget b;
  b.kind = kind;
  return b;
}
Budget ratio(double per_call) {
  Budget b = budget(BudgetKind::ratio);
  b.ratio = per_call;
  b.window = Duration::s(10);
  return b;
}
Budget throttle(double capacity, double per_success) {
  Budget b = budget(BudgetKind::grpc_throttle);
  b.capacity = capacity;
  b.ratio = per_success;
  return b;
}
Budget bucket(double capacity, double refill_per_s) {
  Budget b = budget(BudgetKind::token_bucket);
  b.capacity = capacity;
  b.refill_per_s = refill_per_s;
  return b;
}
// botocore, retries/adaptive.py: beta 0.7, scale 0.4, half a send per second at least, windows of 0.5 s.
Budget adaptive(double beta, double scale, double least_per_s) {
  Budget b = budget(BudgetKind::aws_adaptive);
  b.beta = beta;
  b.cubic_scale = scale;
  b.rate_per_s_min = least_per_s;
  b.window = Duration::ms(500);
  b.smoothing = 0.8;
  return b;
}
Budget sre(double k) {
  Budget b = budget(BudgetKind::sre_throttle);
  b.k = k;
  b.window = Duration::s(120);
  return b;
}
Breaker breaker(std::int64_t trials, std::int64_t successes) {
  Breaker b;
  b.failures = 5;
  b.open_for = Duration::s(30);
  b.trials = trials;
  b.successes = successes;
  return b;
}

}  // namespace

void add_shared(Shelf<Mutant>& shelf) {
  using enum Quota::Fault;
  shelf.add({"no-bucket",
             "budget",
             "budget-conserved",
             "awslabs/aws-sdk-rust#1234",
             Quota{no_bucket, 1000},
             {"amplification-bounded"},
             "without a quota nothing bounds the retries of a storm"});
  shelf.add({"not-replenished", "budget", "budget-conserved", "aws/aws-sdk-java-v2#5345",
             Quota{not_replenished, 1000}});
  shelf.add(
      {"overfilled", "budget", "budget-conserved", "aws/aws-sdk-java-v2#2879", Quota{overfilled, 1000}});
  shelf.add({"every-attempt-counts", "circuit_breaker_interplay", "breaker-states",
             "jvoegele/external_service#93", Opens{BreakerUnit::call, 5, 5, 8}});
  // The other kinds of budget and the rest of a breaker: what breaks the specification that is named.
  constexpr std::string_view finagle = "Finagle, RetryBudget.scala", a6 = "gRPC proposal A6",
                             botocore = "botocore, retries/throttling.py", book = "SRE book, equation 21-1",
                             nygard = "Nygard, Release It!, circuit breaker";
  shelf.add({"retries-uncounted",
             "budget",
             "budget-conserved",
             finagle,
             spends<RatioBudget>(ratio(0.2), ratio(20)),
             {"amplification-bounded"},
             "what is not refused arrives at the server"});
  shelf.add({"calls-uncounted", "budget", "budget-conserved", finagle,
             spends<RatioBudget>(ratio(0.2), ratio(0.02))});
  shelf.add({"below-half-goes-on",
             "budget",
             "budget-conserved",
             a6,
             spends<GrpcThrottle>(throttle(10, 0.1), throttle(30, 0.1)),
             {"amplification-bounded"},
             "what is not refused arrives at the server"});
  shelf.add({"success-gives-nothing", "budget", "budget-conserved", a6,
             spends<GrpcThrottle>(throttle(10, 0.1), throttle(10, 0))});
  shelf.add({"bucket-never-refills", "budget", "budget-conserved", "aws/aws-sdk-go-v2#3550",
             spends<TokenBucket>(bucket(10, 1), bucket(10, 0))});
  shelf.add({"bucket-of-the-fleet",
             "budget",
             "budget-conserved",
             "aws/aws-sdk-java-v2#2879",
             spends<TokenBucket>(bucket(10, 1), bucket(100, 1)),
             {"amplification-bounded"},
             "what is not refused arrives at the server"});
  shelf.add({"rate-never-cut", "budget", "budget-conserved", botocore,
             spends<AwsAdaptive>(adaptive(0.7, 0.4, 0.5), adaptive(0.7, 0.4, 1e6))});
  shelf.add({"rate-never-raised", "budget", "budget-conserved", "aws/aws-sdk-go-v2#3550",
             spends<AwsAdaptive>(adaptive(0.7, 0.4, 0.5), adaptive(0.7, 1e-12, 0.5))});
  shelf.add({"k-ignored", "budget", "budget-conserved", book, spends<SreThrottle>(sre(2), sre(1))});
  shelf.add({"refuses-nobody", "budget", "budget-conserved", book, spends<SreThrottle>(sre(2), sre(1e9))});
  shelf.add({"half-open-is-open-house", "circuit_breaker_interplay", "breaker-states", nygard,
             breaks(breaker(1, 1), breaker(1000, 1))});
  shelf.add({"never-closes", "circuit_breaker_interplay", "breaker-states", nygard,
             breaks(breaker(1, 2), breaker(1, 1'000'000'000))});
  shelf.add({"success-counts-as-failure", "circuit_breaker_interplay", "breaker-states", nygard,
             breaks(breaker(1, 1), breaker(1, 1), true)});
  shelf.add({"opens-on-the-first", "circuit_breaker_interplay", "breaker-states", "nodeshift/opossum#288",
             Opens{BreakerUnit::attempt, 3, 1, 8}});
}

}  // namespace retrygate
