#include "ci/report.hpp"

#include <fmt/format.h>

namespace retrygate::ci {

bool is_bad(const VerdictRow& row) {
  return row.verdict == "fails" || row.verdict == "broken" || row.verdict == "unsure";
}

std::string effect_text(const ComparisonRow& row, std::optional<double> value) {
  if (!value) return "-";
  if (row.relative) return fmt::format("{:+.1f} %", 100 * *value);
  return fmt::format("{:+.3g}{}", *value, row.unit.empty() || row.unit == "1" ? "" : " " + row.unit);
}

}  // namespace retrygate::ci
