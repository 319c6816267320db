// What can be read off a run.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/run.hpp"

namespace retrygate {

enum class Better { lower, higher };

// What a value that was not reached counts as where runs are compared.
enum class Missing {
  error,                // there is nothing to compare
  horizon,              // a time that would have come after the end of the run
  horizon_after_faults  // the same in a scenario with fault windows; an error without
};

struct Metric {
  std::string id;
  std::string unit;
  Better better;
  std::string meaning;
  std::function<void(Measures&)> ask;                        // what the run has to keep track of
  std::function<std::optional<double>(const Totals&)> read;  // nothing where it was not reached
  Missing missing = Missing::error;
};

// All without parameters, and the usual ones of those with: peak_<d>, retry_peak_<d>, spread_attempt_<k>_s.
std::span<const Metric> metrics();
// The metric of that id, or a message that lists them.
Result<Metric> find_metric(std::string_view id, Where where = {});
// What a run has to find out so that all of these can be read.
Measures measures_for(std::span<const Metric>);

}  // namespace retrygate
