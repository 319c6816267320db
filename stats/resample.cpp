#include "stats/resample.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/parallel.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

// What is resampled: per seed a term whose mean leads to the effect. For a difference the centred
// difference; for a ratio the pair itself, scaled by the baseline's mean so that moments stay near 1.
struct Scaled {
  std::vector<double> b, c;
  double centre = 0;  // of a difference: its mean, not the difference of two means, which cancels
};

Scaled scaled(const Pairs& pairs) {
  const std::size_t n = pairs.baseline.size();
  Scaled s{std::vector<double>(n), std::vector<double>(n), 0};
  if (pairs.relative) {
    const double unit = mean(pairs.baseline);
    for (std::size_t i = 0; i < n; ++i) {
      s.b[i] = pairs.baseline[i] / unit;
      s.c[i] = pairs.candidate[i] / unit;
    }
    return s;
  }
  for (std::size_t i = 0; i < n; ++i) s.c[i] = pairs.candidate[i] - pairs.baseline[i];
  const double centre = mean(s.c);
  for (double& v : s.c) v -= centre;
  // A second pass takes out what rounding left of a large offset.
  const double rest = mean(s.c);
  for (double& v : s.c) v -= rest;
  s.centre = centre + rest;
  return s;
}

// What a metric needs of every seed: c, cc; of a ratio also b, bb, bc.
Eigen::Index columns_of(const Pairs& pairs) { return pairs.relative ? 5 : 2; }

// Resamples that are counted and multiplied at once: small enough to stay in the cache, and always the same,
// so that the sums are the same on any number of threads.
constexpr Eigen::Index resamples_a_block = 256;

struct MeanMoments {
  double c, cc, b = 0, bb = 0, bc = 0;
};

// Effect and standard error from the moments of one (re)sample.
std::pair<double, double> effect_of(const MeanMoments& m, bool relative, double n) {
  if (!relative) return {m.c, std::sqrt(std::max(0.0, m.cc - m.c * m.c) / (n - 1))};
  const double ratio = m.c / m.b;
  const double variance = m.cc - 2 * ratio * m.bc + ratio * ratio * m.bb;
  return {ratio - 1, std::sqrt(std::max(0.0, variance) / (n - 1)) / std::abs(m.b)};
}

}  // namespace

Studentized estimate(const Pairs& pairs) {
  const Scaled s = scaled(pairs);
  const auto n = static_cast<double>(s.c.size());
  Studentized result;
  double squares = 0;
  if (pairs.relative) {
    result.effect = mean(s.c) / mean(s.b) - 1;
    for (std::size_t i = 0; i < s.c.size(); ++i) {
      const double rest = s.c[i] - (1 + result.effect) * s.b[i];
      squares += rest * rest;
    }
  } else {
    result.effect = s.centre;
    for (const double v : s.c) squares += v * v;
  }
  result.se = std::sqrt(squares / (n - 1) / n);
  return result;
}

std::vector<Studentized> bootstrap_t(std::span<const Pairs> metrics, int resamples, Seed seed,
                                     unsigned threads) {
  std::vector<Studentized> results;
  if (metrics.empty()) return results;
  const auto n = static_cast<Eigen::Index>(metrics.front().baseline.size());
  std::vector<Eigen::Index> first;  // column of each metric
  Eigen::Index columns = 0;
  for (const Pairs& metric : metrics) {
    first.push_back(columns);
    columns += columns_of(metric);
  }
  Eigen::MatrixXd moments(n, columns);
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const Scaled s = scaled(metrics[m]);
    const Eigen::Map<const Eigen::ArrayXd> b(s.b.data(), n), c(s.c.data(), n);
    moments.col(first[m]) = c;
    moments.col(first[m] + 1) = c * c;
    if (metrics[m].relative) {
      moments.col(first[m] + 2) = b;
      moments.col(first[m] + 3) = b * b;
      moments.col(first[m] + 4) = b * c;
    }
    results.push_back(estimate(metrics[m]));
    results.back().replicates.resize(static_cast<std::size_t>(resamples));
  }
  const StreamKey stream(seed, Stream::bootstrap);
  const Eigen::Index blocks = (resamples + resamples_a_block - 1) / resamples_a_block;
  in_parallel(static_cast<std::size_t>(blocks), threads, [&](std::size_t block) {
    const Eigen::Index begin = static_cast<Eigen::Index>(block) * resamples_a_block;
    using Counts = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Counts counts = Counts::Zero(std::min(resamples_a_block, resamples - begin), n);
    for (Eigen::Index r = 0; r < counts.rows(); ++r) {
      Rng rng = stream.at(static_cast<std::uint64_t>(begin + r));
      for (Eigen::Index i = 0; i < n; ++i)
        counts(r, static_cast<Eigen::Index>(rng.below(static_cast<std::uint64_t>(n)))) += 1;
    }
    const Eigen::MatrixXd means = counts * moments / static_cast<double>(n);
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      const Eigen::Index at = first[m];
      const bool relative = metrics[m].relative;
      const double centre = relative ? results[m].effect : 0;
      for (Eigen::Index r = 0; r < counts.rows(); ++r) {
        MeanMoments of_resample{means(r, at), means(r, at + 1)};
        if (relative) {
          of_resample.b = means(r, at + 2);
          of_resample.bb = means(r, at + 3);
          of_resample.bc = means(r, at + 4);
        }
        const auto [effect, se] = effect_of(of_resample, relative, static_cast<double>(n));
        // A resample without spread says only on which side it lies.
        const double off = effect - centre;
        const double infinite = std::numeric_limits<double>::infinity();
        results[m].replicates[static_cast<std::size_t>(begin + r)] = se > 0    ? off / se
                                                                     : off > 0 ? infinite
                                                                     : off < 0 ? -infinite
                                                                               : 0;
      }
    }
  });
  in_parallel(metrics.size(), threads,
              [&](std::size_t m) { std::sort(results[m].replicates.begin(), results[m].replicates.end()); });
  return results;
}

}  // namespace retrygate::stats
