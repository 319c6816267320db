// What surrounds a delay law: Retry-After, budget, breaker and the platform's timer. `Guarded` is the policy
// of a law with all of them; which memory it keeps is chosen by what is there (`guard`).
#pragma once

#include "policies/breaker.hpp"
#include "policies/budget.hpp"
#include "policies/limits.hpp"
#include "policies/policy.hpp"
#include "policies/retry_after.hpp"

namespace retrygate {

struct Guards {
  RetryAfter retry_after;
  std::optional<Budget> budget;
  std::optional<Breaker> breaker;
  Duration timer_max = Duration::max();
  bool operator==(const Guards&) const = default;
};

std::string to_string(const Guards&);  // ", Retry-After floor up to 1m, budget: ..." or nothing

inline bool has_guards(const Guards& g) { return g != Guards{}; }

// Law: `Memory` of a call (the delay before, for example; it comes first in the call's slot),
// `Duration delay(Memory&, const Attempt&, Rng&) const`, `limits()`, `guards()`, `contract()`, equality,
// text.
template <class Law, class Spending, class Circuit>
struct Guarded {
  Law law;
  struct Client {
    [[no_unique_address]] typename Spending::Memory budget;
    [[no_unique_address]] typename Circuit::Memory breaker;
  };
  struct Call {
    [[no_unique_address]] typename Law::Memory law;
    [[no_unique_address]] typename Spending::Charge charge;
    [[no_unique_address]] typename Circuit::Permit permit;
  };

  Decision after(Client& client, Call& call, const Attempt& attempt, Rng& rng) const {
    const Status status = attempt.outcome.status;
    const bool counts = worth_another_try(limits(), attempt);
    const Ended ended{status, attempt.number, counts, attempt.finished};
    if (budget()) Spending::told(*budget(), client.budget, call.charge, ended);
    if (breaker() && breaker()->unit == BreakerUnit::attempt) tell(client, call, status, counts, ended.now);
    const Decision decision = decide(client, call, attempt, ended, rng);
    if (breaker() && breaker()->unit == BreakerUnit::call && decision.stops())
      tell(client, call, status, counts, ended.now);
    return decision;
  }

  Decision before(Client& client, Call& call, const Sending& sending, Rng& rng) const
      requires(Spending::gates || Circuit::gates) {
    const Decision decision = admit(client, call, sending, rng);
    if constexpr (Circuit::gates) {
      // A retry that is refused ends its call, which has failed.
      if (decision.stops() && sending.attempt > 1 && breaker()->unit == BreakerUnit::call)
        Circuit::told(*breaker(), client.breaker, call.permit, Circuit::Result::failure, sending.now);
    }
    return decision;
  }

  void abandoned(Client& client, Call& call, Instant now) const requires(Circuit::gates) {
    // Between attempts it is a call that holds a permit, if anything does.
    if (breaker()->unit == BreakerUnit::call)
      Circuit::told(*breaker(), client.breaker, call.permit, Circuit::Result::none, now);
  }

  Contract contract() const { return law.contract(); }
  bool operator==(const Guarded&) const = default;
  friend std::string to_string(const Guarded& p) { return to_string(p.law); }

 private:
  const Limits& limits() const { return law.limits(); }
  const std::optional<Budget>& budget() const { return law.guards().budget; }
  const std::optional<Breaker>& breaker() const { return law.guards().breaker; }

  // The breaker is asked first, so that nothing is spent on a send that it forbids; its permit is taken last.
  Decision admit(Client& client, Call& call, const Sending& sending, Rng& rng) const {
    const bool asked = breaker() && (breaker()->unit == BreakerUnit::attempt || sending.attempt == 1);
    if constexpr (Circuit::gates) {
      if (asked && !Circuit::permits(*breaker(), client.breaker, sending.now))
        return Decision::stop(Stop::breaker);
    }
    if constexpr (Spending::gates) {
      const auto wait = Spending::ask(*budget(), client.budget, sending.now, rng);
      if (!wait) return Decision::stop(Stop::budget);
      if (*wait > Duration{}) {
        return too_late(limits(), sending.call_started, sending.deadline, sending.now + *wait)
                   ? Decision::stop(Stop::deadline)
                   : Decision::wait(*wait);
      }
    }
    if constexpr (Circuit::gates) {
      if (asked) Circuit::permit(*breaker(), client.breaker, call.permit, sending.now);
    }
    return Decision::wait({});
  }

  void tell(Client& client, Call& call, Status status, bool counts, Instant now) const {
    if constexpr (Circuit::gates) {
      using Result = typename Circuit::Result;
      Circuit::told(*breaker(), client.breaker, call.permit,
                    cancelled(status) ? Result::none
                    : counts          ? Result::failure
                                      : Result::success,
                    now);
    }
  }

  // The order: what ends the call whatever the delay, the delay, time, the breaker, and last the budget,
  // which is paid only for a retry that will be made.
  Decision decide(Client& client, Call& call, const Attempt& attempt, const Ended& ended, Rng& rng) const {
    if (const auto stop = last(limits(), attempt)) return Decision::stop(*stop);
    const Duration own = std::min(law.delay(call.law, attempt, rng), law.guards().timer_max);
    const auto wait = heed(law.guards().retry_after, attempt.outcome, own);
    if (!wait || *wait > law.guards().timer_max) return Decision::stop(Stop::deadline);
    const Decision decision = within_time(limits(), attempt, *wait);
    if (decision.stops()) return decision;
    if constexpr (Circuit::gates) {
      if (breaker()->unit == BreakerUnit::attempt &&
          Circuit::refuses(*breaker(), client.breaker, attempt.finished + decision.delay()))
        return Decision::stop(Stop::breaker);
    }
    if (budget() && !Spending::withdraw(*budget(), client.budget, call.charge, ended))
      return Decision::stop(Stop::budget);
    return decision;
  }
};

// The policy of a law, with the memory that its guards need.
template <class Law>
AnyPolicy guard(Law law) {
  const auto budget = law.guards().budget;
  const auto with = [&]<class Spending>(Spending) -> AnyPolicy {
    if (law.guards().breaker) return Guarded<Law, Spending, CircuitBreaker>{std::move(law)};
    return Guarded<Law, Spending, NoBreaker>{std::move(law)};
  };
  if (!budget) return with(NoBudget{});
  switch (budget->kind) {
    case BudgetKind::token_bucket:
      return with(TokenBucket{});
    case BudgetKind::ratio:
      return with(RatioBudget{});
    case BudgetKind::grpc_throttle:
      return with(GrpcThrottle{});
    case BudgetKind::aws_quota:
      return with(AwsQuota{});
    case BudgetKind::aws_adaptive:
      return with(AwsAdaptive{});
    case BudgetKind::sre_throttle:
      return with(SreThrottle{});
  }
  return with(NoBudget{});
}

}  // namespace retrygate
