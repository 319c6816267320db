#include "policies/schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "policies/backoff.hpp"
#include "policies/jitter.hpp"

namespace retrygate {
namespace {

struct Law {
  Duration lo, hi;
  std::optional<Duration> mean;
};

// Mean of min(limit, U[lo, hi]).
Duration clamped_mean(Span drawn, Duration limit) {
  if (drawn.hi <= limit) return Duration::seconds((drawn.lo.seconds() + drawn.hi.seconds()) / 2);
  if (drawn.lo >= limit) return limit;
  const double lo = drawn.lo.seconds(), hi = drawn.hi.seconds(), c = limit.seconds();
  return Duration::seconds(((c * c - lo * lo) / 2 + c * (hi - c)) / (hi - lo));
}

// Each delay is drawn from [base, 3 * the delay before], in whole ticks.
Law decorrelated_law(const Contract& c, Duration base, std::int64_t n) {
  const Duration cap = c.cap.value_or(Duration::max()), timer = c.timer_max.value_or(Duration::max());
  const bool late_cap = c.cap_kind == CapKind::before_jitter;
  Duration lo = base, hi = base;
  bool cut = false;
  for (std::int64_t i = 1; i <= n; ++i) {
    const Duration from = late_cap ? std::min(hi, cap) : hi;
    const Span drawn = whole_ticks({base, std::max(base, from * 3)}, c.tick);
    cut = cut || from < hi || (!late_cap && drawn.hi > cap);
    const Duration next = late_cap ? drawn.hi : std::min(drawn.hi, cap);
    lo = late_cap ? drawn.lo : std::min(drawn.lo, cap);
    if (next == std::exchange(hi, next)) break;  // so it stays
  }
  std::optional<Duration> mean;
  if (!cut && hi <= timer && c.tick == Duration::ns(1))
    mean = base == Duration{} ? base : base.scaled(2 * power(1.5, n) - 1);  // E d = base (2 * 1.5^n - 1)
  return {std::min(lo, timer), std::min(hi, timer), mean};
}

// The support and mean of retry n, if the contract says enough.
std::optional<Law> law_of(const Contract& c, std::int64_t n) {
  if (!c.jitter) return std::nullopt;
  if (c.jitter->kind == JitterKind::decorrelated) {
    if (!c.base) return std::nullopt;
    return decorrelated_law(c, *c.base, n);
  }
  if (!c.growth) return std::nullopt;
  if (*c.growth == GrowthKind::table ? !c.table : *c.growth != GrowthKind::none && !c.base)
    return std::nullopt;
  const Backoff backoff{*c.growth, c.base.value_or(Duration{}), c.factor.value_or(2), c.exponent.value_or(1),
                        c.table.value_or(std::vector<Duration>{})};
  const Cap cap{c.cap.value_or(Duration::max()), c.cap_kind};
  const Span drawn = whole_ticks(drawn_from(*c.jitter, cap, ceiling(backoff, n)), c.tick);
  const Duration limit = std::min(cap.kind == CapKind::clamp ? cap.limit : Duration::max(),
                                  c.timer_max.value_or(Duration::max()));
  std::optional<Duration> mean;
  // Of an interval of ticks that is cut the mean has no such form.
  if (c.tick == Duration::ns(1) || drawn.hi <= limit || drawn.lo >= limit) mean = clamped_mean(drawn, limit);
  return Law{std::min(drawn.lo, limit), std::min(drawn.hi, limit), mean};
}

// Does what is documented of the delays show in them?
bool keeps_its_law(const NamedPolicy& named) {
  if (named.program) return false;
  constexpr std::array laws{"delay-in-bounds", "jitter-law", "cap-respected", "growth-law"};
  return std::none_of(named.preset->deviations.begin(), named.preset->deviations.end(),
                      [&](const Deviation& d) {
                        return d.shows && std::find(laws.begin(), laws.end(), d.invariant) != laws.end();
                      });
}

struct Slots {
  alignas(std::max_align_t) std::byte client[client_slot_bytes];
  alignas(std::max_align_t) std::byte call[call_slot_bytes];
};

// How the attempts fail: with 503, or with the first failure that the policy says it retries.
Status failure_of(const Contract& c) {
  if (!c.retry_on || c.retry_on->contains(Status::http(503))) return Status::http(503);
  if (!c.retry_on->statuses.empty()) return c.retry_on->statuses.front();
  return c.retry_on->classes.empty() ? Status::http(503) : Status::http(100 * c.retry_on->classes.front());
}

// Walks one call whose attempts all fail at once; `see(retry, delay, start of the next attempt)` returns
// false to end it. Returns true if the policy stopped by itself.
template <class See>
bool walk(const AnyPolicy& policy, Status failure, std::uint64_t client, See see) {
  Slots slots;
  policy.start_client(slots.client);
  policy.start_call(slots.call);
  const StreamKey stream(Seed{1}, Stream::policy);
  Attempt attempt;
  attempt.outcome.status = failure;
  for (;; ++attempt.number) {
    Rng rng = stream.at(client, 0, static_cast<std::uint64_t>(attempt.number));
    const Decision decision = policy.after(slots.client, slots.call, attempt, rng);
    if (decision.stops()) return true;
    attempt.finished = attempt.finished + decision.delay();
    if (!see(attempt.number, decision.delay(), attempt.finished)) return false;
  }
}

// Of a program they are fewer: it answers one question after the other.
std::int64_t calls_drawn(const NamedPolicy& named) { return named.program ? 500 : 20'000; }

struct Observed {
  Duration lo = Duration::max(), hi;
  double sum_s = 0;
  std::int64_t count = 0;
};

}  // namespace

Schedule schedule(const NamedPolicy& named, std::int64_t retries) {
  const AnyPolicy& policy = named.policy;
  const Contract contract = policy.contract();
  const bool lawful = keeps_its_law(named);
  const Status failure = failure_of(contract);
  std::vector<Observed> observed;
  Schedule result{{}, true, true, true, calls_drawn(named)};
  for (std::int64_t call = 0; call < result.calls; ++call) {
    const bool stopped =
        walk(policy, failure, static_cast<std::uint64_t>(call), [&](std::int64_t n, Duration delay, Instant) {
          if (n > retries) return false;
          if (static_cast<std::size_t>(n) > observed.size()) observed.emplace_back();
          Observed& row = observed[static_cast<std::size_t>(n) - 1];
          row.lo = std::min(row.lo, delay);
          row.hi = std::max(row.hi, delay);
          row.sum_s += delay.seconds();
          ++row.count;
          return true;
        });
    result.ends = result.ends && stopped;
  }
  ScheduleRow row{};
  for (std::size_t i = 0; i < observed.size(); ++i) {
    row.n = static_cast<std::int64_t>(i) + 1;
    const Observed& seen = observed[i];
    const auto law = lawful ? law_of(contract, row.n) : std::nullopt;
    const Duration seen_mean = Duration::seconds(seen.sum_s / static_cast<double>(seen.count));
    row.lo = law ? law->lo : seen.lo;
    row.hi = law ? law->hi : seen.hi;
    row.mean = law && law->mean ? *law->mean : seen_mean;
    result.exact = result.exact && law.has_value();
    result.mean_exact = result.mean_exact && law && law->mean;
    row.lo_so_far += row.lo;
    row.mean_so_far += row.mean;
    row.hi_so_far += row.hi;
    result.rows.push_back(row);
  }
  return result;
}

std::vector<std::vector<Duration>> observed_delays(const AnyPolicy& policy, std::int64_t retries,
                                                   std::int64_t calls) {
  std::vector<std::vector<Duration>> delays;
  const Status failure = failure_of(policy.contract());
  for (std::int64_t call = 0; call < calls; ++call) {
    walk(policy, failure, static_cast<std::uint64_t>(call), [&](std::int64_t n, Duration delay, Instant) {
      if (n > retries) return false;
      if (static_cast<std::size_t>(n) > delays.size()) delays.emplace_back();
      delays[static_cast<std::size_t>(n) - 1].push_back(delay);
      return true;
    });
  }
  return delays;
}

std::vector<double> shares_outliving(const NamedPolicy& named, const std::vector<Duration>& outages) {
  const AnyPolicy& policy = named.policy;
  const std::int64_t calls = calls_drawn(named);
  // A policy that neither stops nor lets time pass is cut off.
  const std::int64_t attempts_most = named.program ? 2000 : 100'000;
  const Status failure = failure_of(policy.contract());
  // How many calls have the outage i, and none longer, as the longest that they outlive.
  std::vector<std::int64_t> longest(outages.size());
  for (std::int64_t call = 0; call < calls; ++call) {
    std::size_t outlived = 0;
    walk(policy, failure, static_cast<std::uint64_t>(call), [&](std::int64_t n, Duration, Instant next) {
      while (outlived < outages.size() && next.since_start >= outages[outlived]) ++outlived;
      return outlived < outages.size() && n < attempts_most;
    });
    if (outlived > 0) ++longest[outlived - 1];
  }
  std::vector<double> shares(outages.size());
  std::int64_t outliving = 0;
  for (std::size_t i = outages.size(); i-- > 0;) {
    outliving += longest[i];
    shares[i] = static_cast<double>(outliving) / static_cast<double>(calls);
  }
  return shares;
}

double share_outliving(const NamedPolicy& named, Duration outage) {
  return shares_outliving(named, {outage}).front();
}

}  // namespace retrygate
