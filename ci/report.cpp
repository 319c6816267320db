#include "ci/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/samples.hpp"

namespace retrygate::ci {

bool judges(const Report& report) {
  return !report.verdicts.empty() || report.code != ExitCode::pass ||
         std::any_of(report.comparisons.begin(), report.comparisons.end(),
                     [](const ComparisonRow& row) { return !row.verdict.empty(); });
}

std::string_view verdict_word(const Report& report) {
  if (!judges(report)) return "no verdict";
  return report.code == ExitCode::pass && report.undecided ? word(ExitCode::inconclusive) : word(report.code);
}

std::string world_of(const std::string& scenario, const std::vector<std::string>& params) {
  return params.empty() ? scenario : fmt::format("{} ({})", scenario, fmt::join(params, ", "));
}

bool is_bad(const VerdictRow& row) {
  return row.verdict == "fails" || row.verdict == "broken" || row.verdict == "unsure";
}

bool is_violation(const VerdictRow& row) {
  return row.verdict == "fails" && (row.level == "MUST" || row.strict);
}

bool changed(const ComparisonRow& row) {
  return row.question == "equivalent" && row.verdict == "fail" && row.effect &&
         (*row.effect < 0) == (row.better == "lower");
}

std::span<const Fault> faults() {
  static constexpr Fault all[] = {
      {"regression", "worse than allowed", "No metric gets worse by more than its margin."},
      {"not-better", "not better by as much as was asked", "The metric gets better by at least its margin."},
      {"changed", "better by more than its margin, and equivalence was asked for",
       "No metric changes by more than its margin, in either direction."}};
  return all;
}

const Fault& fault_of(const ComparisonRow& row) {
  return faults()[changed(row) ? 2 : row.question == "better" ? 1 : 0];
}

std::string_view verdict_mark(const ComparisonRow& row) {
  if (row.verdict == "pass") return "pass";
  if (row.verdict == "fail") return changed(row) ? "CHANGED" : "FAIL";
  return "?";
}

namespace {

std::string unit_of(const ComparisonRow& row) {
  if (row.relative) return " %";
  if (yes_no(row.unit)) return " pt";
  return row.unit.empty() || row.unit == "1" ? "" : " " + row.unit;
}

std::string number(const ComparisonRow& row, double value) {
  if (yes_no(row.unit)) return fmt::format("{:+.1f}", 100 * value);
  if (!row.relative) return fmt::format("{:+.3g}", value);
  return std::abs(value) < 9.9995 ? fmt::format("{:+.1f}", 100 * value) : fmt::format("{:+.4g}", 100 * value);
}

}  // namespace

std::string effect_text(const ComparisonRow& row, std::optional<double> value) {
  return value ? number(row, *value) + unit_of(row) : "-";
}

std::string interval_text(const ComparisonRow& row) {
  if (!row.low || !row.high) return "-";
  return fmt::format("{} .. {}{}", number(row, *row.low), number(row, *row.high), unit_of(row));
}

std::string share_text(std::optional<double> share) {
  return share ? fmt::format("{:+.1f} %", 100 * *share) : "-";
}

std::string p_text(double p) { return p < 1e-9 ? "p < 1e-9" : fmt::format("p = {:.2g}", p); }

std::string mean_text(std::optional<double> value) { return value ? fmt::format("{:.4g}", *value) : "-"; }

}  // namespace retrygate::ci
