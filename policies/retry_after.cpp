#include "policies/retry_after.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace retrygate {
namespace {

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> long_days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the parts of a date from the front of a text; one wrong part spoils the whole.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  void expect(std::string_view literal) {
    fine_ = fine_ && rest_.starts_with(literal);
    if (fine_) rest_.remove_prefix(literal.size());
  }
  int number(std::size_t digits) {
    fine_ = fine_ && rest_.size() >= digits;
    int value = 0;
    for (std::size_t i = 0; fine_ && i < digits; ++i) {
      fine_ = is_digit(rest_[i]);
      value = value * 10 + (rest_[i] - '0');
    }
    if (fine_) rest_.remove_prefix(digits);
    return fine_ ? value : 0;
  }
  // asctime pads the day of the month with a space.
  int padded_number() {
    if (!rest_.starts_with(' ')) return number(2);
    expect(" ");
    return number(1);
  }
  // Which of the names, from 1.
  template <std::size_t N>
  int name(const std::array<std::string_view, N>& names) {
    for (std::size_t i = 0; fine_ && i < N; ++i) {
      if (!rest_.starts_with(names[i])) continue;
      rest_.remove_prefix(names[i].size());
      return static_cast<int>(i) + 1;
    }
    fine_ = false;
    return 1;
  }
  bool done() const { return fine_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool fine_ = true;
};

struct Date {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
};

void time_of_day(Scanner& scan, Date& date) {
  date.hour = scan.number(2);
  scan.expect(":");
  date.minute = scan.number(2);
  scan.expect(":");
  date.second = scan.number(2);
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<Date> imf_fixdate(std::string_view text) {
  Scanner scan(text);
  Date date;
  scan.name(days);
  scan.expect(", ");
  date.day = scan.number(2);
  scan.expect(" ");
  date.month = scan.name(months);
  scan.expect(" ");
  date.year = scan.number(4);
  scan.expect(" ");
  time_of_day(scan, date);
  scan.expect(" GMT");
  return scan.done() ? std::optional(date) : std::nullopt;
}

// "Sunday, 06-Nov-94 08:49:37 GMT"; a year that seems more than 50 years ahead is the last one in the past
// with these digits.
std::optional<Date> rfc850_date(std::string_view text, int year_now) {
  Scanner scan(text);
  Date date;
  scan.name(long_days);
  scan.expect(", ");
  date.day = scan.number(2);
  scan.expect("-");
  date.month = scan.name(months);
  scan.expect("-");
  date.year = year_now / 100 * 100 + scan.number(2);
  scan.expect(" ");
  time_of_day(scan, date);
  scan.expect(" GMT");
  if (date.year > year_now + 50) date.year -= 100;
  return scan.done() ? std::optional(date) : std::nullopt;
}

// "Sun Nov  6 08:49:37 1994"
std::optional<Date> asctime_date(std::string_view text) {
  Scanner scan(text);
  Date date;
  scan.name(days);
  scan.expect(" ");
  date.month = scan.name(months);
  scan.expect(" ");
  date.day = scan.padded_number();
  scan.expect(" ");
  time_of_day(scan, date);
  scan.expect(" ");
  date.year = scan.number(4);
  return scan.done() ? std::optional(date) : std::nullopt;
}

// Seconds since 1970; nothing when there is no such day or time. Second 60 is a leap second.
std::optional<std::int64_t> unix_seconds(const Date& date) {
  using namespace std::chrono;
  const year_month_day day{year{date.year}, month{static_cast<unsigned>(date.month)},
                           std::chrono::day{static_cast<unsigned>(date.day)}};
  if (!day.ok() || date.hour > 23 || date.minute > 59 || date.second > 60) return std::nullopt;
  return std::int64_t{sys_days{day}.time_since_epoch().count()} * 86'400 + date.hour * 3600 +
         date.minute * 60 + date.second;
}

std::chrono::sys_days day_of(std::int64_t unix_s) {
  return std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds{std::chrono::seconds{unix_s}});
}

std::int64_t unix_second(Instant t) {
  const std::int64_t ns = t.since_start.ns();
  return epoch_unix_s + ns / 1'000'000'000 - (ns % 1'000'000'000 < 0 ? 1 : 0);
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text, Instant now) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  if (std::all_of(text.begin(), text.end(), is_digit)) {
    Duration seconds;
    for (const char digit : text) seconds = seconds * 10 + Duration::s(digit - '0');
    return seconds;
  }
  const std::chrono::year_month_day today{day_of(unix_second(now))};
  auto date = imf_fixdate(text);
  if (!date) date = rfc850_date(text, static_cast<int>(today.year()));
  if (!date) date = asctime_date(text);
  const auto at = date ? unix_seconds(*date) : std::nullopt;
  if (!at) return std::nullopt;
  return std::max(Duration{}, Duration::s(*at - epoch_unix_s) - now.since_start);
}

std::string to_http_date(Instant t) {
  const std::int64_t second = unix_second(t);
  const auto day = day_of(second);
  const std::chrono::year_month_day date{day};
  const std::int64_t rest = second - std::int64_t{day.time_since_epoch().count()} * 86'400;
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", days[std::chrono::weekday{day}.c_encoding()],
                     static_cast<unsigned>(date.day()), months[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), rest / 3600, rest / 60 % 60, rest % 60);
}

}  // namespace retrygate
