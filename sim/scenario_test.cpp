// Scenarios that name files: where those are looked for, and what is part of a scenario's definition.
#include "sim/scenario.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policies/base/testing.hpp"
#include "sim/testing.hpp"

namespace retrygate {
namespace {

class ScenarioFiles : public testing::Test {
 protected:
  void file(const std::string& name, const std::string& text) { std::ofstream(folder_ + name) << text; }
  Result<Scenario> read(const std::vector<std::string>& overrides = {}) {
    return find_scenario(folder_ + "s.toml", {"test", 1, 1}, overrides);
  }
  std::string refusal(const std::vector<std::string>& overrides = {}) {
    const auto made = read(overrides);
    return made ? "accepted" : to_string(made.error());
  }
  void expect_refused(const std::vector<std::string>& parts, const std::vector<std::string>& overrides = {}) {
    for (const std::string& part : parts)
      EXPECT_NE(refusal(overrides).find(part), std::string::npos) << refusal(overrides);
  }
  const Scratch scratch_;
  const std::string folder_ = scratch_.path() / "";
};

const std::string world = R"(
outages = "outages.csv"
other = "policies.toml#other"
stages = [{ kind = "outage", file = "$outages" },
          { kind = "hop", policy = "$other", stages = [{ kind = "service", time = "5ms" }] }])";

TEST_F(ScenarioFiles, AreRelativeToTheFileThatNamesThem) {
  file("s.toml", "arrivals = \"trace\"\ntrace = \"starts.csv\"" + world);
  file("starts.csv", "client,call,start\n0,0,0s\n1,0,2500ms\n");
  file("outages.csv", "start_s,length\n2,1s\n");
  file("policies.toml", "[policy.other]\nkind = \"fixed\"\n");
  const auto s = read();
  ASSERT_TRUE(s) << to_string(s.error());
  EXPECT_EQ(s->clients, 2);
  const Totals t = testing_sim::play("fixed:max_attempts=1", *s);
  EXPECT_EQ(t.succeeded, 1);
  EXPECT_EQ(t.gave_up, 1);
  // What is written on the command line is relative to the current directory.
  expect_refused({"outages.csv: error: cannot read this file"}, {"outages=outages.csv"});
  EXPECT_TRUE(read({"outages=" + folder_ + "outages.csv"}));
}

// As sim/README.md shows one. Of several the reader has to say which.
TEST_F(ScenarioFiles, MayHoldTheScenarioAsATableWithItsName) {
  file("s.toml",
       "[scenario.mine]\nclients = 7\nstages = [{ kind = \"service\", time = \"5ms\" }]\n[policy.p]\n");
  ASSERT_TRUE(read()) << refusal();
  EXPECT_EQ(read()->id, "mine");
  EXPECT_EQ(read()->clients, 7);
  EXPECT_EQ(*read(), *find_scenario(folder_ + "s.toml#mine", {"test", 1, 1}));
  const auto other = find_scenario(folder_ + "s.toml#mime", {"test", 1, 1});
  ASSERT_FALSE(other);
  EXPECT_NE(to_string(other.error()).find("has no table [scenario.mime], did you mean 'mine'?"),
            std::string::npos);
  file("s.toml", "[scenario.a]\nstages = []\n[scenario.b]\nstages = []\n");
  expect_refused({"holds 2 scenarios\n  hint: one of: " + folder_ + "s.toml#a " + folder_ + "s.toml#b"});
  // A file that is a scenario itself is not mistaken for one that holds others.
  file("s.toml", "stages = []\n[scenario.a]\nstages = []\n");
  expect_refused({"unknown key 'scenario'"});
}

TEST_F(ScenarioFiles, WhatTheyHoldIsPartOfTheDefinition) {
  file("s.toml", world);
  file("outages.csv", "start,end\n1s,2s\n");
  file("policies.toml", "[policy.other]\nkind = \"fixed\"\nbase = \"10ms\"\n");
  const Scenario before = *read();
  EXPECT_EQ(before, *read());
  file("outages.csv", "start,end\n1s,3s\n");
  const Scenario longer = *read();
  EXPECT_NE(longer.definition, before.definition);
  EXPECT_NE(longer, before);
  file("outages.csv", "start,length\n1s,1s\n");  // the same, written in another way
  EXPECT_EQ(*read(), before);
  file("policies.toml", "[policy.other]\nkind = \"fixed\"\nbase = \"20ms\"\n");
  EXPECT_NE(read()->definition, before.definition);
  EXPECT_NE(*read(), before);
}

TEST_F(ScenarioFiles, MistakesHaveTheirPlace) {
  file("s.toml",
       "arrivals = \"trace\"\ntrace = \"starts.csv\"\nclients = 3\ncalls = 2\n"
       "stages = [{ kind = \"outage\", file = \"outages.csv\" }]");
  file("outages.csv", "length\n1s\n");
  file("starts.csv",
       "client,call,attempt,start\n7,0,1,0s\n7,0,2,1s\n7,1,1,2s\n7,0,1,3s\nx,0,1,3s\n1,0,1,-1s\n");
  expect_refused({"s.toml:3:11: error: a trace brings its own 'clients'",
                  "s.toml:4:9: error: a trace brings its own 'calls'",
                  "outages.csv:1:1: error: this log has lengths",
                  "starts.csv:5:3: error: call 0 of client 7 starts in line 2 already",
                  "starts.csv:6:1: error: 'x' must be a whole number", "starts.csv:7:7: error: "});
  file("starts.csv", "client,call,attempt,start\n7,0,2,1s\n");
  expect_refused({"starts.csv:1:1: error: no call starts in this trace"});
}

}  // namespace
}  // namespace retrygate
