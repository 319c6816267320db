// The contract's keys beyond delays; composed_test.cpp has the rules between the others.
#include "policies/contract.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/backoff.hpp"
#include "policies/base/json.hpp"

namespace retrygate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string faults(const std::string& text, Contract* into = nullptr) {
  const auto file = parse_toml(text, "c.toml");
  if (!file) return to_string(file.error());
  Errors complaints;
  Reader reader(*file, complaints);
  const Contract contract = read_contract(reader);
  reader.finish();
  if (into != nullptr) *into = contract;
  return to_string(complaints);
}

TEST(Contract, ReadsEveryKey) {
  Contract c;
  EXPECT_EQ(faults("growth = \"polynomial\"\nbase = \"1s\"\nexponent = 2\ncap = \"1m\"\njitter = \"full\"\n"
                   "timer_max = \"2147483647ms\"\nretry_after = \"floor\"\nretry_after_max = \"60s\"\n"
                   "retry_after_over = \"stop\"\nbreaker = { failures = 5, open_for = \"30s\" }\n"
                   "budget = { kind = \"aws-quota\", capacity = 500, cost = 5, timeout_cost = 10 }\n",
                   &c),
            "");
  EXPECT_EQ(c.exponent, 2);
  EXPECT_EQ(c.timer_max, Duration::ms(2147483647));
  EXPECT_EQ(c.retry_after, RetryAfterRule::floor);
  EXPECT_EQ(c.retry_after_over, RetryAfterOver::stop);
  EXPECT_EQ(c.budget->timeout_cost, 10);
  EXPECT_EQ(c.breaker->failures, 5);
  EXPECT_THAT(describe(c),
              testing::Contains("circuit breaker: opens after 5 failed attempts in a row for 30s, "
                                "then 1 at a time, closes after 1"));
}

TEST(Contract, AContractInJsonReadsLikeOneInToml) {
  Contract toml;
  ASSERT_EQ(faults("growth = \"table\"\ntable = [\"1s\", \"2s\"]\nretry_on = [429, \"5xx\"]\n", &toml), "");
  const auto json = parse_json(R"({"growth":"table","table":["1s","2s"],"retry_on":[429,"5xx"]})", "c.json");
  ASSERT_TRUE(json);
  Errors complaints;
  Reader reader(*json, complaints);
  EXPECT_EQ(read_contract(reader), toml);
  EXPECT_TRUE(complaints.empty());
}

TEST(Contract, RefusesWhatMakesNoSense) {
  EXPECT_THAT(faults("growth = \"polynomial\"\nbase = \"1s\"\n"), HasSubstr("needs its 'exponent'"));
  EXPECT_THAT(faults("growth = \"table\"\n"), HasSubstr("needs its 'table'"));
  EXPECT_THAT(faults("growth = \"table\"\ntable = [\"1s\", 2]\n"),
              HasSubstr("c.toml:2:16: error: a delay in"));
  EXPECT_THAT(faults("growth = \"table\"\ntable = []\n"), HasSubstr("must be a list of durations"));
  EXPECT_THAT(faults("growth = \"constant\"\nexponent = 2\n"), HasSubstr("needs growth = \"polynomial\""));
  EXPECT_THAT(faults("retry_after_max = \"1s\"\n"), HasSubstr("needs a 'retry_after'"));
  EXPECT_THAT(faults("retry_after = \"later\"\n"), HasSubstr("cannot be 'later'"));
  EXPECT_THAT(faults("budget = { capacity = 5 }\n"), HasSubstr("lacks its 'kind'"));
  EXPECT_THAT(faults("budget = { kind = \"token-bucket\" }\n"), HasSubstr("lacks 'capacity'"));
  EXPECT_THAT(faults("budget = { kind = \"ratio\", ratio = 0.2, cost = 1 }\n"),
              HasSubstr("unknown key 'cost'"));
  EXPECT_THAT(faults("breaker = { failures = 5 }\n"), HasSubstr("lacks 'open_for'"));
  EXPECT_THAT(faults("breaker = { open_for = \"1s\" }\n"), HasSubstr("by one of them"));
  EXPECT_THAT(faults("breaker = { failure_ratio = 0.5, open_for = \"1s\" }\n"), HasSubstr("go together"));
  EXPECT_THAT(faults("jitter = \"decorrelated-v2\"\nfactor = 2\n"), HasSubstr("part of its law"));
  EXPECT_THAT(faults("growth = \"exponential\"\nbase = \"1s\"\n"),
              HasSubstr("c.toml:1:10: error: exponential growth needs its 'factor'"));
}

// Settings that can never work: every delay is 0, or no retry is ever paid for.
TEST(Contract, RefusesWhatCannotWork) {
  const std::string fixed = "growth = \"constant\"\nbase = \"500ms\"\n";
  EXPECT_THAT(faults(fixed + "tick = \"1s\"\n"),
              HasSubstr("c.toml:3:8: error: 'tick' (1s) is above base (500ms)"));
  EXPECT_EQ(faults(fixed + "tick = \"500ms\"\n"), "");
  EXPECT_EQ(faults("growth = \"constant\"\nbase = \"0s\"\ntick = \"1s\"\n"), "");
  EXPECT_THAT(faults("cap = \"1ms\"\ntick = \"2ms\"\n"), HasSubstr("'tick' (2ms) is above cap (1ms)"));
  EXPECT_THAT(faults("growth = \"table\"\ntable = [\"1s\", \"0s\", \"1ms\"]\ntick = \"2ms\"\n"),
              HasSubstr("'tick' (2ms) is above table (1ms)"));
  const auto budget = [](const std::string& keys) { return faults("budget = { " + keys + " }\n"); };
  EXPECT_THAT(budget("kind = \"token-bucket\", capacity = 1, cost = 5, refill_per_s = 9"),
              HasSubstr("c.toml:1:56: error: a retry costs more (cost 5) than the budget holds (1)"));
  EXPECT_EQ(budget("kind = \"token-bucket\", capacity = 5, cost = 5, refill_per_s = 9"), "");
  EXPECT_THAT(budget("kind = \"aws-quota\", capacity = 9, cost = 5, timeout_cost = 10"),
              HasSubstr("(timeout_cost 10)"));
  EXPECT_THAT(budget("kind = \"aws-adaptive\", capacity = 4"), HasSubstr("(cost 5)"));
  EXPECT_EQ(budget("kind = \"aws-adaptive\""), "");
}

TEST(Backoff, LawsBeyondTheExponential) {
  Backoff law{GrowthKind::fibonacci, Duration::s(1)};
  std::vector<std::int64_t> seconds;
  for (std::int64_t n = 1; n <= 10; ++n) seconds.push_back(ceiling(law, n).ns() / 1'000'000'000);
  EXPECT_THAT(seconds, ElementsAre(1, 1, 2, 3, 5, 8, 13, 21, 34, 55));
  EXPECT_EQ(ceiling(law, std::int64_t{1} << 31), Duration::max());
  law.kind = GrowthKind::polynomial;
  law.exponent = 3;
  EXPECT_EQ(ceiling(law, 4), Duration::s(64));
  law.exponent = 64;
  EXPECT_EQ(ceiling(law, std::int64_t{1} << 31), Duration::max());
  law.base = {};
  EXPECT_EQ(ceiling(law, std::int64_t{1} << 31), Duration{});  // and not 0 times infinity
  law.base = Duration::s(1);
  law.exponent = 0.5;
  EXPECT_EQ(ceiling(law, 9), Duration::s(3));
  law.kind = GrowthKind::table;
  law.table = {Duration::s(1), Duration::s(5)};
  EXPECT_EQ(ceiling(law, 2), Duration::s(5));
  EXPECT_EQ(ceiling(law, 1'000'000), Duration::s(5));
}

}  // namespace
}  // namespace retrygate
