// The draws and windows of the loops that our simulator is timed against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace retrygate::bench {

using u64 = std::uint64_t;
using u32 = std::uint32_t;
__extension__ using u128 = unsigned __int128;

constexpr u64 ms = 1'000'000;  // ns

inline u64 scramble(u64 z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// A draw belongs to (client, attempt, which).
struct Draws {
  u64 key;
  explicit Draws(u64 seed) : key(scramble(seed + 0x9e3779b97f4a7c15)) {}
  u64 bits(u64 client, u64 attempt, u64 which) const {
    return scramble(key + (client * 64 + attempt * 4 + which) * 0x9e3779b97f4a7c15);
  }
  u64 below(u64 n, u64 client, u64 attempt, u64 which) const {
    return static_cast<u64>((static_cast<u128>(bits(client, attempt, which)) * n) >> 64);
  }
  u64 exponential(double mean, u64 client, u64 attempt, u64 which) const {
    const double u = (static_cast<double>(bits(client, attempt, which) >> 11) + 0.5) * 0x1p-53;
    return static_cast<u64>(-std::log(u) * mean) + 1;
  }
};

// The most arrivals in a half-open window of `width`: a ring of times and a pointer to the oldest inside.
class Window {
 public:
  explicit Window(u64 width) : width_(width), ring_(1024) {}
  void arrive(u64 t) {
    if (head_ - tail_ == ring_.size()) {
      std::vector<u64> larger(ring_.size() * 2);
      for (u64 i = tail_; i < head_; ++i) larger[i & (larger.size() - 1)] = ring_[i & (ring_.size() - 1)];
      ring_.swap(larger);
    }
    ring_[head_++ & (ring_.size() - 1)] = t;
    while (t - ring_[tail_ & (ring_.size() - 1)] >= width_) ++tail_;
    most_ = std::max(most_, head_ - tail_);
  }
  u64 most() const { return most_; }

 private:
  u64 width_, head_ = 0, tail_ = 0, most_ = 0;
  std::vector<u64> ring_;
};

}  // namespace retrygate::bench
