// What can be named on the command line, and what the words of a report mean: `list` and `explain`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ci/json_io.hpp"
#include "policies/base/error.hpp"

namespace retrygate::ci {

// policies, scenarios, stages, invariants, metrics, tests, reporters, suites.
const std::vector<std::string>& list_kinds();
// The first column is what the text form shows beside the id.
std::vector<ListRow> list_of(std::string_view kind);

// A policy, an invariant, a metric, a verdict word, an exit code ("3"), a statistical method.
Result<std::string> explanation(std::string_view id);
std::vector<std::string_view> explained();  // every id that `explanation` knows

}  // namespace retrygate::ci
