#include "ci/suite.hpp"

#include <gtest/gtest.h>

namespace retrygate::ci {
namespace {

std::string complaints(std::string_view text) {
  auto file = parse_toml(text, "s.toml");
  if (!file) return to_string(file.error());
  const auto suite = read_suite(*file, "s.toml");
  return suite ? "" : to_string(suite.error());
}

TEST(Suite, ShippedOnesAreRead) {
  for (const EmbeddedFile& file : shipped_suites()) {
    const auto suite = find_suite(std::string(file.id));
    ASSERT_TRUE(suite) << to_string(suite.error());
    EXPECT_EQ(suite->name, file.id);
  }
  EXPECT_EQ(find_suite("")->name, "default");
}

TEST(Suite, ReportsEveryMistakeAtOnceWithItsPlace) {
  const std::string all = complaints(R"([[compare]]
baseline = "full-jiter"
candidates = ["fixed:base=1"]
scenarios = ["outage-then-limit"]
seeds = "200..1"
metrics = { peak_1s = "ten", gave_up_ = "0.5", completion_s = "0.2" }
colour = "red"
)");
  EXPECT_NE(all.find("s.toml:2:12: error: unknown policy 'full-jiter', did you mean 'full-jitter'?"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("error: 'base' needs a unit"), std::string::npos) << all;
  EXPECT_NE(all.find("s.toml:5:9: error: '200..1' names no seeds"), std::string::npos) << all;
  EXPECT_NE(all.find("'ten' is no margin for peak_1s"), std::string::npos) << all;
  EXPECT_NE(all.find("no metric 'gave_up_', did you mean 'gave_up'?"), std::string::npos) << all;
  EXPECT_NE(all.find("'0.2' is no margin for completion_s"), std::string::npos) << all;
  EXPECT_NE(all.find("s.toml:7:1: error: unknown key 'colour'"), std::string::npos) << all;
}

TEST(Suite, AnEmptyOneIsRefused) {
  EXPECT_NE(complaints("").find("s.toml:1:1: error: the file is empty"), std::string::npos);
  EXPECT_NE(complaints("[suite]\nname = \"x\"\n").find("this suite has nothing to do"), std::string::npos);
  EXPECT_NE(complaints("compare = []\n").find("s.toml:1:1: error: this suite has nothing to do"),
            std::string::npos)
      << complaints("compare = []\n");
}

// What is asked twice would be judged twice, and count twice in the family that Holm corrects for.
TEST(Suite, WhatIsAskedTwiceIsRefusedWithItsPlaces) {
  const std::string all = complaints(R"([[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter", "decorrelated", "equal-jitter"]
scenarios = ["outage-then-limit",
  "outage-then-limit"]
metrics = { requests = "5%" }
[[check]]
subjects = ["full-jitter", "full-jitter"]
[[check]]
subjects = ["full-jitter"]
invariants = ["cap-respected"]
[[compare]]
baseline = "full-jitter"
candidates = ["decorrelated"]
scenarios = ["outage-then-limit"]
metrics = { requests = "10%", gave_up = "0.5" }
)");
  EXPECT_NE(all.find("s.toml:3:47: error: 'equal-jitter' stands in 'candidates' already"), std::string::npos)
      << all;
  EXPECT_NE(all.find("s.toml:5:3: error: 'outage-then-limit' stands in 'scenarios' already"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("s.toml:8:28: error: 'full-jitter' stands in 'subjects' already"), std::string::npos)
      << all;
  EXPECT_NE(all.find("s.toml:9:1: error: 'full-jitter' is checked in line 7 already"), std::string::npos)
      << all;
  EXPECT_NE(
      all.find("s.toml:12:1: error: requests of decorrelated against full-jitter on outage-then-limit is "
               "compared in line 1 already"),
      std::string::npos)
      << all;
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 10) << all;  // five mistakes, a hint each
}

TEST(Suite, OneSubjectMayBeAskedDifferentThings) {
  EXPECT_EQ(complaints(R"([contract.a]
cap = "1s"
[contract.b]
cap = "2s"
[[check]]
subjects = ["full-jitter"]
invariants = ["cap-respected"]
[[check]]
subjects = ["full-jitter"]
invariants = ["jitter-law"]
[[check]]
subjects = ["exec:true"]
contract = "a"
[[check]]
subjects = ["exec:true"]
contract = "b"
[[compare]]
baseline = "full-jitter"
candidates = ["decorrelated"]
scenarios = ["outage-then-limit"]
metrics = { requests = "10%" }
[[compare]]
baseline = "full-jitter"
candidates = ["decorrelated"]
scenarios = ["outage-then-limit"]
set = ["clients=100"]
metrics = { requests = "10%" }
[[compare]]
baseline = "full-jitter"
candidates = ["decorrelated"]
scenarios = ["outage-then-limit"]
question = "better"
metrics = { requests = "10%" }
)"),
            "");
}

// What is written and empty would compare and check nothing, and pass.
TEST(Suite, AnEmptyPartIsRefusedWithItsPlace) {
  const std::string all = complaints(R"([[compare]]
baseline = "full-jitter"
candidates = []
scenarios = []
metrics = {}
[[check]]
subjects = []
traces = []
invariants = []
)");
  for (const char* part :
       {"s.toml:3:14: error: 'candidates' is empty", "s.toml:4:13: error: 'scenarios' is empty",
        "s.toml:5:11: error: 'metrics' is empty", "s.toml:7:12: error: 'subjects' is empty",
        "s.toml:8:10: error: 'traces' is empty", "s.toml:9:14: error: 'invariants' is empty"})
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
}

TEST(Suite, AMetricMayBeEstimatedButNotAllOfThem) {
  const std::string suite = "[[compare]]\nbaseline = \"fixed\"\nscenarios = [\"brownout\"]\nmetrics = ";
  EXPECT_EQ(complaints(suite + R"({ collapse = "estimate", gave_up = "0.5" })"), "");
  EXPECT_NE(complaints(suite + R"({ collapse = "estimate" })")
                .find("s.toml:4:11: error: all of these metrics are only estimated"),
            std::string::npos);
}

TEST(Suite, KnowsThePoliciesOfItsOwnFile) {
  EXPECT_EQ(complaints(R"([policy.ours]
kind = "full-jitter"
cap = "10s"
[[check]]
subjects = ["ours"]
)"),
            "");
  EXPECT_NE(
      complaints("[policy.ours]\nkind = \"full-jitter\"\ncap = \"50ms\"\n[[check]]\nsubjects = [\"ours\"]\n")
          .find("s.toml:3:7: error: cap (50ms) is below base (100ms)"),
      std::string::npos);
}

TEST(Seeds, AreARangeOrOneNumber) {
  EXPECT_EQ(parse_seeds("3..7", {})->count(), 5u);
  EXPECT_EQ(to_string(*parse_seeds("9", {})), "9");
  for (const char* bad : {"", "..", "1..", "x", "1..2..3", "-1", "1..9999999"})
    EXPECT_FALSE(parse_seeds(bad, {})) << bad;
}

}  // namespace
}  // namespace retrygate::ci
