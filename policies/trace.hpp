// What a retrying client did: its attempts with their times, and what followed each. Read from a CSV file of
// a real client or log, or written down while a program is asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/attempt.hpp"

namespace retrygate {

// What came after an attempt, as far as it is known.
struct Followed {
  bool stopped = false;
  Duration wait;            // to the start of the next attempt, or until a gate refused it
  std::optional<Stop> why;  // a log does not say why a client stopped
};

struct TracedAttempt {
  std::int64_t number = 1;
  Instant started, ended;
  Status status = Status::http(200);
  std::string header;  // Retry-After as sent
  bool has_header = false;
  std::optional<bool> idempotent;  // not every log says it
  Instant deadline = Instant::never();
  std::optional<Followed> followed;  // nothing where the recording ends
  Where where;
};

struct TracedCall {
  std::string client, call;
  std::vector<TracedAttempt> attempts;  // 1, 2, 3 ... without gaps
};

struct Trace {
  std::vector<TracedCall> calls;  // in the order of their first attempts
};

// A header line, which comments (#) may precede, then one attempt a line, in any order. Columns by name,
// others are ignored:
//   client call attempt            names of the client and its call; the attempt counts from 1
//   start end                      durations with a unit since the start of the recording ("1.5s"), or
//   start_s end_s                  seconds as decimal numbers, to the nearest nanosecond (1.5, 1e-05), or
//   start_ns end_ns                whole numbers
//                                  An attempt without end and status was under way when the recording ended.
//   status                         200, UNAVAILABLE, timeout ...; or `error` for the transport errors
//   retry_after                    the header as sent, empty for none (optional)
//   idempotent                     true or false (optional)
// Every fault with its line and column: a missing column, a gap in the attempts, an attempt that begins
// before the one before it ended. The last failed attempt of a call counts as its end only if the recording
// goes on for longer than `patience` after it.
Result<Trace> parse_trace(std::string_view text, const std::string& source, Duration patience);

struct LoggedOutage {
  std::optional<Duration> start;  // since the start of the log; nothing where it has no such column
  Duration length;
  bool operator==(const LoggedOutage&) const = default;
};

// A CSV log of outages: a column `length` (durations with a unit) or `length_s`, and perhaps `start`; or
// `start` and `end` (as above). In the order of the file.
Result<std::vector<LoggedOutage>> parse_outages(std::string_view text, const std::string& source);

}  // namespace retrygate
