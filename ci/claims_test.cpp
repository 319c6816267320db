// Every row of `retrygate reproduce all`, against figures from elsewhere.
#include "ci/claims.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "ci/json_io.hpp"
#include "ci/reproduce.hpp"
#include "sim/experiments/published.hpp"

namespace retrygate::ci {
namespace {

const std::vector<ClaimRow>& all_rows() {
  static const std::vector<ClaimRow> rows = *reproduce("all", {1, 200});
  return rows;
}

std::string number_of(const ClaimRow& row) { return row.claim.substr(0, row.claim.find(' ')); }

// The numbers of a text in order: "2400, 1435..1840" has three. A minus counts where no word or number
// stands before it.
std::vector<double> numbers(std::string_view text) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const auto within_word = [&](std::size_t i) {
    return i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 ||
                     (text[i - 1] == '.' && !(i > 1 && text[i - 2] == '.')));
  };
  std::vector<double> found;
  for (std::size_t i = 0; i < text.size();) {
    if (!digit(i) || within_word(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (digit(end)) ++end;
    if (end < text.size() && text[end] == '.' && digit(end + 1)) {
      ++end;
      while (digit(end)) ++end;
    }
    double value = 0;
    std::from_chars(text.data() + i, text.data() + end, value);
    const bool minus = i > 0 && text[i - 1] == '-' && !within_word(i - 1);
    found.push_back(minus ? -value : value);
    i = end;
  }
  return found;
}

TEST(Claims, NumbersOfAText) {
  EXPECT_THAT(numbers("2400 and 1435..1840, -0.506 [+0.412] '-5': 1.5s U3 base 2^n"),
              testing::ElementsAre(2400, 1435, 1840, -0.506, 0.412, -5, 1.5, 2));
}

TEST(Claims, ColumnSummaries) {
  const Column c = column({4, 1, 3, 2, 10, 6, 7, 8, 9, 5});
  EXPECT_EQ(c.low(), 1);
  EXPECT_EQ(c.high(), 10);
  EXPECT_EQ(c.mean(), 5.5);
  EXPECT_NEAR(c.variance(), 55.0 / 6, 1e-12);
  EXPECT_NEAR(c.standard_error(), std::sqrt(55.0 / 60), 1e-12);
  EXPECT_EQ(c.quantile(.25), 3.25);  // type 7, as R and NumPy
  EXPECT_EQ(c.quantile(0), 1);
  EXPECT_EQ(c.quantile(1), 10);
  EXPECT_EQ(c.share_up_to(3), 0.3);
  EXPECT_EQ(c.share_up_to(2.5), 0.2);
  EXPECT_EQ(c.share_of(7), 0.1);
}

// A claim that has no row, or a row that is no claim, is the bug.
TEST(Claims, EveryRowIsThereInOrder) {
  const std::size_t rows_of[] = {18, 16, 13, 14, 10, 12};  // claims per article, numbered from 1
  std::vector<std::string> expected;
  for (std::size_t article = 0; article < std::size(rows_of); ++article) {
    for (std::size_t n = 1; n <= rows_of[article]; ++n) expected.push_back(fmt::format("{}.{}", article, n));
  }
  std::vector<std::string> got;
  for (const ClaimRow& row : all_rows()) {
    got.push_back(number_of(row));
    EXPECT_FALSE(row.why.empty()) << row.claim;
    EXPECT_FALSE(row.published.empty()) << row.claim;
    EXPECT_FALSE(row.ours.empty()) << row.claim;
    EXPECT_EQ(row.claim.find('{'), std::string::npos) << row.claim;
  }
  EXPECT_EQ(got, expected);
}

TEST(Claims, OursAgreesWithTheReference) {
  std::map<std::string, std::vector<double>> ours;
  for (const ClaimRow& row : all_rows()) ours[number_of(row)] = numbers(row.ours);
  std::ifstream in(RETRYGATE_SOURCE_DIR "/ci/claims_reference.csv");
  std::string line;
  int compared = 0;
  while (std::getline(in, line)) {
    if (line.starts_with('#') || line.starts_with("row,")) continue;
    std::istringstream fields(line);
    std::string row, number, expected, tolerance;
    std::getline(fields, row, ',');
    std::getline(fields, number, ',');
    std::getline(fields, expected, ',');
    std::getline(fields, tolerance, ',');
    const std::size_t i = std::stoul(number);
    ASSERT_LT(i, ours[row].size()) << line;
    const double value = std::stod(expected);
    EXPECT_NEAR(ours[row][i], value, std::max(std::stod(tolerance), 1e-12 * std::abs(value))) << line;
    ++compared;
  }
  EXPECT_EQ(compared, 322);
}

// Verdicts of a check of the same claims by hand, from the articles' texts and other programs.
TEST(Claims, Verdicts) {
  std::map<std::string, std::string> expected;
  const auto all_are = [&](std::string_view verdict, const std::vector<std::string>& rows) {
    for (const std::string& row : rows) expected[row] = verdict;
  };
  all_are("OK", {"0.6",  "0.8", "0.9", "0.10", "0.11", "0.12", "0.17", "1.1", "1.2", "1.3",  "1.4",  "1.5",
                 "1.12", "2.2", "2.5", "2.8",  "2.10", "3.1",  "3.2",  "3.3", "3.4", "3.9",  "3.10", "4.1",
                 "4.2",  "4.3", "4.4", "4.7",  "5.1",  "5.2",  "5.3",  "5.8", "5.9", "5.10", "5.11", "5.12"});
  all_are("OK-IF",
          {"0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "1.7", "2.3", "2.4", "4.9", "5.4", "5.5", "5.6"});
  all_are("IMPRECISE", {"0.13", "0.14", "0.16", "0.18", "1.6", "1.8", "2.1", "3.11", "3.14", "4.5", "5.7"});
  all_are("INCONSISTENT", {"1.13", "2.13"});
  all_are("WRONG", {"0.15", "1.9", "1.10", "1.11", "1.14", "1.15", "2.6", "2.7", "2.9", "2.11", "2.12", "3.5",
                    "3.6", "3.7", "3.8", "3.12", "3.13", "4.6"});
  all_are("OPEN", {"1.16", "4.8", "4.10"});
  std::map<std::string, std::string> got;
  for (const ClaimRow& row : all_rows()) got[number_of(row)] = row.verdict;
  EXPECT_EQ(got, expected);
}

// Twelve seeds may leave a row open; they must not turn a verdict round.
TEST(Claims, FewSeedsContradictNoVerdict) {
  const auto few = reproduce("all", {1, 12});
  ASSERT_TRUE(few.has_value());
  int open = 0;
  for (std::size_t i = 0; i < few->size(); ++i) {
    if ((*few)[i].verdict == "OPEN" && all_rows()[i].verdict != "OPEN") {
      ++open;
      EXPECT_THAT((*few)[i].why, testing::HasSubstr("needs more seeds"));
      continue;
    }
    EXPECT_EQ((*few)[i].verdict, all_rows()[i].verdict) << (*few)[i].claim << ": " << (*few)[i].ours;
  }
  EXPECT_LE(open, 2);
}

TEST(Claims, OneExperimentAlone) {
  const auto rows = reproduce("decorator", {1, 3});
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->size(), 10U);
  for (const ClaimRow& row : *rows) EXPECT_EQ(row.experiment, "decorator");
  EXPECT_THAT(to_string(reproduce("decorater", {1, 3}).error()),
              testing::HasSubstr("did you mean 'decorator'"));
  EXPECT_FALSE(reproduce("all", {5, 5}).has_value());
}

TEST(Claims, TextKeepsToTheColumnsAndSumsUp) {
  const std::string text = claims_text(all_rows());
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  EXPECT_THAT(text, testing::StartsWith("83 published claims, and what was found:\n\n  36  OK  "));
  for (const std::string_view total :
       {"  13  OK-IF  ", "  11  IMPRECISE  ", "   2  INCONSISTENT  ", "  18  WRONG  ", "   3  OPEN  "})
    EXPECT_THAT(text.substr(0, text.find("\n\n\n")), testing::HasSubstr(std::string(total)));
  for (const Article& article : articles()) {
    EXPECT_THAT(text, testing::HasSubstr(
                          fmt::format("{}: {}\n{}\n", article.experiment, article.title, article.source)));
  }
  EXPECT_THAT(text, testing::HasSubstr("\n3.8   WRONG         backoff succeeds a little"));
}

TEST(Claims, LongWordsAreCutNotSpilled) {
  ClaimRow row{"decorator", "4.1 " + std::string(60, 'x'), std::string(50, 'y'), std::string(90, 'z'), "OK",
               "why"};
  std::istringstream in(claims_text({row}));
  std::string line;
  while (std::getline(in, line)) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Claims, JsonHasTheSixFields) {
  const std::string text = claims_json({all_rows().front()});
  for (const char* key : {"experiment", "claim", "published", "ours", "verdict", "why"})
    EXPECT_THAT(text, testing::HasSubstr(fmt::format("\"{}\": ", key)));
}

}  // namespace
}  // namespace retrygate::ci
