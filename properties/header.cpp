#include "properties/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace retrygate {
namespace {

using namespace std::chrono;

constexpr sys_seconds start_of_time = sys_days{year{2026} / January / 1};
constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// The number written by `digits` characters at `at`; nothing if one of them is no digit.
std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  for (const char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

template <std::size_t N>
std::optional<unsigned> name_at(std::string_view text, std::size_t at,
                                const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), text.substr(at, 3));
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin());
}

// Seconds since the start of time. The pattern is fixed: "Thu, 01 Jan 2026 00:00:10 GMT".
std::optional<std::int64_t> seconds_of(std::string_view date) {
  constexpr std::string_view pattern = "???, ?? ??? ???? ??:??:?? GMT";
  if (date.size() != pattern.size()) return std::nullopt;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '?' && pattern[i] != date[i]) return std::nullopt;
  }
  const auto day_name = name_at(date, 0, days);
  const auto day_of_month = number_at(date, 5, 2);
  const auto month_name = name_at(date, 8, months);
  const auto of_year = number_at(date, 12, 4);
  const auto h = number_at(date, 17, 2), m = number_at(date, 20, 2), s = number_at(date, 23, 2);
  if (!day_name || !day_of_month || !month_name || !of_year || !h || !m || !s) return std::nullopt;
  const year_month_day on{year{*of_year}, month{*month_name + 1}, day{static_cast<unsigned>(*day_of_month)}};
  if (!on.ok() || *h > 23 || *m > 59 || *s > 60) return std::nullopt;
  return (sys_days{on} + hours{*h} + minutes{*m} + seconds{*s} - start_of_time).count();
}

long double in_ns(Duration d) { return static_cast<long double>(d.ns()); }

}  // namespace

std::optional<Duration> wait_asked(std::string_view header, Instant now) {
  if (header.empty()) return std::nullopt;
  if (std::all_of(header.begin(), header.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t whole = 0;
    for (const char c : header) {
      whole = std::min<std::int64_t>(whole * 10 + (c - '0'), 100'000'000'000);  // beyond every Duration
    }
    return Duration::s(whole);
  }
  const auto at = seconds_of(header);
  if (!at) return std::nullopt;
  return std::max(Duration{}, Duration::s(*at) - now.since_start);
}

std::string imf_fixdate(Instant t) {
  const sys_seconds point = start_of_time + floor<seconds>(nanoseconds{t.since_start.ns()});
  const auto midnight = floor<std::chrono::days>(point);
  const year_month_day on{midnight};
  const hh_mm_ss at{point - midnight};
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", days.at(weekday{midnight}.c_encoding()),
                     static_cast<unsigned>(on.day()), months.at(static_cast<unsigned>(on.month()) - 1),
                     static_cast<int>(on.year()), at.hours().count(), at.minutes().count(),
                     at.seconds().count());
}

Heeded heeded(const Contract& c, Duration asked, const Support& own) {
  const RetryAfterRule rule = c.retry_after.value_or(RetryAfterRule::ignore);
  Heeded h{own, true, true};
  if (rule == RetryAfterRule::ignore) return h;
  if (c.retry_after_max && asked > *c.retry_after_max) {
    const bool stops = c.retry_after_over == RetryAfterOver::stop || rule == RetryAfterRule::exact_or_stop;
    if (stops) h.may_wait = false;
    if (c.retry_after_over == RetryAfterOver::clip && !stops) h.may_stop = false;
    asked = *c.retry_after_max;
  }
  const long double told = in_ns(asked);
  if (rule == RetryAfterRule::floor) {
    h.wait.lo = std::max(own.lo, told);
    h.wait.hi = std::max(own.hi, told);
  } else if (rule == RetryAfterRule::max) {
    h.wait.lo = std::min(own.lo, told);
    h.wait.hi = std::min(own.hi, told);
  } else {
    h.wait.lo = h.wait.hi = told;
  }
  return h;
}

}  // namespace retrygate
