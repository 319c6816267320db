// What `show` prints, against hand calculation.
#include "policies/schedule.hpp"

#include <gtest/gtest.h>

namespace retrygate {
namespace {

Schedule of(const std::string& reference, std::int64_t retries) {
  const auto named = find_policy(reference, {"test", 1, 1});
  EXPECT_TRUE(named) << reference << ": " << to_string(named.error());
  return schedule(*named, retries);
}

// Whole milliseconds of U[0, 2.5], [0, 5], [0, 10] ms; the delays are whole ticks, and so are their means.
TEST(Schedule, DelaysAreWholeTicks) {
  const Schedule s = of("full-jitter:base=2500us,tick=1ms", 3);
  ASSERT_EQ(s.rows.size(), 3U);
  EXPECT_TRUE(s.exact && s.mean_exact);
  EXPECT_EQ(s.rows[0].hi, Duration::ms(2));
  EXPECT_EQ(s.rows[0].mean, Duration::ms(1));
  EXPECT_EQ(s.rows[2].hi, Duration::ms(10));
  EXPECT_EQ(s.rows[2].hi_so_far, Duration::ms(17));
  // U[10, 30] and U[10, 90] in steps of 7: 14 to 28, then 14 to 3 * 28 = 84.
  const Schedule d = of("decorrelated:base=10ns,tick=7ns", 2);
  EXPECT_EQ(d.rows[0].lo, Duration::ns(14));
  EXPECT_EQ(d.rows[0].hi, Duration::ns(28));
  EXPECT_EQ(d.rows[1].hi, Duration::ns(84));
}

// The timer cuts a longer wait: U[0.9, 1.1] s at 1 s has mean 0.9 + 0.1 * 0.75.
TEST(Schedule, NoWaitIsLongerThanTheTimer) {
  const Schedule fixed = of("exponential:base=400ms,timer_max=1s", 3);
  EXPECT_EQ(fixed.rows[1].hi, Duration::ms(800));
  EXPECT_EQ(fixed.rows[2].lo, Duration::s(1));
  EXPECT_EQ(fixed.rows[2].hi, Duration::s(1));
  const Schedule wide = of("proportional:base=1s,timer_max=1s", 1);
  EXPECT_EQ(wide.rows[0].lo, Duration::ms(900));
  EXPECT_EQ(wide.rows[0].hi, Duration::s(1));
  EXPECT_EQ(wide.rows[0].mean, Duration::ms(975));
}

// Of a chain each delay is at most 3 times the one before: 3, 9, 27 s, and a mean of base (2 * 1.5^n - 1).
TEST(Schedule, ADecorrelatedChain) {
  const Schedule s = of("decorrelated:base=1s,cap=20s", 3);
  EXPECT_EQ(s.rows[1].hi, Duration::s(9));
  EXPECT_EQ(s.rows[1].mean, Duration::ms(3500));
  EXPECT_EQ(s.rows[2].hi, Duration::s(20));
  EXPECT_FALSE(s.mean_exact);  // the cap cuts the third
  EXPECT_EQ(of("decorrelated:base=0s", 1).rows[0].hi, Duration{});
  const Schedule late = of("decorrelated:base=1s,cap=2s,cap_kind=before_jitter", 3);
  EXPECT_EQ(late.rows[2].hi, Duration::s(6));
}

// Documented: U[0, 500 ms]. The code draws from [0.5, 1.5] s, and that is what is shown.
TEST(Schedule, AReplicaThatLeavesItsLawIsObserved) {
  const Schedule s = of("article-001-tenacity", 1);
  EXPECT_FALSE(s.exact);
  EXPECT_GE(s.rows[0].lo, Duration::ms(500));
  EXPECT_GT(s.rows[0].hi, Duration::s(1));
}

TEST(Schedule, ATableIsExact) {
  const auto file =
      parse_toml("[policy]\nkind = \"fixed\"\ngrowth = \"table\"\ntable = [\"1s\", \"3s\"]\n", "p.toml");
  ASSERT_TRUE(file);
  Errors complaints;
  Reader reader(*file, complaints);
  const auto named = read_policy("mine", *reader.any("policy"));
  ASSERT_TRUE(named) << to_string(named.error());
  const Schedule s = schedule(*named, 3);
  EXPECT_TRUE(s.exact && s.mean_exact);
  EXPECT_EQ(s.rows[0].hi, Duration::s(1));
  EXPECT_EQ(s.rows[2].mean_so_far, Duration::s(7));
}

}  // namespace
}  // namespace retrygate
