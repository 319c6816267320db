#include "sim/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

using Number = std::optional<double>;

double count(std::int64_t n) { return static_cast<double>(n); }

Number ratio(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  return count(a) / count(b);
}

template <class T>
void add_once(std::vector<T>& all, const T& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

void nothing_more(Measures&) {}

Metric peak(std::string_view id, Duration w, bool retries) {
  return {std::string(id),
          "requests",
          Better::lower,
          fmt::format("the most {} that reach the server within any {}", retries ? "retries" : "requests",
                      to_string(w)),
          [=](Measures& m) { add_once(retries ? m.retry_peaks : m.peaks, w); },
          [=](const Totals& t) -> Number {
            for (const Totals::Peak& p : retries ? t.retry_peaks : t.peaks) {
              if (p.window == w) return count(p.most);
            }
            return std::nullopt;
          }};
}

Metric spread(std::string_view id, std::int64_t attempt) {
  return {std::string(id),
          "s",
          Better::higher,
          fmt::format("from the first to the last request that is attempt {} of its call", attempt),
          [=](Measures& m) { add_once(m.spreads, attempt); },
          [=](const Totals& t) -> Number {
            for (const Totals::Spread& s : t.spreads) {
              if (s.attempt == attempt && s.width) return s.width->seconds();
            }
            return std::nullopt;
          }};
}

// latency_* of the calls that succeeded, latency_all_* of those that ended.
void add_latencies(std::vector<Metric>& all, bool ended) {
  const auto add = [&](std::string_view what, std::string_view words, double (*read)(const Latencies&)) {
    all.push_back(
        {fmt::format("latency_{}{}_s", ended ? "all_" : "", what), "s", Better::lower,
         fmt::format("{} of the time from a call's start to its {}", words, ended ? "end" : "success"),
         [=](Measures& m) { (ended ? m.latencies_all : m.latencies) = true; },
         [=](const Totals& t) -> Number {
           const std::optional<Latencies>& l = ended ? t.latencies_all : t.latencies;
           if (!l) return std::nullopt;
           return read(*l);
         },
         Missing::horizon});
  };
  add("mean", "the mean", [](const Latencies& l) { return l.mean_s; });
  add("p50", "the median (nearest rank)", [](const Latencies& l) { return l.p50.seconds(); });
  add("p95", "the 95th percentile (nearest rank)", [](const Latencies& l) { return l.p95.seconds(); });
  add("p99", "the 99th percentile (nearest rank)", [](const Latencies& l) { return l.p99.seconds(); });
  add("p999", "the 99.9th percentile (nearest rank)", [](const Latencies& l) { return l.p999.seconds(); });
  add("max", "the largest", [](const Latencies& l) { return l.max.seconds(); });
}

std::vector<Metric> make_all() {
  using enum Better;
  std::vector<Metric> all;
  const auto add = [&](std::string_view id, std::string_view unit, Better better, std::string_view meaning,
                       Number (*read)(const Totals&), void (*ask)(Measures&) = nothing_more,
                       Missing missing = Missing::error) {
    all.push_back({std::string(id), std::string(unit), better, std::string(meaning), ask, read, missing});
  };
  add("requests", "requests", lower, "requests that reach the server (behind the front)",
      [](const Totals& t) -> Number { return count(t.requests); });
  add("retries", "requests", lower, "of them, those that are not the first attempt of their call",
      [](const Totals& t) -> Number { return count(t.retries); });
  for (const Duration w : {Duration::ms(10), Duration::ms(100), Duration::s(1)})
    all.push_back(peak(fmt::format("peak_{}", to_string(w)), w, false));
  for (const Duration w : {Duration::ms(10), Duration::ms(100), Duration::s(1)})
    all.push_back(peak(fmt::format("retry_peak_{}", to_string(w)), w, true));
  add(
      "completion_s", "s", lower, "when the last success reaches its caller, if every call succeeds",
      [](const Totals& t) -> Number {
        if (t.calls == 0 || t.succeeded < t.calls || !t.last_success) return std::nullopt;
        return t.last_success->seconds();
      },
      nothing_more, Missing::horizon);
  add("completed", "0/1", higher, "1 if every call succeeds, else 0",
      [](const Totals& t) -> Number { return t.calls > 0 && t.succeeded == t.calls ? 1 : 0; });
  add("succeeded", "calls", higher, "calls that succeed",
      [](const Totals& t) -> Number { return count(t.succeeded); });
  add(
      "finish_s", "s", lower, "when the last call ends, with or without success, if every call ends",
      [](const Totals& t) -> Number {
        if (t.unfinished > 0 || !t.last_end) return std::nullopt;
        return t.last_end->seconds();
      },
      nothing_more, Missing::horizon);
  add("gave_up", "calls", lower, "calls that end without success",
      [](const Totals& t) -> Number { return count(t.gave_up); });
  add("success_rate", "1", higher, "calls that succeed / calls made",
      [](const Totals& t) { return ratio(t.succeeded, t.calls); });
  add("attempts_mean", "attempts", lower, "attempts sent / calls made",
      [](const Totals& t) { return ratio(t.sent, t.calls); });
  add("attempts_max", "attempts", lower, "the most attempts that one call sends",
      [](const Totals& t) -> Number { return count(t.attempts_max); });
  add_latencies(all, false);
  add_latencies(all, true);
  add("amplification", "1", lower, "requests that reach the innermost service / calls made",
      [](const Totals& t) { return ratio(t.last_hop, t.calls); });
  add("goodput_per_s", "calls/s", higher,
      "calls that succeed / time until the last call ends (or the horizon)", [](const Totals& t) -> Number {
        const Duration until = t.unfinished > 0 ? t.horizon : t.last_end.value_or(Duration{});
        if (until == Duration{}) return t.succeeded == 0 ? Number(0) : std::nullopt;
        return count(t.succeeded) / until.seconds();
      });
  add("wasted_s", "s", lower,
      "server time spent on requests that are no success for a caller that still waits",
      [](const Totals& t) -> Number { return t.wasted.seconds(); });
  all.push_back(spread("spread_attempt_2_s", 2));
  all.push_back(spread("spread_attempt_3_s", 3));
  add(
      "recovery_s", "s", lower,
      "from the end of the last fault window to the first whole second from which on at least 90 % of the "
      "attempts that end in every second succeed",
      [](const Totals& t) -> Number {
        if (!t.recovery) return std::nullopt;
        return t.recovery->seconds();
      },
      [](Measures& m) { m.recovery = true; }, Missing::horizon_after_faults);
  add(
      "duplicates", "requests", lower,
      "requests of one call that are processed again although that is not harmless",
      [](const Totals& t) -> Number { return count(t.duplicates); },
      [](Measures& m) { m.duplicates = true; });
  add("collapse", "0/1", lower,
      "1 if fewer than half of the calls that start after the last fault window (of all, if none does) "
      "succeed",
      [](const Totals& t) -> Number { return 2 * t.late_succeeded < t.late_calls ? 1 : 0; });
  return all;
}

const std::vector<Metric>& all_metrics() {
  static const std::vector<Metric> all = make_all();
  return all;
}

// peak_<d>, retry_peak_<d>, spread_attempt_<k>_s
std::optional<Metric> parametrised(std::string_view id) {
  for (const bool retries : {false, true}) {
    const std::string_view prefix = retries ? "retry_peak_" : "peak_";
    if (!id.starts_with(prefix)) continue;
    const auto w = parse_duration(id.substr(prefix.size()));
    if (w && *w > Duration{}) return peak(id, *w, retries);
  }
  constexpr std::string_view before = "spread_attempt_", after = "_s";
  if (id.starts_with(before) && id.ends_with(after) && id.size() > before.size() + after.size()) {
    const std::string_view digits = id.substr(before.size(), id.size() - before.size() - after.size());
    std::int64_t attempt = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), attempt);
    if (fault == std::errc{} && end == digits.data() + digits.size() && attempt >= 1)
      return spread(id, attempt);
  }
  return std::nullopt;
}

}  // namespace

std::span<const Metric> metrics() { return all_metrics(); }

Result<Metric> find_metric(std::string_view id, Where where) {
  std::vector<std::string_view> ids;
  for (const Metric& metric : all_metrics()) {
    if (metric.id == id) return metric;
    ids.push_back(metric.id);
  }
  if (auto metric = parametrised(id)) return *std::move(metric);
  return failure(
      std::move(where), fmt::format("no metric '{}'{}", id, did_you_mean(id, ids)),
      fmt::format("one of: {}; or peak_<d>, retry_peak_<d>, spread_attempt_<k>_s", fmt::join(ids, " ")));
}

Measures measures_for(std::span<const Metric> wanted) {
  Measures measures;
  for (const Metric& metric : wanted) metric.ask(measures);
  return measures;
}

}  // namespace retrygate
