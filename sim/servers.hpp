// What the families of stages share: reading counts, probabilities, laws and refusals.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "sim/law.hpp"
#include "sim/server.hpp"

namespace retrygate {

inline constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();

// An answer that says no: a status and perhaps Retry-After.
struct Refusal {
  Status status = Status::http(503);
  std::optional<Duration> retry_after = {};

  Step answer(Request& request) const {
    request.outcome.status = status;
    request.outcome.retry_after = retry_after;
    return Step::answer;
  }
};

// How much of the work that begins at `begin` and takes `time` is done when the run ends.
inline Duration done_in(const Duration& horizon, Instant begin, Duration time) {
  return std::min(time, std::max(Duration{}, horizon - begin.since_start));
}

// The folder of the file that holds a text written there: paths in it are relative to that file. The current
// directory for what is written on the command line.
std::string folder_of(const Where&);
std::string path_beside(const Where&, const std::string& path);

// `answer` and `retry_after` of a stage's table.
Refusal read_refusal(Reader& table, int status);
// These keys must be there when there is no `otherwise`. A whole number of at least `least`.
std::int64_t count(Reader& table, std::string_view key, std::int64_t least,
                   std::optional<std::int64_t> otherwise = std::nullopt);
double probability(Reader& table, std::string_view key, std::optional<double> otherwise = std::nullopt);
Law law(Reader& table, std::string_view key, std::optional<Law> otherwise = std::nullopt);

}  // namespace retrygate
