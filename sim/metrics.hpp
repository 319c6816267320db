// What can be read off a run.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "sim/run.hpp"

namespace retrygate {

enum class Better { lower, higher };

struct Metric {
  std::string_view id;
  std::string_view unit;
  Better better;
  std::optional<double> (*read)(const Totals&);  // nothing where it was not reached
};

std::span<const Metric> metrics();
// The metric of that id, or a message that lists them.
Result<const Metric*> find_metric(std::string_view id, Where where = {});

}  // namespace retrygate
