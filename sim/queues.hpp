// The wake-ups of a fleet: for every waiting client the moment its next request reaches the server. This is
// the one large queue of a run; what fits it depends on the size of the fleet. All three give the same order:
// by time, then client, call and attempt.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "policies/base/error.hpp"
#include "sim/order.hpp"

namespace retrygate {

struct Wake {
  std::int64_t time = never;  // ns
  std::uint32_t client = 0;
  std::uint32_t call = 0;
  std::uint32_t attempt = 0;
  std::uint32_t slot = 0;  // where the state of the call is kept

  Order order(Turn turn) const { return {time, turn, client, call, attempt}; }
  // Within one queue or lane all have the same turn.
  friend bool operator<(const Wake& a, const Wake& b) {
    return a.order(Turn::arrival) < b.order(Turn::arrival);
  }
};

// A winner tree with one leaf per client: the key is time and client in one word, every node holds the least
// key below it. Moving a client is one walk from its leaf to the root without a branch that could be
// mispredicted. A client has at most one wake-up.
class WinnerTree {
 public:
  using Delta = std::uint32_t;  // of the arrival stamps, see window.hpp

  static int client_bits(std::size_t clients) { return static_cast<int>(std::bit_width(clients - 1)); }

  void start(std::size_t clients) {
    bits_ = client_bits(clients);
    mask_ = (std::uint64_t{1} << bits_) - 1;
    leaves_ = std::size_t{1} << bits_;
    nodes_.assign(2 * leaves_, empty_key);
    attempts_.assign(clients, 0);
  }
  static constexpr bool ready() { return true; }
  void load() {}
  static bool fits(std::size_t clients, std::int64_t horizon) {
    return std::bit_width(static_cast<std::uint64_t>(horizon)) + client_bits(clients) < 64;
  }
  std::int64_t time() const {
    return nodes_[1] == empty_key ? never : static_cast<std::int64_t>(nodes_[1] >> bits_);
  }
  Wake top() const {
    const auto client = static_cast<std::uint32_t>(nodes_[1] & mask_);
    return {static_cast<std::int64_t>(nodes_[1] >> bits_), client, 0, attempts_[client], client};
  }
  void drop() { set(nodes_[1] & mask_, empty_key); }
  void replace(const Wake& w) { push(w); }  // of the same client
  void push(const Wake& w) {
    attempts_[w.client] = w.attempt;
    set(w.client, static_cast<std::uint64_t>(w.time) << bits_ | w.client);
  }

 private:
  static constexpr std::uint64_t empty_key = ~std::uint64_t{0};

  void set(std::uint64_t client, std::uint64_t key) {
    std::uint64_t* const nodes = nodes_.data();
    for (std::size_t i = leaves_ + client; i > 1; i >>= 1) {
      nodes[i] = key;
      const std::uint64_t sibling = nodes[i ^ 1];
      key = sibling < key ? sibling : key;  // a conditional move: with std::min it is a jump
    }
    nodes[1] = key;
  }

  int bits_ = 0;
  std::uint64_t mask_ = 0;
  std::size_t leaves_ = 1;
  std::vector<std::uint64_t> nodes_;     // 1 is the root, the leaves begin at leaves_
  std::vector<std::uint32_t> attempts_;  // of the client's wake-up
};

// A heap with four children per node, for calls that come and go: as large as what is under way.
class WakeHeap {
 public:
  using Delta = std::uint32_t;

  void start(std::size_t /*clients*/ = 0) { items_.clear(); }
  static constexpr bool ready() { return true; }
  void load() {}
  std::int64_t time() const { return items_.empty() ? never : items_[0].time; }
  const Wake& top() const { return items_[0]; }
  void drop() {
    const Wake last = items_.back();
    items_.pop_back();
    if (!items_.empty()) sink(last);
  }
  void replace(const Wake& w) { sink(w); }
  void push(const Wake& w) {
    std::size_t i = items_.size();
    items_.push_back(w);
    for (; i > 0 && w < items_[(i - 1) / 4]; i = (i - 1) / 4) items_[i] = items_[(i - 1) / 4];
    items_[i] = w;
  }

 private:
  void sink(const Wake& w) {
    std::size_t i = 0;
    for (;;) {
      const std::size_t first = 4 * i + 1, end = std::min(first + 4, items_.size());
      if (first >= end) break;
      std::size_t least = first;
      for (std::size_t j = first + 1; j < end; ++j) least = items_[j] < items_[least] ? j : least;
      if (!(items_[least] < w)) break;
      items_[i] = items_[least];
      i = least;
    }
    items_[i] = w;
  }

  std::vector<Wake> items_;
};

// A ring of time buckets for large fleets. An event of a bucket is one word: offset in the bucket, client,
// attempt. A bucket is sorted when its time comes. What falls into the bucket that is being processed, and
// attempt numbers too large for the word, go to a small heap; what lies beyond the ring waits in a list until
// the ring gets there.
class BucketRing {
 public:
  using Delta = std::uint16_t;

  void start(std::size_t clients);
  // A lower bound until the bucket is loaded: loading waits until the bucket's time has come, because what is
  // pushed later into a loaded bucket has to go to the heap.
  std::int64_t time() const { return time_; }
  bool ready() const { return ready_; }
  void load();
  Wake top() const { return from_late_ ? late_.top() : unpacked(sorted_[at_]); }
  void drop() {
    if (from_late_)
      late_.drop();
    else if (++at_ == sorted_.size())
      next_ = next_bucket();
    settle();
  }
  void replace(const Wake& w) {
    put(w);
    drop();
  }
  void push(const Wake& w) {
    put(w);
    settle();
  }

 private:
  static constexpr int width_bits = 18;  // a bucket is 262 us
  static constexpr int ring_bits = 15;   // the ring is 8.6 s
  static constexpr std::int64_t buckets = std::int64_t{1} << ring_bits;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Chunk {  // 256 bytes
    std::uint64_t events[31];
    std::uint32_t next;
  };
  struct Head {
    std::uint32_t chunk = none;
    std::uint32_t used = 0;  // in that chunk; those behind it are full
  };
  static constexpr std::size_t slab_chunks = 4096;

  Chunk& chunk(std::uint32_t i) { return slabs_[i / slab_chunks][i % slab_chunks]; }
  Wake unpacked(std::uint64_t event) const {
    const auto client = static_cast<std::uint32_t>(event >> attempt_bits_ & client_mask_);
    return {base_ + static_cast<std::int64_t>(event >> (attempt_bits_ + client_bits_)), client, 0,
            static_cast<std::uint32_t>(event & attempt_mask_), client};
  }
  void put(const Wake& w) {
    const std::int64_t bucket = w.time >> width_bits;
    if (bucket <= current_ || w.attempt > attempt_mask_) [[unlikely]]
      return late_.push(w);
    next_ = std::min(next_, bucket);
    if (bucket - current_ >= buckets) [[unlikely]] {
      beyond_first_ = std::min(beyond_first_, bucket);
      return beyond_.push_back(w);
    }
    Head& head = heads_[static_cast<std::size_t>(bucket & (buckets - 1))];
    if (head.chunk == none || head.used == std::size(Chunk{}.events)) add_chunk(head, bucket);
    const auto offset = static_cast<std::uint64_t>(w.time & ((1 << width_bits) - 1));
    chunk(head.chunk).events[head.used++] = (offset << client_bits_ | w.client) << attempt_bits_ | w.attempt;
  }
  void settle() {
    const bool loaded = at_ != sorted_.size();
    const std::int64_t late = late_.time();
    std::int64_t here = never;
    if (loaded)
      here = base_ + static_cast<std::int64_t>(sorted_[at_] >> (attempt_bits_ + client_bits_));
    else if (next_ != never)
      here = next_ << width_bits;
    from_late_ = late < here || (loaded && late == here && late_.top() < unpacked(sorted_[at_]));
    ready_ = from_late_ || loaded;
    time_ = std::min(late, here);
  }
  void add_chunk(Head&, std::int64_t bucket);
  std::int64_t next_bucket() const { return std::min(next_in_ring(), beyond_first_); }
  std::int64_t next_in_ring() const;  // never when the ring is empty
  void take_in_beyond();              // what now lies inside the ring
  void sort();

  int client_bits_ = 0, attempt_bits_ = 0;
  std::uint64_t client_mask_ = 0, attempt_mask_ = 0;
  std::int64_t current_ = -1;  // number of the bucket in sorted_
  std::int64_t base_ = 0;      // its start
  std::vector<std::uint64_t> sorted_, unsorted_;
  std::size_t at_ = 0;
  std::int64_t next_ = never;  // the next bucket that holds something, while sorted_ is used up
  std::vector<std::uint32_t> counts_;
  bool from_late_ = false, ready_ = false;
  std::int64_t time_ = never;

  std::vector<Head> heads_;
  std::vector<std::uint64_t> occupied_;  // one bit per bucket
  std::vector<std::unique_ptr<Chunk[]>> slabs_;
  std::uint32_t chunks_ = 0, free_ = none;
  WakeHeap late_;
  std::vector<Wake> beyond_;
  std::int64_t beyond_first_ = never;  // the first bucket of those
};

}  // namespace retrygate
