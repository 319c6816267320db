// Samples as they are compared.
#pragma once

#include <optional>
#include <vector>

#include "sim/metrics.hpp"

namespace retrygate::ci {

// A time that is not reached, or reached after the horizon, counts as the horizon; of anything else a missing
// value is an error at `where`.
Result<std::vector<double>> comparable(const std::vector<std::optional<double>>& samples, const Metric&,
                                       Duration horizon, Where where);

}  // namespace retrygate::ci
