// Saved cases: kept by `check`, tried first by the next one, one command away.
#include "ci/saved_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "ci/commands.hpp"
#include "ci/golden/transcript.hpp"
#include "ci/outside.hpp"

namespace retrygate::ci {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Saved : public testing::Test {
 protected:
  Scratch scratch_;
  std::string path_ = scratch_.path() / "kept/cases.json";
};

// Waits longer than it promises from some attempt on.
struct AboveItsCap {
  using Client = Stateless;
  using Call = Stateless;
  std::int64_t from = 7;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    return Decision::wait(Duration::s(a.number < from ? 1 : 2));
  }
  Contract contract() const {
    Contract c;
    c.cap = Duration::s(1);
    return c;
  }
  bool operator==(const AboveItsCap&) const = default;
  friend std::string to_string(const AboveItsCap&) { return "above its cap"; }
};

NamedPolicy above_its_cap(std::int64_t from = 7) {
  NamedPolicy policy = *find_policy("fixed", {"test", 0, 0});
  policy.policy = AboveItsCap{from};
  return policy;
}

Report checked(const NamedPolicy& policy, const std::string& path, int cases = 200) {
  CheckRequest request;
  request.cases = cases;
  request.cases_file = path;
  request.only = {"cap-respected"};
  auto report = check_policies({policy}, request);
  EXPECT_TRUE(report);
  return *report;
}

TEST_F(Saved, AFailureIsKeptAndTriedFirstNextTime) {
  NamedPolicy policy = above_its_cap();
  // One case is attempt 1, and shows nothing.
  EXPECT_EQ(checked(policy, path_, 1).verdicts.at(0).verdict, "holds");
  const Report first = checked(policy, path_);
  EXPECT_EQ(first.verdicts.at(0).verdict, "fails");
  EXPECT_EQ(first.verdicts.at(0).counterexample, "after attempt 7 the delay is 2s, above the cap's 1s");
  ASSERT_THAT(SavedCases::read(path_)->of("fixed"), SizeIs(1));
  const Report again = checked(policy, path_, 1);
  EXPECT_EQ(again.verdicts.at(0).verdict, "fails");
  EXPECT_EQ(again.verdicts.at(0).counterexample, first.verdicts.at(0).counterexample);
  EXPECT_EQ(again.verdicts.at(0).repeat, first.verdicts.at(0).repeat);
  // What another subject met is not tried here; without the file nothing is.
  policy.name = policy.reference = "fixed:base=1s";
  EXPECT_EQ(checked(policy, path_, 1).verdicts.at(0).verdict, "holds");
  policy.name = policy.reference = "fixed";
  EXPECT_EQ(checked(policy, "", 1).verdicts.at(0).verdict, "holds");
}

TEST_F(Saved, WhatIsMendedIsSaidAndRemoved) {
  checked(above_its_cap(), path_);
  const Report mended = checked(above_its_cap(1'000'000'000'000), path_);
  EXPECT_EQ(mended.verdicts.at(0).verdict, "holds");
  EXPECT_THAT(
      mended.notes,
      ElementsAre(HasSubstr("fixed: the saved case of cap-respected no longer fails and was removed")));
  EXPECT_THAT(SavedCases::read(path_)->of("fixed"), IsEmpty());
  // Mended there, broken elsewhere: the new case takes the place of the old one.
  checked(above_its_cap(), path_);
  EXPECT_EQ(checked(above_its_cap(20), path_).verdicts.at(0).counterexample,
            "after attempt 20 the delay is 2s, above the cap's 1s");
  ASSERT_THAT(SavedCases::read(path_)->of("fixed"), SizeIs(1));
}

// Without its contract a program promises no cap: that mends nothing.
TEST_F(Saved, WhatIsNotPromisedNowIsKept) {
  const auto& folder = scratch_.path();
  write(folder / "contract.toml", "cap = \"400ms\"\n");
  write(folder / "mine.sh", R"(read -r hello; echo '{"retrygate-policy":1}'
while read -r l; do id=${l#*:}; id=${id%%,*}
case $l in *'"status":2'*) echo "{\"id\":$id,\"stop\":\"success\"}";;
*) echo "{\"id\":$id,\"wait_ns\":500000000}";; esac; done
)");
  const std::string check = "retrygate check 'exec:sh mine.sh' --cases 10 --only cap-respected";
  const auto saved = [&] {
    return SavedCases::read(folder / ".retrygate/cases.json")->of("exec:sh mine.sh");
  };
  EXPECT_EQ(run(check + " --contract contract.toml", folder).code, 1);
  ASSERT_THAT(saved(), SizeIs(1));
  const Ran bare = run(check, folder);
  EXPECT_EQ(bare.code, 0) << bare.out << bare.err;
  EXPECT_THAT(replaced(bare.out, "\n", " "), HasSubstr("the saved case of cap-respected is kept: this is not "
                                                       "promised now"));
  EXPECT_THAT(saved(), SizeIs(1));
  // The same with a policy of ours.
  NamedPolicy policy = above_its_cap();
  checked(policy, path_);
  const std::string name = policy.reference;
  policy = *find_policy("immediate", {"test", 0, 0});
  policy.name = policy.reference = name;
  EXPECT_THAT(checked(policy, path_).notes, ElementsAre(HasSubstr("is kept: this is not promised now")));
  EXPECT_THAT(SavedCases::read(path_)->of(name), SizeIs(1));
}

TEST_F(Saved, ATokenRepeatsTheFailureAlone) {
  const NamedPolicy policy = above_its_cap();
  const VerdictRow failed = checked(policy, "").verdicts.at(0);
  const std::string token = failed.repeat.substr(failed.repeat.rfind(' ') + 1);
  EXPECT_EQ(failed.repeat, "retrygate check fixed --replay " + token);
  CheckRequest request;
  request.replay = token;
  const Report again = *check_policies({policy}, request);
  ASSERT_THAT(again.verdicts, SizeIs(1));
  EXPECT_EQ(again.verdicts.at(0).counterexample, failed.counterexample);
  EXPECT_EQ(again.verdicts.at(0).repeat, failed.repeat);
  // The first attempt that is wrong is a later one now: the case of the token holds.
  EXPECT_EQ(check_policies({above_its_cap(8)}, request)->verdicts.at(0).verdict, "holds");
  for (const char* bad : {"", "cap-respected", "cap-respected:1:200", "cap-respected:1:200:0000000:",
                          "cap-respected:1:0:00000000", "cap-respected:x:1:00000000"}) {
    request.replay = bad;
    EXPECT_THAT(to_string(check_policies({policy}, request).error()), HasSubstr("is no token")) << bad;
  }
  request.replay = "cap-respected:1:200:00000000:7:1";
  EXPECT_THAT(to_string(check_policies({policy}, request).error()), HasSubstr("belongs to another subject"));
  request.replay = "cap-obeyed:1:200:00000000:7:1";
  EXPECT_THAT(to_string(check_policies({policy}, request).error()), HasSubstr("no invariant"));
}

// A suite calls the policies of its file by their bare names; a command needs the file too.
TEST_F(Saved, ThePolicyOfASuiteIsRepeatedFromTheCommandLine) {
  NamedPolicy in_suite = above_its_cap();
  in_suite.name = "mine";
  in_suite.reference = "suites/ours.toml#mine";
  CheckRequest request;
  request.only = {"cap-respected"};
  request.strict = true;
  const VerdictRow failed = check_policies({in_suite}, request)->verdicts.at(0);
  EXPECT_EQ(failed.subject, "mine");
  const std::string before = "retrygate check 'suites/ours.toml#mine' --replay ", after = " --strict";
  ASSERT_THAT(failed.repeat, testing::AllOf(testing::StartsWith(before), testing::EndsWith(after)));
  NamedPolicy on_command_line = in_suite;
  on_command_line.name = in_suite.reference;
  request.replay = failed.repeat.substr(before.size(), failed.repeat.size() - before.size() - after.size());
  const auto again = check_policies({on_command_line}, request);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->verdicts.at(0).counterexample, failed.counterexample);
  EXPECT_EQ(again->verdicts.at(0).repeat, failed.repeat);
}

TEST_F(Saved, WritersAtTheSameTimeLoseNothing) {
  constexpr int writers = 8, rounds = 10;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < writers; ++i) {
      all.emplace_back([&, i] {
        for (int k = 0; k < rounds; ++k) {
          SavedCases cases;
          const std::string subject = fmt::format("subject {} {}", i, k);
          cases.keep(subject, {"cap-respected", Seed{1}, 200, check_digits(subject), "7:1"});
          EXPECT_TRUE(cases.write(path_));
        }
      });
    }
  }
  const auto all = SavedCases::read(path_);
  ASSERT_TRUE(all) << to_string(all.error());
  for (int i = 0; i < writers; ++i) {
    for (int k = 0; k < rounds; ++k)
      EXPECT_THAT(all->of(fmt::format("subject {} {}", i, k)), SizeIs(1)) << i << ' ' << k;
  }
}

TEST_F(Saved, AFolderThatCannotBeWrittenFailsNothingElse) {
  std::ofstream(scratch_.path() / "kept") << "a file where the folder would be";
  const Report report = checked(above_its_cap(), path_);
  EXPECT_EQ(report.verdicts.at(0).verdict, "fails");
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("are not saved")));
}

TEST_F(Saved, NothingFailedNothingIsWritten) {
  EXPECT_THAT(checked(*find_policy("full-jitter", {"test", 0, 0}), path_).notes, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "kept"));
}

TEST_F(Saved, AStaleTokenIsNoCaseAndAForeignFileIsLeftAlone) {
  write(path_,
        R"({"schema":"retrygate.cases/1","cases":{"full-jitter":{"cap-respected":"of another version",)"
        R"("survives":"survives:1:200:00000000:5:1","gone":"gone:1:200:00000000"}}})");
  EXPECT_THAT(SavedCases::read(path_)->of("full-jitter"), IsEmpty());
  const NamedPolicy policy = *find_policy("full-jitter", {"test", 0, 0});
  EXPECT_THAT(checked(policy, path_).notes, IsEmpty());
  write(path_, "not json");
  EXPECT_THAT(checked(policy, path_).notes, ElementsAre(HasSubstr("cases.json")));
  EXPECT_EQ(contents(path_), "not json");
}

// As a user sees it: the command that is printed fails in the same way, and the next run says the same.
TEST_F(Saved, TheCommandThatIsPrintedWorks) {
  const auto& folder = scratch_.path();
  write(folder / "contract.toml", "growth = \"constant\"\nbase = \"500ms\"\njitter = \"none\"\n");
  write(folder / "mine.sh", R"(read -r hello; echo '{"retrygate-policy":1}'
while read -r l; do id=${l#*:}; id=${id%%,*}
case $l in *'"status":2'*) echo "{\"id\":$id,\"stop\":\"success\"}";;
*'"attempt":6,'*) echo "{\"id\":$id,\"wait_ns\":400000000}";;
*) echo "{\"id\":$id,\"wait_ns\":500000000}";; esac; done
)");
  const std::string check = "retrygate check 'exec:sh mine.sh' --contract contract.toml --cases 10";
  const Ran first = run(check + " --only growth-law", folder);
  EXPECT_EQ(first.code, 1) << first.out << first.err;
  EXPECT_THAT(first.err, HasSubstr("exec:sh mine.sh: growth-law fails: client "));
  const std::string found = "attempt 6 ended with 503, 2.5s into the call: the delay is 400ms";
  const auto flat = [](std::string text) {  // as one line
    for (std::string_view end : {" \\\n      ", "\n      "}) text = replaced(std::move(text), end, " ");
    return text;
  };
  EXPECT_THAT(flat(first.out), HasSubstr(found));
  const std::string text = flat(first.out);
  const std::size_t at = text.find("repeat: ") + 8;
  const std::string command = text.substr(at, text.find('\n', at) - at);
  EXPECT_THAT(command, HasSubstr("--replay growth-law:1:10:"));
  const Ran again = run(command, folder);
  EXPECT_EQ(again.code, 1) << command << again.out << again.err;
  EXPECT_THAT(flat(again.out), HasSubstr(found));
  EXPECT_THAT(flat(again.out), HasSubstr("tried: the one case of the token"));
  EXPECT_TRUE(std::filesystem::exists(folder / ".retrygate/cases.json"));
  write(folder / "mine.sh", replaced(contents(folder / "mine.sh"), "400000000", "500000000"));
  EXPECT_EQ(run(command, folder).code, 0);
  const Ran mended = run(check, folder);
  EXPECT_EQ(mended.code, 0) << mended.out;
  EXPECT_THAT(replaced(mended.out, "\n", " "),
              HasSubstr("saved case of growth-law no longer fails and was removed"));
  const Ran bad = run("retrygate check fixed --replay x", folder);
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_THAT(bad.err, HasSubstr("--replay:1:1: error: 'x' is no token"));
}

}  // namespace
}  // namespace retrygate::ci
