// The report as JUnit XML: one case per subject and invariant, and per scenario, candidate and metric. What
// is undecided is skipped with its reason, never a failure; what is wrong with the settings is an error.
#include <fmt/format.h>

#include <set>

#include "ci/layout.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

// Text for an attribute or an element.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : clean(text, "\n\t")) {
    if (std::string_view("&<>\"\n\t").find(c) != std::string_view::npos)
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += c;
  }
  return out;
}

struct Suite {
  std::string name;
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  std::string cases = {};
  std::set<std::string> names = {};

  // `kind`: "" passed, else "failure", "error" or "skipped".
  void add(std::string_view classname, std::string_view case_name, std::string_view kind,
           std::string_view message, std::string_view text) {
    ++tests;
    // A server takes two cases of one name for one.
    std::string unique(case_name);
    for (int n = 2; !names.insert(unique).second; ++n) unique = fmt::format("{} ({})", case_name, n);
    cases +=
        fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\"", xml(classname), xml(unique));
    if (kind.empty()) {
      cases += text.empty()
                   ? "/>\n"
                   : fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", xml(text));
      return;
    }
    failures += kind == "failure";
    errors += kind == "error";
    skipped += kind == "skipped";
    cases += fmt::format(">\n      <{} message=\"{}\">{}</{}>\n    </testcase>\n", kind, xml(message),
                         xml(text), kind);
  }
};

std::string_view kind_of(const VerdictRow& row) {
  if (row.verdict == "fails") return is_violation(row) ? "failure" : "skipped";
  if (row.verdict == "broken") return "error";
  return row.verdict == "holds" || row.verdict == "deviates" ? "" : "skipped";
}

std::string_view kind_of(const ComparisonRow& row) {
  if (row.verdict == "fail") return "failure";
  return row.verdict == "inconclusive" ? "skipped" : "";
}

Suite& suite(std::vector<Suite>& all, const std::string& name) {
  for (Suite& one : all) {
    if (one.name == name) return one;
  }
  return all.emplace_back(Suite{name});
}

std::string junit_document(const Report& report) {
  std::vector<Suite> suites;
  for (const VerdictRow& row : report.verdicts) {
    const std::string text =
        row.counterexample.empty()
            ? ""
            : fmt::format("{}\n{}{}{}\nrepeat: {}", row.claim, row.counterexample,
                          row.elsewhere.empty() ? "" : "\nelsewhere: ", row.elsewhere, row.repeat);
    suite(suites, "check " + row.subject)
        .add("check." + row.subject, row.invariant, kind_of(row),
             row.waiver.empty() ? fmt::format("{}: {}", row.verdict, row.claim)
                                : fmt::format("waived {}: {}", row.waiver, row.claim),
             text);
  }
  for (const ComparisonRow& row : report.comparisons) {
    suite(suites, fmt::format("{}: {} against {}", world_of(row), row.candidate, row.baseline))
        .add(fmt::format("{}.{}", world_of(row), row.candidate), row.metric, kind_of(row),
             fmt::format("{} {}, margin {}", row.metric, effect_text(row, row.effect), row.margin),
             row.headline + (report.run.command.empty() || kind_of(row).empty()
                                 ? ""
                                 : "\nrepeat: " + report.run.command));
  }
  for (const Error& error : report.refused)
    suite(suites, "settings").add("settings", to_string(error.where), "error", error.message, error.hint);
  for (const Error& error : report.unstarted)
    suite(suites, "programs")
        .add("programs", "started", "error", "a program cannot be started", error.message);
  for (const std::string& why : report.blocked)
    suite(suites, "baseline").add("baseline", "comparable", "skipped", "no comparison", why);

  int tests = 0, failures = 0, errors = 0, skipped = 0;
  std::string body;
  for (const Suite& one : suites) {
    tests += one.tests;
    failures += one.failures;
    errors += one.errors;
    skipped += one.skipped;
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"0\">\n{}"
        "  </testsuite>\n",
        xml(one.name), one.tests, one.failures, one.errors, one.skipped, one.cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"retrygate {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"0\">\n{}"
      "</testsuites>\n",
      xml(report.run.suite), tests, failures, errors, skipped, body);
}

}  // namespace

void add_junit(Shelf<Reporter>& shelf) {
  shelf.add({"junit", "junit.xml", "JUnit XML, for a CI server's test view", &junit_document});
}

}  // namespace retrygate::ci
