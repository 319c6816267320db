// The report for a terminal: at most 80 columns.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ci/growth.hpp"
#include "ci/layout.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

// How far the checks went, once for all subjects that went equally far.
std::string coverage_lines(const Report& report) {
  std::vector<std::pair<CoverageRow, std::string>> groups;  // with the names of the subjects
  for (const CoverageRow& row : report.coverage) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) {
      return g.first.tried == row.tried && g.first.not_tried == row.not_tried;
    });
    if (same == groups.end())
      groups.emplace_back(row, row.subject);
    else
      same->second += ", " + row.subject;
  }
  std::string out;
  for (const auto& [row, names] : groups) {
    if (groups.size() > 1) out += wrapped("  ", names + ":", 2);
    out += wrapped("  tried: ", row.tried, 4);
    for (const std::string& what : row.not_tried) out += wrapped("  not tried: ", what, 4);
  }
  return out;
}

std::string checks_lines(const Report& report) {
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
    if (!is_bad(row) && row.waiver.empty()) continue;
    bad += "\n" + wrapped(fmt::format("{} {}: {} ({}, {})", row.subject, row.verdict, row.invariant,
                                      row.level, row.evidence),
                          2);
    bad += wrapped("    promised: ", row.claim, 6);
    if (!row.counterexample.empty()) bad += wrapped("    found: ", row.counterexample, 6);
    if (!row.elsewhere.empty()) bad += wrapped("    elsewhere: ", row.elsewhere, 6);
    if (!row.unshrunk.empty()) bad += wrapped("    first met: ", row.unshrunk, 6);
    if (!row.waiver.empty()) bad += wrapped("waived " + row.waiver, 4);
    if (!row.repeat.empty()) bad += command_lines("    repeat: ", row.repeat, 6);
  }
  std::string out = "\nPromises\n";
  for (const auto& [subject, tally] : by_subject) {
    out += fmt::format("  {:<28} {:>2} hold, {:>2} not promised, {:>2} other\n", shortened(subject, 28),
                       tally.held, tally.not_promised, tally.other);
  }
  return out + bad + (report.coverage.empty() ? "" : "\n" + coverage_lines(report));
}

std::string heading(const ComparisonRow& row) {
  return wrapped(fmt::format("{} against {} on {}, {} {}", row.candidate, row.baseline, world_of(row),
                             row.seeds, row.seeds == 1 ? "seed" : "seeds"),
                 0);
}

std::string line(std::string_view metric, std::string_view baseline, std::string_view candidate,
                 std::string_view effect, std::string_view interval, std::string_view margin,
                 std::string_view verdict) {
  std::string head = fmt::format("  {:<16} {:>8} {:>9} {:>10}", metric, baseline, candidate, effect);
  std::string tail = fmt::format("  {:<16}", interval);
  if (!margin.empty()) tail += fmt::format(" {:>6}  {}", margin, verdict);
  tail.erase(tail.find_last_not_of(' ') + 1);
  // What does not fit goes on the next line, under the effect as far as there is room.
  if (head.size() + tail.size() > columns)
    head += "\n" + std::string(std::min<std::size_t>(38, columns - std::min(columns, tail.size())), ' ');
  return head + tail + "\n";
}

// Below the table of one candidate in one scenario: seeds, where they were not given, and what pairing saved.
std::string below(const std::vector<const ComparisonRow*>& rows) {
  std::vector<std::string> took, worth;
  for (const ComparisonRow* row : rows) {
    if (row->decided_at) took.push_back(fmt::format("{} {}", row->metric, *row->decided_at));
    if (row->pairing_gain) worth.push_back(fmt::format("{} {:.2g}", row->metric, *row->pairing_gain));
  }
  std::string out;
  if (!took.empty()) out += wrapped(fmt::format("Seeds until decided: {}", fmt::join(took, ", ")), 2);
  if (!worth.empty())
    out += wrapped(fmt::format("Both policies met the same seeds. Without that the same certainty would take "
                               "so many times the seeds: {}",
                               fmt::join(worth, ", ")),
                   2);
  return out;
}

std::string comparisons_lines(const Report& report) {
  std::string out, last;
  std::vector<const ComparisonRow*> block;
  for (const ComparisonRow& row : report.comparisons) {
    const std::string now = heading(row);
    if (now != last) {
      out += below(std::exchange(block, {}));
      const bool judged = !row.margin.empty();
      out += "\n" + now +
             line("metric", "baseline", "candidate", "effect", "90 % interval", judged ? "margin" : "", "");
    }
    last = now;
    block.push_back(&row);
    out += line(row.metric, mean_text(row.baseline_mean), mean_text(row.candidate_mean),
                effect_text(row, row.effect), interval_text(row), row.margin, verdict_mark(row));
  }
  out += below(block);
  std::string sentences;
  for (const ComparisonRow& row : report.comparisons)
    sentences += wrapped(fmt::format("{} {}: {}", row.candidate, row.metric, row.headline), 2);
  return out + (sentences.empty() ? "" : "\nIn words\n" + sentences);
}

// The p of what the test says: that of "not worse" where it rejects "worse", else that of "worse".
std::string opinion(std::string_view verdict, double p) {
  return fmt::format("{} {}",
                     verdict == "fail"   ? "FAIL"
                     : verdict == "pass" ? "pass"
                                         : "?",
                     p < 1e-9 ? "<1e-9" : fmt::format("{:.1g}", p));
}

std::string sensitivity_lines(const Report& report) {
  std::string out, last;
  for (const ComparisonRow& row : report.comparisons) {
    if (row.sensitivity.empty()) continue;
    std::string names, says;
    for (const SensitivityRow& test : row.sensitivity) {
      names += fmt::format("  {:<13}", test.method);
      says += fmt::format("  {:<13}",
                          opinion(test.verdict, test.verdict == "pass" ? test.p_within : test.p_adjusted));
    }
    std::string now = fmt::format("  {:<16}  {:<11}{}", "metric", row.method, names);
    now = heading(row) + now.substr(0, now.find_last_not_of(' ') + 1) + "\n";
    if (now != last) out += "\n" + now;
    last = now;
    std::string one = fmt::format("  {:<16}  {:<11}{}", row.metric, verdict_mark(row), says);
    out += one.substr(0, one.find_last_not_of(' ') + 1) + "\n";
  }
  if (out.empty()) return out;
  return "\nThe same questions to other tests: the first column decides, with p of the rest\n" + out;
}

std::string baseline_news(const Report& report) {
  std::string out;
  for (const std::string& why : report.blocked) out += "\n" + wrapped("No comparison: " + why, 0);
  for (const PolicyChange& change : report.changes) {
    out += "\n" + wrapped(fmt::format("{} is not the stored policy{}:", change.now,
                                      change.stored == change.now ? "" : " (" + change.stored + ")"),
                          0);
    for (const std::string& text : change.removed) out += wrapped("  - ", text, 4);
    for (const std::string& text : change.added) out += wrapped("  + ", text, 4);
  }
  return out;
}

std::string text_document(const Report& report) {
  std::string out = wrapped(fmt::format("retrygate {}: {}", report.run.version, report.run.suite), 0);
  if (!report.run.summary.empty()) out += wrapped(report.run.summary, 0);
  out += baseline_news(report);
  if (!report.comparisons.empty()) out += comparisons_lines(report) + sensitivity_lines(report);
  if (!report.growth.empty()) out += "\nGrowth, shown and not judged\n\n" + growth_text(report.growth);
  if (!report.verdicts.empty()) out += checks_lines(report);
  for (const std::string& note : report.notes) out += "\n" + wrapped(note, 0);
  if (!report.run.command.empty()) out += "\n" + command_lines("Repeat: ", report.run.command, 2);
  return out + fmt::format("\nVerdict: {} (exit {})\n",
                           judges(report) ? verdict_word(report) : "none, as no margin was given",
                           static_cast<int>(report.code));
}

}  // namespace

void add_text(Shelf<Reporter>& shelf) {
  shelf.add({"text", "report.txt", "for a terminal, 80 columns", &text_document});
}

}  // namespace retrygate::ci
