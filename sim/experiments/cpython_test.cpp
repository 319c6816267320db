#include "sim/experiments/cpython.hpp"

#include <gtest/gtest.h>

namespace retrygate {
namespace {

struct Vector {
  std::uint64_t seed;
  double random[3];
  double expovariate[2];  // lambd = 1/2000
  double uniform[2];      // 50, 500
  double random_10000;    // the 10,000th random()
};

// Source: CPython 3.11.7, random.Random(seed), each column from a fresh generator.
constexpr Vector vectors[] = {
    {42,
     {0x1.4762f307200c5p-1, 0x1.99c6b5eeb2060p-6, 0x1.19a1491f589dcp-2},
     {0x1.fe07b77e50d15p+10, 0x1.9542ecba63624p+5},
     {0x1.51bdf799432adp+8, 0x1.ea09e979b29ddp+5},
     0x1.2aa5ab9c7fbd0p-4},
    {0,
     {0x1.b0580f98a7dbep-1, 0x1.84129978f9c1ap-1, 0x1.aeaa51052e978p-2},
     {0x1.d126dae85e8b2p+11, 0x1.62a8440ad3798p+11},
     {0x1.adfd65b52b884p+8, 0x1.871458e353833p+8},
     0x1.2d317b9eed414p-1},
    {1,
     {0x1.132d8f91b7584p-3, 0x1.b1e2d5b3584f8p-1, 0x1.870d778409f13p-1},
     {0x1.2095065adec34p+8, 0x1.d60a0040adc54p+11},
     {0x1.b9db0b2f12249p+6, 0x1.af585dd2a09dep+8},
     0x1.f996aaecd2538p-1},
    {4294967296,
     {0x1.ced31cb3df170p-4, 0x1.abdb5477a4f26p-2, 0x1.1139c02ebd380p-6},  // two limbs
     {0x1.df9d908556e44p+7, 0x1.0e7ed37266b23p+10},
     {0x1.9363c61d0b89ap+6, 0x1.dc0bc53d27f90p+7},
     0x1.8587ecfd70090p-4},
};

TEST(CPythonRandom, GivesCPythonsBits) {
  for (const Vector& v : vectors) {
    SCOPED_TRACE(v.seed);
    CPythonRandom r(v.seed);
    for (const double x : v.random) EXPECT_EQ(r.random(), x);
    for (int i = 4; i < 10'000; ++i) r.random();
    EXPECT_EQ(r.random(), v.random_10000);
    EXPECT_EQ(r.draws(), 10'000U);
    CPythonRandom e(v.seed);
    for (const double x : v.expovariate) EXPECT_EQ(e.expovariate(1.0 / 2000), x);
    CPythonRandom u(v.seed);
    for (const double x : v.uniform) EXPECT_EQ(u.uniform(50, 500), x);
  }
}

}  // namespace
}  // namespace retrygate
