#include "sim/experiments/cpython.hpp"

#include <cmath>

namespace retrygate {

CPythonRandom::CPythonRandom(std::uint64_t seed) {
  // init_genrand(19650218)
  state_[0] = 19650218;
  for (std::size_t i = 1; i < words; ++i)
    state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<std::uint32_t>(i);

  // init_by_array with the seed's 32-bit limbs, least significant first, at least one.
  const std::array<std::uint32_t, 2> key = {static_cast<std::uint32_t>(seed),
                                            static_cast<std::uint32_t>(seed >> 32)};
  const std::size_t length = key[1] == 0 ? 1 : 2;
  std::size_t i = 1;
  std::size_t j = 0;
  const auto advance = [&] {
    if (++i >= words) {
      state_[0] = state_[words - 1];
      i = 1;
    }
  };
  for (std::size_t k = 0; k < words; ++k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525U)) + key[j] +
                static_cast<std::uint32_t>(j);
    advance();
    j = (j + 1) % length;
  }
  for (std::size_t k = 1; k < words; ++k) {
    state_[i] =
        (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941U)) - static_cast<std::uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000U;
}

void CPythonRandom::refill() {
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint32_t y = (state_[i] & 0x80000000U) | (state_[(i + 1) % words] & 0x7fffffffU);
    state_[i] = state_[(i + 397) % words] ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
  }
  next_ = 0;
}

std::uint32_t CPythonRandom::bits32() {
  if (next_ == words) refill();
  std::uint32_t y = state_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

double CPythonRandom::random() {
  ++draws_;
  const std::uint32_t a = bits32() >> 5;
  const std::uint32_t b = bits32() >> 6;
  return (static_cast<double>(a) * 67108864.0 + static_cast<double>(b)) * (1.0 / 9007199254740992.0);
}

double CPythonRandom::expovariate(double rate) { return -std::log(1.0 - random()) / rate; }

}  // namespace retrygate
