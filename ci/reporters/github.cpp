// Workflow commands of GitHub Actions: annotations beside the policy's line. GitHub shows ten errors and ten
// warnings of a step, so the worst come first and the rest is counted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "ci/layout.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

constexpr std::size_t most_of_a_kind = 10;

// A line break would begin a command of its own; a percent sign begins an escape.
std::string message(std::string_view text) {
  std::string out;
  for (const char c : clean(text, "\n")) {
    if (c == '%' || c == '\n')
      out += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

std::string property(std::string_view text) {
  std::string out;
  for (const char c : message(text)) {
    if (c == ',' || c == ':')
      out += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

struct Annotation {
  double weight = 0;  // heavier ones are shown first
  std::string title, text;
  Where where;
};

std::string lines(std::string_view kind, std::vector<Annotation> all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Annotation& a, const Annotation& b) { return a.weight > b.weight; });
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), most_of_a_kind); ++i) {
    const Annotation& a = all[i];
    const bool counted = i + 1 == most_of_a_kind && all.size() > most_of_a_kind;
    std::string place;
    if (a.where.line > 0 && !a.where.file.starts_with("--") &&
        std::filesystem::path(a.where.file).has_extension())
      place = fmt::format("file={},line={},col={},",
                          property(std::filesystem::path(a.where.file).lexically_normal().generic_string()),
                          std::max(1, a.where.line), std::max(1, a.where.column));
    out += fmt::format(
        "::{} {}title={}::{}{}\n", kind, place, property(a.title), message(a.text),
        counted ? fmt::format(" (and {} more, see the report)", all.size() - most_of_a_kind) : "");
  }
  return out;
}

// How many margins large the effect is: what units and shares have in common.
double in_margins(const ComparisonRow& row) {
  const double margin = row.margin_amount.value_or(0);
  return margin > 0 ? std::abs(row.effect.value_or(0)) / margin : std::abs(row.effect.value_or(0));
}

std::string github_document(const Report& report) {
  std::vector<Annotation> errors, warnings;
  for (const VerdictRow& row : report.verdicts) {
    const Annotation a{
        1e9, fmt::format("{}: {}", row.subject, row.invariant),
        fmt::format("{}: {} {} Repeat: {}", row.verdict, row.claim, row.counterexample, row.repeat),
        row.where};
    if (row.verdict == "broken" || is_violation(row))
      errors.push_back(a);
    else if (is_bad(row))
      warnings.push_back(a);
  }
  for (const ComparisonRow& row : report.comparisons) {
    const Annotation a{in_margins(row), fmt::format("{}: {}", row.candidate, row.metric),
                       fmt::format("{} on {}: {}", row.metric, world_of(row), row.headline), row.where};
    if (row.verdict == "fail") errors.push_back(a);
    if (row.verdict == "inconclusive") warnings.push_back(a);
  }
  for (const Error& error : report.refused)
    errors.push_back({1e9, "retrygate: wrong settings",
                      fmt::format("{}: {}{}", to_string(error.where), error.message,
                                  error.hint.empty() ? "" : " (" + error.hint + ")"),
                      error.where});
  for (const Error& error : report.unstarted)
    errors.push_back({1e9, "retrygate: a program cannot be started", error.message, error.where});
  for (const std::string& why : report.blocked) warnings.push_back({1e9, "no comparison", why, {}});
  return lines("error", std::move(errors)) + lines("warning", std::move(warnings)) +
         fmt::format("::{} title=retrygate::{} (exit {})\n",
                     report.code == ExitCode::internal ? "error" : "notice", verdict_word(report),
                     static_cast<int>(report.code));
}

}  // namespace

void add_github(Shelf<Reporter>& shelf) {
  shelf.add({"github", "", "annotations of a GitHub Actions step", &github_document});
}

}  // namespace retrygate::ci
