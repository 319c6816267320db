// The report as GitHub-flavoured Markdown, verdict first.
#include <fmt/format.h>

#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

// Text that comes from a user (names, counterexamples) must not open a table cell, a tag or a link.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r')
      out += ' ';
    else if (std::string_view("|<>&[]`*_\\@#").find(c) != std::string_view::npos)
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += c;
  }
  return out;
}

// The same questions to other tests.
std::string sensitivity(const Report& report) {
  std::string out;
  for (const ComparisonRow& row : report.comparisons) {
    if (row.sensitivity.empty()) continue;
    if (out.empty())
      out =
          "\n<details><summary>The same questions to other tests, which never decide</summary>\n\n"
          "| scenario | candidate | metric | test | says | p (worse) | p (not worse) |\n"
          "|---|---|---|---|---|--:|--:|\n";
    for (const SensitivityRow& test : row.sensitivity)
      out += fmt::format("| {} | {} | {} | {} | {} | {:.2g} | {:.2g} |\n", plain(row.scenario),
                         plain(row.candidate), plain(row.metric), plain(test.method), plain(test.verdict),
                         test.p_adjusted, test.p_within);
  }
  return out.empty() ? out : out + "\n</details>\n";
}

// What it saves that both policies meet the same seeds, once per candidate and scenario.
std::string pairing(const Report& report) {
  std::string out, last;
  for (const ComparisonRow& row : report.comparisons) {
    if (!row.pairing_gain) continue;
    const std::string now = fmt::format(
        "\n{} on {}: both policies met the same seeds. Without that the same certainty would take so many "
        "times "
        "the seeds: ",
        plain(row.candidate), plain(row.scenario));
    out += now == last ? ", " : now;
    last = now;
    out += fmt::format("{} {:.2g}", plain(row.metric), *row.pairing_gain);
  }
  return out.empty() ? out : out.substr(1) + "\n\n";
}

std::string render(const Report& report) {
  std::string out = fmt::format("## retrygate: {}\n\n{}\n", verdict_word(report), plain(report.run.suite));
  if (!report.run.summary.empty()) out += "\n" + plain(report.run.summary) + "\n";
  if (!report.comparisons.empty()) {
    out +=
        "\n| scenario | candidate | metric | baseline | candidate | effect | 90 % interval | margin | "
        "verdict |\n|---|---|---|--:|--:|--:|--:|--:|---|\n";
    for (const ComparisonRow& row : report.comparisons) {
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", plain(row.scenario),
                         plain(row.candidate), plain(row.metric), mean_text(row.baseline_mean),
                         mean_text(row.candidate_mean), effect_text(row, row.effect), interval_text(row),
                         plain(row.margin), changed(row) ? "changed" : plain(row.verdict));
    }
    out += "\n" + pairing(report);
    for (const ComparisonRow& row : report.comparisons)
      out += fmt::format("- {} {}: {}\n", plain(row.candidate), plain(row.metric), plain(row.headline));
  }
  out += sensitivity(report);
  for (const std::string& why : report.blocked) out += fmt::format("\n**No comparison**: {}\n", plain(why));
  for (const PolicyChange& change : report.changes) {
    out += fmt::format("\n{} against the stored {}:\n\n", plain(change.now), plain(change.stored));
    for (const std::string& line : change.removed) out += fmt::format("- was: {}\n", plain(line));
    for (const std::string& line : change.added) out += fmt::format("- now: {}\n", plain(line));
  }
  if (!report.verdicts.empty()) {
    std::size_t held = 0;
    for (const VerdictRow& row : report.verdicts) held += row.verdict == "holds" ? 1 : 0;
    out += fmt::format("\n{} of {} checks hold; the rest is not promised or listed here.\n\n", held,
                       report.verdicts.size());
    for (const VerdictRow& row : report.verdicts) {
      if (is_bad(row) || !row.waiver.empty())
        out += fmt::format("- **{}** {} {}: {} {}{}\n", plain(row.subject), plain(row.verdict),
                           plain(row.invariant), plain(row.claim), plain(row.counterexample),
                           row.waiver.empty() ? "" : plain(" (waived " + row.waiver + ")"));
    }
  }
  for (const std::string& note : report.notes) out += "\n" + plain(note) + "\n";
  return out;
}

}  // namespace

void add_markdown(Shelf<Reporter>& shelf) {
  shelf.add({"markdown", "report.md", "for a pull request or a job summary", &render});
}

}  // namespace retrygate::ci
