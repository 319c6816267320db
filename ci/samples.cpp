#include "ci/samples.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace retrygate::ci {

Result<std::vector<double>> comparable(const std::vector<std::optional<double>>& samples,
                                       const Metric& metric, Duration horizon, Where where) {
  std::vector<double> values;
  const double limit = horizon.seconds();
  for (const std::optional<double>& sample : samples) {
    if (metric.unit == "s")
      values.push_back(std::min(sample.value_or(limit), limit));
    else if (sample)
      values.push_back(*sample);
    else
      return failure(std::move(where), fmt::format("'{}' has no value in some seeds", metric.id),
                     "choose another metric");
  }
  return values;
}

}  // namespace retrygate::ci
