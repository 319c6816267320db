// The stored baseline: written and read back, refused where it does not fit, whole at every instant.
#include "ci/baseline.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "ci/gate.hpp"
#include "ci/json_io.hpp"
#include "ci/version.hpp"

namespace retrygate::ci {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A folder of its own for each test.
class BaselineFile : public testing::Test {
 protected:
  BaselineFile() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / fmt::format("rg-{}-{}", info->name(), ::getpid());
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "baseline.json").string();
  }
  ~BaselineFile() override { std::filesystem::remove_all(folder_); }

  static Suite suite(const std::string& text) {
    const auto file = parse_toml(text, "s.toml");
    EXPECT_TRUE(file);
    auto suite = read_suite(*file, "s.toml");
    EXPECT_TRUE(suite) << to_string(suite.error());
    return *suite;
  }
  // "ours" with this cap, nothing else to compare with.
  static Suite ours(const std::string& cap, const std::string& seeds = "1..40",
                    const std::string& metrics = "peak_1s = \"10%\", completion_s = \"10%\"") {
    return suite(fmt::format(R"([policy.ours]
kind = "full-jitter"
cap = "{}"
[[compare]]
baseline = "ours"
scenarios = ["outage-then-limit"]
seeds = "{}"
metrics = {{ {} }}
)",
                             cap, seeds, metrics));
  }
  GateOptions with_file() const { return {Inconclusive::warn, 1, path_}; }
  void store_ours() {
    const auto told = update_baseline(ours("5s"), with_file());
    ASSERT_TRUE(told) << to_string(told.error());
  }
  std::string text() const { return *read_file(path_); }
  // The file with one text in place of another, everywhere.
  void edit(const std::string& from, const std::string& to) {
    std::string all = text();
    std::size_t at = all.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    for (; at != std::string::npos; at = all.find(from, at + to.size())) all.replace(at, from.size(), to);
    ASSERT_TRUE(write_file(path_, all));
  }
  Report report(const Suite& suite) {
    const auto run = run_gate(suite, with_file());
    EXPECT_TRUE(run) << to_string(run.error());
    return run ? run->report : Report{};
  }
  // The run is blocked for this one reason, and exits with 3 although --inconclusive says warn.
  void expect_blocked(const Suite& suite, const std::string& why) {
    const Report r = report(suite);
    EXPECT_THAT(r.blocked, ElementsAre(HasSubstr(why)));
    EXPECT_THAT(r.comparisons, IsEmpty());
    EXPECT_EQ(r.code, ExitCode::inconclusive);
    EXPECT_THAT(r.notes, Contains(HasSubstr("--update-baseline")));
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(BaselineFile, IsReadBackAsWritten) {
  store_ours();
  const auto baseline = parse_baseline(text(), path_);
  ASSERT_TRUE(baseline) << to_string(baseline.error());
  EXPECT_EQ(to_json(*baseline), text());
  ASSERT_EQ(baseline->cells.size(), 1u);
  const StoredCell& cell = baseline->cells[0];
  EXPECT_TRUE(cell.drew);
  EXPECT_EQ(cell.metrics.size(), 2u);
  EXPECT_EQ(cell.metrics[0].samples.size(), 40u);
  EXPECT_EQ(stored_policy(cell)->policy, ours("5s").compare[0].baseline.policy);
}

TEST_F(BaselineFile, KeepsWhatWasNotReached) {
  ASSERT_TRUE(update_baseline(suite(R"([[compare]]
baseline = "exponential"
scenarios = ["outage-then-limit"]
seeds = "1..2"
metrics = { completion_s = "10%" }
)"),
                              with_file()));
  const auto baseline = parse_baseline(text(), path_);
  ASSERT_TRUE(baseline);
  EXPECT_THAT(baseline->cells[0].metrics[0].samples, ElementsAre(std::nullopt, std::nullopt));
  EXPECT_FALSE(baseline->cells[0].drew);
}

TEST_F(BaselineFile, TheSamePolicyIsUnchangedAndPasses) {
  store_ours();
  const Report r = report(ours("5s"));
  EXPECT_EQ(r.code, ExitCode::pass);
  EXPECT_THAT(r.changes, IsEmpty());
  EXPECT_THAT(r.notes, Contains(HasSubstr("simulated again with the same result")));
  ASSERT_EQ(r.comparisons.size(), 2u);
  EXPECT_EQ(r.comparisons[0].method, "unchanged");
}

// Stored samples and simulated ones are the same numbers, so the ruling must be the same, too.
TEST_F(BaselineFile, AChangedPolicyIsJudgedAsIfBothWereSimulated) {
  store_ours();
  const Report stored = report(ours("20s"));
  EXPECT_THAT(stored.blocked, IsEmpty());
  ASSERT_EQ(stored.changes.size(), 1u);
  EXPECT_THAT(stored.changes[0].removed, Contains(HasSubstr("cap 5s (hard)")));
  EXPECT_THAT(stored.changes[0].added, Contains(HasSubstr("cap 20s (hard)")));
  const Suite both = suite(R"([policy.ours]
kind = "full-jitter"
[policy.other]
kind = "full-jitter"
cap = "20s"
[[compare]]
baseline = "ours"
candidates = ["other"]
scenarios = ["outage-then-limit"]
seeds = "1..40"
metrics = { peak_1s = "10%", completion_s = "10%" }
)");
  const auto simulated = run_gate(both, {});
  ASSERT_TRUE(simulated);
  // A candidate beside an unchanged baseline is a change, too.
  const Report candidate = report(both);
  ASSERT_EQ(candidate.changes.size(), 1u);
  EXPECT_EQ(candidate.changes[0].now, "other");
  EXPECT_EQ(candidate.changes[0].removed, stored.changes[0].removed);
  EXPECT_EQ(candidate.changes[0].added, stored.changes[0].added);
  ASSERT_EQ(stored.comparisons.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(stored.comparisons[i].headline, simulated->report.comparisons[i].headline);
    EXPECT_EQ(stored.comparisons[i].verdict, simulated->report.comparisons[i].verdict);
    EXPECT_EQ(stored.comparisons[i].p, simulated->report.comparisons[i].p);
  }
}

TEST_F(BaselineFile, MissingIsNoSilentPass) { expect_blocked(ours("5s"), "there is no such baseline file"); }

TEST_F(BaselineFile, OtherSeedsAreNamedWithBothValues) {
  store_ours();
  expect_blocked(ours("5s", "1..50"), "seeds on outage-then-limit: stored 1..40, now 1..50");
}

// The advice to write the file anew would take the other suite's samples away.
TEST_F(BaselineFile, TheFileOfAnotherSuiteIsNotToBeReplaced) {
  store_ours();
  Suite other = ours("5s", "1..50");
  EXPECT_THAT(run_gate(other, with_file())->report.notes,
              Contains(HasSubstr("with --update-baseline, look at")));
  other.name = "another";
  const Report report = run_gate(other, with_file())->report;
  EXPECT_THAT(report.notes, Contains(HasSubstr("was written for the suite 's', and this is 'another'")));
  EXPECT_THAT(report.notes, testing::Not(Contains(HasSubstr("look at the file's diff"))));
  edit("\"suite\": \"s\"", "\"suite\": \"\"");  // of before it was stored
  EXPECT_THAT(run_gate(other, with_file())->report.notes, Contains(HasSubstr("look at the file's diff")));
}

// What is the same of several scenarios is said once, what is of one names it.
TEST_F(BaselineFile, WhatDiffersIsSaidOnceAndOfItsScenario) {
  const auto both = [](const std::string& seeds) {
    return suite(fmt::format(R"([[compare]]
baseline = "full-jitter"
candidates = ["equal-jitter"]
scenarios = ["outage-then-limit", "brownout"]
seeds = "{}"
metrics = {{ gave_up = "1" }}
)",
                             seeds));
  };
  ASSERT_TRUE(update_baseline(both("1..3"), with_file()));
  EXPECT_THAT(run_gate(both("1..4"), with_file())->report.blocked,
              ElementsAre(path_ + ": seeds on outage-then-limit: stored 1..3, now 1..4",
                          path_ + ": seeds on brownout: stored 1..3, now 1..4"));
  edit("\"random_streams_version\": 1", "\"random_streams_version\": 999");
  const auto blocked = run_gate(both("1..3"), with_file())->report.blocked;
  ASSERT_THAT(blocked, testing::SizeIs(1));
  EXPECT_THAT(blocked[0], HasSubstr("random streams: stored version 999"));
}

TEST_F(BaselineFile, AMetricThatIsNotStoredIsNamed) {
  store_ours();
  expect_blocked(ours("5s", "1..40", "gave_up = \"1\""),
                 "metric gave_up on outage-then-limit: not stored, now asked for");
}

TEST_F(BaselineFile, AnotherUnitIsNamedWithBothValues) {
  store_ours();
  edit("\"unit\": \"s\"", "\"unit\": \"ms\"");
  expect_blocked(ours("5s"), "unit of metric completion_s: stored 'ms', now 's'");
}

TEST_F(BaselineFile, OtherRandomStreamsAreNamedWithBothValues) {
  store_ours();
  edit("\"random_streams_version\": 1", "\"random_streams_version\": 0");
  expect_blocked(ours("5s"), "random streams: stored version 0, now 1");
}

TEST_F(BaselineFile, AnotherScenarioIsNamedKeyByKey) {
  store_ours();
  auto baseline = parse_baseline(text(), path_);
  for (Member& member : std::get<Table>(baseline->cells[0].scenario_table.data)) {
    if (member.key == "clients") member.value.data = std::int64_t{400};
  }
  ASSERT_TRUE(write_file(path_, to_json(*baseline)));
  expect_blocked(ours("5s"), "scenario outage-then-limit, clients: stored 400, now 200");
}

TEST_F(BaselineFile, AScenarioWithoutStoredSamplesIsNamed) {
  store_ours();
  Suite other = ours("5s");
  other.compare[0].scenarios = {*find_scenario("rate-limited-fleet", {})};
  expect_blocked(other, "no samples of ours on rate-limited-fleet are stored");
}

// The simulator has changed although its version has not: samples of another world. Whether the policy has
// changed since makes no difference.
TEST_F(BaselineFile, SamplesThatThisProgramDoesNotReproduceAreRefused) {
  store_ours();
  auto baseline = parse_baseline(text(), path_);
  baseline->cells[0].digests[7] ^= 1;
  ASSERT_TRUE(write_file(path_, to_json(*baseline)));
  for (const char* cap : {"5s", "20s"}) expect_blocked(ours(cap), "digest of ours under seed 8: stored ");
  baseline->cells[0].digests[7] ^= 1;
  *baseline->cells[0].metrics[1].samples[3] += 1;
  ASSERT_TRUE(write_file(path_, to_json(*baseline)));
  for (const char* cap : {"5s", "20s"}) expect_blocked(ours(cap), "peak_1s of ours under seed 4: stored ");
}

// What a reader sees of the policy is the policy that is simulated.
TEST_F(BaselineFile, AnEditedTextOfThePolicyIsRefused) {
  for (const auto& [from, to] : {std::pair("\"cap 5s (hard)\"", "\"cap 4s (hard)\""),
                                 std::pair("\"definition\": \"exponential", "\"definition\": \"linear")}) {
    store_ours();
    edit(from, to);
    for (const char* cap : {"5s", "20s"}) expect_blocked(ours(cap), "the policy ours was edited by hand");
  }
}

TEST_F(BaselineFile, APolicyThatCannotBeMadeAgainIsNamed) {
  store_ours();
  edit("\"kind\": \"full-jitter\"", "\"kind\": \"no-such-kind\"");
  expect_blocked(ours("20s"), "cannot make the policy ours again: unknown policy 'no-such-kind'");
}

// One scenario under two overrides: each comparison finds its own samples.
TEST_F(BaselineFile, OverridesOfOneScenarioAreStoredApart) {
  const Suite two = suite(R"([[compare]]
baseline = "full-jitter"
scenarios = ["outage-then-limit"]
set = ["clients=50"]
seeds = "1..2"
metrics = { requests = "10%" }
[[compare]]
baseline = "full-jitter"
scenarios = ["outage-then-limit"]
set = ["clients=60"]
seeds = "1..2"
metrics = { requests = "10%" }
)");
  ASSERT_TRUE(update_baseline(two, with_file()));
  EXPECT_EQ(parse_baseline(text(), path_)->cells.size(), 2u);
  const Report r = report(two);
  EXPECT_THAT(r.blocked, IsEmpty());
  EXPECT_EQ(r.comparisons.size(), 2u);
  EXPECT_EQ(r.code, ExitCode::pass);
}

// Before its scenario lets anything happen, a policy's runs look alike: the same digests of another world.
TEST_F(BaselineFile, TheSameEventsInAnotherWorldAreStoredApart) {
  const Suite two = suite(R"([scenario.a]
stages = []
[[compare]]
baseline = "fixed"
scenarios = ["a"]
seeds = "1"
metrics = { requests = "10%" }
[[compare]]
baseline = "fixed"
scenarios = ["a"]
set = ["horizon=50s"]
seeds = "1"
metrics = { requests = "10%" }
)");
  ASSERT_TRUE(update_baseline(two, with_file()));
  const auto stored = parse_baseline(text(), path_);
  ASSERT_EQ(stored->cells.size(), 2u);
  EXPECT_EQ(stored->cells[0].digests, stored->cells[1].digests);
  EXPECT_THAT(report(two).blocked, IsEmpty());
}

TEST_F(BaselineFile, AnotherEngineSimulatesTheStoredPolicyAgain) {
  store_ours();
  auto baseline = parse_baseline(text(), path_);
  baseline->engine = "0.0.9";
  for (auto& sample : baseline->cells[0].metrics[1].samples) *sample += 1000;
  ASSERT_TRUE(write_file(path_, to_json(*baseline)));
  const Report r = report(ours("20s"));
  EXPECT_THAT(r.notes,
              Contains(HasSubstr("was written by retrygate 0.0.9: its policy ours was simulated again")));
  ASSERT_EQ(r.comparisons.size(), 2u);
  EXPECT_LT(*r.comparisons[0].baseline_mean, 1000 + 200);  // peak_1s of 200 clients, not the stored numbers
}

TEST_F(BaselineFile, MistakesAreNamedWithTheirPlacesAllAtOnce) {
  store_ours();
  edit("\"drew\": true", "\"drew\": 1");
  edit("\"seeds\": \"1..40\"", "\"seeds\": \"1..39\"");
  edit("\"id\": \"outage-then-limit\"", "\"id\": \"outage-then-limit\", \"colour\": 1");
  const auto run = run_gate(ours("5s"), with_file());
  ASSERT_FALSE(run);
  const std::string all = to_string(run.error());
  EXPECT_THAT(all, HasSubstr("'drew' must be true or false, not a whole number"));
  EXPECT_THAT(all, HasSubstr("'digests' must be a list of 39 texts, one per seed"));
  EXPECT_THAT(all, HasSubstr("'samples' must be a list of 39 numbers, one per seed"));
  EXPECT_THAT(all, HasSubstr("unknown key 'colour'"));
  EXPECT_THAT(all, HasSubstr(path_ + ":46:"));  // 40 digests from line 5 on, then "drew"
}

TEST_F(BaselineFile, AnEditedScenarioIsRefused) {
  store_ours();
  edit("\"clients\": 200", "\"clients\": 400");
  const auto run = run_gate(ours("5s"), with_file());
  ASSERT_FALSE(run);
  EXPECT_THAT(to_string(run.error()), HasSubstr("edited by hand"));
}

TEST_F(BaselineFile, WhatIsNoBaselineIsRefused) {
  for (const char* bad : {"", "{", "[]", "7", "{\"schema\":\"retrygate.baseline/2\"}", "<<<<<<< HEAD\n"}) {
    ASSERT_TRUE(write_file(path_, bad));
    EXPECT_FALSE(run_gate(ours("5s"), with_file())) << bad;
  }
}

// A writer that is killed leaves the old file or the new one. 60 writers, killed after 0 to 3 ms.
TEST_F(BaselineFile, IsWholeWhenItsWriterIsKilled) {
  const std::string small = "{\"is\": \"old\"}\n", large(400'000, 'x');
  ASSERT_TRUE(write_file(path_, small));
  for (int i = 0; i < 60; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) {
        if (!write_file(path_, large) || !write_file(path_, small)) ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer itself failed";
    const std::string found = text();
    ASSERT_TRUE(found == small || found == large) << found.size() << " bytes after " << i;
  }
}

// Four processes that write at the same time: each write succeeds, and the file is always one of theirs.
TEST_F(BaselineFile, ConcurrentWritersDoNotMix) {
  std::vector<pid_t> writers;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string mine(100'000, letter);
      for (int n = 0; n < 10; ++n) {
        if (!write_file(path_, mine)) ::_exit(1);
        const auto found = read_file(path_);
        if (!found || found->size() != mine.size() ||
            found->find_first_not_of((*found)[0]) != std::string::npos)
          ::_exit(2);
      }
      ::_exit(0);
    }
    writers.push_back(child);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_EQ(entry.path().filename(), "baseline.json");
}

// A process that was killed may have left its temporary file; a later one with the same number goes on.
TEST_F(BaselineFile, ALeftoverOfAKilledWriterIsNoObstacle) {
  ASSERT_TRUE(write_file(fmt::format("{}.{}.0.tmp", path_, ::getpid()), "half"));
  ASSERT_TRUE(write_file(path_, "whole"));
  EXPECT_EQ(text(), "whole");
}

TEST_F(BaselineFile, ASymbolicLinkStaysOne) {
  ASSERT_TRUE(write_file((folder_ / "real.json").string(), "old"));
  std::filesystem::create_symlink("real.json", path_);
  ASSERT_TRUE(write_file(path_, "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(*read_file((folder_ / "real.json").string()), "new");
}

}  // namespace
}  // namespace retrygate::ci
