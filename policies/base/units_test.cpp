#include "policies/base/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace retrygate {
namespace {

using testing::HasSubstr;

constexpr std::int64_t longest = 9'223'372'036'854'775'807;

TEST(Duration, SaturatesInsteadOfWrapping) {
  EXPECT_EQ(Duration::max() + Duration::ns(1), Duration::max());
  EXPECT_EQ(Duration::min() - Duration::ns(1), Duration::min());
  EXPECT_EQ(Duration::ns(0) - Duration::min(), Duration::max());
  EXPECT_EQ(Duration::min() + Duration::max(), Duration::ns(-1));
  EXPECT_EQ(Duration::s(longest), Duration::max());
  EXPECT_EQ(Duration::ms(-longest), Duration::min());
  EXPECT_EQ(Duration::us(9'223'372'036'854'775).ns(), 9'223'372'036'854'775'000);
  EXPECT_EQ(Duration::us(9'223'372'036'854'776), Duration::max());
  EXPECT_EQ(Duration::ns(3) * (longest / 3), Duration::ns(longest / 3 * 3));
  EXPECT_EQ(Duration::ns(3) * (longest / 3 + 1), Duration::max());
  EXPECT_EQ(Duration::max() * longest, Duration::max());
  EXPECT_EQ(Duration::max() * -longest, Duration::min());
  EXPECT_EQ(Duration::min() * -1, Duration::max());
  EXPECT_EQ(Duration::min() / -1, Duration::max());
  EXPECT_EQ(Instant::never() + Duration::s(1), Instant::never());
  Duration sum = Duration::max();
  sum += Duration::max();
  EXPECT_EQ(sum, Duration::max());
}

TEST(Duration, ScalesToTheNearestNanosecond) {
  EXPECT_EQ(Duration::ns(10).scaled(0.26), Duration::ns(3));
  EXPECT_EQ(Duration::ns(-10).scaled(0.26), Duration::ns(-3));
  EXPECT_EQ(Duration::s(1).scaled(1e300), Duration::max());
  EXPECT_EQ(Duration::s(1).scaled(-1e300), Duration::min());
  EXPECT_EQ(Duration::ns(1).scaled(std::numeric_limits<double>::infinity()), Duration::max());
  EXPECT_EQ(Duration::max().scaled(1), Duration::max());
  EXPECT_EQ(Duration::min().scaled(1), Duration::min());
  // Every 53-bit integer is exact in a double, and stays so.
  EXPECT_EQ(Duration::ns(9'007'199'254'740'991).scaled(1), Duration::ns(9'007'199'254'740'991));
  EXPECT_EQ(Duration::seconds(0.1), Duration::ms(100));
  EXPECT_EQ(Duration::seconds(-1e-9), Duration::ns(-1));
  EXPECT_EQ(Duration::seconds(9.3e9), Duration::max());
  EXPECT_EQ(Duration::seconds(-std::numeric_limits<double>::infinity()), Duration::min());
}

TEST(DurationDeathTest, NaNIsAMistakeOfOurs) {
  EXPECT_DEATH(Duration::seconds(std::nan("")), "internal error");
  EXPECT_DEATH(Duration{}.scaled(std::numeric_limits<double>::infinity()), "internal error");
}

TEST(Duration, Prints) {
  EXPECT_EQ(to_string(Duration{}), "0s");
  EXPECT_EQ(to_string(Duration::ns(1)), "1ns");
  EXPECT_EQ(to_string(Duration::ns(999)), "999ns");
  EXPECT_EQ(to_string(Duration::ns(1'050)), "1.05us");
  EXPECT_EQ(to_string(Duration::ms(1'500)), "1.5s");
  EXPECT_EQ(to_string(Duration::s(60)), "1m");
  EXPECT_EQ(to_string(Duration::s(90)), "90s");
  EXPECT_EQ(to_string(Duration::s(7'200)), "2h");
  EXPECT_EQ(to_string(Duration::ms(2'147'483'647)), "2147483.647s");
  EXPECT_EQ(to_string(Duration::ms(-100)), "-100ms");
  EXPECT_EQ(to_string(Duration::max()), "no limit");
  EXPECT_EQ(to_string(Duration::min()), "-9223372036.854775808s");
}

TEST(Duration, ReadsWhatItPrints) {
  for (const std::int64_t ns :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{10}, std::int64_t{1'001},
        std::int64_t{1'000'000'001}, std::int64_t{59'999'999'999}, std::int64_t{60'000'000'000},
        std::int64_t{3'600'000'000'001}, std::int64_t{86'400'000'000'000}, longest - 1, -longest,
        std::numeric_limits<std::int64_t>::min()}) {
    const std::string text = to_string(Duration::ns(ns));
    const auto read = parse_duration(text);
    ASSERT_TRUE(read) << text << ": " << to_string(read.error());
    EXPECT_EQ(read->ns(), ns) << text;
  }
}

TEST(Duration, ReadsEveryUnitExactly) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"7ns", 7},
      {"0.001us", 1},
      {"100ms", 100'000'000},
      {"0.1 s", 100'000'000},
      {"1.000000001s", 1'000'000'001},
      {"1.5m", 90'000'000'000},
      {"0.25h", 900'000'000'000},
      {"007ms", 7'000'000},
      {"1.500000000000000000000000s", 1'500'000'000},
      {"-2s", -2'000'000'000},
      {"-0ms", 0},
      {"9223372036854775806ns", longest - 1},
      // Whole nanoseconds though no power of ten: 6e10 * 5e-11, 3.6e12 * 25e-13, 3.6e12 * 1.25e-11.
      {"0.00000000005m", 3},
      {"0.0000000000025h", 9},
      {"0.0000000000125h", 45},
  };
  for (const auto& [text, ns] : cases) {
    const auto read = parse_duration(text);
    ASSERT_TRUE(read) << text << ": " << to_string(read.error());
    EXPECT_EQ(read->ns(), ns) << text;
  }
}

TEST(Duration, RefusesWithTheReason) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "'' is not a duration"},
      {" ", "' ' is not a duration"},
      {"ms", "'ms' is not a duration"},
      {"-", "'-' is not a duration"},
      {"+5ms", "'+5ms' is not a duration"},
      {"--5ms", "'--5ms' is not a duration"},
      {".", "'.' is not a duration"},
      {"1.ms", "'1.ms' is not a duration"},
      {" 1ms", "' 1ms' is not a duration"},
      {"nan s", "'nan s' is not a duration"},
      {"100", "'100' needs a unit"},
      {"100 ", "'100 ' needs a unit"},
      {"1.5", "'1.5' needs a unit"},
      {"5days", "unknown unit 'days'"},
      {"5MS", "unknown unit 'MS'"},
      {"1e3ms", "unknown unit 'e3ms'"},
      {"5  ms", "unknown unit ' ms'"},
      {"5ms ", "unknown unit 'ms '"},
      {"1.5.5s", "unknown unit '.5s'"},
      {"0.5ns", "'0.5ns' is finer than 1 ns"},
      {"1.05ns", "finer than 1 ns"},
      {"0.0001us", "finer than 1 ns"},
      {"1.0000000001s", "finer than 1 ns"},
      {"0.00000000001m", "finer than 1 ns"},    // 0.6 ns
      {"0.0000000000001h", "finer than 1 ns"},  // 0.36 ns
      {"0." + std::string(60, '0') + "1h", "finer than 1 ns"},
      {"9223372036854775808ns", "longer than 292 years"},
      {"9223372036.854775808s", "longer than 292 years"},
      {"-9223372036854775809ns", "longer than 292 years"},
      {"2562048h", "longer than 292 years"},
      {std::string(60, '9') + "h", "longer than 292 years"},
  };
  for (const auto& [text, reason] : cases) {
    const auto read = parse_duration(text, {"suite.toml", 3, 7});
    ASSERT_FALSE(read) << text;
    ASSERT_EQ(read.error().size(), 1U) << text;
    EXPECT_THAT(read.error()[0].message, HasSubstr(reason)) << text;
    EXPECT_FALSE(read.error()[0].hint.empty()) << text;
    EXPECT_EQ(read.error()[0].where, (Where{"suite.toml", 3, 7})) << text;
  }
  EXPECT_EQ(to_string(parse_duration("100", {"a.toml", 1, 8}).error()),
            "a.toml:1:8: error: '100' needs a unit\n  hint: write \"100ms\" or \"100s\"\n");
}

}  // namespace
}  // namespace retrygate
