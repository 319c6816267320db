#include "policies/budget.hpp"

#include <algorithm>
#include <numeric>

namespace retrygate {
namespace {

// Sums of doubles may miss an exact limit by a rounding; a billionth of a token is nobody's.
constexpr double crumb = 1e-9;

// Moves a ring of counters on to the part that `now` lies in; parts that were skipped are empty.
template <class... Counters>
void advance(std::int64_t& newest, Instant now, Duration width, Counters&... rings) {
  const std::int64_t part = now.since_start.ns() / std::max<std::int64_t>(1, width.ns());
  const auto clear = [](auto& ring, std::int64_t from, std::int64_t to) {
    const auto size = static_cast<std::int64_t>(ring.size());
    for (std::int64_t i = std::max(from + 1, to - size + 1); i <= to; ++i)
      ring[static_cast<std::size_t>(i % size)] = 0;
  };
  if (part > newest) {
    (clear(rings, newest, part), ...);
    newest = part;
  }
}

template <class Ring>
std::uint32_t& at(Ring& ring, std::int64_t part) {
  return ring[static_cast<std::size_t>(part % static_cast<std::int64_t>(ring.size()))];
}

void count(std::uint32_t& counter) {
  if (counter != std::numeric_limits<std::uint32_t>::max()) ++counter;
}

template <class Ring>
double sum(const Ring& ring) {
  return std::accumulate(ring.begin(), ring.end(), 0.0);
}

}  // namespace

bool TokenBucket::withdraw(const Budget& b, Memory& m, Charge&, const Ended& e) {
  m.missing = std::max(0.0, m.missing - b.refill_per_s * (e.now - m.counted).seconds());
  m.counted = e.now;
  if (b.capacity - m.missing < b.cost - crumb) return false;
  m.missing += b.cost;
  return true;
}

void RatioBudget::told(const Budget& b, Memory& m, Charge&, const Ended& e) {
  advance(m.part, e.now, b.window / parts, m.calls, m.retries);
  if (e.number == 1) count(at(m.calls, m.part));
}

bool RatioBudget::withdraw(const Budget& b, Memory& m, Charge&, const Ended&) {
  const double calls = sum(m.calls) - at(m.calls, m.part + 1);  // the oldest part is cut by the window
  if (sum(m.retries) + 1 > b.ratio * calls + b.reserve_per_s * b.window.seconds() + crumb) return false;
  count(at(m.retries, m.part));
  return true;
}

void GrpcThrottle::told(const Budget& b, Memory& m, Charge&, const Ended& e) {
  const auto capacity = static_cast<std::int64_t>(b.capacity * 1000);
  if (e.counts) m.missing = std::min(capacity, m.missing + 1000);
  if (e.status.succeeded())
    m.missing = std::max<std::int64_t>(0, m.missing - static_cast<std::int64_t>(b.ratio * 1000 + crumb));
}

bool GrpcThrottle::withdraw(const Budget& b, Memory& m, Charge&, const Ended&) {
  const auto capacity = static_cast<std::int64_t>(b.capacity * 1000);
  return 2 * (capacity - m.missing) > capacity;
}

void AwsQuota::told(const Budget&, Memory& m, Charge& charge, const Ended& e) {
  if (!e.status.succeeded()) return;
  m.missing = std::max(0.0, m.missing - (e.number > 1 ? charge.paid : 1));
}

bool AwsQuota::withdraw(const Budget& b, Memory& m, Charge& charge, const Ended& e) {
  const double cost = timed_out(e.status) ? b.timeout_cost : b.cost;
  if (b.capacity - m.missing < cost - crumb) return false;
  m.missing += cost;
  charge.paid = cost;
  return true;
}

namespace {

void refill(AwsAdaptive::Memory& m, Instant now) {
  m.tokens = std::min(m.tokens_max, m.tokens + (now - m.refilled).seconds() * m.rate_per_s);
  m.refilled = now;
}

// Answers per second, smoothed; measured once per window, which ends at a whole multiple of it.
void measure(const Budget& b, AwsAdaptive::Memory& m, Instant now) {
  const Instant until{b.window * (now.since_start.ns() / b.window.ns())};
  m.sends += 1;
  if (until <= m.measured_until) return;
  const double rate = m.sends / (until - m.measured_until).seconds();
  m.measured_per_s = rate * b.smoothing + m.measured_per_s * (1 - b.smoothing);
  m.measured_until = until;
  m.sends = 0;
}

}  // namespace

double AwsAdaptive::zero_point_s(const Budget& b, double rate_per_s) {
  return std::cbrt(rate_per_s * (1 - b.beta) / b.cubic_scale);
}

void AwsAdaptive::told(const Budget& b, Memory& m, Charge& charge, const Ended& e) {
  if (b.capacity > 0) AwsQuota::told(b, m.quota, charge.quota, e);
  measure(b, m, e.now);
  double rate = 0;
  if (throttled(e.status)) {
    m.throttled_per_s = m.throttling ? std::min(m.measured_per_s, m.rate_per_s) : m.measured_per_s;
    m.throttled_at = e.now;
    m.throttling = true;
    rate = m.throttled_per_s * b.beta;
  } else {
    const double t = (e.now - m.throttled_at).seconds() - zero_point_s(b, m.throttled_per_s);
    rate = b.cubic_scale * t * t * t + m.throttled_per_s;
  }
  rate = std::min(rate, 2 * m.measured_per_s);
  refill(m, e.now);
  m.rate_per_s = std::max(rate, b.rate_per_s_min);
  m.tokens_max = std::max(rate, 1.0);
  m.tokens = std::min(m.tokens, m.tokens_max);
}

bool AwsAdaptive::withdraw(const Budget& b, Memory& m, Charge& charge, const Ended& e) {
  return b.capacity <= 0 || AwsQuota::withdraw(b, m.quota, charge.quota, e);
}

std::optional<Duration> AwsAdaptive::ask(const Budget&, Memory& m, Instant now, Rng&) {
  if (!m.throttling) return Duration{};
  refill(m, now);
  if (m.tokens >= 1 - crumb) {
    m.tokens = std::max(0.0, m.tokens - 1);
    return Duration{};
  }
  return std::max(Duration::ns(1), Duration::seconds((1 - m.tokens) / m.rate_per_s));
}

void SreThrottle::told(const Budget& b, Memory& m, Charge&, const Ended& e) {
  advance(m.part, e.now, b.window / parts, m.requests, m.accepts);
  if (accepted(e.status)) count(at(m.accepts, m.part));
}

std::optional<Duration> SreThrottle::ask(const Budget& b, Memory& m, Instant now, Rng& rng) {
  advance(m.part, now, b.window / parts, m.requests, m.accepts);
  const double requests = sum(m.requests), accepts = sum(m.accepts);
  count(at(m.requests, m.part));
  const double refused = (requests - b.k * accepts) / (requests + 1);
  if (refused > 0 && rng.unit() < refused) return std::nullopt;
  return Duration{};
}

}  // namespace retrygate
