#include "sim/trace.hpp"

#include <fmt/format.h>

namespace retrygate {

std::string trace_csv(std::span<const TraceRow> rows) {
  std::string out = "client,call,attempt,start,end,status,retry_after\n";
  for (const TraceRow& row : rows) {
    const std::string wait =
        row.outcome.retry_after ? fmt::format("{}", row.outcome.retry_after->ns() / 1'000'000'000) : "";
    out += fmt::format("{},{},{},{},{},{},{}\n", row.client, row.call, row.attempt,
                       to_string(row.start.since_start), to_string(row.end.since_start),
                       to_string(row.outcome.status), wait);
  }
  return out;
}

}  // namespace retrygate
