// The wake-ups of a fleet: for every waiting client the moment its next request reaches the server. This is
// the one large queue of a run; what fits it depends on the size of the fleet. All three give the same order:
// by time, then client, call and attempt.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "policies/base/error.hpp"
#include "sim/lane.hpp"
#include "sim/order.hpp"
#include "sim/spread_sort.hpp"
#include "sim/window.hpp"
#include "sim/words.hpp"

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

// A winner tree with one leaf per client and sixteen children per node: the key is time and client in one
// number, every node holds the least key below it. Moving a client is one walk from its leaf to the root
// without a branch that could be mispredicted. A client has at most one wake-up.
//
// The keys are the bits of positive doubles, which are ordered as those are: processors find the least of
// many doubles two at a time.
class WinnerTree {
 public:
  using Stamps = StampWindows;  // of the arrivals

  static int client_bits(std::size_t clients) {
    return std::max(1, static_cast<int>(std::bit_width(clients - 1)));
  }

  void start(std::size_t clients);
  static constexpr bool ready() { return true; }
  void load() {}
  static bool fits(std::size_t clients, std::int64_t horizon) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(horizon))) + client_bits(clients) <= 61;
  }
  // Later than any horizon when it is empty.
  std::int64_t time() const { return static_cast<std::int64_t>((root() ^ normal) >> bits_); }
  Wake top() const {
    const auto client = static_cast<std::uint32_t>(root() & mask_);
    return {time(), client, 0, attempts_[client], client};
  }
  // The top, in whose place `replace` puts the same client's next wake-up, or `drop` none. Its places are
  // cleared long before they are read again.
  Wake take() {
    const Wake w = top();
    for (std::size_t i = leaves_ + w.client; i > 1; i /= fan) nodes_[i] = none;
    return w;
  }
  [[gnu::always_inline]] void drop() { set(root() & mask_, none); }
  [[gnu::always_inline]] void replace(const Wake& w) { push(w); }
  [[gnu::always_inline]] void push(const Wake& w) {
    attempts_[w.client] = w.attempt;
    set(w.client, key_of(w));
  }
  // Many pushes at once: plant each, then grow.
  void plant(const Wake& w) {
    attempts_[w.client] = w.attempt;
    nodes_[leaves_ + w.client] = key_of(w);
    last_planted_ = w.client;
    ++planted_;
  }
  void grow();
  // Gives every wake-up before `end` to play(Wake&), client by client; true: the client's next one is in its
  // place.
  template <class Play>
  void play_before(std::int64_t end, const Play& play);

 private:
  static constexpr std::size_t fan = 16;
  static constexpr std::uint64_t normal = std::uint64_t{1} << 62;  // keeps every key a normal number
  static constexpr double none = std::bit_cast<double>(std::uint64_t{0x7fe0} << 48);

  std::uint64_t root() const { return std::bit_cast<std::uint64_t>(nodes_[1]); }
  double key_of(const Wake& w) const {
    return std::bit_cast<double>((static_cast<std::uint64_t>(w.time) << bits_ | w.client) ^ normal);
  }
  static std::size_t groups_of(std::size_t nodes) { return (nodes + fan - 1) / fan; }
  // A group is two cache lines.
  [[gnu::always_inline]] static double least_of(const double* group) {
#if defined(__SSE2__)
    __m128d a = _mm_load_pd(group), b = _mm_load_pd(group + 2);
    for (std::size_t i = 4; i < fan; i += 4) {
      a = _mm_min_pd(a, _mm_load_pd(group + i));
      b = _mm_min_pd(b, _mm_load_pd(group + i + 2));
    }
    a = _mm_min_pd(a, b);
    return _mm_cvtsd_f64(_mm_min_sd(a, _mm_unpackhi_pd(a, a)));
#else
    double least = group[0];
    for (std::size_t i = 1; i < fan; ++i) least = group[i] < least ? group[i] : least;
    return least;
#endif
  }
  // The places on the way hold nothing less than `key`: they are read before they are written, as a processor
  // waits when it reads what it has just written in another width.
  [[gnu::always_inline]] void set(std::uint64_t client, double key) {
    double* const nodes = nodes_.data();
    for (std::size_t i = leaves_ + client; i > 1; i /= fan) {
      const double least = least_of(nodes + i / fan * fan);
      nodes[i] = key;
      key = least < key ? least : key;
    }
    nodes[1] = key;
  }
  void find_winners();  // of all groups

  int bits_ = 1;
  std::uint64_t mask_ = 1;
  std::size_t clients_ = 0, leaves_ = 1;  // leaves: a power of sixteen
  Words<double> nodes_;                   // [1] is the root
  std::vector<std::uint32_t> attempts_;   // of the clients
  std::size_t planted_ = 0;
  std::uint64_t last_planted_ = 0;
};

template <class Play>
void WinnerTree::play_before(std::int64_t end, const Play& play) {
  const double ends = key_of({end});
  double* const leaves = nodes_.data() + leaves_;
  for (std::uint32_t client = 0; client < clients_; ++client) {
    while (leaves[client] < ends) {
      Wake w{static_cast<std::int64_t>((std::bit_cast<std::uint64_t>(leaves[client]) ^ normal) >> bits_),
             client, 0, attempts_[client], client};
      if (play(w)) {
        attempts_[client] = w.attempt;
        leaves[client] = key_of(w);
      } else {
        leaves[client] = none;
      }
    }
  }
  find_winners();
  planted_ = 0;
}

// For calls that come and go: a heap as large as what is under way.
class WakeHeap {
 public:
  using Stamps = StampWindows;

  void start(std::size_t /*clients*/ = 0) { heap_.clear(); }
  static constexpr bool ready() { return true; }
  void load() {}
  std::int64_t time() const { return heap_.empty() ? never : heap_.top().time; }
  const Wake& top() const { return heap_.top(); }
  Wake take() const { return top(); }
  void drop() { heap_.pop(); }
  void replace(const Wake& w) { heap_.replace(w); }
  void push(const Wake& w) { heap_.push(w); }
  void plant(const Wake& w) { push(w); }
  void grow() {}

 private:
  QuadHeap<Wake> heap_;
};

// A ring of time buckets for large fleets. An event of a bucket is one word: offset in the bucket, client,
// attempt. A bucket is sorted when its time comes. What falls into the bucket that is being processed, and
// attempt numbers too large for the word, go to a small heap; what lies beyond the ring waits in a list until
// the ring gets there.
class BucketRing {
 public:
  using Stamps = DeltaWindows;

  void start(std::size_t clients);
  // A lower bound until the bucket is loaded: loading waits until the bucket's time has come, because what is
  // pushed later into a loaded bucket has to go to the heap.
  std::int64_t time() const { return time_; }
  bool ready() const { return ready_; }
  void load();
  Wake top() const { return from_late_ ? late_.top() : unpacked(sorted_[at_]); }
  Wake take() const { return top(); }
  [[gnu::always_inline]] void drop() {
    if (!from_late_ && ++at_ < count_ && late_.time() == never) [[likely]] {
      time_ = time_of(sorted_[at_]);
      return;
    }
    if (from_late_)
      late_.drop();
    else if (at_ == count_)
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
  void plant(const Wake& w) { put(w); }
  void grow() { settle(); }

 private:
  static constexpr int width_bits = 18;  // a bucket is 262 us
  static constexpr int ring_bits = 15;   // the ring is 8.6 s
  static constexpr std::int64_t buckets = std::int64_t{1} << ring_bits;
  // Events lie in chunks of 32 words; the last word says where the bucket goes on.
  static constexpr std::uint32_t chunk_words = 32, last_word = chunk_words - 1;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static_assert(none % chunk_words == last_word);  // an empty bucket looks like a full chunk

  Wake unpacked(std::uint64_t event) const {
    const auto client = static_cast<std::uint32_t>(event >> attempt_bits_ & client_mask_);
    return {time_of(event), client, 0, static_cast<std::uint32_t>(event & attempt_mask_), client};
  }
  std::int64_t time_of(std::uint64_t event) const {
    return base_ + static_cast<std::int64_t>(event >> (64 - width_bits));
  }
  [[gnu::always_inline]] void put(const Wake& w) {
    const std::int64_t bucket = w.time >> width_bits;
    if (bucket <= current_ || w.attempt > attempt_mask_) [[unlikely]]
      return late_.push(w);
    next_ = std::min(next_, bucket);
    if (bucket - current_ >= buckets) [[unlikely]] {
      beyond_first_ = std::min(beyond_first_, bucket);
      return beyond_.push_back(w);
    }
    std::uint32_t& tail = tails_[static_cast<std::size_t>(bucket & (buckets - 1))];
    if (tail % chunk_words == last_word) [[unlikely]]
      tail = fresh_chunk(tail, bucket);
    const auto offset = static_cast<std::uint64_t>(w.time) << (64 - width_bits);
    words_[tail++] = offset | std::uint64_t{w.client} << attempt_bits_ | w.attempt;
  }
  void settle() {
    const bool loaded = at_ != count_;
    const std::int64_t late = late_.time();
    std::int64_t here = never;
    if (loaded)
      here = time_of(sorted_[at_]);
    else if (next_ != never)
      here = next_ << width_bits;
    from_late_ = late < here || (loaded && late == here && late_.top() < unpacked(sorted_[at_]));
    ready_ = from_late_ || loaded;
    time_ = std::min(late, here);
  }
  std::uint32_t fresh_chunk(std::uint32_t tail, std::int64_t bucket);
  std::int64_t next_bucket() const { return std::min(next_in_ring(), beyond_first_); }
  std::int64_t next_in_ring() const;  // never when the ring is empty
  void take_in_beyond();              // what now lies inside the ring

  int attempt_bits_ = 0;
  std::uint64_t client_mask_ = 0, attempt_mask_ = 0;
  std::int64_t current_ = -1;  // number of the bucket in sorted_
  std::int64_t base_ = 0;      // its start
  Words<std::uint64_t> sorted_;
  std::size_t at_ = 0, count_ = 0;  // in sorted_
  std::int64_t next_ = never;       // the next bucket that holds something, while sorted_ is used up
  std::vector<std::span<const std::uint64_t>> parts_;  // of the bucket that is sorted
  SpreadSort<std::uint64_t> sort_;
  bool from_late_ = false, ready_ = false;
  std::int64_t time_ = never;

  std::vector<std::uint32_t> tails_;      // of every bucket: the word of its next event
  std::vector<std::uint64_t> occupied_;   // one bit per bucket
  Words<std::uint64_t> words_;            // of all chunks
  std::uint32_t used_ = 0, free_ = none;  // words in use; the first of the chunks that can be used again
  WakeHeap late_;
  std::vector<Wake> beyond_;
  std::int64_t beyond_first_ = never;  // the first bucket of those
};

}  // namespace retrygate
