// Faults of budgets and breakers.
#include <algorithm>

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
  Decision before(Client& client, Call&, std::int64_t, Instant now, Rng&) const {
    if (client.failed >= opens_at && now < client.open_until) return Decision::stop(Stop::breaker);
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
  shelf.add({"opens-on-the-first", "circuit_breaker_interplay", "breaker-states", "nodeshift/opossum#288",
             Opens{BreakerUnit::attempt, 3, 1, 8}});
}

}  // namespace retrygate
