// The report for a terminal: at most 80 columns.
#include <fmt/format.h>

#include <map>

#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

// Breaks at spaces; continuation lines are indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word(text.data() + begin, end - begin);
    if (column != 0 && column + 1 + word.size() > 80) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    if (column == 0 && out.empty()) {
      out += std::string(indent, ' ');
      column = indent;
    }
    out += word;
    column += word.size();
    begin = end + 1;
  }
  return out + "\n";
}

std::string checks(const Report& report) {
  struct Tally {
    std::size_t held = 0, not_promised = 0, other = 0;
  };
  std::map<std::string, Tally> by_subject;
  std::string bad;
  for (const VerdictRow& row : report.verdicts) {
    Tally& tally = by_subject[row.subject];
    if (row.verdict == "holds")
      ++tally.held;
    else if (row.verdict == "not-promised")
      ++tally.not_promised;
    else
      ++tally.other;
    if (!is_bad(row)) continue;
    bad += fmt::format("\n  {} {}: {} ({}, {})\n", row.subject, row.verdict, row.invariant, row.level,
                       row.evidence);
    bad += wrapped("promised: " + row.claim, 4);
    if (!row.counterexample.empty()) bad += wrapped("found: " + row.counterexample, 4);
    if (!row.repeat.empty()) bad += "    repeat: " + row.repeat + "\n";
  }
  std::string out = "\nPromises\n";
  for (const auto& [subject, tally] : by_subject) {
    out += fmt::format("  {:<28} {:>2} hold, {:>2} not promised, {:>2} other\n", subject, tally.held,
                       tally.not_promised, tally.other);
  }
  return out + bad;
}

std::string comparisons(const Report& report) {
  std::string out, heading;
  for (const ComparisonRow& row : report.comparisons) {
    const std::string now = fmt::format("\n{} against {} on {}, {} seeds\n", row.candidate, row.baseline,
                                        row.scenario, row.seeds);
    if (now != heading) {
      heading = now;
      out += now + fmt::format("  {:<13} {:>9} {:>10} {:>10}  {:<19} {:>6}  {}\n", "metric", "baseline",
                               "candidate", "effect", "90 % interval", "margin", "");
    }
    const auto mean = [](std::optional<double> value) {
      return value ? fmt::format("{:.5g}", *value) : std::string("-");
    };
    const std::string interval =
        row.low && row.high ? fmt::format("{} .. {}", effect_text(row, row.low), effect_text(row, row.high))
                            : "-";
    out +=
        fmt::format("  {:<13} {:>9} {:>10} {:>10}  {:<19} {:>6}  {}\n", row.metric, mean(row.baseline_mean),
                    mean(row.candidate_mean), effect_text(row, row.effect), interval, row.margin,
                    row.verdict == "pass"   ? "pass"
                    : row.verdict == "fail" ? "FAIL"
                                            : "?");
  }
  std::string sentences;
  for (const ComparisonRow& row : report.comparisons) {
    sentences += wrapped(fmt::format("{} {}: {}", row.candidate, row.metric, row.headline), 2);
  }
  return out + (sentences.empty() ? "" : "\nIn words\n" + sentences);
}

std::string render(const Report& report) {
  std::string out = fmt::format("retrygate {}: {}\n", report.run.version, report.run.suite);
  if (!report.run.summary.empty()) out += wrapped(report.run.summary, 0);
  if (!report.comparisons.empty()) out += comparisons(report);
  if (!report.verdicts.empty()) out += checks(report);
  for (const std::string& note : report.notes) out += "\n" + wrapped(note, 0);
  if (!report.run.command.empty()) out += "\nRepeat: " + report.run.command + "\n";
  return out + fmt::format("\nVerdict: {} (exit {})\n", word(report.code), static_cast<int>(report.code));
}

}  // namespace

void add_text(Shelf<Reporter>& shelf) {
  shelf.add({"text", "report.txt", "for a terminal, 80 columns", &render});
}

}  // namespace retrygate::ci
