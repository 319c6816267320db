// The report as GitHub-flavoured Markdown, verdict first.
#include <fmt/format.h>

#include "ci/layout.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

// Text that comes from a user (names, counterexamples) must not open a table cell, a tag or a link, nor call
// a person or an issue, which GitHub finds in what is shown: a space without width stands behind such a mark.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : clean(text, "\n")) {
    if (c == '\n')
      out += ' ';
    else if (std::string_view("|<>&[]`*_\\@#~!").find(c) != std::string_view::npos)
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += c;
    if (c == '@' || c == '#') out += "&#8203;";
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
          "| scenario | candidate | metric | test | says | of worse | of not worse |\n"
          "|---|---|---|---|---|--:|--:|\n";
    for (const SensitivityRow& test : row.sensitivity)
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", plain(row.scenario), plain(row.candidate),
                         plain(row.metric), plain(test.method), plain(test.verdict),
                         plain(p_text(test.p_adjusted)), plain(p_text(test.p_within)));
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

std::string growth(const Report& report) {
  std::string out;
  for (const GrowthRow& row : report.growth) {
    if (out.empty()) out = "\n<details><summary>How the policies grow, which is not judged</summary>\n";
    out += fmt::format(
        "\n{} of {} against {} on {}, {} seeds\n\n| {} | baseline | candidate | effect | 95 % interval |\n"
        "|--:|--:|--:|--:|--:|\n",
        plain(row.metric), plain(row.candidate), plain(row.baseline), plain(row.scenario), row.seeds,
        plain(row.key));
    for (const GrowthPoint& point : row.points)
      out += fmt::format(
          "| {} | {} | {} | {} | {} |\n", point.size, mean_text(point.baseline), mean_text(point.candidate),
          share_text(point.effect),
          point.low ? fmt::format("{} .. {}", share_text(point.low), share_text(point.high)) : "-");
    for (const std::string& law : row.laws) out += fmt::format("\n- {}", plain(law));
    out += "\n";
  }
  return out.empty() ? out : out + "\n</details>\n";
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
  out += sensitivity(report) + growth(report);
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
