// Reports for programs keep to their schemas: report.json to the published one, JUnit to what its readers
// share, SARIF to the official one where that has been installed (ci/run-browser-tests).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "ci/gate.hpp"
#include "ci/json_io.hpp"
#include "ci/report.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::filesystem::path source_tree = RETRYGATE_SOURCE_DIR;
const std::filesystem::path build_tree = RETRYGATE_BUILD_DIR;

// A failing gate, an empty report, one without a baseline, one whose program is missing, one that was
// refused.
const std::vector<Report>& reports() {
  static const std::vector<Report> all = [] {
    std::vector<Report> some;
    some.push_back(run_gate(*find_suite("jitter-removed"), {})->report);
    some.emplace_back();
    some.push_back(some.front());
    Report& blocked = some.back();
    blocked.comparisons.resize(1);
    blocked.comparisons[0].margin = blocked.comparisons[0].verdict = "";
    blocked.comparisons[0].effect = blocked.comparisons[0].p = std::nullopt;
    blocked.blocked = {"b.json: there is no such baseline file"};
    blocked.changes = {{"a", "b", {"was"}, {"is"}}};
    blocked.code = ExitCode::inconclusive;
    blocked.verdicts[0].verdict = "fails";
    some.push_back(some.front());
    Report& missing = some.back();
    missing.comparisons[0].verdict = "inconclusive";
    missing.unstarted = {{{"s.toml", 1, 1}, "ours was not compared: exec:./x cannot be started", {}}};
    missing.code = ExitCode::internal;
    Report& refused = some.emplace_back();
    refused.refused = {{{"s.toml", 3, 7}, "cap (50ms) is below base (200ms)", "raise it"}};
    refused.code = ExitCode::usage;
    return some;
  }();
  return all;
}

const Value* find(const Value& table, std::string_view key) {
  for (const Member& entry : std::get<Table>(table.data)) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

bool is_of_type(const Value& value, std::string_view type) {
  if (type == "object") return std::holds_alternative<Table>(value.data);
  if (type == "array") return std::holds_alternative<Array>(value.data);
  if (type == "string") return std::holds_alternative<std::string>(value.data);
  if (type == "boolean") return std::holds_alternative<bool>(value.data);
  if (type == "null") return std::holds_alternative<std::nullptr_t>(value.data);
  if (type == "integer") return std::holds_alternative<std::int64_t>(value.data);
  if (type == "number")
    return std::holds_alternative<std::int64_t>(value.data) || std::holds_alternative<double>(value.data);
  return false;
}

std::string shown(const Value& value) { return write_json(value, Layout::compact); }

// The part of JSON Schema that report.schema.json uses, save `pattern`; a word that it does not know is an
// error.
void hold(const Value& value, const Value& schema, const std::string& path, std::vector<std::string>& wrong) {
  for (const auto& [key, where, rule] : std::get<Table>(schema.data)) {
    if (key == "type") {
      const auto* one = std::get_if<std::string>(&rule.data);
      const Array types = one ? Array{rule} : std::get<Array>(rule.data);
      if (std::none_of(types.begin(), types.end(), [&](const Value& type) {
            return is_of_type(value, std::get<std::string>(type.data));
          }))
        return wrong.push_back(fmt::format("{} is no {}: {}", path, shown(rule), shown(value)));
    } else if (key == "enum") {
      const auto& words = std::get<Array>(rule.data);
      if (std::none_of(words.begin(), words.end(),
                       [&](const Value& word) { return shown(word) == shown(value); }))
        wrong.push_back(fmt::format("{} is none of {}: {}", path, shown(rule), shown(value)));
    } else if (key == "const") {
      if (shown(rule) != shown(value)) wrong.push_back(fmt::format("{} is not {}", path, shown(rule)));
    } else if (key == "required") {
      for (const Value& name : std::get<Array>(rule.data)) {
        if (find(value, std::get<std::string>(name.data)) == nullptr)
          wrong.push_back(fmt::format("{} lacks {}", path, shown(name)));
      }
    } else if (key == "additionalProperties") {
      for (const Member& entry : std::get<Table>(value.data)) {
        if (find(*find(schema, "properties"), entry.key) == nullptr)
          wrong.push_back(fmt::format("{} has {}, which the schema does not know", path, entry.key));
      }
    } else if (key == "properties") {
      for (const Member& property : std::get<Table>(rule.data)) {
        if (const Value* inner = find(value, property.key))
          hold(*inner, property.value, path + "." + property.key, wrong);
      }
    } else if (key == "items") {
      for (const Value& item : std::get<Array>(value.data)) hold(item, rule, path + "[]", wrong);
    } else if (key == "minimum" || key == "maximum") {
      const auto number = [](const Value& x) {
        const auto* whole = std::get_if<std::int64_t>(&x.data);
        return whole ? static_cast<double>(*whole) : std::get<double>(x.data);
      };
      if (key == "minimum" ? number(value) < number(rule) : number(value) > number(rule))
        wrong.push_back(fmt::format("{} is beyond its {}: {}", path, key, shown(value)));
    } else if (key != "pattern" && key != "description" && key != "title" && key != "$schema") {
      wrong.push_back(fmt::format("this test does not know '{}'", key));
    }
  }
}

std::vector<std::string> breaches(const std::string& json) {
  const auto schema =
      parse_json(*read_file((source_tree / "ci/schema/report.schema.json").string()), "report.schema.json");
  const auto value = parse_json(json, "report.json");
  std::vector<std::string> wrong;
  hold(*value, *schema, "report", wrong);
  return wrong;
}

// Does the command succeed? Its words go to the test's output.
bool succeeds(const std::string& command) { return std::system((command + " 2>&1").c_str()) == 0; }

std::filesystem::path written(const std::string& name, const std::string& text) {
  std::filesystem::create_directories(build_tree / "pages");
  const std::filesystem::path path = build_tree / "pages" / name;
  if (!write_file(path.string(), text)) throw std::runtime_error("cannot write " + path.string());
  return path;
}

TEST(Schema, ReportJsonKeepsToThePublishedOne) {
  for (const Report& report : reports()) EXPECT_THAT(breaches(report_json(report)), IsEmpty());
  Report estimates = reports().front();
  estimates.code = ExitCode::pass;
  estimates.verdicts.clear();
  for (ComparisonRow& row : estimates.comparisons) row.verdict.clear();
  EXPECT_THAT(breaches(report_json(estimates)), IsEmpty());
}

TEST(Schema, SeesAFieldThatIsMissingUnknownOrOfAnotherType) {
  const std::string json = report_json(reports().front());
  const auto edited = [&](std::string_view from, std::string_view to) {
    std::string text = json;
    const std::size_t at = text.find(from);
    return breaches(at == std::string::npos ? text : text.replace(at, from.size(), to));
  };
  EXPECT_THAT(edited("\"exit\": 1", "\"exit\": \"1\""), Contains(HasSubstr("report.exit")));
  EXPECT_THAT(edited("\"headline\"", "\"sentence\""), Contains(HasSubstr("lacks \"headline\"")));
  EXPECT_THAT(edited("\"headline\"", "\"sentence\""), Contains(HasSubstr("does not know")));
  EXPECT_THAT(edited("\"holds\"", "\"held\""), Contains(HasSubstr("none of")));
}

TEST(Schema, ReportJsonByAnotherValidator) {
  if (!succeeds("/usr/bin/python3 -c 'import jsonschema' >/dev/null"))
    GTEST_SKIP() << "python3-jsonschema is not installed";
  const std::string schema = (source_tree / "ci/schema/report.schema.json").string();
  const auto valid = [&](const std::filesystem::path& file) {
    return succeeds(
        fmt::format("/usr/bin/python3 -W ignore -m jsonschema -i '{}' '{}'", file.string(), schema));
  };
  for (std::size_t i = 0; i < reports().size(); ++i)
    EXPECT_TRUE(valid(written(fmt::format("report-{}.json", i), report_json(reports()[i]))));
  EXPECT_FALSE(valid(written("bad.json", "{\"schema\": \"retrygate.report/1\"}")));
}

TEST(Schema, SarifKeepsToTheOfficialOne) {
  const std::filesystem::path schema = source_tree / "build/browser/sarif-2.1.0.json";
  if (!std::filesystem::exists(schema) || !succeeds("/usr/bin/python3 -c 'import jsonschema' >/dev/null"))
    GTEST_SKIP() << "ci/run-browser-tests installs the schema and python3-jsonschema";
  const auto valid = [&](const std::filesystem::path& file) {
    return succeeds(
        fmt::format("/usr/bin/python3 -W ignore -m jsonschema -i '{}' '{}'", file.string(), schema.string()));
  };
  for (std::size_t i = 0; i < reports().size(); ++i)
    EXPECT_TRUE(
        valid(written(fmt::format("report-{}.sarif", i), reporters().find("sarif")->render(reports()[i]))));
  EXPECT_FALSE(valid(written("bad.sarif", "{\"version\": \"2.1.0\", \"runs\": [{\"results\": []}]}")));
}

TEST(Schema, JunitIsWhatItsReadersShare) {
  if (!succeeds("command -v xmllint >/dev/null")) GTEST_SKIP() << "xmllint (libxml2-utils) is not installed";
  const auto valid = [&](const std::filesystem::path& file) {
    return succeeds(fmt::format("xmllint --noout --relaxng '{}' '{}'",
                                (source_tree / "ci/schema/junit.rng").string(), file.string()));
  };
  for (std::size_t i = 0; i < reports().size(); ++i)
    EXPECT_TRUE(
        valid(written(fmt::format("junit-{}.xml", i), reporters().find("junit")->render(reports()[i]))));
  EXPECT_FALSE(valid(written("bad.xml", "<testsuites tests=\"-1\" failures=\"0\"/>")));
}

// What a reader that is not ours finds, case by case, is what the report says; what is open is no failure.
TEST(Schema, JunitIsReadBack) {
  if (!succeeds("/usr/bin/python3 -c 'import junitparser' >/dev/null"))
    GTEST_SKIP() << "python3-junitparser is not installed";
  const std::filesystem::path script = written("read-junit.py", R"(import collections, sys, junitparser
document = junitparser.JUnitXml.fromfile(sys.argv[1])
kinds = collections.Counter(type(case.result[0]).__name__ if case.result else 'Passed' for suite in document for case in suite)
told = [document.tests, document.failures, document.errors, document.skipped]
found = [sum(kinds.values()), kinds['Failure'], kinds['Error'], kinds['Skipped']]
sys.exit(0 if told == found == [int(word) for word in sys.argv[2:]] else f'{told} {found} {sys.argv[2:]}')
)");
  for (std::size_t i = 0; i < reports().size(); ++i) {
    const Report& report = reports()[i];
    const auto count = [&](const auto& rows, std::initializer_list<std::string_view> verdicts) {
      return std::count_if(rows.begin(), rows.end(), [&](const auto& row) {
        return std::find(verdicts.begin(), verdicts.end(), row.verdict) != verdicts.end();
      });
    };
    const auto errors = report.refused.size() + report.unstarted.size();
    const auto tests = report.verdicts.size() + report.comparisons.size() + report.blocked.size() + errors;
    const auto failures = count(report.verdicts, {"fails"}) + count(report.comparisons, {"fail"});
    const auto open = count(report.verdicts, {"unsure", "not-promised", "waived"}) +
                      count(report.comparisons, {"inconclusive"});
    const auto file = written(fmt::format("junit-{}.xml", i), reporters().find("junit")->render(report));
    const auto reads = [&](auto failed) {
      return succeeds(fmt::format("/usr/bin/python3 '{}' '{}' {} {} {} {}", script.string(), file.string(),
                                  tests, failed, errors,
                                  open + static_cast<std::ptrdiff_t>(report.blocked.size())));
    };
    EXPECT_TRUE(reads(failures)) << i;
    EXPECT_FALSE(reads(failures + 1)) << i;
  }
}

}  // namespace
}  // namespace retrygate::ci
