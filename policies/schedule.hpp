// The schedule a policy's contract implies: per retry the lowest, mean and highest delay, and whether
// a call outlives an outage.
#pragma once

#include <optional>
#include <vector>

#include "policies/named.hpp"

namespace retrygate {

struct ScheduleRow {
  std::int64_t n;   // number of the retry, from 1
  Duration lo, hi;  // closed form where the contract has growth and jitter and is kept, else observed
  Duration mean;
  Duration lo_so_far, mean_so_far, hi_so_far;  // sums up to and including this retry
};

struct Schedule {
  std::vector<ScheduleRow> rows;
  bool exact;              // false: lo and hi were observed in `calls` calls
  bool mean_exact;         // false: the mean was (a decorrelated chain under a cap has no closed form)
  bool ends;               // the policy stops by itself after the last row
  std::int64_t calls = 0;  // that were drawn, of seed 1
};

// At most `retries` rows, fewer where the policy stops earlier. Every attempt fails at once, with 503 or
// what the policy retries instead. Of a replica that is known to leave its documented delays, and of a
// program, which has to run (`started`), they are observed.
Schedule schedule(const NamedPolicy&, std::int64_t retries);

// The delays before retries 1..`retries` of the first `calls` calls, [retry][call]; a call that stops earlier
// is missing from there on. Every attempt fails as it does there.
std::vector<std::vector<Duration>> observed_delays(const AnyPolicy&, std::int64_t retries,
                                                   std::int64_t calls);

// Fraction of calls that still send an attempt at or after `outage`, when attempts fail at once and the
// outage begins with the call. Observed over as many calls of seed 1 as a schedule.
double share_outliving(const NamedPolicy&, Duration outage);
// The same for many outages, sorted by length.
std::vector<double> shares_outliving(const NamedPolicy&, const std::vector<Duration>& outages);

}  // namespace retrygate
