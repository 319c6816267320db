// The exact largest number of stamps in any half-open window [t, t + w) that begins at one of them, for
// several widths at once, while the stamps come in order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "policies/base/units.hpp"
#include "sim/lane.hpp"
#include "sim/spread_sort.hpp"

namespace retrygate {

// A maximum of M can only become M + 1, and does so exactly when the stamp M places back lies within w of the
// new one; else that place moves on by one. So each width costs one comparison per stamp, and only as many
// stamps are kept as the busiest window holds.

// For fleets whose stamps fit the caches: whole stamps, gathered until there are many; then every width goes
// over them in one loop without a branch that depends on them.
//
// Between `begin_unordered` and `end_unordered` the stamps come in any order. Then each is brought to its
// place, a short stretch of time; the stamps of one place are put in order only when it matters, where a
// window begins or ends that may be busier than those before it.
class StampWindows {
 public:
  void start(const std::vector<Duration>& widths) {
    cursors_.clear();
    // Wider than any run, and far from the end of what can be counted in.
    constexpr std::int64_t widest = std::numeric_limits<std::int64_t>::max() / 2;
    for (const Duration w : widths) cursors_.push_back({std::min(w.ns(), widest), 0});
    if (stamps_.empty() && !empty()) stamps_.resize(2 * at_once);
    kept_ = 0;
    in_order_ = true;
    loose_ = {};
    write_on(stamps_, 0);
  }
  bool empty() const { return cursors_.empty(); }

  [[gnu::always_inline]] void add(std::int64_t t) {
    *next_++ = t;
    if (next_ == end_) [[unlikely]]
      make_room();
  }
  // Room for n stamps that the caller writes itself; `added` says where they end.
  std::int64_t* room(std::size_t n) {
    while (end_ - next_ <= static_cast<std::ptrdiff_t>(n)) make_room();
    return next_;
  }
  void added(std::int64_t* end) { next_ = end; }
  void begin_unordered();
  void end_unordered(std::int64_t from, std::int64_t until);  // the stamps lie in [from, until)
  void finish() { count(); }                                  // after the last stamp
  std::int64_t most(std::size_t width) const { return cursors_[width].most; }

 private:
  static constexpr std::size_t at_once = 2048;  // at least so many between two counts
  struct Cursor {
    std::int64_t width, most;
  };
  // Stamps that are in order from place to place. A place is 2^bits ns.
  struct Loose {
    std::size_t begin = 0, end = 0;  // in stamps_
    std::int64_t from = 0;           // where the first place begins
    int bits = 0;
  };
  void make_room();
  void count();
  void keep();
  // The stamps from `begin` to `end`, and all others of their places. Returns how far they are in order.
  std::int64_t* put_in_order(std::int64_t* begin, std::int64_t* end);
  void write_on(std::vector<std::int64_t>& stamps, std::size_t from);

  std::vector<Cursor> cursors_;
  std::vector<std::int64_t> stamps_;
  std::size_t kept_ = 0;  // of the stamps: so many have been counted before
  std::int64_t* next_ = nullptr;
  std::int64_t* end_ = nullptr;
  std::vector<std::int64_t> unordered_;
  bool in_order_ = true;
  std::size_t ordered_ = 0;  // stamps before those that come in any order
  Loose loose_;
  std::vector<std::int64_t> place_;  // that is being put in order
  SpreadSort<std::int64_t> sort_;
};

// For the largest fleets: two bytes per stamp. What has been counted is kept as differences (larger ones are
// written in full), in blocks that are used again when the cursors of all widths have passed.
class DeltaWindows {
 public:
  void start(const std::vector<Duration>& widths) {
    cursors_.clear();
    for (const Duration w : widths) cursors_.push_back({w.ns(), 0, 0, nullptr, 0});
    first_block_ = 0;
    last_block_ = -1;
    tail_ = end_ = nullptr;
    gathered_ = 0;
  }
  bool empty() const { return cursors_.empty(); }

  [[gnu::always_inline]] void add(std::int64_t t) {
    fresh_[gathered_++] = t;
    if (gathered_ == fresh_.size()) [[unlikely]]
      count();
  }
  void finish() { count(); }
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

  void count();
  void begin(std::int64_t t);
  void write(std::int64_t difference);
  Cursor moved_far(Cursor) const;
  Delta* block(std::int64_t number) const {
    return blocks_[static_cast<std::size_t>(number - first_block_)].get();
  }
  void add_block();

  std::vector<Cursor> cursors_;
  std::vector<std::unique_ptr<Delta[]>> blocks_;  // of first_block_, first_block_ + 1 ..
  std::int64_t first_block_ = 0, last_block_ = -1;
  Delta* tail_ = nullptr;
  Delta* end_ = nullptr;
  std::int64_t last_ = 0;  // stamp that was counted
  std::array<std::int64_t, 1024> fresh_;
  std::size_t gathered_ = 0;  // in fresh_
};

}  // namespace retrygate
