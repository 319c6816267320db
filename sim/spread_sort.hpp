// Sorting numbers that are spread over a range about evenly: moments in which clients act on their own. One
// counting pass on their leading bits brings every number near its place, where many share them so does
// another on the bits that follow, and insertion does the rest.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace retrygate {

template <class T>
class SpreadSort {
 public:
  using Parts = std::span<const std::span<const T>>;

  // Puts the numbers of all parts in order into `to`, which has room for them. None is less than `least`, and
  // what lies above it has at most `bits` bits.
  void sort(Parts parts, T least, int bits, T* to) {
    const std::size_t count = count_of(parts);
    if (count <= crowd) {
      T* next = to;
      for (const auto& part : parts) next = std::copy(part.begin(), part.end(), next);
    } else {
      bring_near(parts, count, least, bits, to, 0);
    }
    if (count > 1) insert_each(to, count);
  }
  // The first pass of that alone: numbers that differ in their leading bits are in order. Returns how many
  // bits follow those.
  int distribute(Parts parts, T least, int bits, T* to) {
    return distribute(parts, count_of(parts), least, bits, to, 0);
  }

 private:
  static constexpr std::uint32_t crowd = 32;
  static constexpr int most_leading = 18;  // 1 MiB of places

  static std::size_t count_of(Parts parts) {
    std::size_t count = 0;
    for (const auto& part : parts) count += part.size();
    return count;
  }

  // The numbers of one place follow those of the place before. `used` of ends_ belong to places further up.
  int distribute(Parts parts, std::size_t count, T least, int bits, T* to, std::size_t used) {
    const int leading = std::min({bits, most_leading, static_cast<int>(std::bit_width(count))});
    const int shift = bits - leading;
    const std::size_t places = std::size_t{1} << leading;
    const auto place = [&](T number) {
      return (static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(least)) >> shift;
    };
    if (ends_.size() < used + places) ends_.resize(used + places);
    std::uint32_t* const ends = ends_.data() + used;
    std::fill_n(ends, places, 0);
    for (const auto& part : parts) {
      for (const T number : part) ++ends[place(number)];
    }
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < places; ++i) sum += std::exchange(ends[i], sum);
    for (const auto& part : parts) {
      for (const T number : part) to[ends[place(number)]++] = number;
    }
    return shift;
  }

  // The same, and once more where many share a place.
  void bring_near(Parts parts, std::size_t count, T least, int bits, T* to, std::size_t used) {
    const int shift = distribute(parts, count, least, bits, to, used);
    if (shift == 0) return;
    const std::size_t places = std::size_t{1} << (bits - shift);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < places; ++i) {
      const std::uint32_t end = ends_[used + i];
      if (end - begin > crowd) {
        crowd_.assign(to + begin, to + end);
        const std::array<std::span<const T>, 1> all = {crowd_};
        const auto from = static_cast<std::uint64_t>(least) + (std::uint64_t{i} << shift);
        bring_near(all, crowd_.size(), static_cast<T>(from), shift, to + begin, used + places);
      }
      begin = end;
    }
  }

  // Of two neighbours that are the wrong way round, as most are that are out of order, the larger is carried
  // on without a branch.
  static void insert_each(T* numbers, std::size_t count) {
    T largest = numbers[0];
    for (std::size_t i = 1; i < count; ++i) {
      const T next = numbers[i];
      const T number = std::min(largest, next);
      largest = std::max(largest, next);
      std::size_t j = i - 1;
      for (; j > 0 && numbers[j - 1] > number; --j) numbers[j] = numbers[j - 1];
      numbers[j] = number;
    }
    numbers[count - 1] = largest;
  }

  std::vector<std::uint32_t> ends_;  // of every place, in the numbers that are sorted
  std::vector<T> crowd_;
};

}  // namespace retrygate
