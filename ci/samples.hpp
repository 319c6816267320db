// Samples as they are compared, and as a table of text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

// The unit of metrics that are 1 or 0 in a seed: over seeds they are shares.
inline bool yes_no(std::string_view unit) { return unit == "0/1"; }

// Units of metrics that are counted in a seed: what differs at all differs by 1.
inline bool counted(std::string_view unit) { return unit == "requests" || unit == "calls"; }

// What a missing value counts as is the metric's to say; where it is an error, it is one at `where`.
Result<std::vector<double>> comparable(const std::vector<std::optional<double>>& samples, const Metric&,
                                       const Scenario&, Where where);

// CSV with a header (RFC 4180, lines end with LF): policy, definition, scenario, params ("key=value;..."),
// seed, digest, then one column per metric, empty where it was not reached.
std::string samples_csv(const SampleTable&);

// Made from all that a file says of a cell, each number by its bits: a file in which one was altered no
// longer fits its own sum. No protection against intent.
std::uint64_t sum_of(const Cell&, const std::vector<std::string>& metrics);

}  // namespace retrygate::ci
