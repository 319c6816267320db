// The report as GitHub-flavoured Markdown, verdict first.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ci/layout.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

// Text that comes from a user (names, counterexamples) must not open a table cell, a tag or a link. What is
// to stand behind the marks of persons and issues is told.
std::string escaped(std::string_view text, std::string_view behind_marks) {
  std::string out;
  for (const char c : clean(text, "\n")) {
    if (c == '\n')
      out += ' ';
    else if (std::string_view("|<>&[]`*_\\@#~!").find(c) != std::string_view::npos)
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += c;
    if (c == '@' || c == '#') out += behind_marks;
  }
  return out;
}

// GitHub finds persons and issues in what is shown, unless a space without width stands behind their mark.
std::string plain(std::string_view text) { return escaped(text, "&#8203;"); }

// A counterexample may hold all that a program printed.
std::string brief(std::string_view text) {
  constexpr std::size_t most = 2000;
  return plain(beginning(text, most)) + (text.size() > most ? " .. (cut)" : "");
}

// Lines of one kind, within a share of what GitHub takes of a job summary (1 MiB, and nothing of what is
// longer). What matters most is added first; the end says how much was left out.
class Lines {
 public:
  explicit Lines(std::size_t most) : most_(most) {}
  void add(const std::string& line) {
    if (out_.size() + line.size() > most_)
      ++left_out_;
    else
      out_ += line;
  }
  bool empty() const { return out_.empty() && left_out_ == 0; }
  std::string text() const {
    return left_out_ == 0
               ? out_
               : out_ + fmt::format("\n{} more are left out here; report.json has all.\n", left_out_);
  }

 private:
  std::size_t most_, left_out_ = 0;
  std::string out_;
};
// Together below 1 MiB, with room for headings.
constexpr std::size_t for_table = 300'000, for_sentences = 250'000, for_tests = 120'000, for_checks = 200'000,
                      for_the_rest = 40'000;

std::string folded(std::string_view summary, const std::string& content) {
  return fmt::format("\n<details><summary>{}</summary>\n\n{}\n</details>\n", summary, content);
}

// To be copied: nothing may stand in it that is not seen. GitHub looks for no one in code.
std::string code(std::string_view command) { return fmt::format("<code>{}</code>", escaped(command, "")); }

// What fails, then what is open, then the rest, each in its order.
std::vector<const ComparisonRow*> ranked(const Report& report) {
  const auto rank = [](const ComparisonRow* row) {
    return row->verdict == "fail" ? 0 : row->verdict == "inconclusive" ? 1 : 2;
  };
  std::vector<const ComparisonRow*> rows;
  for (const ComparisonRow& row : report.comparisons) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return rows;
}

// The same questions to other tests.
std::string sensitivity_tables(const Report& report) {
  Lines lines(for_tests);
  for (const ComparisonRow* row : ranked(report)) {
    for (const SensitivityRow& test : row->sensitivity)
      lines.add(fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", plain(world_of(*row)),
                            plain(row->candidate), plain(row->metric), plain(test.method),
                            plain(test.verdict), plain(p_text(test.p_adjusted)),
                            plain(p_text(test.p_within))));
  }
  if (lines.empty()) return {};
  return folded("The same questions to other tests, which never decide",
                "| scenario | candidate | metric | test | says | of worse | of not worse |\n"
                "|---|---|---|---|---|--:|--:|\n" +
                    lines.text());
}

// What it saves that both policies meet the same seeds, per candidate and scenario.
std::string pairing(const Report& report) {
  std::vector<std::pair<std::string, std::vector<const ComparisonRow*>>> blocks;
  for (const ComparisonRow& row : report.comparisons) {
    const std::string name = fmt::format("{} on {}", plain(row.candidate), plain(world_of(row)));
    if (blocks.empty() || blocks.back().first != name) blocks.push_back({name, {}});
    blocks.back().second.push_back(&row);
  }
  Lines lines(for_the_rest);
  for (const auto& [name, rows] : blocks) {
    if (const std::string saved = saved_by_pairing(rows); !saved.empty())
      lines.add(fmt::format("{}: {}\n\n", name, plain(saved)));
  }
  return lines.text();
}

std::string comparisons_tables(const Report& report) {
  // All rows in the order of the suite if they have room; else what matters first.
  Lines table(for_table), sentences(for_sentences);
  const bool few = report.comparisons.size() <= 200;
  std::vector<const ComparisonRow*> rows = ranked(report);
  if (few) std::sort(rows.begin(), rows.end());
  for (const ComparisonRow* at : rows) {
    const ComparisonRow& row = *at;
    table.add(fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", plain(world_of(row)),
                          plain(row.candidate), plain(row.metric), mean_text(row.baseline_mean),
                          mean_text(row.candidate_mean), effect_text(row, row.effect), interval_text(row),
                          plain(row.margin), changed(row) ? "changed" : plain(row.verdict)));
    sentences.add(fmt::format("- {}: {}\n", plain(sentence_about(report, row)), brief(row.headline)));
  }
  constexpr std::size_t at_once = 50;
  return "\n| scenario | candidate | metric | baseline | candidate | effect | 90 % interval | margin | "
         "verdict |\n|---|---|---|--:|--:|--:|--:|--:|---|\n" +
         table.text() + "\n" + pairing(report) +
         (rows.size() > at_once ? folded("In words", sentences.text()) : sentences.text());
}

std::string checks_tables(const Report& report) {
  std::size_t held = 0;
  for (const VerdictRow& row : report.verdicts) held += row.verdict == "holds" ? 1 : 0;
  Lines lines(for_checks);
  for (const CheckBlock& block : check_blocks(report)) {
    const VerdictRow& row = *block.rows.front();
    if (block.rows.size() > 1) {
      std::string ids;
      for (const VerdictRow* one : block.rows) ids += (ids.empty() ? "" : ", ") + plain(one->invariant);
      lines.add(fmt::format("- **{}** {}: {} invariants for one reason: {} ({})\n", plain(row.subject),
                            plain(row.verdict), block.rows.size(), brief(row.counterexample), ids));
      continue;
    }
    std::string line = fmt::format("- **{}** {} {}: {} {}{}\n", plain(row.subject), plain(row.verdict),
                                   plain(row.invariant), plain(row.claim), brief(row.counterexample),
                                   row.waiver.empty() ? "" : plain(" (waived " + row.waiver + ")"));
    if (is_bad(row) && !row.elsewhere.empty())
      line += fmt::format("  Elsewhere: {}.\n", plain(row.elsewhere));
    if (!row.repeat.empty()) line += fmt::format("  Repeat: {}\n", code(row.repeat));
    lines.add(line);
  }
  return fmt::format("\n{} of {} checks hold; the rest is not promised or listed here.\n\n", held,
                     report.verdicts.size()) +
         lines.text();
}

std::string coverage(const Report& report) {
  Lines lines(for_the_rest);
  for (const CoverageRow& row : report.coverage) {
    std::string not_tried;
    for (const std::string& what : row.not_tried)
      not_tried += (not_tried.empty() ? "" : "<br>") + plain(what);
    lines.add(fmt::format("| {} | {} | {} |\n", plain(row.subject), plain(row.tried), not_tried));
  }
  return folded("How far the checks went", "| subject | tried | not tried |\n|---|---|---|\n" + lines.text());
}

std::string growth_tables(const Report& report) {
  Lines lines(for_the_rest);
  for (const GrowthRow& row : report.growth) {
    std::string one = fmt::format(
        "\n{} of {} against {} on {}, {} seeds\n\n| {} | baseline | candidate | effect | 95 % interval |\n"
        "|--:|--:|--:|--:|--:|\n",
        plain(row.metric), plain(row.candidate), plain(row.baseline), plain(row.scenario), row.seeds,
        plain(row.key));
    for (const GrowthPoint& point : row.points)
      one += fmt::format(
          "| {} | {} | {} | {} | {} |\n", point.size, mean_text(point.baseline), mean_text(point.candidate),
          share_text(point.effect),
          point.low ? fmt::format("{} .. {}", share_text(point.low), share_text(point.high)) : "-");
    for (const std::string& law : row.laws) one += fmt::format("\n- {}", plain(law));
    lines.add(one + "\n");
  }
  return lines.empty() ? "" : folded("How the policies grow, which is not judged", lines.text());
}

std::string error_lines(std::string_view heading, const Errors& errors) {
  if (errors.empty()) return "";
  Lines lines(for_the_rest);
  for (const Error& error : errors)
    lines.add(fmt::format("- {}{}{}\n", error.where.file.empty() ? "" : code(to_string(error.where)) + ": ",
                          brief(error.message), error.hint.empty() ? "" : " (" + brief(error.hint) + ")"));
  return fmt::format("\n{}:\n\n{}", heading, lines.text());
}

std::string blocked_lines(const Report& report) {
  Lines lines(for_the_rest);
  for (const std::string& why : report.blocked)
    lines.add(fmt::format("\n**No comparison**: {}\n", brief(why)));
  return lines.text();
}

// What the change is stands before what it does.
std::string changes_lines(const Report& report) {
  Lines lines(for_the_rest);
  for (const PolicyChange& change : report.changes) {
    std::string one = fmt::format("\nFrom {}{} to {}:\n\n", plain(change.stored),
                                  change.in_file ? " (stored)" : "", plain(change.now));
    for (const std::string& line : change.removed) one += fmt::format("- was: {}\n", plain(line));
    for (const std::string& line : change.added) one += fmt::format("- now: {}\n", plain(line));
    lines.add(one);
  }
  constexpr std::size_t at_once = 3;
  return report.changes.size() > at_once ? folded("What changes in the policies", lines.text())
                                         : lines.text();
}

std::string markdown_document(const Report& report) {
  std::string out = fmt::format("## retrygate: {}\n\n{}\n", verdict_word(report), brief(report.run.suite));
  if (!report.run.summary.empty()) out += "\n" + brief(report.run.summary) + "\n";
  out += error_lines("Nothing was run, because the settings are wrong", report.refused) +
         error_lines("A program that cannot be started was asked nothing", report.unstarted) +
         blocked_lines(report) + changes_lines(report);
  if (!report.comparisons.empty()) out += comparisons_tables(report) + sensitivity_tables(report);
  out += growth_tables(report);
  if (!report.verdicts.empty()) out += checks_tables(report);
  if (!report.coverage.empty()) out += coverage(report);
  Lines notes(for_the_rest);
  for (const std::string& note : report.notes) notes.add("\n" + brief(note) + "\n");
  out += notes.text();
  if (!report.run.command.empty())
    out += fmt::format("\nRepeat: {}\n", code(beginning(report.run.command, 10'000)));
  return inert(out);
}

}  // namespace

void add_markdown(Shelf<Reporter>& shelf) {
  shelf.add({"markdown", "report.md", "for a pull request or a job summary", &markdown_document});
}

}  // namespace retrygate::ci
