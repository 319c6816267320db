#include "policies/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "policies/csv.hpp"

namespace retrygate {
namespace {

using Row = Csv::Row;

bool under_way(const TracedAttempt& attempt) { return attempt.ended == Instant::never(); }

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
  for (Row row; csv.next(row);) {
    Line line{row[*client].text, row[*call].text, {}};
    TracedAttempt& a = line.attempt;
    a.where = row[*attempt].where;
    const auto n = Csv::number<std::int64_t>(row[*attempt].text);
    if (!n || *n < 1)
      csv.fail(a.where, fmt::format("'{}' is no attempt number", row[*attempt].text),
               "the first try is attempt 1");
    a.number = n.value_or(0);
    const auto starts = csv.read(row, *start);
    a.started = Instant{starts.value_or(Duration{})};
    const Csv::Cell& outcome =
        error && !row[*error].text.empty() ? row[*error] : row[status ? *status : *error];
    if (row[end->index].text.empty() && outcome.text.empty()) {
      a.ended = Instant::never();
      lines.push_back(std::move(line));
      continue;
    }
    const auto ends = csv.read(row, *end);
    a.ended = Instant{ends.value_or(Duration{})};
    if (starts && ends && *ends < *starts)
      csv.fail(row[end->index].where, fmt::format("this attempt ends ({}) before it starts ({})",
                                                  to_string(a.ended), to_string(a.started)));
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

// What followed each attempt, from the times. One that has not ended is not kept: that it was sent is what
// followed the one before it.
void follow(TracedCall& call, Instant recording_ends, Duration patience, Csv& csv) {
  auto& all = call.attempts;
  // Stable: of attempts that are there twice the second one is the mistake.
  std::stable_sort(all.begin(), all.end(),
                   [](const TracedAttempt& a, const TracedAttempt& b) { return a.number < b.number; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].number != static_cast<std::int64_t>(i) + 1) {
      csv.fail(all[i].where,
               fmt::format("client {}, call {}: attempt {} where attempt {} is due", call.client, call.call,
                           all[i].number, i + 1),
               "attempts of a call are 1, 2, 3 ... without gaps, each once; calls of one client need names "
               "of their own, as do clients");
      return;
    }
    if (i + 1 < all.size()) {
      if (all[i + 1].number == all[i].number + 1 && all[i + 1].started < all[i].ended)
        csv.fail(all[i + 1].where, fmt::format("attempt {} starts before attempt {} has ended",
                                               all[i + 1].number, all[i].number));
      all[i].followed = Followed{false, all[i + 1].started - all[i].ended, std::nullopt};
    } else if (all[i].status.succeeded()) {
      all[i].followed = Followed{true, {}, Stop::success};
    } else if (!under_way(all[i]) && recording_ends - all[i].ended > patience) {
      all[i].followed = Followed{true, {}, std::nullopt};
    }
  }
  if (under_way(all.back())) all.pop_back();
}

}  // namespace

Result<Trace> parse_trace(std::string_view text, const std::string& source, Duration patience) {
  Errors errors;
  Csv csv(text, source, errors);
  Trace trace;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  Instant recording_ends;
  for (Line& line : read_lines(csv)) {
    recording_ends =
        std::max(recording_ends, under_way(line.attempt) ? line.attempt.started : line.attempt.ended);
    const auto [place, fresh] = places.try_emplace({line.client, line.call}, trace.calls.size());
    if (fresh) trace.calls.push_back({line.client, line.call, {}});
    trace.calls[place->second].attempts.push_back(std::move(line.attempt));
  }
  const bool readable = errors.empty();
  // What follows from cells that could not be read is no news.
  for (TracedCall& call : trace.calls) {
    if (readable) follow(call, recording_ends, patience, csv);
  }
  std::erase_if(trace.calls, [](const TracedCall& call) { return call.attempts.empty(); });
  if (errors.empty() && trace.calls.empty())
    csv.fail({source, 0, 0}, "no attempt that ended is recorded here");
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return trace;
}

Result<std::vector<LoggedOutage>> parse_outages(std::string_view text, const std::string& source) {
  Errors errors;
  Csv csv(text, source, errors);
  std::vector<LoggedOutage> outages;
  const auto length = csv.times("length", false);
  const auto start = csv.times("start", false);
  const auto end = length ? std::nullopt : csv.times("end", false);
  if (!length && (!start || !end)) csv.must("length", "length_s, or start and end");
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  for (Row row; csv.next(row);) {
    const auto from = start ? csv.read(row, *start) : std::nullopt;
    auto lasts = csv.read(row, length ? *length : *end);
    if ((start && !from) || !lasts) continue;
    if (!length) lasts = *lasts - *from;
    if (*lasts < Duration{})
      csv.fail(row[length ? length->index : end->index].where,
               fmt::format("an outage of {}", to_string(*lasts)));
    outages.push_back({from, *lasts});
  }
  if (errors.empty() && outages.empty()) csv.fail({source, 0, 0}, "no outage is recorded here");
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return outages;
}

}  // namespace retrygate
