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

// Things dealt to groups: labels[i] is the group of thing i.
using Labels = std::vector<unsigned char>;

// The first labelling: group 0 first.
inline Labels labels_of(const std::vector<std::size_t>& sizes) {
  Labels labels;
  for (std::size_t group = 0; group < sizes.size(); ++group)
    labels.insert(labels.end(), sizes[group], static_cast<unsigned char>(group));
  return labels;
}

// In how many ways things can be dealt to groups of these sizes, or the largest number when that does not
// fit.
inline std::uint64_t labellings(const std::vector<std::size_t>& sizes) {
  uint128 all = 1;
  std::uint64_t things = 0;
  for (const std::size_t size : sizes) {
    things += size;
    all *= choose(things, size);
    if (all > std::numeric_limits<std::uint64_t>::max()) return std::numeric_limits<std::uint64_t>::max();
  }
  return static_cast<std::uint64_t>(all);
}

// visit(labels) for each of them.
template <class Visit>
void for_each_labelling(const std::vector<std::size_t>& sizes, const Visit& visit) {
  Labels labels = labels_of(sizes);
  do {
    visit(labels);
  } while (std::next_permutation(labels.begin(), labels.end()));
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
