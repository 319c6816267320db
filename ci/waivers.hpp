// Waivers: failures that a suite lists as known and accepted until a day.
#pragma once

#include <chrono>
#include <vector>

#include "ci/report.hpp"
#include "ci/suite.hpp"

namespace retrygate::ci {

// A failure that a waiver names becomes "waived" through its last day. One whose day is over stays a failure
// and says so; a waiver whose failure is gone makes its row fail, and one that no row is about adds a
// failure, so that the list stays true. A row that is unsure or broken is left alone.
void apply_waivers(const std::vector<Waiver>&, std::chrono::sys_days today, std::vector<VerdictRow>&);

}  // namespace retrygate::ci
