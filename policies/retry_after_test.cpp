#include "policies/retry_after.hpp"

#include <gtest/gtest.h>

namespace retrygate {
namespace {

std::string read(std::string_view text, Duration now = {}) {
  const auto wait = parse_retry_after(text, {now});
  return wait ? to_string(*wait) : "malformed";
}

// RFC 9110, section 10.2.3: delay-seconds = 1*DIGIT.
TEST(RetryAfter, Seconds) {
  EXPECT_EQ(read("0"), "0s");
  EXPECT_EQ(read("3"), "3s");
  EXPECT_EQ(read("000120"), "2m");
  EXPECT_EQ(read(" \t120 "), "2m");  // section 5.5: white space around a value is no part of it
  EXPECT_EQ(read("9223372036"), "9223372036s");
  // One more second than an int64 of nanoseconds holds, and far more.
  EXPECT_EQ(read("9223372037"), "no limit");
  EXPECT_EQ(read("99999999999999999999999999999999999999"), "no limit");
}

TEST(RetryAfter, WhatIsMalformedIsAbsent) {
  for (const char* text : {"",
                           " ",
                           "-1",
                           "+1",
                           "1.5",
                           "1,5",
                           "1e3",
                           "0x10",
                           "3s",
                           "3 s",
                           "1 2",
                           "soon",
                           "NaN",
                           "\xD9\xA3",
                           "3\xC2\xA0",
                           "Thu, 32 Jan 2026 00:00:00 GMT",
                           "Thu, 29 Feb 2026 00:00:00 GMT",
                           "Thu, 01 Jan 2026 24:00:00 GMT",
                           "Thu, 01 Jan 2026 00:60:00 GMT",
                           "Thu, 01 Jan 2026 00:00:61 GMT",
                           "Thu, 1 Jan 2026 00:00:00 GMT",
                           "Thu, 01 Jan 2026 00:00:00",
                           "Thu, 01 Jan 2026 00:00:00 UTC",
                           "Thu, 01 Jan 2026 00:00:00 +0000",
                           "thu, 01 Jan 2026 00:00:00 GMT",
                           "Thu, 01 jan 2026 00:00:00 GMT",
                           "Thu 01 Jan 2026 00:00:00 GMT",
                           "Xyz, 01 Jan 2026 00:00:00 GMT",
                           "Thu, 01 Jan 2026 00:00:00 GMTX",
                           "2026-01-01T00:00:10Z",
                           "Thursday, 01 Jan 2026 00:00:00 GMT",
                           "Thu Jan 1 00:00:10 2026"})
    EXPECT_EQ(read(text), "malformed") << "'" << text << "'";
}

TEST(RetryAfter, DatesInAllThreeForms) {
  EXPECT_EQ(read("Thu, 01 Jan 2026 00:00:10 GMT"), "10s");
  EXPECT_EQ(read("Thursday, 01-Jan-26 00:00:10 GMT"), "10s");
  EXPECT_EQ(read("Thu Jan  1 00:00:10 2026"), "10s");
  EXPECT_EQ(read("Wed Feb 11 00:00:00 2026"), "984h");  // 41 days
  // A day and a half into the run; the fraction of a second that has passed counts.
  EXPECT_EQ(read("Fri, 02 Jan 2026 12:00:01 GMT", Duration::s(36 * 3600) + Duration::ms(250)), "750ms");
  EXPECT_EQ(read("Thu, 29 Feb 2028 00:00:00 GMT"), "18936h");  // 789 days: 365 + 365 + 31 + 28
  EXPECT_EQ(read("Wed, 31 Dec 2025 23:59:60 GMT"), "0s");      // a leap second
  EXPECT_EQ(read("Fri, 31 Dec 9999 23:59:59 GMT"), "no limit");
}

// The example dates of RFC 9110, section 5.6.7, and a date just gone.
TEST(RetryAfter, ADateInThePastIsNow) {
  EXPECT_EQ(read("Sun, 06 Nov 1994 08:49:37 GMT"), "0s");
  EXPECT_EQ(read("Sunday, 06-Nov-94 08:49:37 GMT"), "0s");
  EXPECT_EQ(read("Sun Nov  6 08:49:37 1994"), "0s");
  EXPECT_EQ(read("Thu, 01 Jan 2026 00:00:10 GMT", Duration::s(10)), "0s");
  EXPECT_EQ(read("Thu, 01 Jan 2026 00:00:10 GMT", Duration::s(11)), "0s");
}

// Two digits: more than 50 years ahead means the past. From 2026, "76" is 2076 and "77" is 1977.
TEST(RetryAfter, TwoDigitYears) {
  EXPECT_EQ(read("Wednesday, 01-Jan-76 00:00:00 GMT"), "438288h");  // 18262 days = 50 * 365 + 12
  EXPECT_EQ(read("Saturday, 01-Jan-77 00:00:00 GMT"), "0s");
}

TEST(RetryAfter, WritesDatesThatReadBack) {
  EXPECT_EQ(to_http_date({}), "Thu, 01 Jan 2026 00:00:00 GMT");
  EXPECT_EQ(to_http_date({Duration::s(59 * 86'400) + Duration::s(3661)}), "Sun, 01 Mar 2026 01:01:01 GMT");
  EXPECT_EQ(to_http_date({Duration::ns(-1)}), "Wed, 31 Dec 2025 23:59:59 GMT");
  for (std::int64_t s = 0; s < 3'000'000'000; s += 7'654'321)
    ASSERT_EQ(read(to_http_date({Duration::s(s)})), to_string(Duration::s(s)));
}

std::string wait(RetryAfter use, std::optional<Duration> header, Duration own = Duration::s(2)) {
  const auto d = heed(use, {Status::http(503), header}, own);
  return d ? to_string(*d) : "stop";
}

TEST(RetryAfter, TheFiveRules) {
  using enum RetryAfterRule;
  struct Row {
    RetryAfterRule rule;
    const char *header_1s, *header_3s, *header_0;
  };
  for (const Row& row :
       {Row{floor, "2s", "3s", "2s"}, Row{exact, "1s", "3s", "0s"}, Row{max, "1s", "2s", "0s"},
        Row{exact_or_stop, "1s", "3s", "0s"}, Row{ignore, "2s", "2s", "2s"}}) {
    EXPECT_EQ(wait({row.rule}, Duration::s(1)), row.header_1s) << to_string(row.rule);
    EXPECT_EQ(wait({row.rule}, Duration::s(3)), row.header_3s) << to_string(row.rule);
    EXPECT_EQ(wait({row.rule}, Duration{}), row.header_0) << to_string(row.rule);
    EXPECT_EQ(wait({row.rule}, std::nullopt), "2s") << to_string(row.rule);
  }
}

TEST(RetryAfter, AboveItsLimit) {
  using enum RetryAfterRule;
  const Duration limit = Duration::s(60), over = Duration::s(61);
  for (const auto rule : {floor, exact}) {
    EXPECT_EQ(wait({rule, limit, AboveLimit::stop}, over), "stop");
    EXPECT_EQ(wait({rule, limit, AboveLimit::clip}, over), "1m");
    EXPECT_EQ(wait({rule, limit, AboveLimit::own}, over), "2s");
    EXPECT_EQ(wait({rule, limit, AboveLimit::stop}, limit), "1m");
  }
  EXPECT_EQ(wait({exact_or_stop, limit, AboveLimit::clip}, over), "stop");
  EXPECT_EQ(wait({ignore, limit, AboveLimit::stop}, over), "2s");
  // A limit bounds what the header asks, not the policy's own delay.
  EXPECT_EQ(wait({floor, limit, AboveLimit::clip}, over, Duration::s(90)), "90s");
  RetryAfter only{exact, limit, AboveLimit::stop, RetryOn{{Status::http(429)}, {}}};
  EXPECT_EQ(wait(only, Duration::s(9)), "2s");
  only.only_on->statuses.push_back(Status::http(503));
  EXPECT_EQ(wait(only, Duration::s(9)), "9s");
}

}  // namespace
}  // namespace retrygate
