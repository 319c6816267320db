// CPython's random.Random, so that a published Python simulation can be repeated bit for bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace retrygate {

// The Mersenne Twister MT19937 as CPython seeds and reads it (Modules/_randommodule.c, Lib/random.py,
// CPython 3.11). std::mt19937 seeded with a number or a seed_seq gives another stream.
class CPythonRandom {
 public:
  explicit CPythonRandom(std::uint64_t seed);  // random.seed(seed)

  std::uint32_t bits32();  // getrandbits(32)
  double random();         // [0, 1), 53 bits of two words
  double uniform(double a, double b) { return a + (b - a) * random(); }
  double expovariate(double rate);                // mean 1 / rate
  std::uint64_t draws() const { return draws_; }  // calls of random(), through the others too

 private:
  static constexpr std::size_t words = 624;
  void refill();

  std::array<std::uint32_t, words> state_{};
  std::size_t next_ = words;
  std::uint64_t draws_ = 0;
};

}  // namespace retrygate
