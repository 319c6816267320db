#include "sim/queues.hpp"

namespace retrygate {

// Node i has the children 16 i .. 16 i + 15, so a level of n nodes has the numbers n .. 2 n - 1; only groups
// above a client are ever looked at.
void WinnerTree::start(std::size_t clients) {
  bits_ = client_bits(clients);
  mask_ = (std::uint64_t{1} << bits_) - 1;
  clients_ = clients;
  leaves_ = 1;
  while (leaves_ < clients) leaves_ *= fan;
  nodes_.fit(2 * leaves_);
  std::size_t groups = groups_of(clients);
  for (std::size_t level = leaves_; level > 1; level /= fan, groups = groups_of(groups))
    std::fill_n(nodes_.data() + level, fan * groups, none);
  nodes_[1] = none;
  attempts_.resize(clients);
  planted_ = 0;
}

void WinnerTree::grow() {
  if (planted_ == 1)
    set(last_planted_, nodes_[leaves_ + last_planted_]);
  else
    find_winners();
  planted_ = 0;
}

void WinnerTree::find_winners() {
  double* const nodes = nodes_.data();
  std::size_t groups = groups_of(clients_);
  for (std::size_t level = leaves_; level > 1; level /= fan, groups = groups_of(groups)) {
    for (std::size_t i = level / fan; i < level / fan + groups; ++i) nodes[i] = least_of(nodes + fan * i);
  }
}

void BucketRing::start(std::size_t clients) {
  const int client_bits = std::max(1, static_cast<int>(std::bit_width(clients - 1)));
  attempt_bits_ = 64 - width_bits - client_bits;
  client_mask_ = (std::uint64_t{1} << client_bits) - 1;
  attempt_mask_ = (std::uint64_t{1} << attempt_bits_) - 1;
  current_ = -1;
  base_ = 0;
  at_ = count_ = 0;
  next_ = never;
  tails_.assign(buckets, none);
  occupied_.assign(buckets / 64, 0);
  // One event a client, and every bucket may have a chunk that is not full.
  words_.fit((clients / last_word + buckets + 1) * chunk_words);
  used_ = 0;
  free_ = none;
  late_.start();
  beyond_.clear();
  beyond_first_ = never;
  settle();
}

std::uint32_t BucketRing::fresh_chunk(std::uint32_t tail, std::int64_t bucket) {
  std::uint32_t fresh = free_;
  if (fresh != none) {
    free_ = static_cast<std::uint32_t>(words_[fresh + last_word]);
  } else {
    fresh = used_;
    used_ += chunk_words;
  }
  words_[fresh + last_word] = tail;
  const auto place = static_cast<std::size_t>(bucket & (buckets - 1));
  occupied_[place / 64] |= std::uint64_t{1} << place % 64;
  return fresh;
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
  at_ = count_ = 0;
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
  parts_.clear();
  count_ = 0;
  for (std::uint32_t tail = tails_[place]; tail != none;) {
    const std::uint32_t used = tail % chunk_words, chunk = tail - used;
    parts_.push_back({&words_[chunk], used});
    count_ += used;
    std::uint64_t& link = words_[chunk + last_word];
    tail = static_cast<std::uint32_t>(link);
    link = free_;
    free_ = chunk;
  }
  tails_[place] = none;
  if (count_ > sorted_.size()) sorted_.fit(2 * count_);
  // The offsets are the leading bits.
  sort_.sort(parts_, 0, 64, sorted_.data());
  next_ = never;
  settle();
}

}  // namespace retrygate
