// The exact largest number of stamps in any half-open window [t, t + w) that begins at one of them, for
// several widths at once, while the stamps come in order.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "policies/base/units.hpp"
#include "sim/lane.hpp"

namespace retrygate {

// A maximum of M can only become M + 1, and does so exactly when the stamp M places back lies within w of the
// new one; else that place moves on by one. So each width costs one comparison per stamp, and only as many
// stamps are kept as the busiest window holds.

// For fleets whose stamps fit the caches: whole stamps, gathered until there are many; then every width goes
// over them in one loop without a branch that depends on them.
class StampWindows {
 public:
  void start(const std::vector<Duration>& widths) {
    cursors_.clear();
    for (const Duration w : widths) cursors_.push_back({w.ns(), 0});
    if (stamps_.empty() && !empty()) stamps_.resize(2 * at_once);
    kept_ = 0;
    next_ = stamps_.data();
    end_ = next_ + stamps_.size();
  }
  bool empty() const { return cursors_.empty(); }

  [[gnu::always_inline]] void add(std::int64_t t) {
    *next_++ = t;
    if (next_ == end_) [[unlikely]]
      count();
  }
  void finish() { count(); }  // after the last stamp
  std::int64_t most(std::size_t width) const { return cursors_[width].most; }

 private:
  static constexpr std::size_t at_once = 2048;  // at least so many between two counts
  struct Cursor {
    std::int64_t width, most;
  };
  void count();

  std::vector<Cursor> cursors_;
  std::vector<std::int64_t> stamps_;
  std::size_t kept_ = 0;  // of the stamps: so many have been counted before
  std::int64_t* next_ = nullptr;
  std::int64_t* end_ = nullptr;
};

// For the largest fleets: two bytes per stamp. The stamps are kept as differences (larger ones are written in
// full), in blocks that are used again when the cursors of all widths have passed.
class DeltaWindows {
 public:
  void start(const std::vector<Duration>& widths) {
    cursors_.clear();
    for (const Duration w : widths) cursors_.push_back({w.ns(), 0, 0, nullptr, 0});
    first_block_ = 0;
    last_block_ = -1;
    tail_ = end_ = nullptr;
    started_ = false;
  }
  bool empty() const { return cursors_.empty(); }

  [[gnu::always_inline]] void add(std::int64_t t) {
    if (!started_) [[unlikely]]
      begin(t);
    else
      write(t - last_);
    last_ = t;
    for (Cursor& c : cursors_) {
      if (t - c.time < c.width)
        ++c.most;
      else
        advance(c);
    }
  }
  void finish() {}
  std::int64_t most(std::size_t width) const { return cursors_[width].most; }

 private:
  using Delta = std::uint16_t;
  static constexpr std::size_t block_items = 8192;
  static constexpr std::size_t full_items = sizeof(std::int64_t) / sizeof(Delta);
  static constexpr Delta in_full = std::numeric_limits<Delta>::max();
  static constexpr Delta next_block = in_full - 1;

  struct Cursor {
    std::int64_t width, most;
    std::int64_t time;  // of the stamp `most` places back
    const Delta* at;    // the difference that leads on from it
    std::int64_t block;
  };

  void begin(std::int64_t t) {
    started_ = true;
    add_block();
    for (Cursor& c : cursors_) {
      c.time = t;
      c.at = tail_;
      c.block = last_block_;
    }
  }
  void write(std::int64_t difference) {
    // One place more than the longest entry stays free for the mark that leads to the next block.
    if (end_ - tail_ < static_cast<std::ptrdiff_t>(full_items + 2)) [[unlikely]] {
      *tail_ = next_block;
      add_block();
    }
    if (difference < next_block) {
      *tail_++ = static_cast<Delta>(difference);
      return;
    }
    *tail_++ = in_full;
    auto rest = static_cast<std::uint64_t>(difference);
    for (std::size_t i = 0; i < full_items; ++i) {
      *tail_++ = static_cast<Delta>(rest);
      rest = rest >> (8 * sizeof(Delta) - 1) >> 1;
    }
  }
  void advance(Cursor& c) {
    if (*c.at < next_block) [[likely]]
      c.time += *c.at++;
    else
      advance_far(c);
  }
  void advance_far(Cursor& c) {
    if (*c.at == next_block) {
      ++c.block;
      c.at = block(c.block);
      return advance(c);
    }
    std::uint64_t difference = 0;
    for (std::size_t i = full_items; i > 0; --i)
      difference = difference << (8 * sizeof(Delta) - 1) << 1 | c.at[i];
    c.time += static_cast<std::int64_t>(difference);
    c.at += 1 + full_items;
  }

  Delta* block(std::int64_t number) { return blocks_[static_cast<std::size_t>(number - first_block_)].get(); }
  void add_block() {
    std::int64_t oldest = last_block_ < 0 ? 0 : last_block_;
    if (last_block_ >= 0) {
      for (const Cursor& c : cursors_) oldest = std::min(oldest, c.block);
    }
    // Blocks that every cursor has left go to the end of the list.
    const auto passed = static_cast<std::ptrdiff_t>(oldest - first_block_);
    std::rotate(blocks_.begin(), blocks_.begin() + passed, blocks_.end());
    first_block_ = oldest;
    ++last_block_;
    if (static_cast<std::size_t>(last_block_ - first_block_) == blocks_.size())
      blocks_.emplace_back(new Delta[block_items]);
    tail_ = block(last_block_);
    end_ = tail_ + block_items;
  }

  std::vector<Cursor> cursors_;
  std::vector<std::unique_ptr<Delta[]>> blocks_;  // of first_block_, first_block_ + 1 ..
  std::int64_t first_block_ = 0, last_block_ = -1;
  Delta* tail_ = nullptr;
  Delta* end_ = nullptr;
  std::int64_t last_ = 0;
  bool started_ = false;
};

}  // namespace retrygate
