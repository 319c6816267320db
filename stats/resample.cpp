#include "stats/resample.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/interval.hpp"
#include "stats/parallel.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

// What is resampled: per seed a term whose mean leads to the effect, centred so that nothing large cancels.
// Of a difference the difference less its mean; of a ratio the baseline by its mean, and what of the
// candidate the ratio of the means leaves unexplained.
struct ScaledPairs {
  std::vector<double> term;      // mean 0, the largest 1 or -1, so that squares neither overflow nor vanish
  double unit = 1;               // of the terms
  std::vector<double> baseline;  // of a ratio: mean 1
  double effect = 0;
};

void shrink(ScaledPairs& s) {
  double largest = 0;
  for (const double v : s.term) largest = std::max(largest, std::abs(v));
  if (!(largest > 0)) return;
  s.unit = largest;
  for (double& v : s.term) v /= largest;
}

void centre(std::vector<double>& x, double& taken_out) {
  // A second pass takes out what rounding left of a large offset.
  for (int pass = 0; pass < 2; ++pass) {
    const double m = mean(x);
    for (double& v : x) v -= m;
    taken_out += m;
  }
}

ScaledPairs scaled(const Pairs& pairs) {
  const std::size_t n = pairs.baseline.size();
  ScaledPairs s{std::vector<double>(n), 1, {}, 0};
  if (!pairs.relative) {
    for (std::size_t i = 0; i < n; ++i) s.term[i] = pairs.candidate[i] - pairs.baseline[i];
    centre(s.term, s.effect);
    shrink(s);
    return s;
  }
  const double unit = mean(pairs.baseline), ratio = mean(pairs.candidate) / unit;
  for (std::size_t i = 0; i < n; ++i) {
    s.baseline.push_back(pairs.baseline[i] / unit);
    s.term[i] = pairs.candidate[i] / unit - ratio * s.baseline[i];
  }
  double rest = 0;
  centre(s.term, rest);
  shrink(s);
  s.effect = ratio - 1 + rest;
  return s;
}

// What a metric needs of every seed: t, tt; of a ratio also b, bb, bt.
Eigen::Index columns_of(const Pairs& pairs) { return pairs.relative ? 5 : 2; }

struct MeanMoments {
  double t, tt, b = 1, bb = 1, bt = 0;
};

// How far the effect of a resample is off, in its own standard errors. A resample without spread says only on
// which side it lies.
double studentized(const MeanMoments& m, bool relative, double n) {
  const double off = m.t / m.b;
  const double variance = relative ? m.tt - 2 * off * m.bt + off * off * m.bb : m.tt - m.t * m.t;
  const double se = std::sqrt(std::max(0.0, variance) / (n - 1)) / std::abs(m.b);
  return se > 0 ? off / se : off > 0 ? infinite : off < 0 ? -infinite : 0;
}

// Columns that are summed together: as many as the registers of any machine of 64 bits hold.
constexpr Eigen::Index lanes = 16;
using Sums = Eigen::Array<double, lanes, 1>;
// The moments of each seed stand together, so that a drawn seed is one piece of memory.
using SeedMoments = Eigen::Array<double, lanes, Eigen::Dynamic>;

// Resamples of one piece of work: always the same, so that the sums are the same on any number of threads.
constexpr std::size_t resamples_a_block = 256;

// Places 0 .. n-1, two from each draw of 64 bits. Source: Lemire, "Fast random integer generation in an
// interval", 2019.
void draw_places(Rng& rng, std::uint32_t n, std::vector<std::uint32_t>& places) {
  const std::uint32_t short_part = (0 - n) % n;
  const auto place = [&](std::uint64_t half) {
    std::uint64_t product = half * n;
    while (static_cast<std::uint32_t>(product) < short_part) product = (rng.bits() >> 32) * n;
    return static_cast<std::uint32_t>(product >> 32);
  };
  std::size_t i = 0;
  for (; i + 1 < places.size(); i += 2) {
    const std::uint64_t bits = rng.bits();
    places[i] = place(bits >> 32);
    places[i + 1] = place(bits & 0xffffffff);
  }
  if (i < places.size()) places[i] = place(rng.bits() >> 32);
}

Sums sum_of(const SeedMoments& moments, const std::vector<std::uint32_t>& places) {
  Sums sum = Sums::Zero();
  std::size_t i = 0;
  for (; i + 3 < places.size(); i += 4)
    sum += (moments.col(places[i]) + moments.col(places[i + 1])) +
           (moments.col(places[i + 2]) + moments.col(places[i + 3]));
  for (; i < places.size(); ++i) sum += moments.col(places[i]);
  return sum;
}

}  // namespace

Studentized estimate(const Pairs& pairs) {
  const ScaledPairs s = scaled(pairs);
  const auto n = static_cast<double>(s.term.size());
  double squares = 0, cubes = 0;
  for (const double v : s.term) {
    squares += v * v;
    cubes += v * v * v;
  }
  Studentized result{s.effect, s.unit * std::sqrt(squares / (n - 1) / n), 0, {}};
  if (n > 2 && squares > 0)
    result.skewness = cubes / n / std::pow(squares / n, 1.5) * std::sqrt(n * (n - 1)) / (n - 2);
  return result;
}

std::vector<Studentized> bootstrap_t(std::span<const Pairs> metrics, int resamples, Seed seed,
                                     unsigned threads) {
  std::vector<Studentized> results;
  if (metrics.empty()) return results;
  const std::size_t n = metrics.front().baseline.size();
  RG_ASSERT(n <= std::numeric_limits<std::uint32_t>::max(), fmt::format("{} seeds", n));
  std::vector<Eigen::Index> first;  // column of each metric
  Eigen::Index columns = 0;
  for (const Pairs& metric : metrics) {
    first.push_back(columns);
    columns += columns_of(metric);
  }
  std::vector<SeedMoments> moments(static_cast<std::size_t>((columns + lanes - 1) / lanes),
                                   SeedMoments::Zero(lanes, static_cast<Eigen::Index>(n)));
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const ScaledPairs s = scaled(metrics[m]);
    for (std::size_t i = 0; i < n; ++i) {
      Eigen::Index column = first[m];
      const auto put = [&](double value) {
        moments[static_cast<std::size_t>(column / lanes)](column % lanes, static_cast<Eigen::Index>(i)) =
            value;
        ++column;
      };
      const double t = s.term[i];
      put(t);
      put(t * t);
      if (!metrics[m].relative) continue;
      const double b = s.baseline[i];
      put(b);
      put(b * b);
      put(b * t);
    }
    results.push_back(estimate(metrics[m]));
    results.back().replicates.resize(static_cast<std::size_t>(resamples));
  }
  const StreamKey stream(seed, Stream::bootstrap);
  const auto all = static_cast<std::size_t>(resamples);
  in_parallel((all + resamples_a_block - 1) / resamples_a_block, threads, [&](std::size_t block) {
    std::vector<std::uint32_t> places(n);
    Eigen::ArrayXd means(static_cast<Eigen::Index>(moments.size()) * lanes);
    const std::size_t end = std::min(all, (block + 1) * resamples_a_block);
    for (std::size_t r = block * resamples_a_block; r < end; ++r) {
      Rng rng = stream.at(r);
      draw_places(rng, static_cast<std::uint32_t>(n), places);
      for (std::size_t part = 0; part < moments.size(); ++part)
        means.segment<lanes>(static_cast<Eigen::Index>(part) * lanes) =
            sum_of(moments[part], places) / static_cast<double>(n);
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        const Eigen::Index at = first[m];
        MeanMoments of_resample{means[at], means[at + 1]};
        if (metrics[m].relative) {
          of_resample.b = means[at + 2];
          of_resample.bb = means[at + 3];
          of_resample.bt = means[at + 4];
        }
        results[m].replicates[r] = studentized(of_resample, metrics[m].relative, static_cast<double>(n));
      }
    }
  });
  in_parallel(metrics.size(), threads,
              [&](std::size_t m) { std::sort(results[m].replicates.begin(), results[m].replicates.end()); });
  return results;
}

}  // namespace retrygate::stats
