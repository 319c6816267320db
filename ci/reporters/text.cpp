// The report for a terminal: at most 80 columns.
#include <fmt/format.h>

#include <algorithm>
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

// "19 hold, 1 fails, 13 unsure, 16 not promised"
std::string tally(const Report& report, const std::string& subject) {
  std::string out;
  for (const std::string_view verdict :
       {"holds", "deviates", "waived", "broken", "fails", "unsure", "not-promised"}) {
    const auto n = std::count_if(report.verdicts.begin(), report.verdicts.end(), [&](const VerdictRow& row) {
      return row.subject == subject && row.verdict == verdict;
    });
    const std::string_view word = verdict == "holds"          ? "hold"
                                  : verdict == "not-promised" ? "not promised"
                                                              : verdict;
    if (n > 0 || verdict == "holds" || verdict == "not-promised")
      out += out.empty() ? fmt::format("{:>2} {}", n, word) : fmt::format(", {} {}", n, word);
  }
  return out;
}

// Lines of their own stay so: what a program was told, what it wrote.
std::string paragraphs(const std::string& first, std::string_view text, std::size_t indent) {
  std::string out, begin = first;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t margin = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(margin);
    if (!line.empty())
      out += wrapped(begin + std::string(std::min<std::size_t>(margin, 8), ' '), line, indent);
    begin.assign(indent, ' ');
  }
  return out;
}

std::string block_of(const CheckBlock& block) {
  const VerdictRow& row = *block.rows.front();
  std::string out = "\n";
  if (block.rows.size() > 1) {
    std::string ids;
    for (const VerdictRow* one : block.rows) ids += (ids.empty() ? "" : ", ") + one->invariant;
    out += wrapped(
        fmt::format("{} {}: {} invariants for one reason", row.subject, row.verdict, block.rows.size()), 2);
    return out + wrapped("    found: ", row.counterexample, 6) + wrapped("    which: ", ids, 6);
  }
  out += wrapped(
      fmt::format("{} {}: {} ({}, {})", row.subject, row.verdict, row.invariant, row.level, row.evidence), 2);
  out += wrapped("    promised: ", row.claim, 6);
  if (!row.counterexample.empty()) out += paragraphs("    found: ", row.counterexample, 6);
  if (!row.elsewhere.empty()) out += wrapped("    elsewhere: ", row.elsewhere, 6);
  if (!row.unshrunk.empty()) out += paragraphs("    first met: ", row.unshrunk, 6);
  if (!row.waiver.empty()) out += wrapped("waived " + row.waiver, 4);
  if (!row.repeat.empty()) out += command_lines("    repeat: ", row.repeat, 6);
  return out;
}

std::string checks_lines(const Report& report) {
  constexpr std::size_t widest = 28;
  std::vector<std::string> subjects;
  std::size_t width = 0;
  for (const VerdictRow& row : report.verdicts) {
    if (std::find(subjects.begin(), subjects.end(), row.subject) == subjects.end())
      subjects.push_back(row.subject);
    width = std::max(width, std::min(widest, shortened(row.subject, widest).size()));
  }
  std::string out = "\nPromises\n";
  for (const std::string& subject : subjects)
    out += wrapped(fmt::format("  {:<{}}  ", shortened(subject, widest), width), tally(report, subject),
                   width + 4);
  for (const CheckBlock& block : check_blocks(report)) out += block_of(block);
  return out + (report.coverage.empty() ? "" : "\n" + coverage_lines(report));
}

std::string heading(const ComparisonRow& row) {
  return wrapped(fmt::format("{} against {} on {}, {} {}", row.candidate, row.baseline, world_of(row),
                             row.seeds, row.seeds == 1 ? "seed" : "seeds"),
                 0);
}

// One line of the table of a candidate in a scenario.
struct Cells {
  std::string metric, baseline, candidate, effect, interval, margin, verdict;
};

Cells cells_of(const ComparisonRow& row) {
  return {row.metric,
          mean_text(row.baseline_mean),
          mean_text(row.candidate_mean),
          effect_text(row, row.effect),
          interval_text(row),
          row.margin,
          row.margin.empty() ? "" : std::string(verdict_mark(row))};
}

bool fits(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end - begin > columns) return false;
    begin = end + 1;
  }
  return true;
}

// As wide as its widest cells. Where that is too much, the interval and what follows go on a second line.
std::string comparison_table(const std::vector<const ComparisonRow*>& rows) {
  const bool judged =
      std::any_of(rows.begin(), rows.end(), [](const auto* row) { return !row->margin.empty(); });
  const auto laid_out = [&](bool two_lines) {
    std::vector<Cells> lines = {
        {"metric", "baseline", "candidate", "effect", "90 % interval", judged ? "margin" : "", ""}};
    for (const ComparisonRow* row : rows) lines.push_back(cells_of(*row));
    const auto width = [&](std::string Cells::*cell) {
      std::size_t most = 0;
      for (const Cells& one : lines) most = std::max(most, (one.*cell).size());
      return most;
    };
    std::string out;
    for (const Cells& one : lines) {
      const std::string head =
          fmt::format("  {:<{}}  {:>{}}  {:>{}}  {:>{}}", one.metric, width(&Cells::metric), one.baseline,
                      width(&Cells::baseline), one.candidate, width(&Cells::candidate), one.effect,
                      width(&Cells::effect));
      std::string tail = fmt::format("  {:<{}}", one.interval, width(&Cells::interval));
      if (judged) tail += fmt::format("  {:>{}}  {}", one.margin, width(&Cells::margin), one.verdict);
      std::string line = two_lines ? head + "\n    " + tail : head + tail;
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  };
  const std::string out = laid_out(false);
  return fits(out) ? out : laid_out(true);
}

// Below the table of one candidate in one scenario: seeds, where they were not given, and what pairing saved.
std::string below(const std::vector<const ComparisonRow*>& rows) {
  std::vector<std::string> took;
  for (const ComparisonRow* row : rows) {
    if (row->decided_at) took.push_back(fmt::format("{} {}", row->metric, *row->decided_at));
  }
  std::string out;
  if (!took.empty()) out += wrapped(fmt::format("Seeds until decided: {}", fmt::join(took, ", ")), 2);
  if (const std::string saved = saved_by_pairing(rows); !saved.empty()) out += wrapped(saved, 2);
  return out;
}

std::string comparisons_lines(const Report& report) {
  std::vector<std::vector<const ComparisonRow*>> blocks;
  for (const ComparisonRow& row : report.comparisons) {
    if (blocks.empty() || heading(row) != heading(*blocks.back().front())) blocks.emplace_back();
    blocks.back().push_back(&row);
  }
  std::string out;
  for (const auto& block : blocks)
    out += "\n" + heading(*block.front()) + comparison_table(block) + below(block);
  std::string sentences;
  for (const ComparisonRow& row : report.comparisons)
    sentences += wrapped(fmt::format("{}: {}", sentence_about(report, row), row.headline), 2);
  return out + (sentences.empty() ? "" : "\nIn words\n" + sentences);
}

// The p of what the test says: that of "not worse" where it rejects "worse", else that of "worse".
std::string opinion(const SensitivityRow& test) {
  const double p = test.verdict == "pass" ? test.p_within : test.p_adjusted;
  return fmt::format("{} {}",
                     test.verdict == "fail"   ? "FAIL"
                     : test.verdict == "pass" ? "pass"
                                              : "?",
                     p < 1e-9 ? "p<1e-9" : fmt::format("p={:.1g}", p));
}

std::string sensitivity_lines(const Report& report) {
  // A table ends where the candidate or the tests are others.
  std::string out, last;
  std::vector<std::vector<std::string>> lines;
  const auto close = [&] {
    std::vector<std::size_t> widths;
    for (const auto& line : lines) {
      widths.resize(std::max(widths.size(), line.size()));
      for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    for (const auto& line : lines) {
      std::string text;
      for (std::size_t i = 0; i < line.size(); ++i) text += fmt::format("  {:<{}}", line[i], widths[i]);
      out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    }
    lines.clear();
  };
  for (const ComparisonRow& row : report.comparisons) {
    if (row.sensitivity.empty()) continue;
    std::vector<std::string> names = {"metric", row.method};
    std::vector<std::string> says = {row.metric, std::string(verdict_mark(row))};
    for (const SensitivityRow& test : row.sensitivity) {
      names.push_back(test.method);
      says.push_back(opinion(test));
    }
    const std::string now = heading(row) + fmt::format("{}", fmt::join(names, ","));
    if (now != last) {
      close();
      out += "\n" + heading(row);
      lines.push_back(names);
    }
    last = now;
    lines.push_back(std::move(says));
  }
  close();
  if (out.empty()) return out;
  return "\nOther tests, asked the same questions: the first column decides, they never do\n" + out;
}

std::string baseline_news(const Report& report) {
  std::string out;
  for (const std::string& why : report.blocked) out += "\n" + wrapped("No comparison: " + why, 0);
  for (const PolicyChange& change : report.changes) {
    // A name may hold anything: what is left of it on a second line is indented.
    const std::string head = change.in_file
                                 ? fmt::format("{} is not the stored policy{}:", change.now,
                                               change.stored == change.now ? "" : " (" + change.stored + ")")
                                 : fmt::format("What changes from {} to {}:", change.stored, change.now);
    out += "\n" + wrapped("", head, 2);
    for (const std::string& text : change.removed) out += wrapped("  - ", text, 4);
    for (const std::string& text : change.added) out += wrapped("  + ", text, 4);
  }
  return out;
}

std::string text_document(const Report& report) {
  std::string out = wrapped(fmt::format("retrygate {}: {}", report.run.version, report.run.suite), 0);
  if (!report.run.summary.empty()) out += wrapped(report.run.summary, 0);
  if (!report.refused.empty()) out += "\nNothing was run, because the settings are wrong:\n";
  for (const Error& error : report.refused) out += wrapped("  ", to_string(error), 4);
  if (!report.unstarted.empty()) out += "\nA program that cannot be started was asked nothing:\n";
  for (const Error& error : report.unstarted) out += wrapped("  ", to_string(error), 4);
  out += baseline_news(report);
  if (!report.comparisons.empty()) out += comparisons_lines(report) + sensitivity_lines(report);
  if (!report.growth.empty()) out += "\nGrowth, shown and not judged\n\n" + growth_text(report.growth);
  if (!report.verdicts.empty()) out += checks_lines(report);
  for (const std::string& note : report.notes) out += "\n" + wrapped(note, 0);
  if (!report.run.command.empty()) out += "\n" + command_lines("Repeat: ", report.run.command, 2);
  return inert_lines(out) +
         fmt::format("\nVerdict: {} (exit {})\n",
                     judges(report) ? verdict_word(report) : "none, as no margin was given",
                     static_cast<int>(report.code));
}

}  // namespace

void add_text(Shelf<Reporter>& shelf) {
  shelf.add({"text", "report.txt", "for a terminal, 80 columns", &text_document});
}

}  // namespace retrygate::ci
