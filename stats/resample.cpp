#include "stats/resample.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

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

constexpr Eigen::Index columns_per_metric = 5;  // b, c, bb, bc, cc

struct Moments {
  double b, c, bb, bc, cc;
};

// Effect and standard error from the moments of one (re)sample.
std::pair<double, double> effect_of(const Moments& m, bool relative, double n) {
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

std::vector<Studentized> bootstrap_t(std::span<const Pairs> metrics, int resamples, Seed seed) {
  std::vector<Studentized> results;
  if (metrics.empty()) return results;
  const auto n = static_cast<Eigen::Index>(metrics.front().baseline.size());
  Eigen::MatrixXd moments(n, columns_per_metric * static_cast<Eigen::Index>(metrics.size()));
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const Scaled s = scaled(metrics[m]);
    const Eigen::Map<const Eigen::ArrayXd> b(s.b.data(), n), c(s.c.data(), n);
    const Eigen::Index at = columns_per_metric * static_cast<Eigen::Index>(m);
    moments.col(at) = b;
    moments.col(at + 1) = c;
    moments.col(at + 2) = b * b;
    moments.col(at + 3) = b * c;
    moments.col(at + 4) = c * c;
    results.push_back(estimate(metrics[m]));
  }
  Eigen::MatrixXd counts = Eigen::MatrixXd::Zero(resamples, n);
  const StreamKey stream(seed, Stream::bootstrap);
  for (Eigen::Index r = 0; r < resamples; ++r) {
    Rng rng = stream.at(static_cast<std::uint64_t>(r));
    for (Eigen::Index i = 0; i < n; ++i)
      counts(r, static_cast<Eigen::Index>(rng.below(static_cast<std::uint64_t>(n)))) += 1;
  }
  const Eigen::MatrixXd means = counts * moments / static_cast<double>(n);
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const Eigen::Index at = columns_per_metric * static_cast<Eigen::Index>(m);
    const double centre = metrics[m].relative ? results[m].effect : 0;
    std::vector<double>& replicates = results[m].replicates;
    for (Eigen::Index r = 0; r < resamples; ++r) {
      const auto [effect, se] =
          effect_of({means(r, at), means(r, at + 1), means(r, at + 2), means(r, at + 3), means(r, at + 4)},
                    metrics[m].relative, static_cast<double>(n));
      // A resample without spread says only on which side it lies.
      const double off = effect - centre;
      const double infinite = std::numeric_limits<double>::infinity();
      replicates.push_back(se > 0 ? off / se : off > 0 ? infinite : off < 0 ? -infinite : 0);
    }
    std::sort(replicates.begin(), replicates.end());
  }
  return results;
}

}  // namespace retrygate::stats
