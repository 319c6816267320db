#include "ci/waivers.hpp"

#include <fmt/format.h>

namespace retrygate::ci {
namespace {

std::string day(std::chrono::sys_days when) {
  const std::chrono::year_month_day date(when);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

}  // namespace

void apply_waivers(const std::vector<Waiver>& waivers, std::chrono::sys_days today,
                   std::vector<VerdictRow>& rows) {
  for (const Waiver& waiver : waivers) {
    for (VerdictRow& row : rows) {
      if (row.subject != waiver.subject || row.invariant != waiver.invariant) continue;
      const std::string place =
          fmt::format("{}:{}: the waiver \"{}\"", waiver.where.file, waiver.where.line, waiver.reason);
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
