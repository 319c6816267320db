#include "policies/base/rng.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace retrygate {
namespace {

// The pinned values were computed by a second implementation of the published recipe (Python integers),
// not by this code. A change of any is a new random_streams_version: baselines depend on them.
TEST(Rng, DrawsArePinned) {
  ASSERT_EQ(random_streams_version, 1);
  Rng first = StreamKey(Seed{1}, Stream::policy).at(0);
  EXPECT_EQ(first.bits(), 0xf8d05fda6f46f72);
  EXPECT_EQ(first.bits(), 0xa602bf63769b34ef);
  EXPECT_EQ(first.bits(), 0x9bd09865761b5d08);
  Rng keyed = StreamKey(Seed{1}, Stream::policy).at(3, 2, 1);
  EXPECT_EQ(keyed.bits(), 0x19622b4c11bbae03);
  EXPECT_EQ(keyed.bits(), 0xe0e400f2f15a06eb);
  EXPECT_EQ(keyed.bits(), 0x564302426e5f8690);
  Rng salted = StreamKey(Seed{1}, Stream::policy, 1).at(3, 2, 1);
  EXPECT_EQ(salted.bits(), 0x8c736ae2ef3bc7e0);
  EXPECT_EQ(salted.bits(), 0xed86e35afae23d9);
  Rng far = StreamKey(Seed{~std::uint64_t{0}}, Stream::arrivals).at(std::uint64_t{1} << 32, 7, 9);
  EXPECT_EQ(far.bits(), 0x42537ba8580198a5);
  EXPECT_EQ(far.bits(), 0x99355fd6ef3f5edd);
  Rng plain(Seed{1});
  EXPECT_EQ(plain.bits(), 0x9d1fbd3425a4ca57);
  EXPECT_EQ(plain.bits(), 0x33ef7b8a52fce018);
}

TEST(Rng, EveryStreamIsPinned) {
  std::uint64_t digest = 0;
  for (std::uint64_t s = 1; s <= 8; ++s) {
    const StreamKey key(Seed{17}, static_cast<Stream>(s));
    for (std::uint64_t client = 0; client < 10; ++client)
      for (std::uint64_t call = 0; call < 10; ++call)
        for (std::uint64_t attempt = 1; attempt <= 10; ++attempt)
          digest = digest * 31 + key.at(client, call, attempt).bits();
  }
  EXPECT_EQ(digest, 0x7a68de5050ccf30f);
}

TEST(Rng, KeysAreIndependent) {
  std::set<std::uint64_t> seen;
  std::size_t made = 0;
  std::size_t equal_bits = 0;
  for (std::uint64_t s = 1; s <= 8; ++s) {
    for (std::uint64_t salt = 0; salt < 2; ++salt) {
      const StreamKey key(Seed{1}, static_cast<Stream>(s), salt);
      for (std::uint64_t client = 0; client < 20; ++client)
        for (std::uint64_t call = 0; call < 5; ++call)
          for (std::uint64_t attempt = 0; attempt < 5; ++attempt) {
            const std::uint64_t here = key.at(client, call, attempt).bits();
            const std::uint64_t neighbour = key.at(client + 1, call, attempt).bits();
            seen.insert(here);
            equal_bits += static_cast<std::size_t>(64 - __builtin_popcountll(here ^ neighbour));
            ++made;
          }
    }
  }
  EXPECT_EQ(seen.size(), made);
  // Binomial(8000 * 64, 1/2): mean 256000, sigma 357.8; six sigma either way.
  EXPECT_EQ(made, 8000U);
  EXPECT_GT(equal_bits, 253'850U);
  EXPECT_LT(equal_bits, 258'150U);
}

// Bounds: quantiles of the exact binomial law at 1e-9 and 1 - 1e-9 (scipy.stats.binom.ppf).
TEST(Rng, BetweenIsUnbiased) {
  Rng rng(Seed{1});
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i)
    ++counts.at(static_cast<std::size_t>(rng.between(Duration::ns(-3), Duration::ns(3)).ns() + 3));
  for (const int count : counts) {
    EXPECT_GE(count, 9449);
    EXPECT_LE(count, 10558);
  }
}

// 3 * 2^62 values out of 2^64 draws: without rejection, every third value would come twice as often.
TEST(Rng, BelowRejectsTheShortPart) {
  Rng rng(Seed{2});
  const std::uint64_t n = 3 * (std::uint64_t{1} << 62);
  std::array<int, 3> rest{};
  std::array<int, 3> third{};
  for (int i = 0; i < 60'000; ++i) {
    const std::uint64_t y = rng.below(n);
    ASSERT_LT(y, n);
    ++rest.at(y % 3);
    ++third.at(y >> 62);
  }
  for (const int count : {rest[0], rest[1], rest[2], third[0], third[1], third[2]}) {
    EXPECT_GE(count, 19309);
    EXPECT_LE(count, 20693);
  }
  // A quarter of the draws is rejected: 60000 / 0.75 = 80000, sigma 163.
  EXPECT_NEAR(static_cast<double>(rng.draws()), 80'000, 1'000);
}

TEST(Rng, CountsWhatItDraws) {
  Rng rng(Seed{3});
  EXPECT_EQ(rng.draws(), 0U);
  rng.bits();
  EXPECT_EQ(rng.draws(), 1U);
  rng.unit();
  EXPECT_EQ(rng.draws(), 2U);
  rng.between(Duration{}, Duration::ns(7));  // a power of two is never rejected
  EXPECT_EQ(rng.draws(), 3U);
  rng.exponential(Duration::s(1));
  EXPECT_EQ(rng.draws(), 4U);
}

TEST(Rng, FullWidthAndEmptyIntervals) {
  Rng rng(Seed{4});
  Rng same(Seed{4});
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const Duration d = rng.between(Duration::min(), Duration::max());
    // Every 64-bit word is one value: min() plus the draw.
    EXPECT_EQ(static_cast<std::uint64_t>(d.ns()), same.bits() + (std::uint64_t{1} << 63));
    negative |= d < Duration{};
    positive |= d > Duration{};
  }
  EXPECT_TRUE(negative && positive);
  EXPECT_EQ(rng.draws(), 100U);
  EXPECT_EQ(rng.between(Duration::max(), Duration::max()), Duration::max());
  EXPECT_EQ(rng.between(Duration::min(), Duration::min()), Duration::min());
  EXPECT_EQ(rng.below(1), 0U);
}

TEST(Rng, UnitAndExponential) {
  Rng rng(Seed{5});
  double sum = 0;
  double waits = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = rng.unit();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    const Duration w = rng.exponential(Duration::s(1));
    ASSERT_GE(w, Duration{});
    waits += w.seconds();
  }
  // Means 1/2 and 1, sigmas 1/sqrt(12 n) and 1/sqrt(n); six of them.
  EXPECT_NEAR(sum / 100'000, 0.5, 0.0055);
  EXPECT_NEAR(waits / 100'000, 1, 0.019);
}

TEST(RngDeathTest, RefusesImpossibleIntervals) {
  Rng rng(Seed{6});
  EXPECT_DEATH(rng.between(Duration::ns(1), Duration{}), "draw between 1ns and 0s");
  EXPECT_DEATH(rng.below(0), "internal error");
}

}  // namespace
}  // namespace retrygate
