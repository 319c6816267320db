// A run's attempts as a recorded trace: the columns that `check --trace` reads (policies/trace.hpp).
#pragma once

#include <span>
#include <string>

#include "sim/run.hpp"

namespace retrygate {

// client,call,attempt,start,arrival,end,status,retry_after: one line for every attempt that was sent. Times
// with their unit since the start of the run: when the client sent it, when it reached the server (empty if
// it was lost on the way or would come after the horizon), when it ended for its client (empty, as is the
// status, if it was under way at the horizon). Retry-After in seconds as in the header.
std::string trace_csv(std::span<const TraceRow> rows);

}  // namespace retrygate
