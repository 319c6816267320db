#include "stats/paired_shares.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"
#include "stats/proportions.hpp"

namespace retrygate::stats {
namespace {

constexpr double left_out = 1e-6;  // of the values that the share of disagreeing pairs may have

PairedShares turned(const PairedShares& s) { return {s.pairs, s.second_only, s.first_only}; }

// The share of "second only" pairs that is likeliest if the first share is larger by d >= 0: the root of
// 2n q^2 - (b + c - (2n - b + c) d) q - c d (1 - d) that is not negative.
double likeliest_second_only(const PairedShares& s, double d) {
  const auto n = static_cast<double>(s.pairs), b = static_cast<double>(s.first_only),
             c = static_cast<double>(s.second_only);
  const double half = (b + c - (2 * n - b + c) * d) / 2, constant = c * d * (1 - d);
  const double root = std::sqrt(half * half + 2 * n * constant);
  // Of the two forms the one that does not cancel.
  return half >= 0 ? (half + root) / (2 * n) : constant / (root - half);
}

// Score of b "first only" and c "second only" pairs at the difference d.
double score(std::int64_t n, std::int64_t b, std::int64_t c, double d) { return tango_score({n, b, c}, d); }

// For every count of "second only" pairs the least count of "first only" pairs whose score is at least as
// large as the one seen; it grows with that count. pairs - second_only + 1: none is.
std::vector<std::int64_t> thresholds(const PairedShares& s, double d) {
  const double seen = tango_score(s, d), slack = std::isinf(seen) ? 0 : 1e-9 * (1 + std::abs(seen));
  std::vector<std::int64_t> least;
  std::int64_t b = 0;
  for (std::int64_t c = 0; c <= s.pairs; ++c) {
    while (b + c <= s.pairs && score(s.pairs, b, c, d) < seen - slack) ++b;
    least.push_back(std::min(b, s.pairs - c + 1));
  }
  return least;
}

// P(score >= seen) if "second only" pairs have probability q and "first only" ones q + d.
double tail(std::int64_t n, const std::vector<std::int64_t>& least, double d, double q) {
  const double rest = 1 - q, share = rest > 0 ? std::clamp((q + d) / rest, 0.0, 1.0) : 0;
  constexpr double negligible = 1e-18;
  double sum = 0;
  const auto add = [&](std::int64_t c) {
    const double p = binomial_pmf(c, n, q);
    sum += p * binomial_sf(least[static_cast<std::size_t>(c)] - 1, n - c, share);
    return p > negligible;
  };
  const auto mode = std::min(n, static_cast<std::int64_t>(static_cast<double>(n + 1) * q));
  for (std::int64_t c = mode; c <= n && add(c);) ++c;
  for (std::int64_t c = mode - 1; c >= 0 && add(c);) --c;
  return sum;
}

// The largest f on the interval: a grid, and finer ones around each of its best points. Counts are whole, so
// f has ripples, and one of several hills may be the highest.
double largest(const std::function<double(double)>& f, Interval over, double step) {
  double best = -1;
  const auto scan = [&](Interval part, double width) {
    const auto steps =
        static_cast<std::size_t>(std::clamp(std::ceil((part.high - part.low) / width), 1.0, 400.0));
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i <= steps; ++i) {
      const double x =
          part.low + (part.high - part.low) / static_cast<double>(steps) * static_cast<double>(i);
      points.emplace_back(x, f(x));
      best = std::max(best, points.back().second);
    }
    return points;
  };
  const auto points = scan(over, step);
  const double high_ground = 0.98 * best;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [x, y] = points[i];
    const bool top =
        (i == 0 || points[i - 1].second <= y) && (i + 1 == points.size() || points[i + 1].second <= y);
    if (top && y >= high_ground)
      scan({std::max(over.low, x - step), std::min(over.high, x + step)}, step / 8);
  }
  return best;
}

// P of a score at least as large, at its largest.
double exact_greater(const PairedShares& s, double d) {
  const std::vector<std::int64_t> least = thresholds(s, d);
  const Interval possible{std::max(0.0, -d), (1 - d) / 2};
  const Interval believed = clopper_pearson({s.second_only, s.pairs}, 1 - left_out);
  // On the scale where the standard error of a share is 1 / (2 sqrt(n)) everywhere.
  const auto angle = [&](double q) {
    return std::asin(std::sqrt(std::clamp(q, possible.low, possible.high)));
  };
  const double error = 0.5 / std::sqrt(static_cast<double>(s.pairs));
  const double worst = largest(
      [&](double theta) {
        const double root = std::sin(theta);
        return tail(s.pairs, least, d, std::clamp(root * root, possible.low, possible.high));
      },
      {angle(believed.low), angle(believed.high)}, error / 8);
  return std::min(1.0, worst + left_out);
}

// Where a p that falls from 1 as d goes from the difference seen to `end` comes down to a; `near` is where it
// may be.
double last_kept(const std::function<double(double)>& p, double seen, double near, double end, double a,
                 double precision) {
  double kept = seen, step = (near - seen) / 8 + std::copysign(precision, end - seen), rejected = near;
  // Widened until it holds the place.
  while (p(rejected) > a) {
    kept = rejected;
    if (rejected == end) return end;
    rejected = std::clamp(rejected + step, -1.0, 1.0);
    step *= 2;
  }
  while (std::abs(rejected - kept) > precision) {
    const double middle = kept + (rejected - kept) / 2;
    (p(middle) > a ? kept : rejected) = middle;
  }
  return rejected;
}

Interval interval(const PairedShares& s, double level, Interval near, double precision,
                  PairedTest (*test)(const PairedShares&, double)) {
  const double a = (1 - level) / 2;
  return {
      last_kept([&](double d) { return test(s, d).p_greater; }, s.difference(), near.low, -1, a, precision),
      last_kept([&](double d) { return test(s, d).p_less; }, s.difference(), near.high, 1, a, precision)};
}

}  // namespace

double tango_error(const PairedShares& s, double d) {
  if (d < 0) return tango_error(turned(s), -d);
  return std::sqrt((2 * likeliest_second_only(s, d) + d * (1 - d)) / static_cast<double>(s.pairs));
}

double tango_score(const PairedShares& s, double d) {
  const double off = s.difference() - d, error = tango_error(s, d);
  if (error > 0) return off / error;
  return off > 0 ? infinite : off < 0 ? -infinite : 0;
}

PairedTest score_test_paired_shares(const PairedShares& s, double d) {
  const double z = tango_score(s, d);
  const auto sf = [](double x) { return std::isinf(x) ? (x > 0 ? 0.0 : 1.0) : normal_sf(x); };
  return {sf(z), sf(-z), false};
}

PairedTest test_paired_shares(const PairedShares& s, double d) {
  if (s.pairs > paired_exact_limit) return score_test_paired_shares(s, d);
  return {exact_greater(s, d), exact_greater(turned(s), -d), true};
}

Interval tango_interval(const PairedShares& s, double level) {
  return interval(s, level, {-1, 1}, 1e-13, &score_test_paired_shares);
}

Interval paired_interval(const PairedShares& s, double level) {
  const Interval score = tango_interval(s, level);
  return s.pairs > paired_exact_limit ? score : interval(s, level, score, 1e-5, &test_paired_shares);
}

}  // namespace retrygate::stats
