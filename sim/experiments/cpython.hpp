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

  std::uint32_t bits32() {  // getrandbits(32)
    if (next_ == words) [[unlikely]]
      refill();
    std::uint32_t y = state_[next_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
  }
  double random() {  // [0, 1), 53 bits of two words
    ++draws_;
    const std::uint32_t a = bits32() >> 5;
    const std::uint32_t b = bits32() >> 6;
    return (static_cast<double>(a) * 67108864.0 + static_cast<double>(b)) * (1.0 / 9007199254740992.0);
  }
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
