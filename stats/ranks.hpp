// Ranks, and the order statistics of all pairs, without writing the pairs down.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace retrygate::stats {

// Equal values share the mean of their ranks; twice that is a whole number.
struct Midranks {
  std::vector<std::int64_t> doubled;  // in the order of the values
  std::vector<std::int64_t> ties;     // how many values are equal, in rising order of the values
  double tie_sum() const;             // sum of t^3 - t
};
Midranks midranks(std::span<const double>);

// All sums a[i] + b[j], or the means (x[i] + x[j]) / 2 with i <= j (Walsh averages). The k-th smallest, k
// from 1.
class PairSums {
 public:
  static PairSums differences(std::span<const double> x, std::span<const double> y);  // x[i] - y[j]
  static PairSums walsh(std::span<const double> x);
  std::uint64_t size() const;
  double smallest(std::uint64_t k) const;
  double median() const;

 private:
  std::uint64_t up_to(double limit) const;  // how many are at most `limit`
  double pair(std::size_t i, std::size_t j) const;

  std::vector<double> a_, b_;  // sorted
  bool walsh_ = false;
};

}  // namespace retrygate::stats
