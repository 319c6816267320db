// The command as its users meet it: exit codes and messages, the same bytes again, pipes, full disks,
// signals, hostile files. What it prints in full is held in golden_test.cpp.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <map>
#include <sstream>
#include <utility>

#include "ci/golden/transcript.hpp"
#include "policies/base/testing.hpp"

namespace retrygate::ci {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Cli : public testing::Test {
 protected:
  Ran cli(const std::string& arguments) { return run("retrygate " + arguments, scratch_.path()); }
  void file(const std::string& name, std::string_view text) { write(scratch_.path() / name, text); }
  std::filesystem::path path(const std::string& name) const { return scratch_.path() / name; }

  // Refused: exit 2, nothing on stdout, each of the `parts` on stderr.
  void expect_refused(const std::string& arguments, const std::vector<std::string>& parts) {
    const Ran ran = cli(arguments);
    EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.err;
    EXPECT_EQ(ran.out, "") << arguments;
    for (const std::string& part : parts) EXPECT_THAT(ran.err, HasSubstr(part)) << arguments;
  }

 private:
  Scratch scratch_;
};

TEST_F(Cli, MistakesInAFileHavePlaceAndHintAndComeAtOnce) {
  file("p.toml",
       "[policy.a]\nkind = \"full-jitter\"\nbase = \"200ms\"\ncap = \"50ms\"\n\n"
       "[policy.b]\nkind = \"full-jitter\"\nbase = 100\nmax_delay = \"5s\"\n");
  expect_refused("check 'p.toml#a'", {"p.toml:4:7: error: cap (50ms) is below base (200ms)"});
  expect_refused("check 'p.toml#b'", {"p.toml:8:8: error: 'base'", "unit",
                                      "\n  hint: ", "p.toml:9:1: error: unknown key 'max_delay'"});
  expect_refused("check 'p.toml#a' 'p.toml#b'", {"p.toml:4:7: ", "p.toml:8:8: ", "p.toml:9:1: "});
  file("empty.toml", "");
  expect_refused("check 'empty.toml#a'", {"empty.toml:1:1: error: the file is empty", "\n  hint: "});
  expect_refused("gate empty.toml", {"empty.toml:1:1: error: the file is empty", "\n  hint: "});
  expect_refused("check 'nowhere.toml#a'", {"nowhere.toml: error: ", "No such file or directory"});
  expect_refused("gate .", {".: error: ", "directory"});
  file("suite.toml",
       "[[compare]]\nbaseline = \"full-jiter\"\ncandidates = [\"fixed\"]\nscenarios = [\"outage\"]\n"
       "metrics = { peak = \"10%\" }\n[[check]]\nsubjects = [\"fixed\"]\ninvariants = [\"cap\"]\n");
  expect_refused("gate suite.toml",
                 {"suite.toml:2:12: error: ", "suite.toml:4:", "suite.toml:5:20: error: ", "suite.toml:8:"});
}

// Address space for a few large stacks and one heap (kilobytes, the shell's unit), so that what is left when
// the next stack does not fit is enough to work with; the sanitizers need terabytes of it.
TEST_F(Cli, FewerThreadsThanAskedForDoTheSameWork) {
  if (sanitized) GTEST_SKIP() << "a limit on the address space and AddressSanitizer exclude each other";
  const std::string sweep =
      "sim --policy fixed --scenario outage-then-limit --seeds 1..100 --format json --threads ";
  const Ran one = cli(sweep + "1");
  ASSERT_EQ(one.code, 0) << one.err;
  const Ran limited =
      run("ulimit -s 65536; ulimit -v 400000; MALLOC_ARENA_MAX=1 retrygate " + sweep + "100", path(""));
  EXPECT_EQ(limited.code, 0) << limited.err;
  EXPECT_EQ(limited.out, one.out);
}

TEST_F(Cli, MistakesOnTheCommandLineNameWhatWasMeant) {
  expect_refused("chekc full-jitter", {"unknown command 'chekc', did you mean 'check'?"});
  expect_refused("check full-jitter --sed 1", {"unknown option '--sed', did you mean '--seed'?"});
  expect_refused("check full-jiter", {"'full-jiter', did you mean 'full-jitter'?"});
  expect_refused("check fixed --only cap-respectet", {"'cap-respectet', did you mean 'cap-respected'?"});
  expect_refused("explain cap-respectet", {"'cap-respectet', did you mean 'cap-respected'?"});
  expect_refused("sim --policy fixde --scenario outage-then-limits --metric peak_1 --seeds 3..1",
                 {"--policy:1:1: error: ", "did you mean 'fixed'?", "--scenario:1:1: error: ",
                  "did you mean 'outage-then-limit'?", "--metric:1:1: error: ", "--seeds:1:"});
  expect_refused("show fixed --outage 5 --deadline soon", {"--outage:1:", "--deadline:1:"});
  expect_refused("gate --format pdf", {"--format", "pdf"});
  EXPECT_EQ(cli("").code, 2);
  EXPECT_EQ(cli("--help").code, 0);
  EXPECT_EQ(cli("check --help").code, 0);
  EXPECT_THAT(cli("--version").out, HasSubstr(version()));
}

TEST_F(Cli, ASuiteThatIsMeantIsNamed) {
  expect_refused("gate jiter-removed", {"jiter-removed: error: there is no such suite file, did you mean "
                                        "'jitter-removed'?",
                                        "`retrygate list suites`"});
  file("retry/suite.toml", "");
  expect_refused("gate retry/siute.toml", {"did you mean 'retry/suite.toml'?"});
  expect_refused("gate nowhere/suite.toml", {"nowhere/suite.toml: error: there is no such suite file\n"});
}

// A pipeline shows what is wrong where people look: beside the line, in the comment, in the list of tests.
TEST_F(Cli, WrongSettingsAreReported) {
  file("retry/suite.toml",
       "[[compare]]\nbaseline = \"full-jiter\"\ncandidates = [\"fixed\"]\n"
       "scenarios = [\"outage-then-limit\"]\nmetrics = { requests = \"5%\" }\n");
  const Ran ran = cli("gate retry/suite.toml --format github --out reports");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("::error file=retry/suite.toml,line=2,col=12,title=retrygate%3A wrong settings::"
                      "retry/suite.toml:2:12: unknown policy 'full-jiter', did you mean "
                      "'full-jitter'?"),
            testing::EndsWith("::notice title=retrygate::usage error (exit 2)\n")));
  EXPECT_THAT(ran.err, HasSubstr("retry/suite.toml:2:12: error: "));
  for (const char* const report :
       {"report.txt", "report.md", "report.json", "report.html", "report.sarif", "junit.xml"})
    EXPECT_THAT(contents(path(std::string("reports/") + report)),
                AllOf(HasSubstr("full-jiter"), HasSubstr("retry/suite.toml")))
        << report;
  EXPECT_THAT(contents(path("reports/report.md")), testing::StartsWith("## retrygate: usage error\n"));
  EXPECT_THAT(contents(path("reports/report.txt")), testing::EndsWith("\nVerdict: usage error (exit 2)\n"));
  EXPECT_FALSE(std::filesystem::exists(path("reports/samples.json")));  // nothing was run
  for (const char* const arguments :
       {"gate nowhere.toml --format github", "gate --formt text --format github", "check --format=github",
        "check 'retry/suite.toml#a' --format github", "gate --seeds 1 --format github",
        "compare --baseline fixd --candidate fixed --scenario outage-then-limit --format github"}) {
    const Ran refused = cli(arguments);
    EXPECT_EQ(refused.code, 2) << arguments;
    EXPECT_THAT(refused.out, testing::StartsWith("::error ")) << arguments;
  }
}

// Readers of all kinds of files meet one that does not end: they say so, with little memory (kilobytes, the
// shell's unit).
TEST_F(Cli, FilesThatDoNotEnd) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a limit on the address space and AddressSanitizer exclude each other";
#endif
  file("suite.toml", "[[check]]\ntraces = [\"/dev/zero\"]\ncontract = { cap = \"1s\" }\n");
  file("world.toml", "[scenario.a]\nhorizon = \"1s\"\narrivals = \"trace\"\ntrace = \"/dev/zero\"\n");
  for (const char* const arguments :
       {"gate suite.toml", "gate jitter-removed --baseline /dev/zero", "show '/dev/zero#a'",
        "merge /dev/zero", "stats descriptive /dev/zero", "sim --policy fixed --scenario 'world.toml#a'"}) {
    const Ran ran = run("ulimit -v 1500000; retrygate " + std::string(arguments), path(""));
    EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("/dev/zero: error: this file has more than 256 MiB\n")) << arguments;
  }
}

// A name of any bytes is a name: what is no UTF-8 is shown as U+FFFD.
TEST_F(Cli, BytesThatAreNoUtf8AreNoFault) {
  file("p\xff.toml", "[policy.a]\nkind = \"fixed\"\n");
  for (const char* const arguments :
       {"show 'p\xff.toml#a' --format json", "check 'p\xff.toml#a' --format json",
        "sim --policy 'p\xff.toml#a' --scenario outage-then-limit --seeds 1 --metric requests --format "
        "json"}) {
    const Ran ran = cli(arguments);
    EXPECT_EQ(ran.code, 0) << arguments << "\n" << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("p\xef\xbf\xbd.toml#a")) << arguments;
  }
}

TEST_F(Cli, TwoRunsPrintTheSameBytesOnAnyNumberOfThreads) {
  for (const char* const arguments :
       {"gate",
        "sim --policy full-jitter --policy decorrelated --scenario flaky-service --seeds 1..8 "
        "--format json",
        "compare --baseline full-jitter --candidate equal-jitter --scenario outage-then-limit --seeds "
        "1..40 --metric peak_1s:10% --metric completion_s:1s --format json",
        "compare --baseline full-jitter --candidate equal-jitter --scenario outage-then-limit --metric "
        "completion_s:10% --until-decided --budget 100"}) {
    const Ran one = cli(std::string(arguments) + " --threads 1");
    EXPECT_NE(one.out, "") << arguments << one.err;
    EXPECT_EQ(one.out, cli(std::string(arguments) + " --threads 2").out);
    EXPECT_EQ(one.out, cli(std::string(arguments) + " --threads 3").out);
    EXPECT_EQ(one.out, cli(std::string(arguments) + " --threads 1").out);
  }
  const Ran first = cli("check full-jitter decorrelated fixed");
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.out, cli("check full-jitter decorrelated fixed").out);
}

TEST_F(Cli, AReaderThatGoesAwayIsNoFault) {
  // More than a pipe holds.
  const Ran ran =
      run("{ retrygate sim --policy full-jitter --scenario outage-then-limit --seeds 1..1000 "
          "--format json 2>err; echo $? >code; } | head -c 1",
          path(""));
  EXPECT_EQ(ran.out.size(), 1u);
  EXPECT_THAT(contents(path("code")), AnyOf("141\n", "4\n"));  // SIGPIPE, or EPIPE where that is ignored
  EXPECT_THAT(contents(path("err")), Not(HasSubstr("terminate")));
}

TEST_F(Cli, OutputThatCannotBeWrittenIsSaidOnce) {
  for (const char* const arguments :
       {"list policies", "gate", "check fixed", "--help", "gate --help", "", "--version",
        "sim --policy fixed --scenario outage-then-limit --seeds 1..500 "
        "--metric requests --format json"}) {
    const Ran ran = cli(std::string(arguments) + " >/dev/full");
    EXPECT_EQ(ran.code, 4) << arguments;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("the output could not be written: No space left on device"),
                               Not(HasSubstr("\nretrygate"))))
        << arguments;
  }
}

TEST_F(Cli, AFolderThatCannotBeWrittenIsSaidOnce) {
  file("file", "in the way");
  // No one may make a folder below a file, root included.
  const std::string sim = "sim --policy fixed --scenario outage-then-limit --seeds 1..2 --out file/x.json";
  expect_refused(sim, {"file/x.json: error: cannot create this file: Not a directory"});
  // And before anything is simulated, together with every other mistake.
  expect_refused(sim + " --trace . --metric requets",
                 {"file/x.json: error: cannot create this file: Not a directory",
                  ".: error: cannot replace this file: Is a directory", "did you mean 'requests'"});
  const Ran gate = cli("gate --out file/reports");
  EXPECT_EQ(gate.code, 2);
  EXPECT_THAT(gate.err, HasSubstr("file/reports: error: cannot make this folder: Not a directory"));
  // The last line agrees with the exit code.
  EXPECT_THAT(gate.out, testing::EndsWith("\nVerdict: usage error (exit 2)\n"));
  if (::geteuid() != 0) {
    std::filesystem::create_directory(path("closed"));
    std::filesystem::permissions(path("closed"),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    EXPECT_EQ(cli("gate --out closed/reports").code, 2);
    EXPECT_EQ(cli("gate --out closed").code, 2);
  }
}

// Writing anew by renaming would put a plain file in the place of the device.
TEST_F(Cli, ADeviceStaysADevice) {
  const std::string sim = "sim --policy fixed --scenario outage-then-limit --seeds 1..2 --out ";
  const Ran shown = cli(sim + "/dev/stdout");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("requests"));
  EXPECT_EQ(cli(sim + "/dev/null").code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  expect_refused(sim + "/dev/full", {"/dev/full: error: cannot write this file: No space left on device"});
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  ASSERT_EQ(run("mkfifo pipe", path("")).code, 0);
  EXPECT_THAT(run("cat pipe & retrygate " + sim + "pipe; wait", path("")).out, HasSubstr("requests"));
}

TEST_F(Cli, ADashIsAStandardStream) {
  const std::string sim = "sim --policy fixed --scenario outage-then-limit --metric requests --format json ";
  const std::string whole = cli(sim + "--seeds 1..2").out;
  EXPECT_EQ(cli(sim + "--seeds 1..2 --out -").out, whole);
  ASSERT_EQ(cli(sim + "--seeds 1 --shard 1/1 --out 1.json").code, 0);
  EXPECT_EQ(run("retrygate " + sim + "--seeds 2 --out - | retrygate merge 1.json - --out -", path("")).out,
            whole);
  EXPECT_EQ(run("retrygate " + sim + "--seeds 1..2 --out - > /dev/full", path("")).code, 4);
  // A trace is a file, the same one on standard output, and what another command reads.
  const std::string one =
      "sim --policy fixed --scenario outage-then-limit --set clients=3 --seeds 1 --out /dev/null ";
  ASSERT_EQ(cli(one + "--trace t.csv").code, 0);
  EXPECT_EQ(cli(one + "--trace -").out, contents(path("t.csv")));
  EXPECT_EQ(run("retrygate " + one + "--trace - | retrygate check --trace - --format json", path("")).out,
            run("retrygate check --trace - --format json < t.csv", path("")).out);
  expect_refused(sim + "--seeds 1 --trace -", {"--trace", "cannot both be standard output"});
  file("service.json", R"({"methodConfig": [{"name": [{"service": "s"}], "retryPolicy": {"maxAttempts": 4, )"
                       R"("initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2, )"
                       R"("retryableStatusCodes": ["UNAVAILABLE"]}}]})");
  EXPECT_EQ(run("retrygate import grpc - --out - < service.json", path("")).out,
            replaced(cli("import grpc service.json").out, "service.json", "-"));
  file("a.csv", "x\n1\n2\n4\n");
  EXPECT_EQ(run("retrygate stats describe - < a.csv", path("")).out, cli("stats describe a.csv").out);
  file("o.csv", "length\n1s\n");
  EXPECT_EQ(run("retrygate show fixed --outages - < o.csv", path("")).code, 0);
  // A folder, or a file that is kept, is meant.
  const std::string policies = " --baseline fixed --candidate equal-jitter --scenario outage-then-limit ";
  for (const std::string& command :
       {std::string("gate"), "compare" + policies, "compare --over clients=2..3" + policies,
        std::string("sensitivity fixed --scenario outage-then-limit")})
    expect_refused(command + " --out -", {"--out: '-' would be standard output, but this is a folder"});
  expect_refused("gate --update-baseline --baseline -", {"a baseline is a file that is kept"});
  expect_refused("init -", {"'-' is no name for a suite"});
  EXPECT_FALSE(std::filesystem::exists(path("-")));
}

// Clients that take turns come to 100,000 attempts each after minutes; all together they show it sooner
// (sim/haste.hpp).
TEST_F(Cli, ALargeFleetThatHoldsTimeStillIsRefusedEarly) {
  const std::string limit =
      "{ kind = \"concurrency-limit\", limit = 20 }, { kind = \"service\", time = \"50ms\" }";
  const std::string worlds[] = {
      "stages = [{ kind = \"outage\", start = \"10ms\", length = \"1s\" }, " + limit + "]",
      "stages = [" + limit + "]",
      "attempt_timeout = \"1ns\"\nstages = [{ kind = \"service\", time = \"50ms\" }]",
      "stages = [{ kind = \"hop\", policy = \"subject\", stages = [" + limit + "] }]",
      "arrivals = \"interval\"\ninterval = \"1ns\"\nstages = [" + limit + "]",
  };
  std::string delay = "8us";  // in the first world
  for (const std::string& world : worlds) {
    file("s.toml", "[scenario.s]\nhorizon = \"60s\"\nclients = 200000\n" + world);
    const Ran ran = cli("sim --policy fixed:base=" + std::exchange(delay, "1ns") +
                        ",max_attempts=100000000 --scenario s.toml#s --seeds 1 --metric requests");
    EXPECT_EQ(ran.code, 2) << world;
    EXPECT_THAT(ran.err, HasSubstr("makes 100000 attempts within a second of virtual time")) << world;
    EXPECT_LT(ran.seconds, sanitized ? 110 : 40) << world;  // 2 to 5; played out, more than 200
    if (sanitized) break;
  }
}

TEST_F(Cli, AGrowthIsShownWhereThereIsRoomForIt) {
  const std::string over =
      "compare --baseline fixed --candidate equal-jitter --scenario outage-then-limit --metric requests "
      "--over clients=2,3 --seeds 1..3 --format ";
  for (const char* format : {"text", "json", "html", "markdown"}) {
    const Ran ran = cli(over + format + " --out grown");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("equal-jitter"), HasSubstr("requests")));
  }
  for (const char* name : {"growth.txt", "growth.json", "growth.html", "growth.md"})
    EXPECT_TRUE(std::filesystem::exists(path(std::string("grown/") + name))) << name;
  EXPECT_THAT(cli(over + "markdown").out,
              HasSubstr("| clients | baseline | candidate | effect | 95 % interval |"));
  for (const std::string format : {"junit", "sarif", "github"})
    expect_refused(over + format, {"--format", format + " has room for what is judged alone",
                                   "known with --over: text, json, html, markdown"});
}

TEST_F(Cli, ASignalLeavesNoHalfFile) {
  ASSERT_EQ(cli("gate --out whole").code, 0);
  std::map<std::string, std::string> whole;
  for (const auto& entry : std::filesystem::directory_iterator(path("whole")))
    whole[entry.path().filename().string()] = contents(entry.path());
  EXPECT_GE(whole.size(), 4u);
  const double length = cli("gate --out again").seconds;
  constexpr int moments = sanitized ? 3 : 8;
  for (const int signal : {SIGINT, SIGTERM}) {
    for (int i = 1; i <= moments; ++i) {
      const std::string folder = fmt::format("cut-{}-{}", signal, i);
      const double when = length * i / (moments + 0.2);
      bool sent = false;
      const Ran ran = run("exec retrygate gate --out " + folder, path(""), 120, [&](pid_t child, double now) {
        if (!sent && now >= when) sent = ::kill(child, signal) == 0;
      });
      EXPECT_THAT(ran.code, AnyOf(128 + signal, 0));
      if (!std::filesystem::exists(path(folder))) continue;
      for (const auto& entry : std::filesystem::directory_iterator(path(folder))) {
        const std::string name = entry.path().filename().string();
        // What has its final name is whole.
        if (name.ends_with(".tmp")) continue;
        EXPECT_EQ(contents(entry.path()), whole[name]) << name;
      }
    }
  }
}

TEST_F(Cli, AnEmptyNameIsNoFile) {
  expect_refused("gate jitter-removed --baseline ''", {"--baseline: the name is empty"});
  expect_refused("gate jitter-removed --out ''", {"--out: the name is empty"});
  expect_refused("check full-jitter --seed -1", {"--seed"});
}

TEST_F(Cli, MergeDoesNotWriteOverItsParts) {
  const std::string sweep =
      "sim --policy fixed --scenario outage-then-limit --metric requests --format json --seeds ";
  ASSERT_EQ(cli(sweep + "1..2 --shard 1/2 --out 1.json").code, 0);
  ASSERT_EQ(cli(sweep + "1..2 --shard 2/2 --out 2.json").code, 0);
  const std::string before = contents(path("1.json"));
  expect_refused("merge 1.json 2.json --out ./1.json", {"'./1.json' is one of the files to merge"});
  EXPECT_EQ(contents(path("1.json")), before);
}

TEST_F(Cli, AGrowthByTableNeedsOne) {
  for (const char* policy : {"full-jitter:growth=table", "full-jitter:growth=table,table=1s"})
    expect_refused(std::string("show ") + policy, {"'table'"});
  file("t.toml", "[policy.a]\nkind = \"full-jitter\"\ngrowth = \"table\"\ntable = [1, {}, [\"1s\"]]\n");
  expect_refused("check t.toml#a", {"t.toml:4:10: error: a delay in 'table' must be a duration"});
}

TEST_F(Cli, AnImportReplacesNoFileUnasked) {
  file(
      "service.json",
      R"({"methodConfig": [{"name": [{"service": "s"}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", )"
      R"("maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]})");
  file("policies.toml", "# mine\n");
  expect_refused("import grpc service.json --out policies.toml", {"policies.toml: error: ", "--force"});
  EXPECT_EQ(contents(path("policies.toml")), "# mine\n");
  EXPECT_EQ(cli("import grpc service.json --out policies.toml --force").code, 0);
  EXPECT_THAT(contents(path("policies.toml")), HasSubstr("[policy."));
}

// Ctrl-C keeps the seeds that are finished, and nothing takes them for all that were asked for.
TEST_F(Cli, AnInterruptedSweepSaysThatSeedsAreMissing) {
  bool sent = false;
  const Ran ran =
      run("exec retrygate sim --policy full-jitter --scenario outage-then-limit --seeds 1..1000000 "
          "--metric requests --format json --out some.json",
          path(""), 120, [&](pid_t child, double now) {
            if (!sent && now >= 0.5) sent = ::kill(child, SIGINT) == 0;
          });
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("of 1000000 seeds are finished and kept"));
  EXPECT_THAT(contents(path("some.json")), HasSubstr("\"complete\":false"));
  expect_refused("merge some.json", {"some.json:1:", "was interrupted"});
}

// A disk that is full or may not be written, for root, too: a mount of its own that ends with the command.
// Skipped where the system allows none.
TEST_F(Cli, AFullDiskAndOneThatIsReadOnlyLoseNothing) {
  file("suite.toml",
       "[[compare]]\nbaseline = \"full-jitter\"\ncandidates = [\"equal-jitter\"]\nscenarios = "
       "[\"outage-then-limit\"]\nseeds = \"1..20\"\nmetrics = { requests = \"10%\" }\n");
  const std::string mount = ::geteuid() == 0 ? "unshare -m sh -ec '" : "unshare -rm sh -ec '";
  std::filesystem::create_directory(path("disk"));
  // Large files only: a small one still fits, and the baseline that is there must survive.
  const std::string full = mount +
                           "mount -t tmpfs -o size=64k none disk; echo old >disk/baseline.json; head -c "
                           "50000 /dev/zero >disk/filler; "
                           "for command in \"gate suite.toml --out disk/reports\" "
                           "\"sim --policy fixed --scenario outage-then-limit --seeds 1..500 --format json "
                           "--out disk/samples.json\" "
                           "\"gate suite.toml --baseline disk/baseline.json --update-baseline\"; do "
                           "head -c 12000 /dev/zero >>disk/filler || true; "
                           "code=0; retrygate $command >/dev/null 2>err || code=$?; echo \"$code $(grep -c "
                           "\"No space left on device\" "
                           "err)\"; done; cat disk/baseline.json; ls disk'";
  if (run(mount + "mount -t tmpfs none disk'", path("")).code != 0)
    GTEST_SKIP() << "no mount of its own is allowed";
  const Ran ran = run(full, path(""));
  EXPECT_THAT(ran.out, testing::MatchesRegex("2 [1-9][0-9]*\n2 [1-9][0-9]*\n2 1\nold\nbaseline.json\nfiller\n"
                                             "(reports\n)?"))
      << ran.err;
  const std::string closed =
      mount +
      "mount -t tmpfs none disk; echo old >disk/baseline.json; mount -o remount,ro disk; "
      "for command in \"gate suite.toml --out disk/reports\" \"init disk/suite.toml\" "
      "\"gate suite.toml --baseline disk/baseline.json --update-baseline\"; do "
      "code=0; retrygate $command >/dev/null 2>err || code=$?; echo \"$code $(grep -c \"Read-only file "
      "system\" "
      "err)\"; done; cat disk/baseline.json; ls disk'";
  EXPECT_EQ(run(closed, path("")).out, "2 1\n2 1\n2 1\nold\nbaseline.json\n");
}

// Signals at moments spread over whole runs that do little but write: the old file or the new one is there,
// and nothing is left beside it by a signal that asks.
TEST_F(Cli, AFileIsOldOrNewWheneverItsWriterIsKilled) {
  const auto suite = [&](int seeds) {
    file(fmt::format("suite-{}.toml", seeds),
         fmt::format(
             "[[compare]]\nbaseline = \"fixed\"\ncandidates = [\"fixed\"]\nscenarios = "
             "[\"outage-then-limit\"]\nset = [\"clients=2\"]\nseeds = \"1..{}\"\nmetrics = {{ requests = "
             "\"10%\" }}\n",
             seeds));
  };
  const auto update = [](int seeds) {
    return fmt::format("retrygate gate suite-{}.toml --baseline b/baseline.json --update-baseline", seeds);
  };
  std::filesystem::create_directory(path("b"));
  std::map<int, std::string> whole;
  double length = 0;
  for (const int seeds : {1, 400}) {
    suite(seeds);
    const Ran ran = run(update(seeds), path(""));
    ASSERT_EQ(ran.code, 0) << ran.err;
    length = std::max(length, ran.seconds);
    whole[seeds] = contents(path("b/baseline.json"));
  }
  int stopped = 0;
  for (int i = 0; i < 60; ++i) {
    const int signal = std::array{SIGTERM, SIGINT, SIGKILL}[static_cast<std::size_t>(i % 3)];
    const double when = length * (i + 1) / 60;
    bool sent = false;
    const Ran ran = run("exec " + update(i % 2 == 0 ? 1 : 400), path(""), 120, [&](pid_t child, double now) {
      if (!sent && now >= when) sent = ::kill(child, signal) == 0;
    });
    EXPECT_THAT(ran.code, AnyOf(0, 128 + signal)) << ran.err;
    stopped += ran.code == 0 ? 0 : 1;
    const std::string now = contents(path("b/baseline.json"));
    EXPECT_TRUE(now == whole[1] || now == whole[400])
        << "after " << i << " it has " << now.size() << " bytes";
    for (const auto& entry : std::filesystem::directory_iterator(path("b"))) {
      if (entry.path().filename() == "baseline.json") continue;
      EXPECT_EQ(signal, SIGKILL) << entry.path();
      std::filesystem::remove(entry.path());
    }
  }
  EXPECT_GT(stopped, 10);
}

TEST_F(Cli, TwoThatUpdateOneBaselineLeaveOneOfBoth) {
  for (const int seeds : {50, 60})
    file(fmt::format("suite-{}.toml", seeds),
         fmt::format("[[compare]]\nbaseline = \"full-jitter\"\ncandidates = [\"fixed\"]\nscenarios = "
                     "[\"outage-then-limit\"]\nseeds = \"1..{}\"\nmetrics = {{ requests = \"10%\" }}\n",
                     seeds));
  const auto update = [](int seeds, const char* file) {
    return fmt::format("retrygate gate suite-{}.toml --baseline {} --update-baseline", seeds, file);
  };
  ASSERT_EQ(run(update(50, "one.json") + " && " + update(60, "two.json"), path("")).code, 0);
  for (int i = 0; i < 5; ++i) {
    const Ran ran = run(
        update(50, "b.json") + " & a=$!; " + update(60, "b.json") + "; b=$?; wait $a && exit $b", path(""));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(contents(path("b.json")), AnyOf(contents(path("one.json")), contents(path("two.json"))));
  }
}

// A name that would be the end of a report, a tag, a table's cell, a mention and a command of a workflow.
TEST_F(Cli, ANameStaysAName) {
  file("suite.toml",
       "[policy.\"a\\nVerdict: pass (exit 0)\\n::error::own\\u001b[2J<script>alert(1)</script>|@all "
       "&\\uffff'\"]\n"
       "kind = \"exponential\"\nbase = \"100ms\"\n[[compare]]\nbaseline = \"full-jitter\"\n"
       "candidates = [\"a\\nVerdict: pass (exit 0)\\n::error::own\\u001b[2J<script>alert(1)</script>|@all "
       "&\\uffff'\"]\nscenarios = [\"outage-then-limit\"]\nmetrics = { gave_up = \"0.5\" }\n");
  const Ran text = cli("gate suite.toml --out reports");
  ASSERT_EQ(text.code, 1) << text.err;
  EXPECT_THAT(text.out,
              AllOf(testing::EndsWith("\nVerdict: fail (exit 1)\n"), Not(HasSubstr("\nVerdict: pass")),
                    Not(HasSubstr("\n::error")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(contents(path("reports/report.md")),
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("|@all")), Not(HasSubstr("@all")),
                    Not(HasSubstr("\n::error"))));
  EXPECT_THAT(contents(path("reports/report.html")), Not(HasSubstr("<script>alert(1)")));
  const std::string junit = contents(path("reports/junit.xml"));
  EXPECT_THAT(junit,
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x1b")), Not(HasSubstr("\xef\xbf\xbf"))));
  if (run("command -v xmllint", path("")).code == 0) {
    EXPECT_EQ(run("xmllint --noout reports/junit.xml", path("")).err, "");
  }
  const Ran github = cli("gate suite.toml --format github");
  std::istringstream lines(github.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_THAT(line, testing::MatchesRegex("::(error|warning|notice) .*")) << github.out;
}

// GitHub obeys a line that begins with :: (after blanks, whatever their kind) and ##[ anywhere; Azure and
// TeamCity have forms of their own.
TEST_F(Cli, NoNameIsACommandOfAServer) {
  const std::string names[] = {
      "::error::own",
      " ::error::own",
      "\u00a0\u3000::error::own",
      "x ##[error]own ##vso[task.complete]own",
      "##teamcity[own]",
      "so many words that a line of eighty columns has to end somewhere and here it is ::error::own"};
  const auto obeyed = [](const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colons = line.find("::");
      const auto visible = [](char c) { return c > ' '; };
      if (colons != std::string::npos &&
          std::none_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colons), visible))
        return true;
      if (line.find("##[") != std::string::npos || line.find("##vso[") != std::string::npos ||
          line.find("##teamcity[") != std::string::npos)
        return true;
    }
    return false;
  };
  ASSERT_TRUE(obeyed("a\n\xc2\xa0 ::error::x") && obeyed("a ##[error]b") && !obeyed("a ::error::b\n## b"));
  for (const std::string& name : names) {
    file("suite.toml",
         fmt::format("[suite]\nname = \"{0}\"\nsummary = \"{0}\"\n[policy.\"{0}\"]\nkind = "
                     "\"exponential\"\nbase = \"100ms\"\n[[compare]]\nbaseline = \"full-jitter\"\n"
                     "candidates = [\"{0}\"]\nscenarios = [\"outage-then-limit\"]\nseeds = "
                     "\"1..2\"\nmetrics = {{ gave_up = \"0.5\" }}\n[[check]]\nsubjects = "
                     "[\"{0}\"]\n",
                     name));
    const Ran ran = cli("gate suite.toml --out reports");
    ASSERT_THAT(ran.code, AnyOf(1, 3)) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("own"));
    EXPECT_FALSE(obeyed(ran.out)) << ran.out;
    EXPECT_FALSE(obeyed(contents(path("reports/report.md")))) << name;
    // In a complaint the name may begin a line of its own.
    file("wrong.toml", fmt::format("[policy.a]\nkind = \"fixed\"\n\"a\\n{}\" = 1\n", name));
    const Ran wrong = cli("gate wrong.toml");
    EXPECT_EQ(wrong.code, 2);
    EXPECT_FALSE(obeyed(wrong.err)) << wrong.err;
    EXPECT_FALSE(obeyed(cli(fmt::format("gate '{}.toml'", name)).err)) << name;
  }
}

// Files that nobody wrote by hand. Each is refused with its name, or read; never a crash, and in bounded
// time.
TEST_F(Cli, HostileFiles) {
  using namespace std::string_literals;
  std::string many = "[policy.a]\nkind = \"fixed\"\n";
  constexpr std::size_t large = sanitized ? 1'000'000 : 10'000'000;
  for (int i = 0; many.size() < large; ++i) many += fmt::format("key_{} = {}\n", i, i);
  const std::map<std::string, std::string> files = {
      {"nul.toml", "[policy.a]\nkind = \"fi\0xed\"\n"s},
      {"only-nul.toml", std::string(4096, '\0')},
      {"not-utf8.toml", "[policy.a]\nkind = \"\xff\xfe\"\n"},
      {"cut-utf8.toml", "[policy.a]\nkind = \"fixed\" # \xe2\x82"},
      {"bom.toml", "\xef\xbb\xbf[policy.a]\nkind = \"fixde\"\n"},
      {"bracket.toml", "[\nd]"},
      {"half-bom.toml", "a \xef\xbb\xb7"},
      {"deep-list.toml", "a = " + std::string(100'000, '[') + std::string(100'000, ']')},
      {"deep-table.toml",
       [] {
         std::string text = "[a";
         for (int i = 0; i < 100'000; ++i) text += ".a";
         return text + "]\nb = 1\n";
       }()},
      {"deep-inline.toml",
       [] {
         std::string text = "a = ";
         for (int i = 0; i < 100'000; ++i) text += "{a=";
         return text;
       }()},
      {"long-line.toml", "[policy.a]\nkind = \"" + std::string(large, 'x') + "\"\n"},
      {"many-keys.toml", many},
      {"beyond-double.toml", "[policy.a]\nkind = \"exponential\"\nfactor = 1e400\n"},
      {"beyond-time.toml", "[policy.a]\nkind = \"fixed\"\nbase = \"1e400s\"\n"},
      {"huge-number.toml", "[policy.a]\nkind = \"fixed\"\nmax_attempts = 99999999999999999999999999\n"},
  };
  for (const auto& [name, text] : files) {
    file(name, text);
    for (const std::string& arguments : {fmt::format("show '{}#a'", name), fmt::format("gate {}", name)}) {
      const Ran ran = cli(arguments);
      EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.err.substr(0, 500);
      EXPECT_THAT(ran.err, testing::StartsWith(name + ":")) << arguments;
      EXPECT_LT(ran.seconds, 60) << arguments;
      EXPECT_LT(ran.err.size(), 30'000u) << arguments << " drowns the reader";
    }
  }
}

}  // namespace
}  // namespace retrygate::ci
