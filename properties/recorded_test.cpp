// Recordings of real clients: what a log decides, what it leaves open, and what it is not blamed for.
#include "properties/recorded.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "properties/outside.hpp"

namespace retrygate {
namespace {

using testing::HasSubstr;

constexpr double alpha = 1e-10;

Contract contract(const std::string& toml) {
  if (toml.empty()) return {};  // nothing is promised; an empty file is refused
  const auto file = parse_toml(toml, "c.toml");
  if (!file) throw std::runtime_error(to_string(file.error()));
  Errors complaints;
  Reader reader(*file, complaints);
  Contract c = read_contract(reader);
  reader.finish();
  EXPECT_TRUE(complaints.empty()) << to_string(complaints);
  return c;
}

Finding judged(std::string_view id, const std::string& lines, const std::string& promise) {
  auto trace = parse_trace("client,call,attempt,start,end,status,retry_after,idempotent\n" + lines, "t.csv",
                           Duration::s(30));
  EXPECT_TRUE(trace) << to_string(trace.error());
  const Recording recording{std::move(*trace), {}, false};
  const Contract promised = contract(promise);
  return Judge(recording, promised)(id, alpha);
}

// 1 s, 2 s, then capped at 3 s; the recording goes on long enough to know that it gave up.
const std::string three_waits =
    "a,1,1,0s,0s,503,,\na,1,2,1s,1s,503,,\na,1,3,3s,3s,503,,\na,1,4,6s,6s,503,,\nz,1,1,99s,99s,200,,\n";
const std::string law =
    "growth = \"exponential\"\nbase = \"1s\"\nfactor = 2\ncap = \"3s\"\njitter = \"none\"\n";

TEST(Recorded, AClientThatKeepsItsContractIsNotAccused) {
  for (const auto* id :
       {"survives", "cap-respected", "delay-in-bounds", "growth-law", "attempts-exact", "cap-goes-on",
        "delay-non-negative", "delay-finite", "delay-not-zero", "amplification-bounded"}) {
    if (!decided_by_recording(id)) continue;
    EXPECT_EQ(judged(id, three_waits, law + "max_attempts = 4\n").verdict, Verdict::holds)
        << id << ": " << judged(id, three_waits, law + "max_attempts = 4\n").counterexample.shrunk;
  }
  EXPECT_EQ(judged("cap-respected", three_waits, "").verdict, Verdict::not_promised);
  EXPECT_EQ(judged("retry-after-not-early", three_waits, law + "retry_after = \"floor\"\n").verdict,
            Verdict::unsure);
  EXPECT_EQ(
      judged("jitter-law", three_waits, "growth = \"constant\"\nbase = \"9s\"\njitter = \"full\"\n").verdict,
      Verdict::unsure);
}

TEST(Recorded, EachFaultIsFoundAtItsLine) {
  const auto text = [](std::string_view id, const std::string& lines, const std::string& promise) {
    const Finding found = judged(id, lines, promise);
    EXPECT_EQ(found.verdict, Verdict::fails) << id;
    return found.counterexample.shrunk;
  };
  EXPECT_THAT(
      text("cap-respected", three_waits, "cap = \"2500ms\"\n"),
      HasSubstr("t.csv:4:5: client a, call 1, attempt 3 ended with 503, 3s into the call: the delay is 3s, "
                "above the cap's 2.5s"));
}

TEST(Recorded, LimitsAndOutcomes) {
  const auto verdict = [](std::string_view id, const std::string& lines, const std::string& promise) {
    return judged(id, lines, promise).verdict;
  };
  EXPECT_EQ(verdict("attempts-exact", three_waits, "max_attempts = 3\n"), Verdict::fails);
  // It stopped one short of 5, on a status that is to be retried.
  EXPECT_EQ(verdict("attempts-exact", three_waits, "max_attempts = 5\nretry_on = [503]\n"), Verdict::fails);
  // A time limit, or a status that nobody promised to retry, explains it.
  EXPECT_EQ(verdict("attempts-exact", three_waits, "max_attempts = 5\nretry_on = [503]\ndeadline = \"9s\"\n"),
            Verdict::holds);
  EXPECT_EQ(verdict("attempts-exact", three_waits, "max_attempts = 5\n"), Verdict::holds);
  EXPECT_EQ(verdict("deadline-respected", three_waits, "deadline = \"6s\"\n"), Verdict::fails);
  EXPECT_EQ(verdict("deadline-respected", three_waits, "deadline = \"7s\"\n"), Verdict::holds);
  EXPECT_EQ(verdict("deadline-respected", three_waits, "elapsed = \"6s\"\n"), Verdict::holds);
  EXPECT_EQ(verdict("only-retryable", three_waits, "retry_on = [429]\n"), Verdict::fails);
  EXPECT_EQ(verdict("only-retryable", three_waits, "retry_on = [503]\n"), Verdict::unsure);
  EXPECT_EQ(verdict("only-retryable", three_waits, "retry_on = [\"UNAVAILABLE\"]\n"), Verdict::unsure);
  EXPECT_EQ(verdict("all-retryable", three_waits, "retry_on = [503]\nmax_attempts = 9\n"), Verdict::fails);
  EXPECT_EQ(verdict("all-retryable", three_waits, "retry_on = [503]\nmax_attempts = 4\n"), Verdict::holds);
  const std::string twice = "a,1,1,0s,0s,timeout,,false\na,1,2,1s,1s,200,,false\n";
  EXPECT_EQ(verdict("no-unsafe-repeat", twice, "idempotent_only = true\n"), Verdict::fails);
  const std::string never_left = "a,1,1,0s,0s,dns,,false\na,1,2,1s,1s,timeout,,false\nz,1,1,99s,99s,200,,\n";
  EXPECT_EQ(verdict("no-unsafe-repeat", never_left, "idempotent_only = true\n"), Verdict::holds);
  EXPECT_EQ(verdict("survives", "a,1,1,0s,0s,200,,\na,1,2,1s,1s,200,,\n", ""), Verdict::fails);
  // The recording ends with the failure: nobody knows what the client did.
  EXPECT_EQ(verdict("attempts-exact", "a,1,1,0s,0s,503,,\n", "max_attempts = 5\nretry_on = [503]\n"),
            Verdict::unsure);
}

TEST(Recorded, RetryAfter) {
  const auto verdict = [](std::string_view id, const std::string& header, const std::string& wait,
                          const std::string& promise) {
    return judged(id, fmt::format("a,1,1,0s,0s,503,{},\na,1,2,{},{},200,,\n", header, wait, wait),
                  "growth = \"constant\"\nbase = \"2s\"\njitter = \"none\"\n" + promise)
        .verdict;
  };
  const std::string floor = "retry_after = \"floor\"\n";
  EXPECT_EQ(verdict("retry-after-not-early", "5", "5s", floor), Verdict::holds);
  EXPECT_EQ(verdict("retry-after-not-early", "5", "4.9s", floor), Verdict::fails);
  EXPECT_EQ(verdict("retry-after-not-early", "5", "4.9s", floor + "tick = \"100ms\"\n"), Verdict::holds);
  EXPECT_EQ(verdict("retry-after-bounded", "5", "6s", floor), Verdict::fails);
  EXPECT_EQ(verdict("retry-after-bounded", "60", "10s", floor + "retry_after_max = \"10s\"\n"),
            Verdict::holds);
  EXPECT_EQ(verdict("retry-after-bounded", "60", "10s",
                    floor + "retry_after_max = \"10s\"\nretry_after_over = \"stop\"\n"),
            Verdict::fails);
  EXPECT_EQ(verdict("retry-after-parsed", "1.5", "2s", floor), Verdict::holds);
  EXPECT_EQ(verdict("retry-after-parsed", "1.5", "1.5s", floor), Verdict::fails);
  EXPECT_EQ(verdict("retry-after-zero", "0", "0s", "retry_after = \"exact\"\n"), Verdict::fails);
  // The delay of a header is no delay of the law; a date in a log is one that nobody can read.
  EXPECT_EQ(verdict("growth-law", "5", "5s", floor), Verdict::unsure);
  EXPECT_EQ(verdict("growth-law", "5", "5s", "retry_after = \"ignore\"\n"), Verdict::fails);
  EXPECT_EQ(verdict("retry-after-not-early", "\"Thu, 01 Jan 2026 00:01:00 GMT\"", "1s", floor),
            Verdict::unsure);
}

TEST(Recorded, LaterCallsAreJudgedByWhatAFreshClientDoes) {
  const std::string fixed = "growth = \"constant\"\nbase = \"1s\"\njitter = \"none\"\n";
  const std::string drifts = "a,1,1,0s,0s,503,,\na,1,2,1s,1s,200,,\na,2,1,5s,5s,503,,\na,2,2,7s,7s,200,,\n";
  EXPECT_EQ(judged("calls-isolated", drifts, fixed).verdict, Verdict::fails);
  EXPECT_THAT(judged("synchronised-without-jitter", drifts, fixed).counterexample.shrunk,
              HasSubstr("the delay is 2s; client a, call 1 waits 1s at the same retry"));
  // Always 2 s: that is for growth-law to say.
  const std::string slow = "a,1,1,0s,0s,503,,\na,1,2,2s,2s,200,,\na,2,1,5s,5s,503,,\na,2,2,7s,7s,200,,\n";
  EXPECT_EQ(judged("calls-isolated", slow, fixed).verdict, Verdict::holds);
  EXPECT_EQ(judged("growth-law", slow, fixed).verdict, Verdict::fails);
}

// 3000 clients whose waits step evenly through [0, 1 s], and 3000 whose waits are all the same.
TEST(Recorded, SpreadOfAFleet) {
  const std::string full = "growth = \"constant\"\nbase = \"1s\"\njitter = \"full\"\n";
  std::string even, herd;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const auto line = [&](std::int64_t us) {
      return fmt::format("c{0},1,1,0s,0s,503,,\nc{0},1,2,{1}us,{1}us,200,,\n", i, us);
    };
    even += line((i * 1237) % 3000 * 1'000'000 / 3000);
    herd += line(400'000);
  }
  EXPECT_EQ(judged("jitter-law", even, full).verdict, Verdict::holds);
  EXPECT_EQ(judged("fleet-spreads", even, full).verdict, Verdict::holds);
  EXPECT_EQ(judged("jitter-law", herd, full).verdict, Verdict::fails);
  EXPECT_THAT(judged("fleet-spreads", herd, full).counterexample.shrunk, HasSubstr("3000 come back"));
  EXPECT_EQ(judged("jitter-alive-at-cap", herd, full + "cap = \"1s\"\n").verdict, Verdict::fails);
  EXPECT_EQ(judged("jitter-alive-at-cap", even, full + "cap = \"1s\"\n").verdict, Verdict::holds);
}

TEST(Recorded, ATraceNamesWhatItCannotShow) {
  auto trace =
      parse_trace("client,call,attempt,start,end,status\na,1,1,0s,0s,200\n", "t.csv", Duration::s(1));
  const OutsideResult result = check_trace("t.csv", std::move(*trace), {});
  EXPECT_THAT(result.coverage.not_tried, testing::Contains(HasSubstr("degenerate-settings")));
  for (const VerdictRow& row : result.rows) EXPECT_NE(row.verdict, Verdict::fails) << row.invariant->id;
}

}  // namespace
}  // namespace retrygate
