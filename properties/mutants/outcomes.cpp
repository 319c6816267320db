// Faults of classification, and of what is done with a replica's list of faults.
#include <algorithm>
#include <array>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

Contract retrying(std::vector<Status> statuses, std::vector<int> classes, Duration delay) {
  Contract c = constant(delay);
  c.retry_on = RetryOn{std::move(statuses), std::move(classes)};
  return c;
}

Duration delay_of(const Contract& c) { return c.base.value_or(Duration{}); }

// Every status from 400 on is retried, 404 too.
Decision all_of_400(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  return a.outcome.status.code() >= 400 ? Decision::wait(delay_of(c)) : Decision::stop(Stop::not_retryable);
}

// Whatever is no success is retried.
Decision everything(const Contract& c, Notes&, Notes&, const Attempt&, Rng&) {
  return Decision::wait(delay_of(c));
}

// A delay of 0 is false, and false cancels the retry.
Decision zero_cancels(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (!c.retry_on->contains(a.outcome.status) || delay_of(c) == Duration{})
    return Decision::stop(Stop::not_retryable);
  return Decision::wait(delay_of(c));
}

// 504 was forgotten in the code, not in the documentation.
Decision one_forgotten(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (!c.retry_on->contains(a.outcome.status) || a.outcome.status == Status::http(504))
    return Decision::stop(Stop::not_retryable);
  return Decision::wait(delay_of(c));
}

// Writes are told apart by the answer, and a connection that dropped gave none.
Decision write_test_needs_an_answer(const Contract& c, Notes&, Notes&, const Attempt& a, Rng&) {
  if (a.outcome.status.kind() == Status::Kind::http && !a.idempotent)
    return Decision::stop(Stop::not_retryable);
  return Decision::wait(delay_of(c));
}

Contract reads_only(std::int64_t attempts) {
  Contract c = constant(Duration::ms(500));
  c.idempotent_only = true;
  c.max_attempts = attempts;
  return c;
}

Duration as_promised(std::int64_t, Rng&) { return Duration::ms(100); }

}  // namespace

void add_outcomes(Shelf<Mutant>& shelf) {
  const Status too_many = Status::http(429);
  shelf.add({"404-retried", "retries_non_retryable", "only-retryable", "googleapis/retry-request#12",
             Misjudges{retrying({too_many}, {5}, Duration::s(1)), &all_of_400}});
  shelf.add({"permanent-errors-retried", "retries_non_retryable", "only-retryable", "livekit/agents#5831",
             Misjudges{retrying({too_many, Status::transport(TransportError::timeout)}, {5}, Duration::s(2)),
                       &everything}});
  shelf.add({"zero-cancels", "does_not_retry_retryable", "all-retryable", "sindresorhus/ky#604",
             Misjudges{retrying({too_many}, {5}, {}), &zero_cancels}});
  shelf.add(
      {"one-forgotten", "does_not_retry_retryable", "all-retryable", "equinor/gordo#294",
       Misjudges{retrying({Status::http(503), Status::http(504)}, {}, Duration::s(1)), &one_forgotten}});
  shelf.add({"post-resent", "non_idempotent_retried", "no-unsafe-repeat", "apify/apify-client-python#990",
             Misjudges{reads_only(9), &write_test_needs_an_answer}});
  shelf.add({"method-not-checked", "non_idempotent_retried", "no-unsafe-repeat", "adamcavendish/aioduct#79",
             Misjudges{reads_only(4), &everything}});
  shelf.add({"fault-that-was-mended",
             "attempts_off_by_one",
             "deviation-current",
             "failsafe-go/failsafe-go#22",
             faulty(constant(Duration::ms(100)), &as_promised),
             {},
             {},
             {{"growth-law", "the first delay was missing", "of the time before it was mended"}}});
}

}  // namespace retrygate
