#include "ci/claims.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/experiments/tables.hpp"

namespace retrygate::ci {
namespace {

TEST(Claims, TablesGetTheCheckedVerdicts) {
  const std::map<std::string, std::string> expected = {
      {"1.1", "OK"},        {"1.2", "OK"},    {"1.9", "WRONG"}, {"1.10", "WRONG"}, {"1.12", "OK"},
      {"2.1", "IMPRECISE"}, {"2.7", "WRONG"}, {"2.8", "OK"},    {"4.1", "OK"},     {"4.2", "OK"}};
  std::map<std::string, std::string> got;
  for (const ClaimRow& r : reproduce_tables()) got[r.claim.substr(0, r.claim.find(' '))] = r.verdict;
  EXPECT_EQ(got, expected);
}

TEST(Claims, FlakyGetsTheCheckedVerdicts) {
  const auto rows = reproduce_flaky(1, 10);
  const std::vector<std::string> expected = {"OK",    "OK",    "OK",    "OK", "WRONG",
                                             "WRONG", "WRONG", "WRONG", "OK"};
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].verdict, expected[i]) << rows[i].claim;
  EXPECT_NE(rows[7].ours.find("lower in 10 of 10"), std::string::npos) << rows[7].ours;
}

TEST(Tables, TenacityCapsAfterTheJitter) {
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 6, 0), 16);
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 6, .5), 16.5);
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 7, 0), 30);
  EXPECT_EQ(tenacity_exponential_jitter(.5, 30, 1, 7, .99), 30);
}

}  // namespace
}  // namespace retrygate::ci
