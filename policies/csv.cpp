#include "policies/csv.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>

namespace retrygate {
namespace {

// Does it begin as a date does: 2026-01?
bool seems_a_date(std::string_view text) {
  return text.size() > 4 && text[4] == '-' && text.find_first_not_of("0123456789") == 4;
}

// The number of so many digits that `text` begins with; takes them.
std::optional<int> digits(std::string_view& text, std::size_t count) {
  const auto value = Csv::number<int>(text.substr(0, count));
  if (!value || text.size() < count || text[0] == '-') return std::nullopt;
  text.remove_prefix(count);
  return value;
}
bool takes(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Nanoseconds since 1970 of a date of RFC 3339, section 5.6; nothing if it is none.
std::optional<std::int64_t> date_ns(std::string_view text) {
  using namespace std::chrono;
  std::array<int, 6> parts{};  // year, month, day, hour, minute, second
  constexpr std::array<std::string_view, 6> after{"-", "-", "Tt ", ":", ":", ""};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = digits(text, i == 0 ? 4 : 2);
    if (!part || (i < 5 && !takes(text, after[i]))) return std::nullopt;
    parts[i] = *part;
  }
  std::int64_t fraction_ns = 0;
  if (takes(text, ".,")) {
    std::int64_t worth = 100'000'000;
    const std::size_t before = text.size();
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), worth /= 10)
      fraction_ns += (text[0] - '0') * worth;
    if (text.size() == before) return std::nullopt;
  }
  minutes ahead{0};
  if (!text.empty() && !takes(text, "Zz")) {
    const bool west = text[0] == '-';
    if (!takes(text, "+-")) return std::nullopt;
    const auto h = digits(text, 2);
    takes(text, ":");
    const auto m = digits(text, 2);
    if (!h || !m || *h > 23 || *m > 59) return std::nullopt;
    ahead = (hours{*h} + minutes{*m}) * (west ? -1 : 1);
  }
  const auto [y, month_number, d, hour, minute, second] = parts;
  const year_month_day day{year{y}, month{static_cast<unsigned>(month_number)},
                           std::chrono::day{static_cast<unsigned>(d)}};
  constexpr int least = 1970, most = 2199;  // far within what 64 bits of nanoseconds hold
  if (!text.empty() || !day.ok() || y < least || y > most || hour > 23 || minute > 59 || second > 60)
    return std::nullopt;
  const nanoseconds since = sys_days{day}.time_since_epoch() + hours{hour} + minutes{minute} - ahead +
                            seconds{second} + nanoseconds{fraction_ns};
  return since.count();
}

}  // namespace

Csv::Csv(std::string_view text, std::string source, Errors& errors)
    : rest_(text), source_(std::move(source)), errors_(errors) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  const std::size_t first_mark = rest_.find_first_not_of(" \t\r\n");
  if (first_mark != std::string_view::npos && (rest_[first_mark] == '{' || rest_[first_mark] == '[')) {
    fail({source_, 1, 1}, "this is JSON, where a table is needed: lines of CSV, the first one with the names",
         "jq -r '[.client, .call, .attempt] | @csv' and the like makes one of JSON Lines");
    rest_ = {};
    return;
  }
  if (auto first = line())
    names_ = std::move(*first);
  else
    fail({source_, 1, 1}, "an empty file: its first line must name the columns");
}

std::optional<Csv::Row> Csv::line() {
  while (!rest_.empty()) {
    ++line_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view one = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (one.find_first_not_of(" \r") == std::string_view::npos) continue;
    if (names_.empty() && one.front() == '#') continue;
    return csv_row(one, source_, line_);
  }
  return std::nullopt;
}

bool Csv::next(Row& row) {
  while (auto one = line()) {
    row = std::move(*one);
    if (row.size() == names_.size()) return true;
    fail({source_, line_, 1}, fmt::format("this line has {} {}, the header has {}", row.size(),
                                          row.size() == 1 ? "cell" : "cells", names_.size()));
  }
  return false;
}

std::optional<std::size_t> Csv::column(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].text == name) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> Csv::must(std::string_view name, std::string_view instead) {
  const auto found = column(name);
  if (found || names_.empty()) return found;
  std::vector<std::string_view> here;
  for (const Cell& cell : names_) here.push_back(cell.text);
  fail(
      {source_, names_.front().where.line, 1},
      fmt::format("there is no column '{}'{}", name, instead.empty() ? "" : fmt::format(" (or {})", instead)),
      fmt::format("columns here: {}", fmt::join(here, ", ")));
  return found;
}

void Csv::fail(Where where, std::string message, std::string hint) {
  constexpr std::size_t most = 20;
  if (errors_.size() < most) errors_.push_back({std::move(where), std::move(message), std::move(hint)});
}

std::optional<Csv::Times> Csv::times(std::string_view name, bool needed) {
  using enum Times::Unit;
  if (const auto i = column(name)) return Times{*i, text};
  if (const auto i = column(fmt::format("{}_s", name))) return Times{*i, seconds};
  if (const auto i = column(fmt::format("{}_ns", name))) return Times{*i, nanoseconds};
  if (needed) must(name, fmt::format("{0}_s, {0}_ns", name));
  return std::nullopt;
}

std::optional<Duration> Csv::read(const Row& row, Times times) {
  const Cell& cell = row[times.index];
  switch (times.unit) {
    case Times::Unit::text:
      return time_or_date(cell);
    case Times::Unit::seconds:
      // A log writes floats as it likes: 0.30000000000000004, 1e-05.
      if (const auto seconds = number<double>(cell.text); seconds && std::isfinite(*seconds))
        return nearest_ns(cell, *seconds);
      fail(cell.where, fmt::format("'{}' is no number of seconds", cell.text));
      return std::nullopt;
    case Times::Unit::nanoseconds:
      if (const auto ns = number<std::int64_t>(cell.text)) return Duration::ns(*ns);
      fail(cell.where, fmt::format("'{}' is no whole number of nanoseconds", cell.text));
      return std::nullopt;
  }
  return std::nullopt;
}

// Exact where the text is a whole number of nanoseconds, which a double of large seconds is not.
std::optional<Duration> Csv::nearest_ns(const Cell& cell, double seconds) {
  if (const auto exact = parse_duration(cell.text + "s", cell.where)) return *exact;
  const Duration nearest = Duration::seconds(seconds);
  if (nearest < Duration::max() && nearest > Duration::min()) return nearest;
  fail(cell.where, fmt::format("'{}' seconds are longer than 292 years", cell.text));
  return std::nullopt;
}

std::optional<Duration> Csv::time_or_date(const Cell& cell) {
  if (seems_a_date(cell.text)) {
    const auto ns = date_ns(cell.text);
    if (!ns) {
      fail(cell.where, fmt::format("'{}' is no date", cell.text), "for example 2026-01-31T12:00:00.5Z");
      return std::nullopt;
    }
    if (!first_date_ns_) first_date_ns_ = ns;
    return Duration::ns(*ns - *first_date_ns_);
  }
  const auto parsed = parse_duration(cell.text, cell.where);
  if (parsed) return *parsed;
  const Error& e = parsed.error().front();
  fail(e.where, e.message, e.hint);
  return std::nullopt;
}

}  // namespace retrygate
