#include "stats/signed_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/distributions.hpp"

namespace retrygate::stats {
namespace {

// Twice the midranks of |x|, which are whole numbers.
std::vector<std::size_t> doubled_midranks(std::span<const double> x) {
  std::vector<std::size_t> order(x.size()), ranks(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::abs(x[a]) < std::abs(x[b]); });
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && std::abs(x[order[end]]) == std::abs(x[order[begin]])) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = begin + 1 + end;
    begin = end;
  }
  return ranks;
}

// P(sum >= least), each rank in or out with probability 1/2.
double upper_tail(const std::vector<std::size_t>& ranks, std::size_t least) {
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<double> law(total + 1);
  law[0] = 1;
  std::size_t reach = 0;
  for (const std::size_t rank : ranks) {
    reach += rank;
    for (std::size_t s = reach + 1; s-- > 0;) law[s] = 0.5 * law[s] + (s >= rank ? 0.5 * law[s - rank] : 0.0);
  }
  double tail = 0;
  for (std::size_t s = total + 1; s-- > least;) tail += law[s];
  return std::min(1.0, tail);
}

}  // namespace

SignedRank signed_rank(std::span<const double> differences) {
  const std::vector<std::size_t> all = doubled_midranks(differences);
  std::vector<std::size_t> ranks;
  std::size_t plus = 0, total = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    if (differences[i] == 0) continue;
    ranks.push_back(all[i]);
    total += all[i];
    if (differences[i] > 0) plus += all[i];
  }
  SignedRank result;
  result.v_plus = static_cast<double>(plus) / 2;
  result.method = "exact";
  if (ranks.empty()) {
    result.degenerate = true;
    return result;
  }
  if (ranks.size() <= signed_rank_exact_limit) {
    result.p_greater = upper_tail(ranks, plus);
    result.p_less = upper_tail(ranks, total - plus);  // the law is symmetric
  } else {
    result.method = "normal";
    double squares = 0;
    for (const std::size_t rank : ranks) squares += static_cast<double>(rank) * static_cast<double>(rank);
    const double sd = std::sqrt(squares / 16);
    const double distance = result.v_plus - static_cast<double>(total) / 4;
    result.p_greater = normal_sf((distance - 0.5) / sd);
    result.p_less = normal_sf((-distance - 0.5) / sd);
  }
  result.p_two_sided = std::min(1.0, 2 * std::min(result.p_less, result.p_greater));
  return result;
}

}  // namespace retrygate::stats
