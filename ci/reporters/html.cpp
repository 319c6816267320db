// The confidence report: one page for a browser that needs nothing but itself, verdict first. Its content
// security policy allows the page's own scripts and style by their hashes and nothing else.
#include "ci/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "ci/figures.hpp"
#include "ci/report.hpp"
#include "ci/web_files.hpp"

namespace retrygate::ci {
namespace {

std::string plural(std::size_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

template <class Row, class Is>
std::vector<const Row*> those(const std::vector<Row>& rows, Is is) {
  std::vector<const Row*> found;
  for (const Row& row : rows) {
    if (is(row)) found.push_back(&row);
  }
  return found;
}

// One sentence that says why the verdict is what it is. HTML.
std::string reason(const Report& report) {
  const auto rows = [&](std::string_view verdict) {
    return those(report.comparisons, [&](const ComparisonRow& row) { return row.verdict == verdict; });
  };
  const auto checks = [&](std::string_view verdict) {
    return those(report.verdicts, [&](const VerdictRow& row) { return row.verdict == verdict; });
  };
  const auto failed = rows("fail"), passed = rows("pass"), open = rows("inconclusive");
  const auto fails = checks("fails"), broken = checks("broken"), unsure = checks("unsure"),
             holds = checks("holds");
  const bool improved = std::any_of(report.comparisons.begin(), report.comparisons.end(),
                                    [](const ComparisonRow& row) { return row.question == "better"; });
  const std::size_t judged = failed.size() + passed.size() + open.size();
  std::vector<std::string> parts;
  if (!broken.empty())
    parts.push_back(plural(broken.size(), "check", "checks") + " could not be carried out");
  for (const Fault& fault : faults()) {
    const auto so = those(report.comparisons, [&](const ComparisonRow& row) {
      return row.verdict == "fail" && fault_of(row).id == fault.id;
    });
    if (!so.empty())
      parts.push_back(fmt::format("{} of {} {} {} (first: {} of {}, {})", so.size(),
                                  plural(judged, "comparison", "comparisons"), so.size() == 1 ? "is" : "are",
                                  fault.words, html(so.front()->metric), html(so.front()->candidate),
                                  effect_text(*so.front(), so.front()->effect)));
  }
  if (!fails.empty())
    parts.push_back(fmt::format("{} broken (first: {} by {})",
                                plural(fails.size(), "promise is", "promises are"),
                                html(fails.front()->invariant), html(fails.front()->subject)));
  if (!report.refused.empty())
    parts.push_back(plural(report.refused.size(), "setting is", "settings are") +
                    " wrong, and nothing was run");
  if (!report.unstarted.empty())
    parts.push_back(plural(report.unstarted.size(), "program", "programs") + " could not be started");
  if (!report.blocked.empty()) parts.push_back("there is no baseline that can be compared");
  if (!open.empty())
    parts.push_back(fmt::format("{} of {} not decided by these seeds", open.size(),
                                plural(judged, "comparison is", "comparisons are")));
  if (!unsure.empty()) parts.push_back(plural(unsure.size(), "check needs", "checks need") + " more draws");
  if (parts.empty()) {
    if (judged > 0)
      parts.push_back(fmt::format("{} {}", plural(judged, "comparison is", "comparisons are all"),
                                  improved      ? "as was asked"
                                  : judged == 1 ? "within its margin"
                                                : "within their margins"));
    if (judged == 0 && (!report.comparisons.empty() || !report.growth.empty()))
      parts.push_back("no margin was given, so these are estimates without a verdict");
    if (!holds.empty())
      parts.push_back(
          plural(holds.size(), "promise that was checked holds", "promises that were checked hold"));
    if (parts.empty()) parts.push_back("nothing was asked");
  }
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i)
    all += (i == 0 ? "" : i + 1 == parts.size() ? ", and " : ", ") + parts[i];
  if (all.front() >= 'a' && all.front() <= 'z') all.front() = static_cast<char>(all.front() - 'a' + 'A');
  return all + ".";
}

// A section with a heading that can be linked; empty when there is nothing in it.
struct Section {
  std::string id, title, content;
};

// One metric under one question: a row per candidate.
struct MetricRows {
  std::string id;  // of its part of the page
  std::vector<const ComparisonRow*> rows = {};
};

// Comparisons in one world with one baseline, metric by metric in the order of the suite.
struct Group {
  const ComparisonRow* first;
  std::vector<MetricRows> metrics = {};
  std::vector<std::string> candidates = {};
};

std::vector<Group> groups_of(const Report& report) {
  std::vector<Group> groups;
  for (const ComparisonRow& row : report.comparisons) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return world_of(*g.first) == world_of(row) && g.first->baseline == row.baseline;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{&row});
    if (std::find(group->candidates.begin(), group->candidates.end(), row.candidate) ==
        group->candidates.end())
      group->candidates.push_back(row.candidate);
    // Rows of one metric under another margin or over other seeds are another question.
    auto metric = std::find_if(group->metrics.begin(), group->metrics.end(), [&](const MetricRows& one) {
      const ComparisonRow& other = *one.rows.front();
      return std::tie(other.metric, other.margin, other.question, other.seed_range) ==
             std::tie(row.metric, row.margin, row.question, row.seed_range);
    });
    if (metric == group->metrics.end()) {
      const auto same = [&](const MetricRows& one) { return one.rows.front()->metric == row.metric; };
      const auto n = std::count_if(group->metrics.begin(), group->metrics.end(), same) + 1;
      std::string id = fmt::format("g{}-{}", group - groups.begin(), anchor(row.metric));
      if (n > 1) id += fmt::format("-{}", n);
      metric = group->metrics.insert(metric, {std::move(id)});
    }
    metric->rows.push_back(&row);
  }
  return groups;
}

// One cell per candidate and metric: a sign and the effect.
// What there is more of, metrics or candidates, makes the rows: few columns fit a narrow screen.
std::string overview(const std::vector<Group>& groups) {
  std::string out;
  for (const Group& group : groups) {
    const auto cell = [](const MetricRows& one, const std::string& candidate) {
      const auto row = std::find_if(one.rows.begin(), one.rows.end(),
                                    [&](const auto* r) { return r->candidate == candidate; });
      if (row == one.rows.end()) return std::string("-");
      return fmt::format("<a href=\"#{}\">{}</a> {}", one.id, effect_text(**row, (*row)->effect),
                         verdict_html((*row)->verdict));
    };
    const bool metrics_are_rows = group.metrics.size() > group.candidates.size();
    HtmlTable table{fmt::format("Effects against {} on {}; each metric's own part follows below",
                                html(group.first->baseline), html(world_of(*group.first))),
                    {metrics_are_rows ? "metric" : "candidate"},
                    {}};
    if (metrics_are_rows) {
      for (const std::string& candidate : group.candidates) table.columns.push_back("#" + candidate);
      for (const MetricRows& one : group.metrics) {
        std::vector<std::string> cells = {one.rows.front()->metric};
        for (const std::string& candidate : group.candidates) cells.push_back(cell(one, candidate));
        table.rows.push_back(std::move(cells));
      }
    } else {
      for (const MetricRows& one : group.metrics) table.columns.push_back("#" + one.rows.front()->metric);
      for (const std::string& candidate : group.candidates) {
        std::vector<std::string> cells = {html(candidate)};
        for (const MetricRows& one : group.metrics) cells.push_back(cell(one, candidate));
        table.rows.push_back(std::move(cells));
      }
    }
    out += html(table);
  }
  return out;
}

int severity(const ComparisonRow& row) {
  return row.verdict == "fail" ? 0 : row.verdict == "inconclusive" ? 1 : row.verdict == "pass" ? 2 : 3;
}

std::string sentences(std::vector<const ComparisonRow*> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return severity(*a) < severity(*b); });
  const auto list = [](auto begin, auto end) {
    std::string out = "<ul class=\"said\">\n";
    for (; begin != end; ++begin) {
      const ComparisonRow& row = **begin;
      out += fmt::format("<li class={}><strong>{}</strong>: {}</li>\n", kind_of(row.verdict),
                         html(row.candidate), html(row.headline));
    }
    return out + "</ul>\n";
  };
  constexpr std::size_t at_once = 8;
  const auto cut = rows.begin() + static_cast<std::ptrdiff_t>(std::min(at_once, rows.size()));
  std::string out = list(rows.begin(), cut);
  if (cut != rows.end()) out += folded(fmt::format("{} more", rows.end() - cut), list(cut, rows.end()));
  return out;
}

std::string meaning_of(const Report& report, std::string_view metric) {
  for (const MetricMeaning& known : report.metrics) {
    if (known.id == metric) return fmt::format("<p class=\"about\">{}</p>\n", html(known.meaning));
  }
  return {};
}

Section comparisons_section(const Report& report, std::size_t g, const Group& group,
                            const FigureBudget& budget) {
  // Samples by policy and metric, of this world.
  std::multimap<std::pair<std::string_view, std::string_view>, const SampleRow*> samples;
  for (const SampleRow& row : report.samples) {
    if (world_of(row) == world_of(*group.first)) samples.insert({{row.policy, row.metric}, &row});
  }
  Section section{fmt::format("g{}", g),
                  fmt::format("{} against {}", html(world_of(*group.first)), html(group.first->baseline)),
                  {}};
  for (const auto& [id, rows] : group.metrics) {
    const ComparisonRow& first = *rows.front();
    section.content += fmt::format("<h3 id=\"{}\">{}</h3>\n", id, html(first.metric)) +
                       meaning_of(report, first.metric) + sentences(rows) + forest_figure(rows);
    std::vector<const SampleRow*> shown;
    // Over these seeds; where they came one by one, the baseline has more of them than who is decided.
    const auto add = [&](const std::string& policy) {
      const auto first_seed = [](const std::string& range) { return range.substr(0, range.find('.')); };
      const SampleRow* found = nullptr;
      const auto [begin, end] = samples.equal_range({policy, first.metric});
      for (auto at = begin; at != end; ++at) {
        const std::string& seeds = at->second->seed_range;
        if (seeds == first.seed_range || (!found && first_seed(seeds) == first_seed(first.seed_range)))
          found = at->second;
      }
      if (found != nullptr) shown.push_back(found);
    };
    add(first.baseline);
    for (const ComparisonRow* row : rows) add(row->candidate);
    if (!shown.empty()) section.content += distribution_figure(shown, first.unit, budget);
  }
  return section;
}

Section storms(const Report& report, const FigureBudget& budget) {
  Section section{"storm", "The storm", {}};
  for (const Storm& storm : report.storms)
    section.content += fmt::format("<h3>{}</h3>\n", html(world_of(storm))) + storm_figures(storm, budget);
  return section;
}

// How the policies grow, comparison by comparison; at most eight figures are open.
Section growth_section(const Report& report) {
  Section section{"growth", "How they grow", {}};
  std::string rest;
  std::size_t shown = 0;
  for (const GrowthRow& row : report.growth) {
    std::string one = fmt::format("<h3>{} of {} against {} on {}</h3>\n<ul>\n", html(row.metric),
                                  html(row.candidate), html(row.baseline), html(row.scenario));
    for (const std::string& law : row.laws) one += fmt::format("<li>{}</li>\n", html(law));
    one += "</ul>\n" + growth_figure(row);
    (++shown <= 8 ? section.content : rest) += one;
  }
  if (!section.content.empty())
    section.content =
        "<p>Shown, and no part of the verdict: margins belong to one size.</p>\n" + section.content;
  if (!rest.empty()) section.content += folded(fmt::format("{} more", shown - 8), rest);
  return section;
}

// The delays of the subjects, with what was found against them; at most six are open.
Section envelopes(const Report& report, const FigureBudget& budget) {
  Section section{"delays", "Delays by retry", {}};
  std::size_t shown = 0;
  std::string rest;
  for (const Envelope& envelope : report.envelopes) {
    if (envelope.retries.empty()) continue;
    std::string one = fmt::format("<h3>{}</h3>\n", html(envelope.subject));
    for (const VerdictRow& row : report.verdicts) {
      if (row.subject == envelope.subject && is_bad(row) && !row.counterexample.empty())
        one += fmt::format("<p>{} <strong>{}</strong>: {}</p>\n", verdict_html(row.verdict),
                           html(row.invariant), html(row.counterexample));
    }
    one += envelope_figure(envelope, budget);
    (++shown <= 6 ? section.content : rest) += one;
  }
  if (!rest.empty()) section.content += folded(fmt::format("{} more subjects", shown - 6), rest);
  return section;
}

std::map<std::string_view, std::vector<std::string>> by_subject(const Report& report,
                                                                std::string_view verdict) {
  std::map<std::string_view, std::vector<std::string>> found;
  for (const VerdictRow& row : report.verdicts) {
    if (row.verdict == verdict) found[row.subject].push_back(row.invariant);
  }
  return found;
}

Section checks_section(const Report& report) {
  Section section{"checks", "Promises", {}};
  const auto table = [&](std::string_view caption, auto is) {
    HtmlTable all{
        std::string(caption),
        {"subject", "verdict", "invariant", "level", "evidence", "promised", "found, and how to repeat it"},
        {}};
    for (const VerdictRow& row : report.verdicts) {
      if (!is(row)) continue;
      std::string found = html(row.counterexample);
      const bool shown = is_bad(row) || !row.waiver.empty();
      if (!row.waiver.empty()) found += fmt::format("<p>Waived {}</p>", html(row.waiver));
      if (shown && !row.elsewhere.empty()) found += fmt::format("<p>Elsewhere: {}.</p>", html(row.elsewhere));
      if (shown && !row.unshrunk.empty()) found += fmt::format("<p>First met: {}.</p>", html(row.unshrunk));
      if (shown && !row.repeat.empty()) found += fmt::format("<pre>{}</pre>", html(row.repeat));
      all.rows.push_back({html(row.subject), verdict_html(row.verdict), html(row.invariant), html(row.level),
                          html(row.evidence), html(row.claim), found.empty() ? "-" : found});
    }
    return all;
  };
  const auto add = [&](const HtmlTable& all) {
    if (!all.rows.empty()) section.content += html(all);
  };
  if (report.verdicts.empty()) return section;
  const auto is = [](std::string_view word) {
    return [word](const VerdictRow& row) { return row.verdict == word; };
  };
  const HtmlTable bad = table("What fails, cannot be checked or needs more draws", is_bad);
  add(bad);
  if (bad.rows.empty()) section.content += "<p>Nothing that is promised fails.</p>\n";
  add(table("Waived: known failures that the suite accepts for a while; they count as pass until that day",
            is("waived")));
  add(table("Deviations: what the original of a policy does otherwise, with its source; they count as pass",
            is("deviates")));
  const auto names = [&](std::string_view title, std::string_view word) {
    HtmlTable all{"", {"subject", "#how many", "invariants"}, {}};
    std::size_t sum = 0;
    for (const auto& [subject, invariants] : by_subject(report, word)) {
      std::string list;
      for (const std::string& id : invariants) list += (list.empty() ? "" : ", ") + html(id);
      all.rows.push_back({html(subject), fmt::format("{}", invariants.size()), list});
      sum += invariants.size();
    }
    if (sum > 0) section.content += folded(fmt::format("{}: {}", title, sum), html(all));
  };
  names("Promises that hold", "holds");
  names("Not promised", "not-promised");
  HtmlTable went{"", {"subject", "tried", "not tried"}, {}};
  for (const CoverageRow& row : report.coverage) {
    std::string not_tried;
    for (const std::string& what : row.not_tried) not_tried += "<li>" + html(what) + "</li>";
    went.rows.push_back({html(row.subject), html(row.tried), "<ul>" + not_tried + "</ul>"});
  }
  if (!went.rows.empty()) section.content += folded("How far the checks went", html(went));
  return section;
}

// One row per comparison, one column per test.
Section sensitivity_section(const Report& report) {
  Section section{"sensitivity", "The same questions to other tests", {}};
  HtmlTable table{
      "Each says what it would decide, with p of \"worse\" where it says so or cannot tell, else of \"not "
      "worse\", and its interval where it has one",
      {"candidate", "scenario", "metric", "decides"},
      {}};
  const std::size_t fixed = table.columns.size();
  for (const ComparisonRow& row : report.comparisons) {
    if (row.sensitivity.empty()) continue;
    std::vector<std::string> cells = {html(row.candidate), html(world_of(row)), html(row.metric),
                                      fmt::format("{}: {}", html(row.method), verdict_html(row.verdict))};
    for (const SensitivityRow& test : row.sensitivity) {
      auto column = std::find(table.columns.begin() + static_cast<std::ptrdiff_t>(fixed), table.columns.end(),
                              test.method);
      if (column == table.columns.end()) column = table.columns.insert(column, test.method);
      const auto at = static_cast<std::size_t>(column - table.columns.begin());
      if (at >= cells.size()) cells.resize(at + 1, "-");
      ComparisonRow interval = row;  // the same unit
      interval.low = test.low;
      interval.high = test.high;
      cells[at] = fmt::format("{} {}{}", verdict_html(test.verdict),
                              p_html(test.verdict == "pass" ? test.p_within : test.p_adjusted),
                              test.low && test.high ? "; " + interval_text(interval) : "");
    }
    table.rows.push_back(std::move(cells));
  }
  for (auto& row : table.rows) row.resize(table.columns.size(), "-");
  if (table.rows.empty()) return section;
  section.content =
      "<p>They never decide. Where one disagrees, the sentence of that metric says so.</p>\n" +
      (table.rows.size() <= 30 ? html(table)
                               : folded(plural(table.rows.size(), "comparison", "comparisons"), html(table)));
  return section;
}

Section changes(const Report& report) {
  Section section{"changes", "What changes in the policies", {}};
  for (const PolicyChange& change : report.changes) {
    section.content += fmt::format("<h3>From {}{} to {}</h3>\n<ul>\n", html(change.stored),
                                   change.in_file ? " (stored)" : "", html(change.now));
    for (const std::string& line : change.removed)
      section.content += fmt::format("<li><del>{}</del> (was)</li>\n", html(line));
    for (const std::string& line : change.added)
      section.content += fmt::format("<li><ins>{}</ins> (now)</li>\n", html(line));
    section.content += "</ul>\n";
  }
  constexpr std::size_t at_once = 3;
  if (report.changes.size() > at_once)
    section.content = folded(plural(report.changes.size(), "policy", "policies"), section.content);
  return section;
}

Section provenance(const Report& report) {
  const Provenance& from = report.provenance;
  Section section{"provenance", "Where this comes from", {}};
  section.content =
      fmt::format("<p>retrygate {}{}, random streams version {}.</p>\n", html(report.run.version),
                  from.commit.empty() ? "" : " (commit " + html(from.commit) + ")", from.random_streams);
  if (!report.run.command.empty())
    section.content +=
        "<p>This repeats all of it, to the last digit:</p>\n<pre>" + html(report.run.command) + "</pre>\n";
  HtmlTable scenarios{
      "Scenarios; the hash is that of the definition", {"scenario", "hash", "overrides", "what it is"}, {}};
  for (const ScenarioOrigin& one : from.scenarios) {
    std::string params;
    for (const std::string& param : one.params) params += (params.empty() ? "" : ", ") + param;
    scenarios.rows.push_back(
        {html(one.id), html(one.hash), params.empty() ? "none" : html(params), html(one.summary)});
  }
  if (!scenarios.rows.empty()) section.content += html(scenarios);
  HtmlTable runs{"Runs; the digest is that of all events of all seeds",
                 {"policy", "scenario", "seeds", "digest", "definition"},
                 {}};
  for (const RunOrigin& one : from.runs)
    runs.rows.push_back({html(one.policy), html(world_of(one)), html(one.seeds),
                         "<code>" + html(one.digest) + "</code>", html(one.definition)});
  if (!runs.rows.empty()) section.content += html(runs);
  return section;
}

std::string notices(const Report& report) {
  std::string out;
  for (const Error& error : report.refused)
    out += fmt::format("<p class=\"notice\"><strong>{}</strong>: {}{}</p>\n", html(to_string(error.where)),
                       html(error.message), error.hint.empty() ? "" : " (" + html(error.hint) + ")");
  for (const Error& error : report.unstarted)
    out += fmt::format("<p class=\"notice\"><strong>Not started</strong>: {}</p>\n", html(error.message));
  for (const std::string& why : report.blocked)
    out += fmt::format("<p class=\"notice\"><strong>No comparison</strong>: {}</p>\n", html(why));
  for (const std::string& note : report.notes) out += "<p>" + html(note) + "</p>\n";
  return out;
}

std::string head(const Report& report) {
  std::string hashes;
  for (const WebFile* script : {&page_script(), &plots_script()}) {
    if (!script->text.empty()) hashes += fmt::format(" '{}'", csp_hash(script->sha256));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src{}; style-src "
      "'{}'; "
      "img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}: {} (retrygate)</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n",
      hashes, csp_hash(page_style().sha256), html(verdict_word(report)), html(report.run.suite),
      page_style().text);
}

std::string scripts() {
  std::string out = fmt::format("<script>{}</script>\n", page_script().text);
  if (!plots_script().text.empty())
    out +=
        fmt::format("<!--\n{}\n-->\n<script>{}</script>\n", html(plots_licences().text), plots_script().text);
  return out;
}

std::string html_document(const Report& report) {
  const FigureBudget budget(report);
  const std::vector<Group> groups = groups_of(report);
  std::vector<Section> sections;
  if (!groups.empty()) sections.push_back({"overview", "At a glance", overview(groups)});
  if (Section change = changes(report); !change.content.empty()) sections.push_back(std::move(change));
  for (std::size_t g = 0; g < groups.size(); ++g)
    sections.push_back(comparisons_section(report, g, groups[g], budget));
  for (Section& section : std::vector{storms(report, budget), growth_section(report), checks_section(report),
                                      envelopes(report, budget), sensitivity_section(report),
                                      Section{"notes", "Notes", notices(report)}, provenance(report)}) {
    if (!section.content.empty()) sections.push_back(std::move(section));
  }
  // Where the first plot would be.
  const auto plotted = std::find_if(sections.begin(), sections.end(), [](const Section& section) {
    return section.content.find("<figure") != std::string::npos;
  });
  if (plotted != sections.end() && !plots_missing().empty())
    plotted->content.insert(
        0, fmt::format("<p class=\"notice\">The plots were left out, because {}. All of their data is in the "
                       "tables.</p>\n",
                       html(plots_missing())));
  const std::string_view word = verdict_word(report);
  const std::string_view kind = !judges(report)                            ? "open"
                                : word == "pass" || word == "inconclusive" ? word
                                                                           : "fail";
  std::string contents, body;
  for (const Section& section : sections) {
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, section.title);
    body += fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n",
                        section.id, section.title, section.content);
  }
  return head(report) +
         fmt::format(
             "<body>\n<a class=\"skip\" href=\"#main\">To the report</a>\n<header>\n"
             "<p class=\"product\">retrygate confidence report: {}</p>\n"
             "<h1><span class=\"verdict {}\">{}</span></h1>\n"
             "<p class=\"reason\">{}</p>\n<p class=\"about\">{}</p>\n</header>\n"
             "<nav aria-label=\"contents\"><ul>\n{}</ul></nav>\n<main id=\"main\">\n{}</main>\n"
             "<footer>Written by retrygate {}. Exit code {}.</footer>\n",
             html(report.run.suite), kind, html(word), reason(report), html(report.run.summary), contents,
             body, html(report.run.version), static_cast<int>(report.code)) +
         scripts() + "</body>\n</html>\n";
}

}  // namespace

void add_html(Shelf<Reporter>& shelf) {
  shelf.add({"html", "report.html", "for a browser: plots and tables in one page that needs no network",
             &html_document});
}

}  // namespace retrygate::ci
