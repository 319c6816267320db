#include "policies/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "policies/base/csv.hpp"

namespace retrygate {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, value);
  if (text.empty() || fault != std::errc{} || at != end) return std::nullopt;
  return value;
}

// A table whose cells are found by the names in its first line.
class Csv {
 public:
  Csv(std::string_view text, const std::string& source, Errors& errors) : errors_(errors), source_(source) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    for (int line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view one = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (one.find_first_not_of(" \r") == std::string_view::npos || one.front() == '#') continue;
      CsvRow row = csv_row(one, source, line);
      if (names_.empty()) {
        names_ = std::move(row);
        continue;
      }
      if (row.size() != names_.size()) {
        fail({source, line, 1},
             fmt::format("this line has {} cells, the header has {}", row.size(), names_.size()), "");
        continue;
      }
      rows_.push_back(std::move(row));
    }
    if (names_.empty()) fail({source, 1, 1}, "an empty file: its first line must name the columns", "");
  }

  const std::vector<CsvRow>& rows() const { return rows_; }
  std::optional<std::size_t> column(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].text == name) return i;
    }
    return std::nullopt;
  }
  // The column, or a complaint that it is missing.
  std::optional<std::size_t> must(std::string_view name, std::string_view instead = {}) {
    const auto found = column(name);
    if (!found && !names_.empty())
      fail({source_, names_.front().where.line, 1},
           fmt::format("there is no column '{}'{}", name,
                       instead.empty() ? "" : fmt::format(" (or {})", instead)),
           fmt::format("columns here: {}", joined()));
    return found;
  }
  void fail(Where where, std::string message, std::string hint = {}) {
    constexpr std::size_t most = 20;
    if (errors_.size() < most) errors_.push_back({std::move(where), std::move(message), std::move(hint)});
  }

  // A column of times under one of three names: NAME with units, NAME_s, NAME_ns.
  struct Times {
    std::size_t index;
    enum class Unit { text, seconds, nanoseconds } unit;
  };
  std::optional<Times> times(std::string_view name, bool needed = true) {
    using enum Times::Unit;
    if (const auto i = column(name)) return Times{*i, text};
    if (const auto i = column(fmt::format("{}_s", name))) return Times{*i, seconds};
    if (const auto i = column(fmt::format("{}_ns", name))) return Times{*i, nanoseconds};
    if (needed) must(name, fmt::format("{0}_s, {0}_ns", name));
    return std::nullopt;
  }
  std::optional<Duration> read(const CsvRow& row, Times times) {
    const CsvCell& cell = row[times.index];
    switch (times.unit) {
      case Times::Unit::text:
        return keep_first(parse_duration(cell.text, cell.where));
      case Times::Unit::seconds:
        // As a text, so that a decimal is exact to the nanosecond.
        if (number<double>(cell.text)) return keep_first(parse_duration(cell.text + "s", cell.where));
        fail(cell.where, fmt::format("'{}' is no number of seconds", cell.text));
        return std::nullopt;
      case Times::Unit::nanoseconds:
        if (const auto ns = number<std::int64_t>(cell.text)) return Duration::ns(*ns);
        fail(cell.where, fmt::format("'{}' is no whole number of nanoseconds", cell.text));
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  std::optional<Duration> keep_first(Result<Duration> parsed) {
    if (parsed) return *parsed;
    const Error& e = parsed.error().front();
    fail(e.where, e.message, e.hint);
    return std::nullopt;
  }
  std::string joined() const {
    std::string all;
    for (const CsvCell& name : names_) all += (all.empty() ? "" : ", ") + name.text;
    return all;
  }

  Errors& errors_;
  std::string source_;
  CsvRow names_;
  std::vector<CsvRow> rows_;
};

struct Line {
  std::string client, call;
  TracedAttempt attempt;
};

std::vector<Line> read_lines(Csv& csv) {
  const auto client = csv.must("client");
  const auto call = csv.must("call");
  const auto attempt = csv.must("attempt");
  const auto start = csv.times("start");
  const auto end = csv.times("end");
  const auto status = csv.column("status");
  const auto error = csv.column("error");
  if (!status && !error) csv.must("status", "error");
  const auto header = csv.column("retry_after");
  const auto idempotent = csv.column("idempotent");
  std::vector<Line> lines;
  if (!client || !call || !attempt || !start || !end || (!status && !error)) return lines;
  for (const CsvRow& row : csv.rows()) {
    Line line{row[*client].text, row[*call].text, {}};
    TracedAttempt& a = line.attempt;
    a.where = row[*attempt].where;
    const auto n = number<std::int64_t>(row[*attempt].text);
    if (!n || *n < 1)
      csv.fail(a.where, fmt::format("'{}' is no attempt number", row[*attempt].text),
               "the first try is attempt 1");
    a.number = n.value_or(0);
    a.started = Instant{csv.read(row, *start).value_or(Duration{})};
    a.ended = Instant{csv.read(row, *end).value_or(Duration{})};
    if (a.ended < a.started)
      csv.fail(row[end->index].where, fmt::format("this attempt ends ({}) before it starts ({})",
                                                  to_string(a.ended), to_string(a.started)));
    const CsvCell& outcome =
        error && !row[*error].text.empty() ? row[*error] : row[status ? *status : *error];
    if (const auto parsed = parse_status(outcome.text))
      a.status = *parsed;
    else
      csv.fail(outcome.where,
               fmt::format("'{}' is no HTTP status, gRPC code or transport error", outcome.text),
               "for example 503, UNAVAILABLE, timeout");
    if (header && !row[*header].text.empty()) {
      a.has_header = true;
      a.header = row[*header].text;
    }
    if (idempotent && !row[*idempotent].text.empty()) {
      const std::string& word = row[*idempotent].text;
      if (word == "true" || word == "1")
        a.idempotent = true;
      else if (word == "false" || word == "0")
        a.idempotent = false;
      else
        csv.fail(row[*idempotent].where, fmt::format("'{}' is neither true nor false", word));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// What followed each attempt, from the times.
void follow(TracedCall& call, Instant recording_ends, Duration patience, Csv& csv) {
  auto& all = call.attempts;
  std::sort(all.begin(), all.end(),
            [](const TracedAttempt& a, const TracedAttempt& b) { return a.number < b.number; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].number != static_cast<std::int64_t>(i) + 1) {
      csv.fail(all[i].where,
               fmt::format("client {}, call {}: attempt {} where attempt {} is due", call.client, call.call,
                           all[i].number, i + 1),
               "attempts of a call are 1, 2, 3 ... without gaps, each once");
      return;
    }
    if (i + 1 < all.size()) {
      if (all[i + 1].number == all[i].number + 1 && all[i + 1].started < all[i].ended)
        csv.fail(all[i + 1].where, fmt::format("attempt {} starts before attempt {} has ended",
                                               all[i + 1].number, all[i].number));
      all[i].followed = Followed{false, all[i + 1].started - all[i].ended, std::nullopt};
    } else if (all[i].status.succeeded()) {
      all[i].followed = Followed{true, {}, Stop::success};
    } else if (recording_ends - all[i].ended > patience) {
      all[i].followed = Followed{true, {}, std::nullopt};
    }
  }
}

}  // namespace

Result<Trace> parse_trace(std::string_view text, const std::string& source, Duration patience) {
  Errors errors;
  Csv csv(text, source, errors);
  Trace trace;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  Instant recording_ends;
  for (Line& line : read_lines(csv)) {
    recording_ends = std::max(recording_ends, line.attempt.ended);
    const auto [place, fresh] = places.try_emplace({line.client, line.call}, trace.calls.size());
    if (fresh) trace.calls.push_back({line.client, line.call, {}});
    trace.calls[place->second].attempts.push_back(std::move(line.attempt));
  }
  for (TracedCall& call : trace.calls) follow(call, recording_ends, patience, csv);
  if (errors.empty() && trace.calls.empty()) csv.fail({source, 0, 0}, "no attempt is recorded here");
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return trace;
}

Result<std::vector<Duration>> parse_outages(std::string_view text, const std::string& source) {
  Errors errors;
  Csv csv(text, source, errors);
  std::vector<Duration> lengths;
  const auto length = csv.times("length", false);
  const auto start = length ? std::nullopt : csv.times("start", false);
  const auto end = length ? std::nullopt : csv.times("end", false);
  if (!length && (!start || !end)) csv.must("length", "length_s, or start and end");
  if (length || (start && end)) {
    for (const CsvRow& row : csv.rows()) {
      const std::size_t place = length ? length->index : end->index;
      std::optional<Duration> d;
      if (length) {
        d = csv.read(row, *length);
      } else if (const auto from = csv.read(row, *start), to = csv.read(row, *end); from && to) {
        d = *to - *from;
      }
      if (!d) continue;
      if (*d < Duration{}) csv.fail(row[place].where, fmt::format("an outage of {}", to_string(*d)));
      lengths.push_back(*d);
    }
    if (errors.empty() && lengths.empty()) csv.fail({source, 0, 0}, "no outage is recorded here");
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return lengths;
}

}  // namespace retrygate
