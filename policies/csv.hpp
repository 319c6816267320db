// Tables as text (RFC 4180) whose first line names the columns: recordings, logs of outages, lists of calls.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/csv.hpp"
#include "policies/base/error.hpp"
#include "policies/base/units.hpp"

namespace retrygate {

// Rows one after the other; their cells are found by the names of the columns. Empty lines are skipped, and
// before the names those that begin with #. Every fault has its line and column; 20 are told.
class Csv {
 public:
  using Cell = CsvCell;
  using Row = CsvRow;

  // `text` and `errors` outlive it; `source` is what messages call the text.
  Csv(std::string_view text, std::string source, Errors& errors);

  // The next row, as long as the first line; false after the last one.
  bool next(Row& row);
  std::optional<std::size_t> column(std::string_view name) const;
  // The column, or a complaint that it is missing (or what would do `instead`).
  std::optional<std::size_t> must(std::string_view name, std::string_view instead = {});
  void fail(Where where, std::string message, std::string hint = {});

  // A column of times under one of three names: NAME with units, NAME_s, NAME_ns. In NAME a time may also be
  // a date of RFC 3339 (2026-01-31T12:00:00.5Z; UTC where it names no zone): it counts from the first date of
  // the table.
  struct Times {
    std::size_t index;
    enum class Unit { text, seconds, nanoseconds } unit;
  };
  std::optional<Times> times(std::string_view name, bool needed = true);
  std::optional<Duration> read(const Row& row, Times times);

  template <class T>
  static std::optional<T> number(std::string_view text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [at, fault] = std::from_chars(text.data(), end, value);
    if (text.empty() || fault != std::errc{} || at != end) return std::nullopt;
    return value;
  }

 private:
  std::optional<Row> line();  // the next that is not skipped
  std::optional<Duration> time_or_date(const Cell& cell);
  std::optional<Duration> nearest_ns(const Cell& cell, double seconds);

  std::string_view rest_;
  int line_ = 0;
  std::string source_;
  Errors& errors_;
  Row names_;
  std::optional<std::int64_t> first_date_ns_;  // since 1970
};

}  // namespace retrygate
