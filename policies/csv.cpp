#include "policies/csv.hpp"

#include <fmt/format.h>

#include <cmath>

namespace retrygate {

Csv::Csv(std::string_view text, std::string source, Errors& errors)
    : rest_(text), source_(std::move(source)), errors_(errors) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
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
    fail({source_, line_, 1},
         fmt::format("this line has {} cells, the header has {}", row.size(), names_.size()));
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
      return keep_first(parse_duration(cell.text, cell.where));
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

std::optional<Duration> Csv::keep_first(Result<Duration> parsed) {
  if (parsed) return *parsed;
  const Error& e = parsed.error().front();
  fail(e.where, e.message, e.hint);
  return std::nullopt;
}

}  // namespace retrygate
