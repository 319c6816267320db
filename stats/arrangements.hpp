// Every way to part n things into two groups, and random ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "policies/base/rng.hpp"
#include "stats/parallel.hpp"

namespace retrygate::stats {

// n over k, or the largest number when that does not fit.
inline std::uint64_t choose(std::uint64_t n, std::uint64_t k) {
  uint128 all = 1;
  for (std::uint64_t i = 1; i <= std::min(k, n - k); ++i) {
    all = all * (n - i + 1) / i;
    if (all > std::numeric_limits<std::uint64_t>::max()) return std::numeric_limits<std::uint64_t>::max();
  }
  return static_cast<std::uint64_t>(all);
}

using Flags = std::vector<char>;  // 1: in the first group

// visit(flags) for each of the choose(n, m) ways to put m of n things into the first group.
template <class Visit>
void for_each_split(std::size_t n, std::size_t m, const Visit& visit) {
  Flags flags(n, 0);
  std::fill_n(flags.begin(), m, 1);
  do {
    visit(flags);
  } while (std::prev_permutation(flags.begin(), flags.end()));
}

// How Monte Carlo draws are made; the same result on any number of threads.
struct Draws {
  std::uint64_t count = 100'000;
  Seed seed{1};
  unsigned threads = 1;  // 0 is one per core
};

// Runs `work(rng, draws of this piece, sum)` on pieces of the draws, each with randomness of its own, and
// adds up the sums.
template <class Sum, class Work>
Sum over_draws(const Draws& draws, const Work& work) {
  constexpr std::uint64_t piece = 4096;
  const std::uint64_t pieces = (draws.count + piece - 1) / piece;
  std::vector<Sum> sums(pieces);
  const StreamKey stream(draws.seed, Stream::permutation);
  in_parallel(pieces, draws.threads, [&](std::size_t i) {
    Rng rng = stream.at(i);
    work(rng, std::min(piece, draws.count - i * piece), sums[i]);
  });
  Sum total{};
  for (const Sum& sum : sums) total += sum;
  return total;
}

// Brings a random choice of m things to the front, in any order (Fisher and Yates); other things stay behind.
template <class T>
void choose_at_random(std::vector<T>& things, std::size_t m, Rng& rng) {
  for (std::size_t i = 0; i < m; ++i)
    std::swap(things[i], things[i + static_cast<std::size_t>(rng.below(things.size() - i))]);
}

}  // namespace retrygate::stats
