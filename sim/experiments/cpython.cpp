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
  constexpr std::size_t ahead = 397;
  const auto twisted = [&](std::size_t i, std::size_t next) {
    const std::uint32_t y = (state_[i] & 0x80000000U) | (state_[next] & 0x7fffffffU);
    return (y >> 1) ^ (-(y & 1U) & 0x9908b0dfU);
  };
  for (std::size_t i = 0; i < words - ahead; ++i) state_[i] = state_[i + ahead] ^ twisted(i, i + 1);
  for (std::size_t i = words - ahead; i < words - 1; ++i)
    state_[i] = state_[i - (words - ahead)] ^ twisted(i, i + 1);
  state_[words - 1] = state_[ahead - 1] ^ twisted(words - 1, 0);
  next_ = 0;
}

double CPythonRandom::expovariate(double rate) { return -std::log(1.0 - random()) / rate; }

}  // namespace retrygate
