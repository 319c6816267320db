#include "stats/ranks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace retrygate::stats {
namespace {

// Doubles in their order as whole numbers, for bisection to the last bit.
std::int64_t place(double v) {
  const auto bits = std::bit_cast<std::int64_t>(v == 0 ? 0.0 : v);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}
double at_place(std::int64_t place) {
  return std::bit_cast<double>(place >= 0 ? place : std::numeric_limits<std::int64_t>::min() - place);
}

}  // namespace

double Midranks::tie_sum() const {
  double sum = 0;
  for (const std::int64_t t : ties) sum += static_cast<double>(t) * static_cast<double>(t * t - 1);
  return sum;
}

Midranks midranks(std::span<const double> x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  Midranks ranks{std::vector<std::int64_t>(x.size()), {}};
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && x[order[end]] == x[order[begin]]) ++end;
    // Ranks begin + 1 .. end; twice their mean is the sum of the ends.
    for (std::size_t i = begin; i < end; ++i)
      ranks.doubled[order[i]] = static_cast<std::int64_t>(begin + 1 + end);
    ranks.ties.push_back(static_cast<std::int64_t>(end - begin));
    begin = end;
  }
  return ranks;
}

PairSums PairSums::differences(std::span<const double> x, std::span<const double> y) {
  PairSums pairs;
  pairs.a_.assign(x.begin(), x.end());
  for (const double v : y) pairs.b_.push_back(-v);
  std::sort(pairs.a_.begin(), pairs.a_.end());
  std::sort(pairs.b_.begin(), pairs.b_.end());
  return pairs;
}

PairSums PairSums::walsh(std::span<const double> x) {
  PairSums pairs;
  pairs.a_.assign(x.begin(), x.end());
  std::sort(pairs.a_.begin(), pairs.a_.end());
  pairs.b_ = pairs.a_;
  pairs.walsh_ = true;
  return pairs;
}

std::uint64_t PairSums::size() const {
  const std::uint64_t n = a_.size();
  return walsh_ ? n * (n + 1) / 2 : n * b_.size();
}

double PairSums::pair(std::size_t i, std::size_t j) const {
  return walsh_ ? std::midpoint(a_[i], b_[j]) : a_[i] + b_[j];
}

// Rounding keeps the order of sums, so the pairs of a row that are at most the limit are its first ones, and
// fewer in each next row.
std::uint64_t PairSums::up_to(double limit) const {
  std::uint64_t count = 0;
  std::size_t end = b_.size();
  for (std::size_t i = 0; i < a_.size(); ++i) {
    while (end > 0 && pair(i, end - 1) > limit) --end;
    if (walsh_ && end <= i) break;
    count += walsh_ ? end - i : end;
  }
  return count;
}

double PairSums::smallest(std::uint64_t k) const {
  std::int64_t low = place(pair(0, 0)), high = place(pair(a_.size() - 1, b_.size() - 1));
  while (low < high) {
    const std::int64_t middle = std::midpoint(low, high);
    if (up_to(at_place(middle)) >= k)
      high = middle;
    else
      low = middle + 1;
  }
  return at_place(low);
}

double PairSums::median() const {
  const double low = smallest((size() + 1) / 2), high = smallest(size() / 2 + 1);
  return low == high ? low : std::midpoint(low, high);
}

}  // namespace retrygate::stats
