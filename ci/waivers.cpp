#include "ci/waivers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/invariant.hpp"

namespace retrygate::ci {
namespace {

std::string day(std::chrono::sys_days when) {
  const std::chrono::year_month_day date(when);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

// In the place of the verdict that a waiver is about, where there is none.
VerdictRow unmet(const Waiver& waiver, const std::string& place) {
  const Invariant* invariant = invariants().find(waiver.invariant);
  VerdictRow row{waiver.subject, waiver.invariant, "MUST", "exact", "fails", "", "", ""};
  if (invariant != nullptr) {
    row.evidence = to_string(invariant->evidence);
    row.claim = invariant->claim;
  }
  row.counterexample = place + " waives nothing: this was not tried. Delete it";
  row.where = waiver.where;
  return row;
}

}  // namespace

void apply_waivers(const std::vector<Waiver>& waivers, std::chrono::sys_days today,
                   std::vector<VerdictRow>& rows) {
  for (const Waiver& waiver : waivers) {
    const std::string place =
        fmt::format("{}:{}: the waiver \"{}\"", waiver.where.file, waiver.where.line, waiver.reason);
    const auto meant = [&](const VerdictRow& row) {
      return row.subject == waiver.subject && row.invariant == waiver.invariant;
    };
    if (std::none_of(rows.begin(), rows.end(), meant)) {
      rows.push_back(unmet(waiver, place));
      continue;
    }
    for (VerdictRow& row : rows) {
      if (!meant(row)) continue;
      const auto add = [&](const std::string& text) {
        row.counterexample += (row.counterexample.empty() ? "" : "; ") + text;
      };
      if (row.verdict == "fails" && today <= waiver.until) {
        row.verdict = "waived";
        row.waiver = fmt::format("until {}: {}", day(waiver.until), waiver.reason);
      } else if (row.verdict == "fails") {
        add(fmt::format("{} ended on {}", place, day(waiver.until)));
      } else if (row.verdict != "unsure" && row.verdict != "broken") {
        add(fmt::format("{} waives nothing: the verdict is {}. Delete it", place, row.verdict));
        row.verdict = "fails";
        row.level = "MUST";
      }
    }
  }
}

}  // namespace retrygate::ci
