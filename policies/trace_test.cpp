#include "policies/trace.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retrygate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string faults_of_trace(const std::string& text) {
  const auto trace = parse_trace(text, "t.csv", Duration::s(5));
  return trace ? "" : to_string(trace.error());
}

// Lines in any order, three ways to write a time.
TEST(Trace, ReadsCallsAndWhatFollowedEachAttempt) {
  const auto trace = parse_trace(
      "client,call,attempt,start,end,status,retry_after,idempotent,region\n"
      "a,1,2,3.1s,3.2s,200,,true,eu\n"
      "a,1,1,0s,100ms,503,3,true,eu\n"
      "\"b,c\",\"x\"\"y\",1,0s,1s,timeout,,false,eu\n"
      "a,2,1,20s,20.5s,UNAVAILABLE,\"Thu, 01 Jan 2026 00:00:08 GMT\",,eu\n",
      "t.csv", Duration::s(5));
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->calls.size(), 3U);
  const auto& first = trace->calls[0];
  EXPECT_EQ(first.client, "a");
  ASSERT_EQ(first.attempts.size(), 2U);
  EXPECT_EQ(first.attempts[0].status, Status::http(503));
  EXPECT_EQ(first.attempts[0].header, "3");
  EXPECT_EQ(first.attempts[0].followed->wait, Duration::s(3));
  EXPECT_FALSE(first.attempts[0].followed->stopped);
  EXPECT_TRUE(first.attempts[1].followed->stopped);
  EXPECT_EQ(first.attempts[1].followed->why, Stop::success);
  EXPECT_EQ(first.attempts[0].where, (Where{"t.csv", 3, 5}));
  const auto& second = trace->calls[1];
  EXPECT_EQ(second.client, "b,c");
  EXPECT_EQ(second.call, "x\"y");
  EXPECT_EQ(second.attempts[0].idempotent, false);
  // It failed at 1 s, and the recording goes on for 19.5 s: it gave up, for a reason that nobody knows.
  EXPECT_TRUE(second.attempts[0].followed->stopped);
  EXPECT_EQ(second.attempts[0].followed->why, std::nullopt);
  // The recording ends with this one: who knows what it did.
  EXPECT_EQ(trace->calls[2].attempts[0].followed, std::nullopt);
  EXPECT_TRUE(trace->calls[2].attempts[0].has_header);
  EXPECT_EQ(trace->calls[2].attempts[0].idempotent, std::nullopt);
}

// It says what followed the attempt before it, and nothing else.
TEST(Trace, AnAttemptUnderWayAtTheEnd) {
  const std::string header = "client,call,attempt,start,end,status\n";
  const auto trace = parse_trace(header + "a,1,1,0s,1s,503\na,1,2,3s,,\nb,1,1,0s,,\nc,1,1,0s,9s,200\n",
                                 "t.csv", Duration::s(5));
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->calls.size(), 2U);
  ASSERT_EQ(trace->calls[0].attempts.size(), 1U);
  EXPECT_FALSE(trace->calls[0].attempts[0].followed->stopped);
  EXPECT_EQ(trace->calls[0].attempts[0].followed->wait, Duration::s(2));
  EXPECT_EQ(trace->calls[1].client, "c");
  EXPECT_THAT(faults_of_trace(header + "b,1,1,0s,,\n"), HasSubstr("no attempt that ended"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,,\na,1,2,3s,4s,503\n"),
              HasSubstr("t.csv:3:5: error: attempt 2 starts before attempt 1 has ended"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,,503\n"), HasSubstr("t.csv:2:10: error: "));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,1s,\n"), HasSubstr("'' is no HTTP status"));
}

TEST(Trace, TimesInSecondsAndNanoseconds) {
  for (const char* text : {"client,call,attempt,start_s,end_s,error\na,1,1,0.000000001,2,dns\n",
                           "client,call,attempt,start_ns,end_ns,error\na,1,1,1,2000000000,dns\n"}) {
    const auto trace = parse_trace(text, "t.csv", Duration::s(5));
    ASSERT_TRUE(trace) << to_string(trace.error());
    EXPECT_EQ(trace->calls[0].attempts[0].started.since_start, Duration::ns(1));
    EXPECT_EQ(trace->calls[0].attempts[0].ended.since_start, Duration::s(2));
    EXPECT_EQ(trace->calls[0].attempts[0].status, Status::transport(TransportError::dns));
  }
}

TEST(Trace, EveryFaultHasItsPlace) {
  const std::string header = "client,call,attempt,start,end,status\n";
  EXPECT_THAT(faults_of_trace(""), HasSubstr("t.csv:1:1: error: an empty file"));
  EXPECT_THAT(faults_of_trace("client,call,start,end\n"),
              AllOf(HasSubstr("no column 'attempt'"), HasSubstr("no column 'status'")));
  EXPECT_THAT(faults_of_trace(header), HasSubstr("no attempt that ended is recorded"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,1s\n"),
              HasSubstr("t.csv:2:1: error: this line has 5 cells, the header has 6"));
  EXPECT_THAT(faults_of_trace(header + "a,1,0,0s,1s,503\n"),
              HasSubstr("t.csv:2:5: error: '0' is no attempt number"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0,1s,503\n"), HasSubstr("t.csv:2:7: error: "));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,2s,1s,503\n"),
              HasSubstr("t.csv:2:10: error: this attempt ends (1s) before it starts (2s)"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,1s,busy\n"),
              HasSubstr("t.csv:2:13: error: 'busy' is no HTTP status"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,1s,503\na,1,3,5s,6s,503\n"),
              HasSubstr("t.csv:3:5: error: client a, call 1: attempt 3 where attempt 2 is due"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,1s,503\na,1,1,5s,6s,503\n"),
              HasSubstr("attempt 1 where attempt 2 is due"));
  std::string many = header;
  for (int i = 0; i < 100; ++i) many += "a,1,1,0s,1s,503\n";
  EXPECT_THAT(faults_of_trace(many), HasSubstr("t.csv:3:5: error: client a, call 1: attempt 1 where"));
  EXPECT_THAT(faults_of_trace(header + "a,1,1,0s,2s,503\na,1,2,1s,3s,503\n"),
              HasSubstr("t.csv:3:5: error: attempt 2 starts before attempt 1 has ended"));
  EXPECT_THAT(faults_of_trace("client,call,attempt,start_ns,end_ns,status\na,1,1,0.5,1,503\n"),
              HasSubstr("'0.5' is no whole number of nanoseconds"));
  EXPECT_THAT(faults_of_trace("client,call,attempt,start,end,status,idempotent\na,1,1,0s,1s,503,maybe\n"),
              HasSubstr("t.csv:2:17: error: 'maybe' is neither true nor false"));
}

// Floats as programs print them, and what a comment is.
TEST(Trace, SecondsAsFloats) {
  const auto trace = parse_trace(
      "# written by a test\nclient,call,attempt,start_s,end_s,status\n#1,1,1,1e-05,0.30000000000000004,200\n"
      "b,1,1,9007199.254740993,1e7,200\n",
      "t.csv", Duration::s(5));
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->calls.size(), 2U);  // a client may be called #1
  EXPECT_EQ(trace->calls[0].client, "#1");
  EXPECT_EQ(trace->calls[0].attempts[0].started.since_start, Duration::us(10));
  EXPECT_EQ(trace->calls[0].attempts[0].ended.since_start, Duration::ms(300));
  EXPECT_EQ(trace->calls[1].attempts[0].started.since_start, Duration::ns(9'007'199'254'740'993));
  EXPECT_EQ(trace->calls[1].attempts[0].ended.since_start, Duration::s(10'000'000));
  const auto wrong = [](const std::string& cell) {
    return faults_of_trace("client,call,attempt,start_s,end_s,status\na,1,1," + cell +
                           ",2,503\na,1,2,1,3,503\n");
  };
  for (const char* none : {"nan", "inf", "1e400", "soon", ""})
    EXPECT_THAT(wrong(none), HasSubstr("is no number of seconds")) << none;
  EXPECT_THAT(wrong("1e300"), HasSubstr("longer than 292 years"));
  // One fault, one complaint: that the times overlap follows from a cell that nobody could read.
  EXPECT_THAT(wrong("soon"), testing::Not(HasSubstr("before")));
}

// A log has dates, and its lines need not be in order: only differences count.
TEST(Trace, TimesMayBeDates) {
  const auto trace = parse_trace(
      "client,call,attempt,start,end,status\n"
      "a,1,2,2024-05-01T00:00:00.25Z,2024-05-01T00:00:00.3Z,200\n"
      "a,1,1,2024-04-30T23:59:59.9Z,2024-05-01T02:00:00+02:00,503\n",
      "t.csv", Duration::s(5));
  ASSERT_TRUE(trace) << to_string(trace.error());
  const auto& attempts = trace->calls.at(0).attempts;
  EXPECT_EQ(attempts.at(0).followed->wait, Duration::ms(250));
  EXPECT_EQ(attempts.at(0).ended - attempts.at(0).started, Duration::ms(100));
}

TEST(Trace, JsonIsNoTable) {
  for (const char* text : {"{\"client\":\"a\",\"call\":1}\n", "\n[1]\n"})
    EXPECT_THAT(faults_of_trace(text), HasSubstr("t.csv:1:1: error: this is JSON, where a table is needed"))
        << text;
}

TEST(Outages, LengthsOrStartsAndEnds) {
  const auto lengths = [](const std::string& text) {
    std::vector<Duration> all;
    const auto outages = parse_outages(text, "o.csv");
    for (const LoggedOutage& one : *outages) all.push_back(one.length);
    return all;
  };
  EXPECT_THAT(lengths("id,length\n1,2m\n2,30s\n"), ElementsAre(Duration::s(120), Duration::s(30)));
  EXPECT_THAT(lengths("length_s\n1.5\n"), ElementsAre(Duration::ms(1500)));
  EXPECT_THAT(lengths("start_s,end_s\n10,12.5\n"), ElementsAre(Duration::ms(2500)));
  const LoggedOutage whole{Duration::s(10), Duration::ms(2500)};
  EXPECT_EQ(parse_outages("start_s,end_s\n10,12.5\n", "o.csv")->front(), whole);
  EXPECT_EQ(parse_outages("length,start\n2500ms,10s\n", "o.csv")->front(), whole);
  EXPECT_FALSE(parse_outages("length\n2s\n", "o.csv")->front().start);
  // Dates, as logs have them: 61.5 s, whatever the zone; the first one is time 0, the other day is 86,400 s
  // on.
  for (const char* dates :
       {"2026-01-31T23:59:00Z,2026-02-01T00:00:01.5Z", "2026-01-31 23:59:00,2026-02-01 00:00:01.5",
        "2026-02-01T01:59:00+02:00,2026-01-31T19:00:01.500000000-05:00"}) {
    const auto logged = parse_outages(
        fmt::format("start,end\n{}\n2026-02-01T23:59:00Z,2026-02-01T23:59:30Z\n", dates), "o.csv");
    ASSERT_TRUE(logged) << to_string(logged.error());
    EXPECT_EQ(logged->front(), (LoggedOutage{Duration{}, Duration::ms(61'500)})) << dates;
    EXPECT_EQ(logged->back(), (LoggedOutage{Duration::s(86'400), Duration::s(30)})) << dates;
  }
  for (const char* no_date : {"2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
                              "2026-01-01", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zulu",
                              "2026-01-01T00:00:00+0", "1969-01-01T00:00:00Z", "2026-1-1T00:00:00Z"})
    EXPECT_THAT(to_string(parse_outages(fmt::format("start,end\n{},5s\n", no_date), "o.csv").error()),
                HasSubstr(fmt::format("o.csv:2:1: error: '{}' is no date", no_date)));
  const auto wrong = parse_outages("start,end\n5s,3s\n", "o.csv");
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("o.csv:2:4: error: an outage of -2s"));
  EXPECT_THAT(to_string(parse_outages("a,b\n", "o.csv").error()),
              HasSubstr("no column 'length' (or length_s, or start and end)"));
  EXPECT_THAT(to_string(parse_outages("length\n", "o.csv").error()), HasSubstr("no outage is recorded"));
}

}  // namespace
}  // namespace retrygate
