// Policies in other processes outside of `check`: their schedule, their fleet, their gate.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "ci/golden/transcript.hpp"

namespace retrygate::ci {
namespace {

using testing::HasSubstr;

class Programs : public testing::Test {
 protected:
  void SetUp() override {
    // fixed:base=500ms,max_attempts=4 as a program.
    write(folder() / "fixed.sh", R"(read -r hello; echo '{"retrygate-policy":1}'
while read -r l; do id=${l#*:}; id=${id%%,*}
case $l in *'"status":2'*) echo "{\"id\":$id,\"stop\":\"success\"}";;
*'"attempt":4,'*) echo "{\"id\":$id,\"stop\":\"attempts\"}";;
*) echo "{\"id\":$id,\"wait_ns\":500000000}";; esac; done
)");
    write(folder() / "policies.toml", R"([policy.ours]
kind = "exec"
command = "sh fixed.sh"
growth = "constant"
base = "500ms"
jitter = "none"
max_attempts = 4
)");
  }
  std::filesystem::path folder() const { return scratch_.path(); }
  Ran ran(const std::string& command) const { return run(command, folder()); }

 private:
  Scratch scratch_;
};

// Running; one that is dead and not yet reaped by whoever adopted it is not.
bool alive(pid_t process) {
  const std::string stat = contents(fmt::format("/proc/{}/stat", process));
  return ::kill(process, 0) == 0 && stat.find(") Z") == std::string::npos;
}

// Lines of a report are broken at 80 columns.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space || (!line.empty() && line.back() != ' ')) line += space ? ' ' : c;
  }
  return line;
}

std::string digests(const std::string& json) {
  const std::size_t at = json.find("\"digest\":");
  return at == std::string::npos ? "none" : json.substr(at, json.find(']', at) - at);
}

// The same decisions give the same events, whoever makes them.
TEST_F(Programs, AFleetOfAProgramIsTheFleetOfItsPolicy) {
  const std::string rest = " --scenario outage-then-limit --set clients=30 --seeds 1..3 --format json";
  const Ran program = ran("retrygate sim --policy 'exec:sh fixed.sh'" + rest);
  const Ran built_in = ran("retrygate sim --policy fixed:base=500ms,max_attempts=4" + rest);
  EXPECT_EQ(program.code, 0) << program.err;
  EXPECT_THAT(digests(built_in.out), HasSubstr("\"digest\":[\""));
  EXPECT_EQ(digests(program.out), digests(built_in.out));
  EXPECT_EQ(digests(ran("retrygate sim --policy policies.toml#ours" + rest).out), digests(built_in.out));
}

TEST_F(Programs, HaveASchedule) {
  const Ran shown = ran("retrygate show 'exec:sh fixed.sh' --outage 1s");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("    3       0.500 s      0.500 s      0.500 s        1.500 s"));
  EXPECT_THAT(shown.out, HasSubstr("observed in 500 calls"));
  EXPECT_THAT(shown.out, HasSubstr("After retry 3 it gives up."));
}

TEST_F(Programs, AreCandidatesAndSubjectsOfASuite) {
  write(folder() / "suite.toml", contents(folder() / "policies.toml") + R"(
[[compare]]
baseline = "fixed:base=500ms,max_attempts=4"
candidates = ["ours"]
scenarios = ["outage-then-limit"]
set = ["clients=5"]
seeds = "1..60"
metrics = { requests = "10%" }
[[check]]
subjects = ["ours"]
invariants = ["growth-law", "attempts-exact"]
)");
  const Ran passed = ran("retrygate gate suite.toml");
  EXPECT_EQ(passed.code, 0) << passed.out << passed.err;
  write(folder() / "fixed.sh", replaced(contents(folder() / "fixed.sh"), "\"attempt\":4,", "\"attempt\":9,"));
  const Ran failed = ran("retrygate gate suite.toml");
  EXPECT_EQ(failed.code, 1) << failed.out << failed.err;
  EXPECT_THAT(failed.out, HasSubstr("ours fails: attempts-exact"));
}

// A stored baseline is what the program did then; it fails as soon as its program does otherwise.
TEST_F(Programs, AreHeldAgainstTheirStoredSamples) {
  write(folder() / "suite.toml", R"([[compare]]
baseline = "exec:sh fixed.sh"
scenarios = ["outage-then-limit"]
set = ["clients=5"]
seeds = "1..60"
metrics = { requests = "10%" }
)");
  ASSERT_EQ(ran("retrygate gate suite.toml --baseline b.json --update-baseline").code, 0);
  const Ran same = ran("retrygate gate suite.toml --baseline b.json");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_THAT(in_one_line(same.out), HasSubstr("its stored samples are compared as they are"));
  write(folder() / "fixed.sh", replaced(contents(folder() / "fixed.sh"), "500000000", "100000000"));
  const Ran other = ran("retrygate gate suite.toml --baseline b.json");
  EXPECT_EQ(other.code, 1) << other.out << other.err;
  EXPECT_THAT(other.out, HasSubstr("exec:sh fixed.sh (stored)"));
}

TEST_F(Programs, ThatCannotBeRunAreOneMessage) {
  const std::string sim = " --scenario outage-then-limit --set clients=5 --seeds 1";
  write(folder() / "own.sh",
        "read -r hello; echo '{\"retrygate-policy\":1,\"seeded\":false}'; cat >/dev/null\n");
  const Ran own = ran("retrygate sim --policy 'exec:sh own.sh'" + sim);
  EXPECT_EQ(own.code, 2);
  EXPECT_THAT(own.err, HasSubstr("a run could not be repeated"));
  write(folder() / "dies.sh", "read -r hello; echo '{\"retrygate-policy\":1}'; read -r l; exit 7\n");
  const Ran dies = ran("retrygate sim --policy 'exec:sh dies.sh'" + sim);
  EXPECT_EQ(dies.code, 1);
  EXPECT_THAT(dies.err, HasSubstr("in 'outage-then-limit', seed 1: exec:sh dies.sh: the program ended with "
                                  "exit code 7\nit was told: {\"id\":1,"));
  EXPECT_EQ(ran("retrygate show 'exec:sh dies.sh'").code, 1);
  const Ran missing = ran("retrygate show 'exec:./nothing'");
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.err,
              HasSubstr("exec:./nothing cannot be started: the program ended with exit code 127"));
  EXPECT_THAT(ran("retrygate sensitivity 'exec:sh fixed.sh' --scenario outage-then-limit").err,
              HasSubstr("the settings of a program cannot be varied"));
  EXPECT_THAT(ran("retrygate show 'exec: '").err, HasSubstr("names no command"));
}

// One that breaks off in a simulation is a broken promise of its own; what else the suite asks is answered.
TEST_F(Programs, ThatDieInAGateBreakTheirPromiseAndNothingElse) {
  write(folder() / "dies.sh", "read -r hello; echo '{\"retrygate-policy\":1}'; read -r l; exit 7\n");
  const std::string rest = R"(scenarios = ["outage-then-limit"]
set = ["clients=5"]
seeds = "1..60"
metrics = { requests = "100%" }
)";
  write(folder() / "suite.toml", R"([policy.ours]
kind = "exec"
command = "sh dies.sh"
[[compare]]
baseline = "fixed"
candidates = ["ours", "fixed:base=400ms"]
)" + rest + R"([[compare]]
baseline = "ours"
candidates = ["fixed"]
)" + rest);
  const Ran died = ran("retrygate gate suite.toml --out reports");
  EXPECT_EQ(died.code, 1) << died.err;
  EXPECT_EQ(died.err, "");
  EXPECT_THAT(in_one_line(died.out),
              testing::AllOf(HasSubstr("ours fails: survives (MUST, exact)"),
                             HasSubstr("in 'outage-then-limit', seed 1: exec:sh dies.sh: the program ended "
                                       "with exit code 7"),
                             HasSubstr("ours broke off in a simulation: no comparison with it was made."),
                             HasSubstr("repeat: retrygate gate suite.toml "),
                             HasSubstr("fixed:base=400ms against fixed on outage-then-limit (clients=5), 60 "
                                       "seeds"),
                             testing::EndsWith("Verdict: fail (exit 1) ")));
  EXPECT_THAT(contents(folder() / "reports/report.html"), HasSubstr("the program ended with exit code 7"));
  EXPECT_THAT(contents(folder() / "reports/report.sarif"), HasSubstr("\"ruleId\": \"survives\""));
  EXPECT_THAT(contents(folder() / "reports/junit.xml"),
              HasSubstr("<testcase classname=\"check.ours\" name=\"survives\""));
  EXPECT_THAT(ran("retrygate gate suite.toml --format github").out,
              HasSubstr("::error file=suite.toml,line=1,col=1,title=ours%3A survives::fails: "));
  const Ran stored = ran("retrygate gate suite.toml --baseline b.json --update-baseline --format github");
  EXPECT_EQ(stored.code, 1);
  EXPECT_THAT(
      stored.out,
      testing::AllOf(HasSubstr("::error file=suite.toml,line=1,col=1,title=ours%3A survives::fails: "),
                     HasSubstr("fail (exit 1)")));
  EXPECT_THAT(stored.err, HasSubstr("the program ended with exit code 7"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "b.json"));
  // The check of the same suite says it once, and may be told to live with it.
  const std::string check = "[[check]]\nsubjects = [\"ours\"]\ninvariants = [\"survives\"]\n";
  write(folder() / "checked.toml", contents(folder() / "suite.toml") + check);
  const Ran checked = ran("retrygate gate checked.toml");
  EXPECT_EQ(checked.code, 1) << checked.err;
  EXPECT_EQ(count(checked.out, "ours fails: survives"), 1u) << checked.out;
  write(folder() / "waived.toml",
        contents(folder() / "checked.toml") +
            "waivers = [{ subject = \"ours\", invariant = \"survives\", reason = \"issue 1\", until = "
            "\"2999-12-31\" }]\n");
  EXPECT_EQ(ran("retrygate gate waived.toml").code, 0);
}

// A set-up that is incomplete is no fault of the policy, and is not lost in a log.
TEST_F(Programs, ThatAreNotThereAreReportedEverywhere) {
  write(folder() / "suite.toml", R"([policy.ours]
kind = "exec"
command = "./nothing"
[[compare]]
baseline = "fixed"
candidates = ["ours"]
scenarios = ["outage-then-limit"]
set = ["clients=5"]
seeds = "1..2"
metrics = { requests = "10%" }
)");
  const std::string why = "exec:./nothing cannot be started: the program ended with exit code 127";
  const Ran missing = ran("retrygate gate suite.toml --out reports");
  EXPECT_EQ(missing.code, 4) << missing.err;
  EXPECT_THAT(in_one_line(missing.out),
              testing::AllOf(HasSubstr("A program that cannot be started was asked nothing: "
                                       "suite.toml:1:1: error: ours was not compared: "),
                             HasSubstr(why), testing::EndsWith("Verdict: internal error (exit 4) ")));
  for (const char* file : {"report.md", "report.html", "report.json", "report.sarif", "junit.xml"})
    EXPECT_THAT(contents(folder() / "reports" / file), HasSubstr(why)) << file;
  const std::string annotation =
      "::error file=suite.toml,line=1,col=1,title=retrygate%3A a program cannot be started::";
  EXPECT_THAT(ran("retrygate gate suite.toml --format github").out, HasSubstr(annotation));
  EXPECT_THAT(ran("retrygate check suite.toml#ours --no-save --format github").out, HasSubstr(annotation));
}

// Gates and cancellations are asked of a program that says it can answer.
TEST_F(Programs, AreAskedBeforeASendAndToldOfACancellation) {
  const auto with = [&](const std::string& cancelled, const std::string& before_last) {
    write(folder() / "can.sh", R"(read -r hello; echo '{"retrygate-policy":1,"can":["before","cancel"]}'
while read -r l; do id=${l#*:}; id=${id%%,*}
case $l in *cancel*) echo "{\"id\":$id,)" +
                                   cancelled + R"(}";;
*'"attempt":5,'*send*) echo "{\"id\":$id,\"stop\":\"attempts\"}";;
*send*) echo "{\"id\":$id,\"send\":true}";;
*'"status":2'*) echo "{\"id\":$id,\"stop\":\"success\"}";;
*'"attempt":4,'*) echo "{\"id\":$id,)" +
                                   before_last + R"(}";;
*) echo "{\"id\":$id,\"wait_ns\":500000000}";; esac; done
)");
    return ran(
        "retrygate check 'exec:sh can.sh' --contract '{\"max_attempts\":4}' --no-save "
        "--only cancel-prompt,no-wait-after-last");
  };
  const std::string stop = R"(\"stop\":\"cancelled\")", last = R"(\"stop\":\"attempts\")",
                    wait = R"(\"wait_ns\":500000000)";
  const Ran right = with(stop, last);
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_THAT(right.out, HasSubstr("2 hold"));
  const Ran deaf = with(wait, last);
  EXPECT_EQ(deaf.code, 1);
  EXPECT_THAT(in_one_line(deaf.out),
              HasSubstr("cancelled 250ms into the wait of 500ms after attempt 1, it answers 'wait "
                        "500ms' and not with a stop"));
  const Ran late = with(stop, wait);
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(in_one_line(late.out),
              HasSubstr("4 attempts failed, the last one too, and it waits 500ms once more"));
}

// A program that leaves its limit to the gate is asked there before every send.
TEST_F(Programs, MayKeepTheirLimitsAtTheGate) {
  write(folder() / "gate.sh", R"(read -r hello; echo '{"retrygate-policy":1,"can":["before"]}'
while read -r l; do id=${l#*:}; id=${id%%,*}
case $l in *'"attempt":5,'*send*) echo "{\"id\":$id,\"stop\":\"attempts\"}";;
*send*) echo "{\"id\":$id,\"send\":true}";;
*'"status":2'*) echo "{\"id\":$id,\"stop\":\"success\"}";;
*) echo "{\"id\":$id,\"wait_ns\":500000000}";; esac; done
)");
  const auto judged = [&](const std::string& contract) {
    return ran("retrygate check 'exec:sh gate.sh' --contract '" + contract +
               "' --no-save --only attempts-exact,amplification-bounded,no-wait-after-last")
        .out;
  };
  EXPECT_THAT(judged(R"({"max_attempts":4})"), HasSubstr("2 hold"));
  EXPECT_THAT(judged(R"({"max_attempts":4})"), HasSubstr("fails: no-wait-after-last"));
  EXPECT_THAT(judged(R"({"max_attempts":5})"), HasSubstr("fails: attempts-exact"));
}

// The time-out of 5 s is paid once, whatever else there is to ask.
TEST_F(Programs, ThatHangCostOneTimeout) {
  write(folder() / "hangs.sh",
        replaced(contents(folder() / "fixed.sh"), "case", "[ $id -lt 300 ] || sleep 1000; case"));
  const Ran hung =
      ran("retrygate check 'exec:sh hangs.sh' --contract '{\"cap\":\"1s\",\"jitter\":\"full\","
          "\"growth\":\"constant\",\"base\":\"1s\",\"max_attempts\":4}' --no-save");
  EXPECT_EQ(hung.code, 1);
  EXPECT_THAT(hung.out, HasSubstr("exec:sh hangs.sh fails: survives"));
  EXPECT_THAT(hung.out, HasSubstr("the program wrote nothing for 5s"));
  EXPECT_LT(hung.seconds, 10);
}

// Every way to end retrygate ends the program too, with all its children.
TEST_F(Programs, DoNotOutliveUs) {
  write(folder() / "sleeps.sh", "sleep 1000 & echo $$ $! >pids; wait\n");
  for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
    std::filesystem::remove(folder() / "pids");
    bool sent = false;
    (void)run("exec retrygate check 'exec:sh sleeps.sh'", folder(), 60, [&](pid_t us, double) {
      if (!sent && contents(folder() / "pids").ends_with("\n")) sent = ::kill(us, signal) == 0;
    });
    pid_t program = 0, child = 0;
    std::ifstream(folder() / "pids") >> program >> child;
    ASSERT_GT(child, 0);
    for (const pid_t one : {program, child}) {
      for (int i = 0; alive(one); ++i) {
        ASSERT_LT(i, 5000) << "signal " << signal << " left process " << one;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
}

}  // namespace
}  // namespace retrygate::ci
