// "Same seed, same bytes" from one version, compiler, optimisation level and machine to the next: the digests
// of digests.csv, which stored baselines rely on. A change that makes other ones needs a new version of the
// random streams (policies/base/rng.hpp) or of what a digest folds, and says so in the CHANGELOG.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "policies/base/config.hpp"
#include "policies/base/csv.hpp"
#include "sim/testing.hpp"

namespace retrygate {
namespace {

using namespace testing_sim;

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

TEST(Digests, AreThoseOfEveryOtherBuild) {
  const std::string path = std::string(RETRYGATE_SOURCE_DIR) + "/sim/digests.csv";
  std::istringstream lines(read_file(path).value());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "scenario,overrides,policy,seed,digest");
  Runner runner;
  int number = 1;
  for (; std::getline(lines, line); ++number) {
    const CsvRow row = csv_row(line, path, number + 1);
    ASSERT_EQ(row.size(), 5U) << line;
    const auto s = find_scenario(row[0].text, {}, parts_of(row[1].text));
    ASSERT_TRUE(s) << to_string(s.error());
    const auto totals = runner.run(policy(row[2].text), *s, Seed{std::stoull(row[3].text)});
    ASSERT_TRUE(totals) << to_string(totals.error());
    EXPECT_EQ(fmt::format("{:016x}", totals->digest), row[4].text) << line;
  }
  EXPECT_EQ(number, 127);
}

}  // namespace
}  // namespace retrygate
