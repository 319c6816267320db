#include "sim/metrics.hpp"

#include <fmt/format.h>

#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

using Number = std::optional<double>;

double count(std::int64_t n) { return static_cast<double>(n); }

Number ratio(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  return count(a) / count(b);
}

Number if_any_success(const Totals& t, double value) {
  if (t.succeeded == 0) return std::nullopt;
  return value;
}

constexpr Metric all[] = {
    {"requests", "requests", Better::lower, [](const Totals& t) -> Number { return count(t.requests); }},
    {"retries", "requests", Better::lower, [](const Totals& t) -> Number { return count(t.retries); }},
    {"peak_10ms", "requests", Better::lower, [](const Totals& t) -> Number { return count(t.peak[0]); }},
    {"peak_100ms", "requests", Better::lower, [](const Totals& t) -> Number { return count(t.peak[1]); }},
    {"peak_1s", "requests", Better::lower, [](const Totals& t) -> Number { return count(t.peak[2]); }},
    {"retry_peak_10ms", "requests", Better::lower,
     [](const Totals& t) -> Number { return count(t.retry_peak[0]); }},
    {"retry_peak_100ms", "requests", Better::lower,
     [](const Totals& t) -> Number { return count(t.retry_peak[1]); }},
    {"completion_s", "s", Better::lower,
     [](const Totals& t) -> Number {
       if (t.calls == 0 || t.succeeded < t.calls) return std::nullopt;
       return t.last_success.seconds();
     }},
    {"completed", "calls", Better::higher, [](const Totals& t) -> Number { return count(t.succeeded); }},
    {"finish_s", "s", Better::lower, [](const Totals& t) -> Number { return t.last_end.seconds(); }},
    {"gave_up", "calls", Better::lower, [](const Totals& t) -> Number { return count(t.gave_up); }},
    {"success_rate", "1", Better::higher, [](const Totals& t) { return ratio(t.succeeded, t.calls); }},
    {"attempts_mean", "attempts", Better::lower, [](const Totals& t) { return ratio(t.requests, t.calls); }},
    {"attempts_max", "attempts", Better::lower,
     [](const Totals& t) -> Number { return count(t.attempts_max); }},
    {"latency_mean_s", "s", Better::lower, [](const Totals& t) { return if_any_success(t, t.latency_mean); }},
    {"latency_p95_s", "s", Better::lower,
     [](const Totals& t) { return if_any_success(t, t.latency_p95.seconds()); }},
    {"amplification", "1", Better::lower, [](const Totals& t) { return ratio(t.requests, t.calls); }},
};

}  // namespace

std::span<const Metric> metrics() { return all; }

Result<const Metric*> find_metric(std::string_view id, Where where) {
  std::vector<std::string_view> ids;
  for (const Metric& metric : all) {
    if (metric.id == id) return &metric;
    ids.push_back(metric.id);
  }
  return failure(std::move(where), fmt::format("no metric '{}'{}", id, did_you_mean(id, ids)),
                 fmt::format("one of: {}", fmt::join(ids, " ")));
}

}  // namespace retrygate
