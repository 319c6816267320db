// The tests of delays against a law: what they find, and that a right law of any coarseness is not accused.
#include "properties/spread.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/base/testing.hpp"
#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

using Sequences = std::vector<std::vector<long double>>;

TEST(Spread, SeedsOfFreshProcessesMeetUnderEveryModulus) {
  std::vector<std::uint64_t> moduli{1000, 3600, 10'000};
  for (std::uint64_t m = 1; m <= 256; ++m) moduli.push_back(m);
  for (std::uint64_t m = 512; m <= 65'536; m *= 2) moduli.push_back(m);
  for (const std::uint64_t suite : {std::uint64_t{1}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    std::vector<std::uint64_t> seeds;
    for (std::size_t i = 0; i < 8; ++i) seeds.push_back(fresh_seed(Seed{suite}, i).value);
    const auto couple = [&](auto meets) {
      for (std::size_t q = 1; q < seeds.size(); ++q) {
        for (std::size_t p = 0; p < q; ++p) {
          if (meets(seeds[p], seeds[q])) return true;
        }
      }
      return false;
    };
    for (const std::uint64_t m : moduli)
      EXPECT_TRUE(couple([m](std::uint64_t a, std::uint64_t b) { return a % m == b % m; })) << m;
    EXPECT_TRUE(couple([](std::uint64_t a, std::uint64_t b) { return a >> 32 == b >> 32; }));
    for (const std::uint64_t m : {std::uint64_t{1} << 24, std::uint64_t{1} << 32, std::uint64_t{2147483647}})
      EXPECT_FALSE(couple([m](std::uint64_t a, std::uint64_t b) { return a % m == b % m; })) << m;
  }
}

// `streams` of 0: every client has its own.
Sequences whole_steps(std::uint64_t seed, std::uint64_t streams, std::size_t retries, std::uint64_t values) {
  Sequences all;
  const StreamKey key(Seed{seed}, Stream::policy);
  for (std::uint64_t i = 0; i < draws_wanted; ++i) {
    const std::uint64_t stream = streams == 0 ? i : key.at(i, 1).below(streams);
    auto& delays = all.emplace_back();
    for (std::size_t k = 0; k < retries; ++k)
      delays.push_back(static_cast<long double>(key.at(stream, 2, k).below(values)) * 1e9L);
  }
  return all;
}

// Two or five different delays at a retry: 2000 clients cannot all be different, and are not accused of it.
TEST(Spread, CoarseDelaysRepeatByChance) {
  Contract promise = exponential(Duration::s(4), 1, Duration::s(4), JitterKind::full);
  for (const Duration tick : {Duration::ns(1), Duration::s(1)}) {
    promise.tick = tick;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 20U : 200U); ++seed) {
      for (const std::uint64_t values : {std::uint64_t{2}, std::uint64_t{5}}) {
        for (const std::size_t retries : {std::size_t{1}, std::size_t{3}, std::size_t{8}})
          EXPECT_FALSE(few_sequences(whole_steps(seed, 0, retries, values), promise, 1e-3))
              << seed << ' ' << values << ' ' << retries;
      }
    }
  }
}

TEST(Spread, StreamsOutOfAFewAreFoundByWholeSequences) {
  Contract promise = exponential(Duration::s(60), 1, Duration::s(60), JitterKind::full);
  promise.tick = Duration::s(1);
  for (const std::uint64_t streams : {1, 16, 256, 1000}) {
    const auto few = few_sequences(whole_steps(1, streams, 8, 61), promise, 1e-10);
    ASSERT_TRUE(few) << streams;
  }
  EXPECT_FALSE(few_sequences(whole_steps(1, 0, 8, 61), promise, 1e-10));
}

}  // namespace
}  // namespace retrygate
