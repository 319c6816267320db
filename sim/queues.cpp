#include "sim/queues.hpp"

namespace retrygate {

void BucketRing::start(std::size_t clients) {
  client_bits_ = std::max(1, static_cast<int>(std::bit_width(clients - 1)));
  attempt_bits_ = 64 - width_bits - client_bits_;
  client_mask_ = (std::uint64_t{1} << client_bits_) - 1;
  attempt_mask_ = (std::uint64_t{1} << attempt_bits_) - 1;
  current_ = -1;
  base_ = 0;
  sorted_.clear();
  at_ = 0;
  next_ = never;
  heads_.assign(buckets, {});
  occupied_.assign(buckets / 64, 0);
  chunks_ = 0;
  free_ = none;
  late_.start();
  beyond_.clear();
  beyond_first_ = never;
  settle();
}

void BucketRing::add_chunk(Head& head, std::int64_t bucket) {
  std::uint32_t fresh = free_;
  if (fresh != none) {
    free_ = chunk(fresh).next;
  } else {
    fresh = chunks_++;
    if (fresh / slab_chunks == slabs_.size()) slabs_.emplace_back(new Chunk[slab_chunks]);  // not cleared
  }
  chunk(fresh).next = head.chunk;
  head = {fresh, 0};
  const auto place = static_cast<std::size_t>(bucket & (buckets - 1));
  occupied_[place / 64] |= std::uint64_t{1} << place % 64;
}

std::int64_t BucketRing::next_in_ring() const {
  const auto from = static_cast<std::size_t>((current_ + 1) & (buckets - 1));
  const std::size_t words = occupied_.size();
  std::uint64_t word = occupied_[from / 64] & ~std::uint64_t{0} << from % 64;
  for (std::size_t i = 0; i <= words; ++i) {
    const std::size_t w = (from / 64 + i) % words;
    if (i > 0) word = occupied_[w];
    // The first word is met again at the end, for the places before `from`.
    if (i == words) word &= ~(~std::uint64_t{0} << from % 64);
    if (word == 0) continue;
    const std::size_t place = w * 64 + static_cast<std::size_t>(std::countr_zero(word));
    return current_ + 1 + static_cast<std::int64_t>((place - from) & (buckets - 1));
  }
  return never;
}

void BucketRing::take_in_beyond() {
  std::vector<Wake> all = std::move(beyond_);
  beyond_.clear();
  beyond_first_ = never;
  for (const Wake& w : all) put(w);
}

void BucketRing::load() {
  sorted_.clear();
  at_ = 0;
  if (beyond_first_ == next_) {
    // Nothing lies before it, so the ring may turn until it is the next one.
    current_ = next_ - 1;
    take_in_beyond();
  }
  const std::int64_t bucket = next_;
  current_ = bucket;
  base_ = bucket << width_bits;
  const auto place = static_cast<std::size_t>(bucket & (buckets - 1));
  occupied_[place / 64] &= ~(std::uint64_t{1} << place % 64);
  Head& head = heads_[place];
  for (std::size_t used = head.used; head.chunk != none; used = std::size(Chunk{}.events)) {
    Chunk& c = chunk(head.chunk);
    unsorted_.insert(unsorted_.end(), c.events, c.events + used);
    const std::uint32_t emptied = head.chunk;
    head.chunk = c.next;
    c.next = free_;
    free_ = emptied;
  }
  sort();
  next_ = never;
  settle();
}

// Counting sort on the leading bits of the offset, then insertion; where too many share those bits,
// std::sort.
void BucketRing::sort() {
  constexpr std::uint32_t crowded = 32;
  const std::size_t n = unsorted_.size();
  sorted_.resize(n);
  if (n <= crowded) {
    sorted_.swap(unsorted_);
    std::sort(sorted_.begin(), sorted_.end());
    unsorted_.clear();
    return;
  }
  const int bits = std::min(width_bits, static_cast<int>(std::bit_width(n)) - 1);
  const int shift = 64 - bits;
  counts_.assign((std::size_t{1} << bits) + 1, 0);
  for (const std::uint64_t event : unsorted_) ++counts_[(event >> shift) + 1];
  const std::uint32_t most = *std::max_element(counts_.begin(), counts_.end());
  if (most > crowded) {
    sorted_.swap(unsorted_);
    std::sort(sorted_.begin(), sorted_.end());
    unsorted_.clear();
    return;
  }
  for (std::size_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
  for (const std::uint64_t event : unsorted_) sorted_[counts_[event >> shift]++] = event;
  for (std::size_t i = 1; i < n; ++i) {
    const std::uint64_t event = sorted_[i];
    std::size_t j = i;
    for (; j > 0 && sorted_[j - 1] > event; --j) sorted_[j] = sorted_[j - 1];
    sorted_[j] = event;
  }
  unsorted_.clear();
}

}  // namespace retrygate
