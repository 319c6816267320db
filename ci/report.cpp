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
  if (!row.relative) {
    const bool whole = std::abs(value) >= 999.5 && std::abs(value) < 1e9;  // not 1.4e+03
    return whole ? fmt::format("{:+.0f}", value) : fmt::format("{:+.3g}", value);
  }
  return std::abs(value) < 9.9995 ? fmt::format("{:+.1f}", 100 * value) : fmt::format("{:+.4g}", 100 * value);
}

}  // namespace

std::string sentence_about(const Report& report, const ComparisonRow& row) {
  bool other_scenario = false, other_params = false, other_baseline = false;
  for (const ComparisonRow& one : report.comparisons) {
    other_scenario |= one.scenario != row.scenario;
    other_params |= one.scenario == row.scenario && one.params != row.params;
    other_baseline |= one.candidate == row.candidate && one.metric == row.metric &&
                      world_of(one) == world_of(row) && one.baseline != row.baseline;
  }
  const std::string world = other_params ? world_of(row) : row.scenario;
  return fmt::format("{} {}{}{}", row.candidate, row.metric,
                     other_scenario || other_params ? " on " + world : "",
                     other_baseline ? " against " + row.baseline : "");
}

std::string effect_text(const ComparisonRow& row, std::optional<double> value) {
  return value ? number(row, *value) + unit_of(row) : "-";
}

std::string interval_text(const ComparisonRow& row) {
  if (!row.low || !row.high) return "-";
  return fmt::format("{} .. {}{}", number(row, *row.low), number(row, *row.high), unit_of(row));
}

std::string saved_by_pairing(std::span<const ComparisonRow* const> rows) {
  constexpr double worth_a_word = 1.2;
  std::vector<std::string> times;
  for (const ComparisonRow* row : rows) {
    if (row->pairing_gain && *row->pairing_gain >= worth_a_word)
      times.push_back(fmt::format("{} {} times", row->metric,
                                  *row->pairing_gain < 99 ? fmt::format("{:.2g}", *row->pairing_gain)
                                                          : mean_text(std::round(*row->pairing_gain))));
  }
  if (times.empty()) return "";
  return fmt::format(
      "Both policies met the same seeds. With seeds of its own each would need more of them: for {} as "
      "many{}.",
      fmt::join(times, ", for "), times.size() < rows.size() ? "; for the rest hardly more" : "");
}

std::vector<CheckBlock> check_blocks(const Report& report) {
  const auto rank = [](const VerdictRow& row) {
    if (row.verdict == "broken") return 0;
    // A subject that does not survive has no other chance.
    if (is_violation(row)) return row.invariant == "survives" ? 1 : 2;
    if (row.verdict == "fails") return 3;
    return row.verdict == "unsure" ? 5 : 4;
  };
  std::vector<CheckBlock> blocks;
  for (const VerdictRow& row : report.verdicts) {
    if (!is_bad(row) && row.waiver.empty()) continue;
    const auto same = std::find_if(blocks.begin(), blocks.end(), [&](const CheckBlock& block) {
      const VerdictRow& other = *block.rows.front();
      return row.verdict == "unsure" && other.verdict == "unsure" && other.subject == row.subject &&
             other.counterexample == row.counterexample;
    });
    if (same != blocks.end())
      same->rows.push_back(&row);
    else
      blocks.push_back({{&row}});
  }
  std::stable_sort(blocks.begin(), blocks.end(), [&](const CheckBlock& a, const CheckBlock& b) {
    return rank(*a.rows.front()) < rank(*b.rows.front());
  });
  return blocks;
}

std::string share_text(std::optional<double> share) {
  if (!share) return "-";
  return *share < 9 ? fmt::format("{:+.1f} %", 100 * *share) : "x" + mean_text(1 + *share);
}

std::string p_text(double p) { return p < 1e-9 ? "p < 1e-9" : fmt::format("p = {:.2g}", p); }

std::string mean_text(std::optional<double> value) {
  if (!value) return "-";
  const double size = std::abs(*value);
  return size >= 1e3 && size < 1e9 ? fmt::format("{:.0f}", *value) : fmt::format("{:.4g}", *value);
}

}  // namespace retrygate::ci
