#include "stats/signed_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"
#include "stats/rank_law.hpp"
#include "stats/ranks.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

constexpr std::size_t law_limit = 1000;  // 2^-n is still a double

// P(sum = 0), P(sum = 1) .. when each rank is in or out with probability 1/2.
std::vector<double> law_of(const std::vector<std::int64_t>& ranks) {
  const std::int64_t total = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  std::vector<double> law(static_cast<std::size_t>(total) + 1);
  law[0] = 1;
  std::size_t reach = 0;
  for (const std::int64_t signed_rank : ranks) {
    const auto rank = static_cast<std::size_t>(signed_rank);
    reach += rank;
    for (std::size_t s = reach + 1; s-- > 0;) law[s] = 0.5 * law[s] + (s >= rank ? 0.5 * law[s - rank] : 0.0);
  }
  return law;
}

// P(sum <= most); by symmetry also P(sum >= total - most).
double lower_tail(const std::vector<double>& law, std::int64_t most) {
  double tail = 0;
  for (std::int64_t s = 0; s <= most; ++s) tail += law[static_cast<std::size_t>(s)];
  return std::min(1.0, tail);
}

// The doubled midranks that are summed, and the sum over the positive differences.
struct SignedRanks {
  std::vector<std::int64_t> used;
  std::int64_t plus = 0, total = 0;
  std::size_t zeros = 0;
};

SignedRanks ranks_of(std::span<const double> differences, Zeros zeros) {
  SignedRanks r;
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double d : differences) {
    if (d == 0) ++r.zeros;
    if (d == 0 && zeros == Zeros::wilcoxon) continue;
    sizes.push_back(std::abs(d));
    positive.push_back(d > 0);
  }
  const Midranks ranks = midranks(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    r.used.push_back(ranks.doubled[i]);
    r.total += ranks.doubled[i];
    if (positive[i]) r.plus += ranks.doubled[i];
  }
  return r;
}

NormalRankTest normal_of(const SignedRanks& ranks) {
  double squares = 0;
  for (const std::int64_t rank : ranks.used) squares += static_cast<double>(rank) * static_cast<double>(rank);
  return normal_rank_test(static_cast<double>(ranks.plus) / 2, static_cast<double>(ranks.total) / 4,
                          squares / 16);
}

std::int64_t signed_count(std::size_t n) { return static_cast<std::int64_t>(n); }

SignedRank statistic_of(const SignedRanks& ranks) {
  SignedRank result;
  result.v_plus = static_cast<double>(ranks.plus) / 2;
  result.v_minus = static_cast<double>(ranks.total - ranks.plus) / 2;
  result.n_used = ranks.used.size();
  result.n_zero = ranks.zeros;
  return result;
}

SignedRank exact_of(const SignedRanks& ranks) {
  SignedRank result = statistic_of(ranks);
  result.method = "exact";
  if (ranks.used.empty()) {
    result.status = Status::degenerate;
    return result;
  }
  const std::vector<double> law = law_of(ranks.used);
  result.p_less = lower_tail(law, ranks.plus);
  result.p_greater = lower_tail(law, ranks.total - ranks.plus);
  result.p_two_sided = std::min(1.0, 2 * std::min(result.p_less, result.p_greater));
  return result;
}

}  // namespace

SignedRank signed_rank(std::span<const double> differences) {
  const SignedRanks ranks = ranks_of(differences, Zeros::pratt);
  if (ranks.used.size() <= signed_rank_exact_limit) return exact_of(ranks);
  SignedRank result = statistic_of(ranks);
  const NormalRankTest normal = normal_of(ranks);
  result.method = "normal";
  result.p_less = normal.p_less;
  result.p_greater = normal.p_greater;
  result.p_two_sided = normal.p_value;
  return result;
}

std::optional<SignedRank> signed_rank_exact(std::span<const double> differences, Zeros zeros) {
  const SignedRanks ranks = ranks_of(differences, zeros);
  if (ranks.used.size() > law_limit) return std::nullopt;
  return exact_of(ranks);
}

NormalSignedRank signed_rank_normal(std::span<const double> differences, Zeros zeros) {
  const SignedRanks ranks = ranks_of(differences, zeros);
  return {normal_of(ranks), ranks.used.size(), ranks.zeros};
}

std::optional<Shift> pseudomedian(std::span<const double> differences, double level, Law law) {
  const std::size_t n = differences.size();
  const PairSums pairs = PairSums::walsh(differences);
  const std::uint64_t size = pairs.size();
  const double alpha = (1 - level) / 2;
  Shift shift;
  shift.estimate = pairs.median();
  if (law == Law::exact) {
    if (n > law_limit) return std::nullopt;
    shift.method = "exact";
    std::vector<std::int64_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), std::int64_t{1});
    const std::vector<double> weights = law_of(ranks);
    const OrderIndex index = exact_order_index(weights, 1, alpha);
    shift.order_index = index.k;
    shift.level_achieved = 1 - 2 * index.below;
  } else {
    shift.method = "normal";
    const auto count = static_cast<double>(n);
    const double variance = count * (count + 1) * (2 * count + 1) / 24 - midranks(differences).tie_sum() / 48;
    shift.order_index = normal_order_index(size, std::sqrt(variance), alpha);
  }
  shift.low = pairs.smallest(shift.order_index);
  shift.high = pairs.smallest(size + 1 - shift.order_index);
  return shift;
}

SignTest sign_test(std::span<const double> differences, double level) {
  SignTest test;
  std::size_t negative = 0;
  for (const double d : differences) {
    test.positive += d > 0;
    negative += d < 0;
  }
  test.n_used = test.positive + negative;
  test.n_zero = differences.size() - test.n_used;
  if (test.n_used == 0) {
    test.status = Status::degenerate;
  } else {
    test.p_less = binomial_cdf(signed_count(test.positive), signed_count(test.n_used), 0.5);
    test.p_greater = binomial_cdf(signed_count(negative), signed_count(test.n_used), 0.5);
    test.p_value = std::min(1.0, 2 * std::min(test.p_less, test.p_greater));
  }
  const std::vector<double> in_order = sorted(differences);
  const std::size_t n = in_order.size();
  test.median = median(in_order);
  // The largest k with P(fewer than k values lie below the median) <= alpha / 2.
  double below = 0;
  std::size_t k = 0;
  while (2 * k < n) {
    const double tail = binomial_cdf(signed_count(k), signed_count(n), 0.5);
    if (tail > (1 - level) / 2) break;
    below = tail;
    ++k;
  }
  test.order_index = k;
  test.level_achieved = 1 - 2 * below;
  test.low = k == 0 ? -infinite : in_order[k - 1];
  test.high = k == 0 ? infinite : in_order[n - k];
  return test;
}

}  // namespace retrygate::stats
