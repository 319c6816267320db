// `init`: what it writes is what `gate` reads and what a pipeline runs; nothing of the user's is lost.
#include <gmock/gmock.h>

#include "ci/golden/transcript.hpp"
#include "ci/starter.hpp"
#include "ci/suite.hpp"
#include "policies/base/config.hpp"
#include "policies/base/yaml.hpp"

namespace retrygate::ci {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Init : public testing::Test {
 protected:
  Ran sh(const std::string& command) { return run(command, scratch_.path()); }
  std::string text(const std::string& name) const { return contents(scratch_.path() / name); }
  void file(const std::string& name, std::string_view text) { write(scratch_.path() / name, text); }
  bool exists(const std::string& name) const { return std::filesystem::exists(scratch_.path() / name); }

 private:
  Scratch scratch_;
};

TEST_F(Init, WhatItWritesRunsAndJudgesAChangeOfThePolicy) {
  ASSERT_EQ(sh("retrygate init").code, 0);
  const Ran unchanged = sh("retrygate gate retry/suite.toml");
  EXPECT_EQ(unchanged.code, 0) << unchanged.out << unchanged.err;
  EXPECT_THAT(unchanged.out, HasSubstr("no difference"));
  // The jitter is gone: the shipped suite jitter-removed has the same question and the same answer.
  const std::string suite = text("retry/suite.toml");
  const std::size_t ours = suite.find("kind = \"full-jitter\"", suite.find("[policy.ours]"));
  ASSERT_NE(ours, std::string::npos);
  file("retry/suite.toml", suite.substr(0, ours) + "kind = \"exponential\"" +
                               suite.substr(ours + std::size("kind = \"full-jitter\"") - 1));
  const Ran changed = sh("retrygate gate retry/suite.toml");
  EXPECT_EQ(changed.code, 1) << changed.out << changed.err;
  EXPECT_THAT(changed.out, HasSubstr("Verdict: fail"));
}

TEST_F(Init, EveryAnswerIsInTheSuite) {
  file("policies.toml", "[policy.mine]\nkind = \"equal-jitter\"\nbase = \"200ms\"\nmax_attempts = 6\n");
  const Ran ran =
      sh("retrygate init deep/in/gate.toml --policy policies.toml#mine --baseline full-jitter:base=200ms "
         "--scenario brownout --scenario outage-then-limit --metric peak_1s:20% --metric completion_s:5s "
         "--set clients=100");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(text("deep/in/gate.toml"),
              AllOf(HasSubstr("candidates = [\"../../policies.toml#mine\"]"),
                    HasSubstr("[policy.shipped]\nkind = \"full-jitter\"\nbase = \"200ms\"\n"),
                    HasSubstr("scenarios = [\"brownout\", \"outage-then-limit\"]"),
                    HasSubstr("set = [\"clients=100\"]"), HasSubstr("\npeak_1s = \"20%\"\n"),
                    HasSubstr("\ncompletion_s = \"5s\"\n"),
                    HasSubstr("subjects = [\"../../policies.toml#mine\"]"), Not(HasSubstr("[policy.ours]"))));
  const Ran gate = sh("retrygate gate deep/in/gate.toml");
  EXPECT_NE(gate.code, 2) << gate.err;
  EXPECT_THAT(gate.out, HasSubstr("policies.toml#mine against shipped on brownout"));
}

// Every policy can be the first one of a suite, whatever its parameters are.
TEST(Starter, EveryPolicyGivesASuiteThatIsRead) {
  for (const Preset& preset : presets()) {
    StarterRequest request;
    request.policy = preset.id;
    const auto files = starter(request);
    ASSERT_TRUE(files) << preset.id << to_string(files.error());
    const auto toml = parse_toml(files->front().text, "suite.toml");
    ASSERT_TRUE(toml) << preset.id << to_string(toml.error());
    const auto suite = read_suite(*toml, "suite.toml");
    ASSERT_TRUE(suite) << preset.id << to_string(suite.error());
    EXPECT_EQ(suite->compare.front().baseline.policy, suite->compare.front().candidates.front().policy);
  }
}

TEST_F(Init, PipelinesRunTheSuiteThatWasWritten) {
  for (const std::string& pipeline : pipelines()) {
    const Ran ran = sh("retrygate init --force ci/my-suite.toml --workflow " + pipeline);
    ASSERT_EQ(ran.code, 0) << ran.err;
    std::size_t named = 0;
    for (std::size_t at = ran.out.find("wrote "); at != std::string::npos;
         at = ran.out.find("wrote ", at + 1)) {
      const std::string path = ran.out.substr(at + 6, ran.out.find('\n', at) - at - 6);
      ASSERT_TRUE(exists(path)) << path;
      const std::string written = text(path);
      // Nothing of the templates' own repository is left.
      for (const char* gone : {"retry/suite.toml", "retry/baseline.json", "tools/retrygate.sh"})
        EXPECT_THAT(written, Not(HasSubstr(gone))) << path;
      if (path.ends_with(".yml")) {
        const auto documents = parse_yaml(written, path);
        EXPECT_TRUE(documents) << to_string(documents.error());
        if (written.find("ci/my-suite.toml") != std::string::npos) ++named;
      }
    }
    EXPECT_EQ(named, pipeline == "github" || pipeline == "gitlab" ? 1u : 0u) << pipeline;
  }
  const Ran step = sh("bash ci/retrygate.sh ci/my-suite.toml");
  EXPECT_EQ(step.code, 0) << step.out << step.err;
  EXPECT_TRUE(exists("retrygate-report/comment.md"));
  const Ran nightly =
      sh("sed -i 's/^seeds = .*/seeds = \"20261130000..20261130199\"/' ci/my-suite.toml && "
         "BASELINE= bash ci/retrygate.sh ci/my-suite.toml");
  EXPECT_EQ(nightly.code, 0) << nightly.out << nightly.err;
}

// The text at `key` of the step, job or script of that name, wherever it is in the document.
void find_steps(const Value& value, std::string_view name, std::string_view key,
                std::vector<std::string>& into) {
  if (const auto* list = std::get_if<Array>(&value.data)) {
    for (const Value& one : *list) find_steps(one, name, key, into);
  }
  const auto* table = std::get_if<Table>(&value.data);
  if (table == nullptr) return;
  const auto text = [&](std::string_view wanted) {
    for (const Member& member : *table) {
      const auto* found = std::get_if<std::string>(&member.value.data);
      if (member.key == wanted && found != nullptr) return *found;
    }
    return std::string();
  };
  if (text("name") == name && !text(key).empty()) into.push_back(text(key));
  for (const Member& member : *table) find_steps(member.value, name, key, into);
}

// What a server would run of them runs.
TEST_F(Init, TheShellPartsOfThePipelinesRun) {
  ASSERT_EQ(sh("retrygate init --workflow github && retrygate init --workflow gitlab --force").code, 0);
  const auto step = [&](const std::string& file, std::string_view name) {
    const auto documents = parse_yaml(text(file), file);
    std::vector<std::string> found;
    if (documents) find_steps(documents->front(), name, "run", found);
    return found.size() == 1 ? found[0]
                             : fmt::format("echo {} steps are called {}; exit 9", found.size(), name);
  };
  file("seeds.sh", step(".github/workflows/retrygate.yml", "fresh seeds"));
  const Ran seeds = sh("bash -eo pipefail seeds.sh");
  EXPECT_EQ(seeds.code, 0) << seeds.out << seeds.err;
  const std::string today = sh("date -u +%Y%m%d").out.substr(0, 8);
  EXPECT_THAT(text("retry/suite.toml"), HasSubstr(fmt::format("\nseeds = \"{0}000..{0}199\"\n", today)));
  file("gate.sh", step(".github/actions/retrygate/action.yml", "gate"));
  const Ran gate =
      sh("SUITE=retry/suite.toml BASELINE= OUT='my reports' ARGUMENTS='--threads 1' GITHUB_ACTIONS=true "
         "SCRIPT=.github/actions/retrygate/retrygate.sh bash -eo pipefail gate.sh");
  EXPECT_EQ(gate.code, 0) << gate.out << gate.err;
  EXPECT_THAT(gate.out, HasSubstr("::notice title=retrygate::pass (exit 0)"));
  EXPECT_TRUE(exists("my reports/comment.md"));
  const auto gitlab = parse_yaml(text("retry/gitlab-ci.yml"), "gitlab-ci.yml");
  ASSERT_TRUE(gitlab);
  std::string last;
  for (const Member& job : std::get<Table>(gitlab->front().data)) {
    for (const Member& part : std::get<Table>(job.value.data)) {
      if (part.key == "script") last = std::get<std::string>(std::get<Array>(part.value.data).back().data);
    }
  }
  EXPECT_EQ(last, "bash retry/retrygate.sh retry/suite.toml");
  EXPECT_EQ(sh(last).code, 0);
}

TEST_F(Init, ReplacesNothingUnlessItIsForced) {
  file("retry/suite.toml", "mine\n");
  file(".github/actions/retrygate/action.yml", "mine, too\n");
  const Ran refused = sh("retrygate init --workflow github");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err,
            "retry/suite.toml: error: there is such a file already\n  hint: --force replaces it\n"
            ".github/actions/retrygate/action.yml: error: there is such a file already\n"
            "  hint: --force replaces it\n");
  EXPECT_EQ(text("retry/suite.toml"), "mine\n");
  EXPECT_FALSE(exists(".github/workflows/retrygate.yml"));
  // A link that leads nowhere is somebody's, too.
  ASSERT_EQ(sh("ln -s nowhere link.toml").code, 0);
  EXPECT_EQ(sh("retrygate init link.toml").code, 2);
  EXPECT_FALSE(exists("nowhere"));
  EXPECT_EQ(sh("retrygate init --workflow github --force").code, 0);
  EXPECT_THAT(text("retry/suite.toml"), HasSubstr("[policy.ours]"));
}

TEST_F(Init, WritesAllOfItOrNothing) {
  file(".github", "a file where a folder should be");
  const Ran ran = sh("retrygate init --workflow github");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err,
              HasSubstr(".github/workflows/retrygate.yml: error: cannot create this file: Not a directory"));
  EXPECT_FALSE(exists("retry/suite.toml"));
}

TEST_F(Init, TellsEveryMistakeOfItsOptions) {
  const Ran ran =
      sh("retrygate init 'my suite.toml' --policy full-jiter --baseline fixde --scenario outage --metric "
         "peak_1s "
         "--metric gave_up:5s");
  EXPECT_EQ(ran.code, 2);
  for (const char* part : {"FILE:1:1: error: 'my suite.toml'", "did you mean 'full-jitter'?",
                           "did you mean 'fixed'?", "--scenario:1:1: error: ", "peak_1s lacks a margin",
                           "--metric:1:9: error: '5s' is no margin for gave_up"})
    EXPECT_THAT(ran.err, HasSubstr(part));
  EXPECT_FALSE(exists("my suite.toml"));
}

// `script` lends the command a terminal; answers come as they would be typed.
TEST_F(Init, AsksOnATerminalForWhatNoOptionSays) {
  if (sh("command -v script").code != 0) GTEST_SKIP() << "script (bsdutils) is not installed";
  file("answers", "full-jiter\nfull-jitter:base=200ms\n\nshell\nmine.toml\n");
  const Ran ran = sh("(cat answers; sleep 1) | script -qec 'retrygate init --metric requests:5%' /dev/null");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Policy [full-jitter]: "), HasSubstr("did you mean 'full-jitter'?"),
                             HasSubstr("Scenario [outage-then-limit]: "), HasSubstr("Pipeline [none]: "),
                             HasSubstr("File [retry/suite.toml]: "), HasSubstr("wrote mine.toml")));
  EXPECT_THAT(text("mine.toml"), AllOf(HasSubstr("base = \"200ms\""), HasSubstr("\nrequests = \"5%\"\n"),
                                       Not(HasSubstr("\ngave_up"))));
  EXPECT_TRUE(exists("retrygate.sh"));
  // An end in place of an answer.
  const Ran ended = sh("printf '\\004' | script -qec 'retrygate init other.toml' /dev/null");
  EXPECT_EQ(ended.code, 2) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("no answer, so nothing was written"));
  EXPECT_FALSE(exists("other.toml"));
}

}  // namespace
}  // namespace retrygate::ci
