// Which outcomes are tried again.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "properties/excuses.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

// Every failure of the kinds that a contract may speak about.
const std::vector<Status>& failures() {
  static const std::vector<Status> all = [] {
    std::vector<Status> some = failures_of_http();
    for (int code = 1; code <= 16; ++code) some.push_back(Status::grpc(code));
    for (int e = 0; e <= static_cast<int>(TransportError::cancelled); ++e)
      some.push_back(Status::transport(static_cast<TransportError>(e)));
    return some;
  }();
  return all;
}

std::vector<Status> chosen(const Contract& c, bool retried) {
  std::vector<Status> some;
  for (const Status s : failures()) {
    if (c.retry_on->speaks_about(s.kind()) && c.retry_on->contains(s) == retried) some.push_back(s);
  }
  return some;
}

// One call: plain failures, then one that ends as `told` says. Nothing if it ended before.
std::optional<Step> answer(const Subject& subject, const Case& c, const Told& told) {
  const std::int64_t most = subject.contract.max_attempts ? *subject.contract.max_attempts - 1 : 8;
  const std::int64_t attempt = std::min({c.attempt, most, std::int64_t{8}});
  const Scripted plain{{retryable(subject)}};
  const Script script{[&](std::int64_t n, Instant) { return n < attempt ? plain : Scripted{told.outcome}; },
                      told.idempotent};
  const Walk done = drive(subject, c, attempt, script);
  if (done.steps.empty() || done.steps.back().attempt < attempt) return std::nullopt;
  return done.steps.back();
}

// The end of an attempt, beside which servers send a header now and then: that is no leave to repeat it.
Outcome ending(const Case& c, Status status) {
  if (status.kind() != Status::Kind::http || pick(c, 5, 3) != 1) return {status};
  return {status, Duration::s(1), "1"};
}
std::string to_text(const Outcome& o) {
  return to_string(o.status) + (o.retry_after ? " and Retry-After '1'" : "");
}

Finding only_retryable(const Subject& subject, const Trial& trial) {
  const auto statuses = chosen(subject.contract, false);
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const Status status = statuses[pick(c, 0, statuses.size())];
      const Outcome end = ending(c, status);
      const auto a = answer(subject, c, {end});
      if (!a || a->decision.stops()) return {};
      return fmt::format("attempt {} ended with {}, which is not to be retried: {}", a->attempt, to_text(end),
                         to_string(a->decision));
    });
  });
}

Finding all_retryable(const Subject& subject, const Trial& trial) {
  const auto statuses = chosen(subject.contract, true);
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const Status status = statuses[pick(c, 0, statuses.size())];
      const auto a = answer(subject, c, {{status}});
      if (!a || !a->decision.stops() ||
          excused(subject.contract, a->decision.why(), circumstances_of(subject.contract, c, *a)))
        return {};
      return fmt::format("attempt {} ended with {}, which is to be retried: {}", a->attempt,
                         to_string(status), to_string(a->decision));
    });
  });
}

// What a request without harm would be retried on; a request that never left may always be sent again.
Finding no_unsafe_repeat(const Subject& subject, const Trial& trial) {
  std::vector<Status> statuses;
  for (const Status s : failures()) {
    const auto& on = subject.contract.retry_on;
    if (!never_arrived(s) && (!on || on->contains(s))) statuses.push_back(s);
  }
  if (statuses.empty()) return {};
  // A lost answer first: that is what doubles orders.
  std::stable_partition(statuses.begin(), statuses.end(),
                        [](Status s) { return s.kind() == Status::Kind::transport; });
  return search(trial, [&](const Case& c) {
    return unless_raised([&]() -> Complaint {
      const Status status = statuses[pick(c, 0, statuses.size())];
      // At once, or after an attempt that never left and may be made again.
      const std::int64_t at = 1 + static_cast<std::int64_t>(pick(c, 1, 2));
      const Outcome end = ending(c, status);
      const Status harmless = Status::transport(TransportError::connect_refused);
      const Walk done =
          drive(subject, c, at,
                {[&](std::int64_t n, Instant) { return Scripted{n < at ? Outcome{harmless} : end}; }, false});
      const Step* repeated = done.wait_after(at);
      if (repeated == nullptr) return {};
      return fmt::format("attempt {} of a request that is not idempotent ended with {}: {}", at, to_text(end),
                         to_string(repeated->decision));
    });
  });
}

bool retries_at_all(const Contract& c) { return !c.max_attempts || *c.max_attempts > 1; }

}  // namespace

void add_outcomes(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add({"only-retryable", must, exact, "What is not listed as retryable ends the call.",
             "A permanent error repeated is load without hope, and hides the error from the caller.",
             "googleapis/retry-request#12",
             [](const Subject& s) {
               return s.contract.retry_on && retries_at_all(s.contract) && !chosen(s.contract, false).empty();
             },
             &only_retryable});
  shelf.add({"all-retryable", must, exact, "What is listed as retryable is tried again.",
             "A retry that never happens is noticed in the next outage.", "sindresorhus/ky#604",
             [](const Subject& s) {
               return s.contract.retry_on && retries_at_all(s.contract) && !chosen(s.contract, true).empty();
             },
             &all_retryable});
  shelf.add({"no-unsafe-repeat", must, exact,
             "A request that is not idempotent is not sent again unless it surely never left.",
             "The answer was lost, not the request: the second one is a second order.",
             "apify/apify-client-python#990",
             [](const Subject& s) {
               return s.contract.idempotent_only.value_or(false) && retries_at_all(s.contract);
             },
             &no_unsafe_repeat});
}

}  // namespace retrygate
