#include "sim/window.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

namespace retrygate {

void StampWindows::count() {
  if (cursors_.empty()) return;
  constexpr std::ptrdiff_t several = 8;
  std::int64_t* const fresh = stamps_.data() + kept_;
  // Where the order within a place is open, a stamp may stand for any other of its place.
  const std::int64_t slack = 2 * ((std::int64_t{1} << loose_.bits) - 1);
  for (Cursor& c : cursors_) {
    // The stamp that lies `most` places back follows by one place, unless the maximum rises.
    std::int64_t* back = fresh - c.most;
    std::int64_t* s = fresh;
    std::int64_t *back_ordered = back, *s_ordered = s;
    while (s != next_) {
      if (next_ - s >= several) {
        // Mostly it rises with all of them, while the width reaches back to the first stamps, or with none.
        if (s[several - 1] - *back < c.width - slack) {
          s += several;
          continue;
        }
        std::int64_t short_of = 0;
        for (std::ptrdiff_t i = 0; i < several; ++i) short_of |= s[i] - back[i] - c.width - slack;
        if (short_of >= 0) {
          s += several;
          back += several;
          continue;
        }
      }
      const std::ptrdiff_t n = std::min(several, next_ - s);
      s_ordered = put_in_order(std::max(s, s_ordered), s + n);
      back_ordered = put_in_order(std::max(back, back_ordered), back + n);
      for (const std::int64_t* const end = s + n; s != end; ++s) back += *s - *back < c.width ? 0 : 1;
    }
    c.most = next_ - back;
  }
}

// The next stamps are compared with the last `most` ones.
void StampWindows::keep() {
  std::int64_t most = 0;
  for (const Cursor& c : cursors_) most = std::max(most, c.most);
  const auto all = static_cast<std::size_t>(next_ - stamps_.data());
  const std::size_t keep = std::min(static_cast<std::size_t>(most), all);
  put_in_order(next_ - keep, next_);
  loose_ = {};
  std::copy(next_ - keep, next_, stamps_.data());
  if (stamps_.size() < 2 * keep + at_once) stamps_.resize(2 * (2 * keep + at_once));
  kept_ = keep;
  write_on(stamps_, keep);
}

std::int64_t* StampWindows::put_in_order(std::int64_t* begin, std::int64_t* end) {
  std::int64_t* const first = std::max(begin, stamps_.data() + loose_.begin);
  std::int64_t* const last = stamps_.data() + loose_.end;
  if (first >= std::min(end, last)) return std::max(begin, end);
  const auto place = [&](std::int64_t stamp) { return (stamp - loose_.from) >> loose_.bits; };
  std::int64_t* at = first;
  while (at > stamps_.data() + loose_.begin && place(at[-1]) == place(*first)) --at;
  while (at < std::min(end, last)) {
    std::int64_t* const from = at;
    const std::int64_t here = place(*from);
    while (at < last && place(*at) == here) ++at;
    if (std::is_sorted(from, at)) continue;
    place_.assign(from, at);
    const std::array<std::span<const std::int64_t>, 1> parts = {place_};
    sort_.sort(parts, loose_.from + (here << loose_.bits), loose_.bits, from);
  }
  return std::max(at, end);
}

void StampWindows::write_on(std::vector<std::int64_t>& stamps, std::size_t from) {
  next_ = stamps.data() + from;
  end_ = stamps.data() + stamps.size();
}

void StampWindows::make_room() {
  if (in_order_) {
    count();
    return keep();
  }
  const auto written = static_cast<std::size_t>(next_ - unordered_.data());
  unordered_.resize(2 * unordered_.size());
  write_on(unordered_, written);
}

void StampWindows::begin_unordered() {
  if (empty()) return;
  put_in_order(stamps_.data() + loose_.begin, stamps_.data() + loose_.end);
  in_order_ = false;
  ordered_ = static_cast<std::size_t>(next_ - stamps_.data());
  if (unordered_.empty()) unordered_.resize(at_once);
  write_on(unordered_, 0);
}

void StampWindows::end_unordered(std::int64_t from, std::int64_t until) {
  if (empty()) return;
  in_order_ = true;
  const std::array parts = {std::span<const std::int64_t>(unordered_.data(), next_)};
  const std::size_t stamps = ordered_ + parts[0].size();
  // At least one place stays free.
  if (stamps_.size() <= stamps) stamps_.resize(2 * stamps);
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(until - from)));
  loose_ = {ordered_, stamps, from, sort_.distribute(parts, from, bits, stamps_.data() + ordered_)};
  write_on(stamps_, stamps);
}

void DeltaWindows::begin(std::int64_t t) {
  add_block();
  for (Cursor& c : cursors_) {
    c.time = t;
    c.at = tail_;
    c.block = last_block_;
  }
}

void DeltaWindows::write(std::int64_t difference) {
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

void DeltaWindows::add_block() {
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

// A difference in full, or the next block.
DeltaWindows::Cursor DeltaWindows::moved_far(Cursor c) const {
  if (*c.at == next_block) {
    ++c.block;
    c.at = block(c.block);
    if (*c.at != in_full) {
      c.time += *c.at++;
      return c;
    }
  }
  std::uint64_t difference = 0;
  for (std::size_t i = full_items; i > 0; --i)
    difference = difference << (8 * sizeof(Delta) - 1) << 1 | c.at[i];
  c.time += static_cast<std::int64_t>(difference);
  c.at += 1 + full_items;
  return c;
}

void DeltaWindows::count() {
  const auto fresh = std::span(fresh_).first(gathered_);
  gathered_ = 0;
  if (cursors_.empty() || fresh.empty()) return;
  auto following = fresh;  // the first stamp of all follows none
  if (last_block_ < 0) {
    begin(fresh.front());
    last_ = fresh.front();
    following = fresh.subspan(1);
  }
  for (const std::int64_t t : following) {
    write(t - last_);
    last_ = t;
  }
  for (Cursor& kept : cursors_) {
    Cursor c = kept;
    for (const std::int64_t t : fresh) {
      if (t - c.time < c.width)
        ++c.most;
      else if (*c.at < next_block) [[likely]]
        c.time += *c.at++;
      else
        c = moved_far(c);
    }
    kept = c;
  }
}

}  // namespace retrygate
