#include "sim/trace.hpp"

#include <fmt/format.h>

namespace retrygate {

std::string trace_csv(std::span<const TraceRow> rows) {
  const auto time = [](const std::optional<Instant>& at) { return at ? to_string(at->since_start) : ""; };
  std::string out = "client,call,attempt,start,arrival,end,status,retry_after\n";
  for (const TraceRow& row : rows) {
    const std::string wait =
        row.outcome.retry_after ? fmt::format("{}", row.outcome.retry_after->ns() / 1'000'000'000) : "";
    out += fmt::format("{},{},{},{},{},{},{},{}\n", row.client, row.call, row.attempt, time(row.start),
                       time(row.arrived), time(row.end), row.end ? to_string(row.outcome.status) : "", wait);
  }
  return out;
}

}  // namespace retrygate
