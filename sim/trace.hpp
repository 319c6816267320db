// A run's attempts as a recorded trace: the columns that `check --trace` reads (policies/trace.hpp).
#pragma once

#include <span>
#include <string>

#include "sim/run.hpp"

namespace retrygate {

// client,call,attempt,start,end,status,retry_after: one line per finished attempt, times with their unit
// since the start of the run, Retry-After in seconds as in the header.
std::string trace_csv(std::span<const TraceRow> rows);

}  // namespace retrygate
