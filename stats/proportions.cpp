#include "stats/proportions.hpp"

#include <algorithm>
#include <cmath>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"

namespace retrygate::stats {
namespace {

// The quantile that leaves half of what the level leaves out above it.
double two_sided_z(double level) { return -normal_quantile((1 - level) / 2); }

// How many of the outcomes begin, begin + step, ... (away from the mean, `count` of them, ever less probable)
// are less or equally probable than `limit`: those from a certain distance on.
std::int64_t first_rare(std::int64_t begin, std::int64_t step, std::int64_t count, double limit,
                        std::int64_t n, double p) {
  std::int64_t low = 0, high = count;  // outcomes before `low` are more probable, from `high` on they are not
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (binomial_pmf(begin + step * middle, n, p) > limit)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

double p_by_probability(std::int64_t k, std::int64_t n, double p0) {
  const double limit = binomial_pmf(k, n, p0) * (1 + 1e-7);
  const double mean = static_cast<double>(n) * p0;
  const auto at = static_cast<double>(k);
  if (at == mean) return 1;
  if (at < mean) {
    const auto begin = static_cast<std::int64_t>(std::ceil(mean));
    const std::int64_t rare = begin + first_rare(begin, 1, n - begin + 1, limit, n, p0);
    return std::min(1.0, binomial_cdf(k, n, p0) + binomial_sf(rare - 1, n, p0));
  }
  const auto begin = static_cast<std::int64_t>(std::floor(mean));
  const std::int64_t rare = begin - first_rare(begin, -1, begin + 1, limit, n, p0);
  return std::min(1.0, binomial_cdf(rare, n, p0) + binomial_sf(k - 1, n, p0));
}

}  // namespace

Interval clopper_pearson(Share s, double level) {
  const double tail = (1 - level) / 2;
  const auto k = static_cast<double>(s.successes), n = static_cast<double>(s.trials);
  return {s.successes == 0 ? 0 : beta_quantile(tail, k, n - k + 1),
          s.successes == s.trials ? 1 : beta_upper_quantile(tail, k + 1, n - k)};
}

Interval wilson(Share s, double level) {
  const double z = two_sided_z(level);
  const auto k = static_cast<double>(s.successes), n = static_cast<double>(s.trials);
  const double centre = (k + z * z / 2) / (n + z * z);
  const double half = z * std::sqrt(k * (n - k) / n + z * z / 4) / (n + z * z);
  // At the ends centre and half are the same number up to rounding.
  return {s.successes == 0 ? 0 : centre - half, s.successes == s.trials ? 1 : centre + half};
}

Interval agresti_coull(Share s, double level) {
  const double z = two_sided_z(level);
  const double n = static_cast<double>(s.trials) + z * z;
  const double centre = (static_cast<double>(s.successes) + z * z / 2) / n;
  const double half = z * std::sqrt(centre * (1 - centre) / n);
  return {centre - half, centre + half};
}

Interval jeffreys_quantiles(Share s, double level) {
  const double tail = (1 - level) / 2;
  const double a = static_cast<double>(s.successes) + 0.5;
  const double b = static_cast<double>(s.trials - s.successes) + 0.5;
  return {beta_quantile(tail, a, b), beta_upper_quantile(tail, a, b)};
}

Interval jeffreys(Share s, double level) {
  Interval interval = jeffreys_quantiles(s, level);
  if (s.successes == 0) interval.low = 0;
  if (s.successes == s.trials) interval.high = 1;
  return interval;
}

BinomialTest binomial_test(Share s, double p0) {
  BinomialTest test;
  test.p_less = binomial_cdf(s.successes, s.trials, p0);
  test.p_greater = binomial_sf(s.successes - 1, s.trials, p0);
  test.p_two_sided = p_by_probability(s.successes, s.trials, p0);
  test.p_central = std::min(1.0, 2 * std::min(test.p_less, test.p_greater));
  return test;
}

Interval newcombe_difference(Share first, Share second, double level) {
  const Interval a = wilson(first, level), b = wilson(second, level);
  const double p1 = first.value(), p2 = second.value();
  return {p1 - p2 - std::hypot(p1 - a.low, b.high - p2), p1 - p2 + std::hypot(a.high - p1, p2 - b.low)};
}

McNemar mcnemar(Discordant pairs) {
  const std::int64_t n = pairs.total(), fewer = std::min(pairs.first_only, pairs.second_only);
  McNemar result;
  result.p_exact = std::min(1.0, 2 * binomial_cdf(fewer, n, 0.5));
  result.p_mid =
      fewer * 2 == n ? 1 : std::min(1.0, 2 * binomial_cdf(fewer - 1, n, 0.5) + binomial_pmf(fewer, n, 0.5));
  const auto surplus = static_cast<double>(n - 2 * fewer);
  result.chi_square = surplus * surplus / static_cast<double>(n);
  result.p_asymptotic = chi_square_sf(result.chi_square, 1);
  const double corrected = std::max(0.0, surplus - 1);
  result.chi_square_corrected = corrected * corrected / static_cast<double>(n);
  result.p_corrected = chi_square_sf(result.chi_square_corrected, 1);
  return result;
}

Interval poisson_interval(Rate rate, double level) {
  const double tail = (1 - level) / 2;
  const auto k = static_cast<double>(rate.events);
  return {rate.events == 0 ? 0 : chi_square_quantile(tail, 2 * k) / 2 / rate.exposure,
          chi_square_upper_quantile(tail, 2 * k + 2) / 2 / rate.exposure};
}

RateRatio compare_rates(Rate first, Rate second, double ratio0, double level) {
  const Share share{first.events, first.events + second.events};
  const double odds = second.exposure / first.exposure;  // a rate ratio of 1 as odds of the share, inverted
  RateRatio result;
  result.ratio = second.events == 0
                     ? infinite
                     : static_cast<double>(first.events) / static_cast<double>(second.events) * odds;
  result.p = p_by_probability(share.successes, share.trials, ratio0 / (ratio0 + odds));
  const double tail = (1 - level) / 2;
  const auto k = static_cast<double>(first.events), rest = static_cast<double>(second.events);
  // The limits of the share as odds; 1 - limit is the other tail's quantile, not a difference near 0.
  result.interval.low =
      first.events == 0 ? 0
                        : beta_quantile(tail, k, rest + 1) / beta_upper_quantile(tail, rest + 1, k) * odds;
  result.interval.high =
      second.events == 0 ? infinite
                         : beta_upper_quantile(tail, k + 1, rest) / beta_quantile(tail, rest, k + 1) * odds;
  return result;
}

}  // namespace retrygate::stats
