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

constexpr std::array<std::string_view, 7> long_days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};

template <std::size_t N>
std::optional<std::size_t> place_of(std::string_view word, const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::optional<int> number_in(std::string_view digits) {
  int value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

struct Written {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

// Reads a date by a pattern of the same length: W the name of a day, N of a month; D Y h m s digits of the
// day, year, hour, minute and second; P a day padded with a blank; everything else stands for itself.
std::optional<Written> read_by(std::string_view pattern, std::string_view text) {
  if (text.size() != pattern.size()) return std::nullopt;
  Written w;
  for (std::size_t at = 0; at < pattern.size();) {
    const char kind = pattern[at];
    const std::size_t end = std::min(pattern.find_first_not_of(kind, at), pattern.size());
    std::string_view part = text.substr(at, end - at);
    if (kind == 'P' && part.starts_with(' ')) part.remove_prefix(1);
    int* const number = kind == 'D' || kind == 'P' ? &w.day
                        : kind == 'Y'              ? &w.year
                        : kind == 'h'              ? &w.hour
                        : kind == 'm'              ? &w.minute
                        : kind == 's'              ? &w.second
                                                   : nullptr;
    if (number != nullptr) {
      const auto value = number_in(part);
      if (!value) return std::nullopt;
      *number = *value;
    } else if (kind == 'N') {
      const auto month = place_of(part, months);
      if (!month) return std::nullopt;
      w.month = static_cast<int>(*month) + 1;
    } else if (kind == 'W' ? !place_of(part, days) : part != pattern.substr(at, end - at)) {
      return std::nullopt;
    }
    at = end;
  }
  return w;
}

year_month_day day_at(Instant t) {
  return year_month_day{
      floor<std::chrono::days>(start_of_time + floor<seconds>(nanoseconds{t.since_start.ns()}))};
}

// The three forms of RFC 9110, section 5.6.7. Of the one with two digits for the year, a date that seems more
// than 50 years away is the last one in the past with these digits.
std::optional<Written> date_in(std::string_view text, Instant now) {
  if (const auto fixed = read_by("WWW, DD NNN YYYY hh:mm:ss GMT", text)) return fixed;
  if (const auto asctime = read_by("WWW NNN PP hh:mm:ss YYYY", text)) return asctime;
  const std::size_t comma = std::min(text.find(", "), text.size());
  if (!place_of(text.substr(0, comma), long_days)) return std::nullopt;
  auto rfc850 = read_by(", DD-NNN-YY hh:mm:ss GMT", text.substr(comma));
  if (!rfc850) return std::nullopt;
  const int this_year = static_cast<int>(day_at(now).year());
  rfc850->year += this_year - this_year % 100;
  if (rfc850->year > this_year + 50) rfc850->year -= 100;
  return rfc850;
}

// Seconds since the start of time.
std::optional<std::int64_t> seconds_of(std::string_view text, Instant now) {
  const auto w = date_in(text, now);
  if (!w) return std::nullopt;
  const year_month_day on{year{w->year}, month{static_cast<unsigned>(w->month)},
                          day{static_cast<unsigned>(w->day)}};
  if (!on.ok() || w->hour > 23 || w->minute > 59 || w->second > 60) return std::nullopt;
  return (sys_days{on} + hours{w->hour} + minutes{w->minute} + seconds{w->second} - start_of_time).count();
}

}  // namespace

std::optional<Duration> wait_asked(std::string_view header, Instant now) {
  // Blanks around a value are no part of it (section 5.5).
  const std::size_t first = std::min(header.find_first_not_of(" \t"), header.size());
  header = header.substr(first, header.find_last_not_of(" \t") + 1 - first);
  if (header.empty()) return std::nullopt;
  if (std::all_of(header.begin(), header.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t whole = 0;
    for (const char c : header) {
      whole = std::min<std::int64_t>(whole * 10 + (c - '0'), 100'000'000'000);  // beyond every Duration
    }
    return Duration::s(whole);
  }
  const auto at = seconds_of(header, now);
  if (!at) return std::nullopt;
  return std::max(Duration{}, Duration::s(*at) - now.since_start);
}

std::string http_date(Instant t, DateForm form) {
  const sys_seconds point = start_of_time + floor<seconds>(nanoseconds{t.since_start.ns()});
  const auto midnight = floor<std::chrono::days>(point);
  const year_month_day on{midnight};
  const hh_mm_ss at{point - midnight};
  const std::size_t weekday_at = weekday{midnight}.c_encoding();
  const auto of_month = static_cast<unsigned>(on.day());
  const std::string_view month_name = months.at(static_cast<unsigned>(on.month()) - 1);
  const int in_year = static_cast<int>(on.year());
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", at.hours().count(), at.minutes().count(), at.seconds().count());
  switch (form) {
    case DateForm::rfc850:
      return fmt::format("{}, {:02}-{}-{:02} {} GMT", long_days.at(weekday_at), of_month, month_name,
                         in_year % 100, clock);
    case DateForm::asctime:
      return fmt::format("{} {} {:2} {} {:04}", days.at(weekday_at), month_name, of_month, clock, in_year);
    case DateForm::fixed:
      break;
  }
  return fmt::format("{}, {:02} {} {:04} {} GMT", days.at(weekday_at), of_month, month_name, in_year, clock);
}

Duration longest_header(const Contract& c) {
  return std::min(c.retry_after_max.value_or(Duration::max()), c.timer_max.value_or(Duration::max()));
}

std::optional<std::string_view> harmless_header(const Contract& c) {
  if (!c.retry_after) return std::nullopt;
  return c.elapsed || c.deadline || longest_header(c) < Duration::s(1) ? "0" : "1";
}

Heeded heeded(const Contract& c, Duration asked, const Support& own) {
  const RetryAfterRule rule = c.retry_after.value_or(RetryAfterRule::ignore);
  Heeded h{own, true, false};
  if (rule == RetryAfterRule::ignore) return h;
  if (c.retry_after_max && asked > *c.retry_after_max) {
    const bool stops = c.retry_after_over == RetryAfterOver::stop || rule == RetryAfterRule::exact_or_stop;
    h.may_wait = !stops;
    h.may_stop = stops || c.retry_after_over != RetryAfterOver::clip;
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
    // One of 0 names no time to wait: a delay of its own is not what the header forbids.
    if (told <= 0 && own.hi < without_end) h.wait.hi = own.hi;
  }
  return h;
}

namespace {

// "3s", "[1s, 3s]", "3s or more", "any delay".
std::string span_of(const Support& wait) {
  if (wait.lo >= without_end) return "a wait without end";
  const auto text = [](long double ns) { return to_string(Duration::ns(static_cast<std::int64_t>(ns))); };
  if (wait.hi < without_end) return wait.lo == wait.hi ? text(wait.hi) : to_string(wait);
  return wait.lo > 0 ? text(wait.lo) + " or more" : "any delay";
}

}  // namespace

std::string allowance(const Contract& c, std::optional<Duration> asked, const Support& own) {
  if (!asked) return "the header is malformed and counts as absent, which leaves " + span_of(own);
  const Heeded rule = heeded(c, *asked, own);
  std::string text =
      "the header asks for " + (*asked == Duration::max() ? "more than 292 years" : to_string(*asked));
  if (c.retry_after_max && *asked > *c.retry_after_max)
    text += ", above retry_after_max = " + to_string(*c.retry_after_max);
  text += fmt::format(": '{}' allows ", to_string(c.retry_after.value_or(RetryAfterRule::ignore)));
  if (!rule.may_wait) return text + "nothing but the end of the call";
  return text + span_of(rule.wait) + (rule.may_stop ? ", or the end of the call" : "");
}

}  // namespace retrygate
