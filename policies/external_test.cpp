// The protocol against programs that keep it and against one program for each way of breaking it. They are
// written for /bin/sh, which is there wherever the protocol is.
#include "policies/external.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "policies/process_load.hpp"

namespace retrygate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Greets, then runs `answer` for every line, with its number in $id and all of it in $l.
std::string program(const std::string& answer,
                    const std::string& greeting = R"({"retrygate-policy":1,"name":"fake 1"})",
                    const std::string& at_end = "exit 0") {
  return fmt::format(
      "read -r hello; echo '{}'; while read -r l; do id=${{l#*:}}; id=${{id%%,*}}; {}; done; {}", greeting,
      answer, at_end);
}
const std::string correct =
    R"(case $l in *'"status":200'*) echo "{\"id\":$id,\"stop\":\"success\"}";; *) echo "{\"id\":$id,\"wait_ns\":$((id * 1000))}";; esac)";

ProcessLimits quick() {
  ProcessLimits limits;
  limits.answer = Duration::ms(300);
  return limits;
}

std::vector<Question> questions(std::size_t n, Status status = Status::http(503)) {
  std::vector<Question> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    all[i].client = static_cast<std::int64_t>(i);
    all[i].attempt.outcome.status = status;
  }
  return all;
}

// Asks n questions and ends the program; what it broke, or nothing.
std::string fault_of(const std::string& command, std::size_t n = 3) {
  auto p = ExternalProgram::start(command, Seed{1}, nullptr, quick());
  if (!p) return "not started: " + to_string(p.error());
  p->ask(questions(n));
  const auto fault = p->finish();
  return fault ? to_string(*fault) : "";
}

TEST(External, ACorrectProgramIsHeardInOrder) {
  auto p = ExternalProgram::start(program(correct), Seed{1});
  ASSERT_TRUE(p) << to_string(p.error());
  EXPECT_EQ(p->introduction().name, "fake 1");
  EXPECT_TRUE(p->introduction().seeded);
  EXPECT_FALSE(p->introduction().jumps);
  EXPECT_THAT(p->ask(questions(2)),
              ElementsAre(Decision::wait(Duration::us(1)), Decision::wait(Duration::us(2))));
  EXPECT_THAT(p->ask(questions(1, Status::http(200))), ElementsAre(Decision::stop(Stop::success)));
  EXPECT_EQ(p->asked(), 3);
  EXPECT_FALSE(p->finish());
}

TEST(External, QuestionsSayWhatTheProtocolPromises) {
  // The program hands back what it was told, as its last words.
  const std::string tell = R"(echo "$hello" "$l" >&2; exit 7)";
  const auto contract = parse_toml("base = \"100ms\"\nmax_attempts = 3\n", "c.toml");
  const auto told = [&](const Question& q) {
    auto p = ExternalProgram::start(program(tell), Seed{18446744073709551615U}, &*contract);
    EXPECT_TRUE(p);
    p->ask(std::vector{q});
    return p->fault()->said;
  };
  Question q;
  q.client = 4;
  q.call = 2;
  q.attempt.number = 3;
  q.attempt.call_started = Instant{Duration::s(1)};
  q.attempt.finished = Instant{Duration::s(3)};
  q.attempt.deadline = Instant{Duration::s(60)};
  q.attempt.outcome = {Status::http(503), Duration::s(3), "3"};
  EXPECT_EQ(
      told(q),
      R"({"retrygate-policy":1,"seed":"18446744073709551615","contract":{"base":"100ms","max_attempts":3}} )"
      R"({"id":1,"client":4,"call":2,"attempt":3,"started_ns":1000000000,"now_ns":3000000000,"status":503,)"
      R"("retry_after":"3","deadline_ns":60000000000,"idempotent":true})");
  q.attempt.deadline = Instant::never();
  q.attempt.idempotent = false;
  q.attempt.outcome = {Status::transport(TransportError::connect_refused)};
  EXPECT_THAT(told(q), HasSubstr(R"("now_ns":3000000000,"error":"connect-refused","idempotent":false})"));
  q.attempt.outcome = {Status::grpc(14), Duration::s(5), "Thu, 01 Jan 2026 00:00:08 GMT"};
  EXPECT_THAT(told(q), HasSubstr(R"("status":"UNAVAILABLE","retry_after":"Thu, 01 Jan 2026 00:00:08 GMT",)"
                                 R"("date":"Thu, 01 Jan 2026 00:00:03 GMT")"));
  q.kind = Question::Kind::may_send;
  EXPECT_THAT(told(q), HasSubstr(R"("attempt":3,"ask":"send","started_ns")"));
  q.kind = Question::Kind::cancelled;
  EXPECT_THAT(told(q), HasSubstr(R"("attempt":3,"event":"cancel","started_ns")"));
}

TEST(External, TheGreetingSaysWhatTheProgramCan) {
  auto p = ExternalProgram::start(
      program(R"(echo "{\"id\":$id,\"send\":true}")",
              R"({"retrygate-policy":1,"seeded":false,"jumps":true,"can":["before","cancel"],"more":1})"),
      Seed{1});
  ASSERT_TRUE(p) << to_string(p.error());
  EXPECT_FALSE(p->introduction().seeded);
  EXPECT_TRUE(p->introduction().jumps);
  EXPECT_TRUE(p->introduction().can_before);
  EXPECT_TRUE(p->introduction().can_cancel);
  Question q;
  q.kind = Question::Kind::may_send;
  EXPECT_THAT(p->ask(std::vector{q}), ElementsAre(Decision::wait({})));
  // After an attempt, "send" is no answer.
  EXPECT_THAT(p->ask(questions(1)), SizeIs(0));
  EXPECT_THAT(to_string(*p->fault()), HasSubstr("either \"wait_ns\" or \"stop\""));
}

TEST(External, OneThatCannotStartOrGreetIsRefused) {
  EXPECT_THAT(fault_of("/nowhere/at-all"), HasSubstr("not started: the program ended with exit code 127"));
  EXPECT_THAT(fault_of("/nowhere/at-all"), HasSubstr("not found"));
  EXPECT_THAT(fault_of("exit 0"),
              HasSubstr("not started: the program ended with exit code 0 when it was greeted"));
  EXPECT_THAT(fault_of("echo hello; cat"),
              HasSubstr("not started: the program answered the greeting with a line that is no JSON"));
  EXPECT_THAT(fault_of(program(correct, R"({"retrygate-policy":2})")),
              HasSubstr("does not say \"retrygate-policy\":1"));
  EXPECT_THAT(fault_of(program(correct, R"({"name":"x"})")), HasSubstr("does not say"));
  EXPECT_THAT(fault_of(program(correct, R"({"retrygate-policy":1,"seeded":"no"})")),
              HasSubstr("greets with a mistake"));
  EXPECT_THAT(fault_of("sleep 60"),
              HasSubstr("not started: the program wrote nothing for 300ms when it was greeted"));
}

TEST(External, EachWayToBreakTheProtocolIsNamed) {
  EXPECT_EQ(fault_of(program(correct)), "");
  const std::string hang = fault_of(program("sleep 60"));
  EXPECT_THAT(hang, HasSubstr("the program wrote nothing for 300ms (does it flush its output?)"));
  EXPECT_THAT(hang, HasSubstr(R"(it was told: {"id":1,"client":0)"));
  const std::string die = fault_of(program(R"(if [ $id = 2 ]; then echo boom >&2; exit 3; fi; )" + correct));
  EXPECT_THAT(die, HasSubstr("the program ended with exit code 3"));
  EXPECT_THAT(die, HasSubstr(R"(it was told: {"id":2,)"));
  EXPECT_THAT(die, HasSubstr("its stderr:  boom"));
  EXPECT_THAT(fault_of(program("kill -SEGV $$")), HasSubstr("was ended by signal 11"));
  const std::string garbage = fault_of(program("echo Traceback"));
  EXPECT_THAT(garbage, HasSubstr("wrote a line that is no answer: this is no JSON"));
  EXPECT_THAT(garbage, HasSubstr("(stdout is for answers alone: write everything else to stderr)"));
  EXPECT_THAT(garbage, HasSubstr("it wrote:    Traceback"));
  EXPECT_THAT(fault_of(program("echo '[1]'")), HasSubstr("no JSON object"));
  EXPECT_THAT(fault_of(program("echo '{}'")), HasSubstr("without an \"id\""));
  EXPECT_THAT(fault_of(program(correct + "; " + correct)), HasSubstr("answered question 1 twice"));
  // The last answer twice: nothing follows that would show it, only its end does.
  EXPECT_THAT(fault_of(program(correct + R"(; if [ $id = 3 ]; then )" + correct + "; fi")),
              HasSubstr("a question was answered twice"));
  EXPECT_THAT(fault_of(program(R"(echo "{\"id\":99,\"wait_ns\":1}")")),
              HasSubstr("answered with the wrong id where 1 is due"));
  EXPECT_THAT(fault_of(program("printf '%0100000d' 0; sleep 60")),
              HasSubstr("wrote a line of more than 65536 bytes"));
  EXPECT_THAT(fault_of(program(R"(echo "{\"id\":$id}")")), HasSubstr("either \"wait_ns\" or \"stop\""));
  EXPECT_THAT(fault_of(program(R"(echo "{\"id\":$id,\"wait_ns\":1,\"stop\":\"attempts\"}")")),
              HasSubstr("either \"wait_ns\" or \"stop\""));
  EXPECT_THAT(fault_of(program(R"(echo "{\"id\":$id,\"wait_ns\":1.5}")")), HasSubstr("whole number"));
  EXPECT_THAT(fault_of(program(R"(echo "{\"id\":$id,\"wait_ns\":NaN}")")),
              HasSubstr("(JSON has neither NaN nor Infinity)"));
  EXPECT_THAT(fault_of(program(R"(echo "{\"id\":$id,\"stop\":\"tired\"}")")),
              HasSubstr("\"stop\" as one of"));
  EXPECT_THAT(fault_of(program(correct, R"({"retrygate-policy":1})", "exit 4")),
              HasSubstr("ended with exit code 4 after its input had ended"));
  EXPECT_THAT(fault_of(program(correct, R"({"retrygate-policy":1})", "sleep 60")),
              HasSubstr("has not ended 300ms after its input did"));
  EXPECT_THAT(fault_of(program(correct, R"({"retrygate-policy":1})", "echo bye")),
              HasSubstr("wrote a line that nobody asked for"));
}

TEST(External, LargeAndNegativeWaitsAreAnswersAndNoFaults) {
  const auto wait = [](const std::string& ns) {
    auto p =
        ExternalProgram::start(program(fmt::format(R"(echo "{{\"id\":$id,\"wait_ns\":{}}}")", ns)), Seed{1});
    const auto decisions = p->ask(questions(1));
    return decisions.empty() ? std::optional<Duration>{} : decisions.front().delay();
  };
  EXPECT_EQ(wait("-5"), Duration::ns(-5));
  EXPECT_EQ(wait("1e21"), Duration::max());
  EXPECT_EQ(wait("-1e21"), Duration::min());
  EXPECT_EQ(wait("9223372036854775807"), Duration::max());
  EXPECT_EQ(wait("9223372036854775808"), Duration::max());
  EXPECT_EQ(wait("2.0"), Duration::ns(2));
}

// A slow start of an answer is no fault while it is within the limit, and each answer has its own.
TEST(External, TheLimitIsForEachAnswer) {
  auto p = ExternalProgram::start(program("sleep 0.15; " + correct), Seed{1}, nullptr, quick());
  ASSERT_TRUE(p);
  EXPECT_THAT(p->ask(questions(4)), SizeIs(4)) << to_string(*p->fault());
}

// 6 MB to it and 6 MB back: both pipes fill up.
TEST(External, FullPipesDoNotBlock) {
  const std::string header(60'000, '7');
  std::vector<Question> all = questions(100);
  for (Question& q : all) q.attempt.outcome.retry_after_text = header;
  auto echo = ExternalProgram::start(
      "read -r hello; echo '{\"retrygate-policy\":1}'; exec sed -u "
      "'s/^{\\(\"id\":[0-9]*\\),/{\\1,\"wait_ns\":5,/'",
      Seed{1});
  ASSERT_TRUE(echo);
  EXPECT_THAT(echo->ask(all), SizeIs(100)) << to_string(*echo->fault());
  EXPECT_FALSE(echo->finish());
}

TEST(External, NothingIsLeftBehind) {
  pid_t child = 0;
  {
    auto p = ExternalProgram::start(program("sleep 1000 & echo $! >&2; echo garbage"), Seed{1});
    ASSERT_TRUE(p);
    p->ask(questions(1));
    ASSERT_TRUE(p->fault());
    child = static_cast<pid_t>(std::stol(p->fault()->said));
    EXPECT_EQ(kill(child, 0), 0);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a zombie is left";
  EXPECT_EQ(errno, ECHILD);
  // Its child got the signal with it, and is reaped by whoever adopts it.
  for (int i = 0; i < 1000 && kill(child, 0) == 0; ++i) {
    if (std::ifstream stat(fmt::format("/proc/{}/stat", child)); stat) {
      std::string text;
      std::getline(stat, text);
      if (text.find(") Z") != std::string::npos) break;
    }
    poll(nullptr, 0, 1);
    EXPECT_LT(i, 999) << "a child of the program is left";
  }
}

// A machine that is too busy is told from a program that hangs.
TEST(External, OnlyOneThatWantsToRunAndCannotIsKeptWaiting) {
  const auto load = [](bool wants_cpu, double cpu_s) {
    return std::optional(GroupLoad{wants_cpu, Duration::seconds(cpu_s)});
  };
  EXPECT_TRUE(was_starved(load(true, 1), load(true, 1.4), Duration::s(1)));
  EXPECT_FALSE(was_starved(load(true, 1), load(true, 1.6), Duration::s(1))) << "an endless loop";
  EXPECT_FALSE(was_starved(load(false, 1), load(false, 1), Duration::s(1))) << "it waits for something";
  EXPECT_FALSE(was_starved(load(true, 1), load(false, 1), Duration::s(1)));
  EXPECT_FALSE(was_starved(std::nullopt, load(true, 1), Duration::s(1)));

  // Each in a group of its own: one that sleeps, and one whose child loops.
  const auto group = [](const std::string& command) {
    auto process = Process::start("echo $$; " + command);
    EXPECT_TRUE(process);
    const pid_t pid = static_cast<pid_t>(std::stol(process->exchange({}, 1).lines.at(0)));
    return std::pair(std::move(*process), getpgid(pid));
  };
  const auto sleeping = group("sleep 60; :"), looping = group("(while :; do :; done); :");
  // A shell that starts another program stands still in between, too: at rest is who stays so for 100 looks.
  int at_rest = 0;
  for (int i = 0; at_rest < 100 && i < 60'000; ++i, poll(nullptr, 0, 1))
    at_rest = load_of_group(sleeping.second).value().wants_cpu ? 0 : at_rest + 1;
  EXPECT_EQ(at_rest, 100);
  for (int i = 0; load_of_group(looping.second)->cpu < Duration::ms(100) && i < 60'000; ++i)
    poll(nullptr, 0, 1);
  EXPECT_TRUE(load_of_group(looping.second)->wants_cpu);
  EXPECT_GE(load_of_group(looping.second)->cpu, Duration::ms(100));
}

// Writing to a program that is gone must not kill the checker.
TEST(External, OneThatEndsWhileWeWriteIsAFaultAndNoSignal) {
  auto p = ExternalProgram::start("read -r hello; echo '{\"retrygate-policy\":1}'; exec sleep 0.05", Seed{1});
  ASSERT_TRUE(p);
  EXPECT_THAT(p->ask(questions(20'000)), SizeIs(0));
  EXPECT_THAT(to_string(*p->fault()), HasSubstr("ended with exit code 0"));
}

}  // namespace
}  // namespace retrygate
