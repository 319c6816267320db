// Every procedure against values that other programs computed, see reference/README.md. Each case of each
// file goes through the shelf, as `retrygate stats --cases` sends it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "policies/base/json.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

const Value* find(const Value& table, std::string_view key) {
  const auto* members = std::get_if<Table>(&table.data);
  if (members == nullptr) return nullptr;
  for (const Member& member : *members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

bool is_null(const Value& value) { return std::holds_alternative<std::nullptr_t>(value.data); }

std::optional<double> number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return std::nullopt;
}

// The tolerance `rel` or `abs`, which may be a list that goes with a list of values.
double allowance(const Value& tolerance, std::string_view key, std::optional<std::size_t> place) {
  const Value* entry = find(tolerance, key);
  if (entry == nullptr) return 0;
  const auto* list = std::get_if<Array>(&entry->data);
  if (list == nullptr) return number(*entry).value();
  if (place) return number(list->at(*place)).value();
  double largest = 0;
  for (const Value& item : *list) largest = std::max(largest, number(item).value());
  return largest;
}

// |got - want| <= max(abs, rel |want|); texts, truth values and null exactly; lists element by element.
bool close(const Value& got, const Value& want, const Value& tolerance,
           std::optional<std::size_t> place = std::nullopt) {
  if (const auto* items = std::get_if<Array>(&want.data)) {
    const auto* ours = std::get_if<Array>(&got.data);
    if (ours == nullptr || ours->size() != items->size()) return false;
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (!close((*ours)[i], (*items)[i], tolerance, i)) return false;
    }
    return true;
  }
  if (const auto* members = std::get_if<Table>(&want.data)) {
    return std::all_of(members->begin(), members->end(), [&](const Member& member) {
      const Value* ours = find(got, member.key);
      return ours != nullptr && close(*ours, member.value, tolerance);
    });
  }
  if (is_null(want)) return is_null(got);
  const auto w = number(want), g = number(got);
  if (!w) return write_json(got) == write_json(want);  // a text or a truth value
  if (!g) return false;
  if (std::isinf(*w) || std::isinf(*g)) return *g == *w;
  return std::abs(*g - *w) <=
         std::max(allowance(tolerance, "abs", place), allowance(tolerance, "rel", place) * std::abs(*w));
}

// Inside [low, high] up to rounding; a list of brackets for a list of values.
bool within(const Value& got, const Value& bracket) {
  const auto& ends = std::get<Array>(bracket.data);
  if (const auto* values = std::get_if<Array>(&got.data)) {
    if (values->size() != ends.size()) return false;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (!within((*values)[i], ends[i])) return false;
    }
    return true;
  }
  const auto low = number(ends.at(0)), high = number(ends.at(1)), g = number(got);
  return g && *g >= *low - 1e-9 * std::abs(*low) && *g <= *high + 1e-9 * std::abs(*high);
}

// What the files tell beside the expected values: certified decimals that the doubles only approach, and how
// a Monte Carlo check of the source came out.
const std::set<std::string, std::less<>> informative = {"certified", "p_monte_carlo", "mc_se"};

bool is_ok(const Value& expected) {
  const Value* status = find(expected, "status");
  const auto* word = status == nullptr ? nullptr : std::get_if<std::string>(&status->data);
  return word != nullptr && *word == "ok";
}

// What is wrong with a result, field by field; empty when nothing is. A result of random resamples is held
// against the brackets that the case gives.
std::vector<std::string> faults(const Value& got, const Value& the_case) {
  std::vector<std::string> all;
  const Value& expected = *find(the_case, "expected");
  const Value& tolerance = *find(the_case, "tolerance");
  const Value* own = find(tolerance, "fields");
  const Value* resamples = find(got, "resamples");
  const bool sampled = resamples != nullptr && number(*resamples).has_value();
  for (const auto& [key, where, want] : std::get<Table>(expected.data)) {
    if (informative.contains(key) || key == "accept" || key.ends_with("_accept") ||
        key.ends_with("_accept_halfwidth"))
      continue;
    const Value* ours = find(got, key);
    if (ours == nullptr) {
      all.push_back(key + " is missing");
      continue;
    }
    const Value* bracket = find(expected, key == "quantiles" ? "accept" : key + "_accept");
    const Value* field = own == nullptr ? nullptr : find(*own, key);
    // Where the source cannot tell a p, it is null beside status ok, and its note asks for any p below 1e-9.
    const bool tiny = key == "p_value" && is_null(want) && is_ok(expected);
    const bool good = tiny ? number(*ours).value_or(1) < 1e-9
                      : sampled && bracket != nullptr
                          ? within(*ours, *bracket)
                          : close(*ours, want, field == nullptr ? tolerance : *field);
    if (!good)
      all.push_back(fmt::format("{}: got {}, want {}", key, write_json(*ours, Layout::compact),
                                write_json(want, Layout::compact)));
  }
  return all;
}

std::vector<Value> cases_of(const std::string& file) {
  const std::string path = std::string(RETRYGATE_SOURCE_DIR) + "/stats/reference/" + file + ".json";
  const auto text = read_file(path);
  if (!text) return {};
  const auto parsed = parse_json(*text, file + ".json");
  return parsed ? std::get<Array>(parsed->data) : std::vector<Value>{};
}

const std::string& text(const Value& the_case, std::string_view key) {
  return std::get<std::string>(find(the_case, key)->data);
}

struct File {
  std::string name;
  std::size_t cases;
  friend void PrintTo(const File& file, std::ostream* out) { *out << file.name; }
};

class Reference : public testing::TestWithParam<File> {};

TEST_P(Reference, EveryCase) {
  const std::vector<Value> cases = cases_of(GetParam().name);
  ASSERT_EQ(cases.size(), GetParam().cases);
  for (const Value& the_case : cases) {
    const std::string label = text(the_case, "id") + " " + text(the_case, "test");
    const Procedure* procedure = procedures().find(text(the_case, "test"));
    if (procedure == nullptr) {
      ADD_FAILURE() << label << " is not on the shelf";
      continue;
    }
    const auto got = run(*procedure, the_case);
    if (!got) {
      ADD_FAILURE() << label << "\n" << to_string(got.error());
      continue;
    }
    for (const std::string& fault : faults(*got, the_case)) ADD_FAILURE() << label << " " << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Reference,
                         testing::Values(File{"01_descriptive", 33}, File{"02_ttest", 63},
                                         File{"03_mannwhitney", 62}, File{"04_signedrank", 71},
                                         File{"05_brunnermunzel", 23}, File{"06_gof", 79},
                                         File{"07_kgroups", 69}, File{"08_permutation", 49},
                                         File{"09_bootstrap", 67}, File{"10_multiplicity", 24},
                                         File{"11_proportions", 62}, File{"12_equivalence", 37},
                                         File{"13_power", 46}, File{"14_linear", 53}, File{"15_survival", 30},
                                         File{"16_quantile_ci", 29}, File{"17_sequential", 39}),
                         [](const auto& file) { return "f" + file.param.name; });

// The comparison itself must be able to say no.
TEST(ReferenceRule, Tolerances) {
  const auto value = [](std::string_view json) { return *parse_json(json, "rule"); };
  const Value rel = value(R"({"rel": 1e-3, "abs": 0.0})"), each = value(R"({"rel": [0, 1e-3], "abs": 0})");
  EXPECT_TRUE(close(value("1000.9"), value("1000"), rel));
  EXPECT_FALSE(close(value("1001.1"), value("1000"), rel));
  EXPECT_TRUE(close(value("[1, 2.001]"), value("[1, 2]"), each));
  EXPECT_FALSE(close(value("[1.001, 2]"), value("[1, 2]"), each));
  EXPECT_FALSE(close(value("[1]"), value("[1, 2]"), rel));
  EXPECT_TRUE(close(value("\"Infinity\""), value("\"Infinity\""), rel));
  EXPECT_FALSE(close(value("1e308"), value("\"Infinity\""), rel));
  EXPECT_FALSE(close(value("null"), value("1"), rel));
  EXPECT_FALSE(close(value("1"), value("null"), rel));
  EXPECT_FALSE(close(value("\"ok\""), value("\"undefined\""), rel));
  EXPECT_FALSE(close(value("true"), value("false"), rel));
  EXPECT_TRUE(within(value("2"), value("[1, 2]")));
  EXPECT_FALSE(within(value("2.1"), value("[1, 2]")));
  EXPECT_FALSE(within(value("[1.5, 4.1]"), value("[[1, 2], [3, 4]]")));
}

TEST(ReferenceRule, Faults) {
  const auto value = [](std::string_view json) { return *parse_json(json, "rule"); };
  const Value the_case = value(R"({"expected": {"p": 0.5, "low": 1.0, "low_accept": [0.8, 1.2]},
      "tolerance": {"rel": 1e-9, "fields": {"p": {"abs": 0.1}}}})");
  EXPECT_TRUE(faults(value(R"({"p": 0.55, "low": 1.0})"), the_case).empty());
  EXPECT_EQ(faults(value(R"({"p": 0.65, "low": 1.0})"), the_case).size(), 1);
  EXPECT_EQ(faults(value(R"({"p": 0.5, "low": 1.1})"), the_case).size(), 1);
  EXPECT_TRUE(faults(value(R"({"p": 0.5, "low": 1.1, "resamples": 10000})"), the_case).empty());
  EXPECT_EQ(faults(value(R"({"p": 0.5, "low": 1.1, "resamples": "all"})"), the_case).size(), 1);
  EXPECT_EQ(faults(value(R"({"low": 1.0})"), the_case).size(), 1);
}

}  // namespace
}  // namespace retrygate::stats
