// `retrygate stats`: the statistical procedures for programs (a file of cases) and for people (CSV files).
#pragma once

#include <string>
#include <vector>

#include "ci/exit_code.hpp"
#include "policies/base/error.hpp"

namespace retrygate::ci {

struct StatsOutput {
  std::string text;
  ExitCode code = ExitCode::pass;  // usage when a case could not be run; the others are printed all the same
};

// Runs every case of a JSON array `[{"id":..,"test":..,"params":{..}, data..},..]`. As JSON an array of
// {"id":..,"result":{..}} in the order of the file, or {"id":..,"error":..} for a case that cannot be run.
Result<StatsOutput> stats_of_cases(const std::string& path, bool json);

struct StatsRequest {
  std::string test;
  std::vector<std::string> files;  // CSV: every column is a sample; a first line of names is a header
  std::vector<std::string> set;    // key=value, of `params`
};

// Columns called by a key that the procedure reads (x, y, time, event, ...) are that; without such a header
// the first column is x, the second y, and all columns together are the groups and, if equally long, the
// table.
Result<StatsOutput> stats_of_files(const StatsRequest&, bool json);

}  // namespace retrygate::ci
