#include "stats/power.hpp"

#include <algorithm>
#include <cmath>

#include "stats/distributions.hpp"
#include "stats/fisher.hpp"
#include "stats/numeric.hpp"

namespace retrygate::stats {
namespace {

double tail_of(double alpha, bool two_sided) { return two_sided ? alpha / 2 : alpha; }

// A p value that equals the level up to rounding rejects.
bool rejects_at(double p, double alpha) { return p <= alpha * (1 + 1e-12); }

// P(the t test rejects) with noncentrality `delta` >= 0 when only the right tail is looked for.
double power_from(double dof, double delta, double alpha, bool two_sided, bool both_tails) {
  const double critical = -student_quantile(tail_of(alpha, two_sided), dof);
  double power = noncentral_t_sf(critical, dof, delta);
  if (two_sided && both_tails) power += noncentral_t_cdf(-critical, dof, delta);
  return power;
}

}  // namespace

double power_t(const TPlan& plan, double n) {
  const double groups = plan.design == TDesign::two_sample ? 2 : 1;
  const double delta = std::sqrt(n / groups) * std::abs(plan.delta) / plan.sd;
  return power_from((n - 1) * groups, delta, plan.alpha, plan.two_sided, plan.both_tails);
}

double power_t_unequal(double n1, double n2, double effect, double alpha, bool two_sided) {
  return power_from(n1 + n2 - 2, effect * std::sqrt(n1 * n2 / (n1 + n2)), alpha, two_sided, true);
}

double normal_sample_size(const TPlan& plan, double power) {
  const double groups = plan.design == TDesign::two_sample ? 2 : 1;
  const double z = -normal_quantile(tail_of(plan.alpha, plan.two_sided)) + normal_quantile(power);
  const double root_n = z * plan.sd / std::abs(plan.delta);
  return groups * root_n * root_n;
}

double sample_size_t(const TPlan& plan, double power) {
  constexpr double least = 2;  // below, there is no estimate of the spread
  const auto missing = [&](double n) { return power_t(plan, n) - power; };
  return missing(least) >= 0 ? least : root_above(missing, least, 2);
}

std::int64_t whole_sample_size_t(const TPlan& plan, double power) {
  // The root may lie on either side of a whole number that has the power exactly.
  auto n = static_cast<std::int64_t>(std::ceil(sample_size_t(plan, power)));
  if (n > 2 && power_t(plan, static_cast<double>(n - 1)) >= power) --n;
  return n;
}

double detectable_difference_t(TPlan plan, double n, double power) {
  const auto missing = [&](double delta) {
    plan.delta = delta;
    return power_t(plan, n) - power;
  };
  return root_above(missing, 0, plan.sd / std::sqrt(n));
}

BinomialPower power_binomial(std::int64_t n, double p0, double p1, double alpha, Alternative alternative) {
  const double tail = tail_of(alpha, alternative == Alternative::two_sided);
  BinomialPower result;
  result.critical_high = n + 1;
  if (alternative != Alternative::greater) {
    // The largest k whose left tail is at most `tail`.
    std::int64_t k = binomial_quantile(tail, n, p0);
    if (!rejects_at(binomial_cdf(k, n, p0), tail)) --k;
    result.critical_low = k;
  }
  if (alternative != Alternative::less) {
    // P(K >= k) <= tail is P(K <= k - 1) >= 1 - tail, told by the tail itself.
    std::int64_t k = binomial_quantile(1 - tail, n, p0) + 1;
    while (k <= n && !rejects_at(binomial_sf(k - 1, n, p0), tail)) ++k;
    while (k > 0 && rejects_at(binomial_sf(k - 2, n, p0), tail)) --k;
    result.critical_high = k;
  }
  const auto chance = [&](double p) {
    return binomial_cdf(result.critical_low, n, p) + binomial_sf(result.critical_high - 1, n, p);
  };
  result.size = chance(p0);
  result.power = chance(p1);
  return result;
}

FisherPower power_fisher(const TwoGroups& g, double alpha) {
  FisherPower power;
  for (std::int64_t k1 = 0; k1 <= g.n1; ++k1) {
    for (std::int64_t k2 = 0; k2 <= g.n2; ++k2) {
      const double chance = binomial_pmf(k1, g.n1, g.p1) * binomial_pmf(k2, g.n2, g.p2);
      const MarginLaw law({k1, g.n1 - k1, k2, g.n2 - k2});
      if (rejects_at(law.by_probability(k1), alpha)) power.two_sided += chance;
      if (rejects_at(law.at_least(k1, 1), alpha)) power.greater += chance;
    }
  }
  return power;
}

double sample_size_noether(RankTest test, double p, double alpha, double power, bool two_sided,
                           double fraction_x) {
  const double z = -normal_quantile(tail_of(alpha, two_sided)) + normal_quantile(power);
  const double effect = (p - 0.5) * (p - 0.5);
  switch (test) {
    case RankTest::mann_whitney:
      return z * z / (12 * fraction_x * (1 - fraction_x) * effect);
    case RankTest::signed_rank:
      return z * z / (3 * effect);
    case RankTest::sign:
      return z * z / (4 * effect);
  }
  return 0;
}

namespace {

// Standard deviations of sqrt(n) times the difference of two shares: under equal and under the true ones.
struct Spreads {
  double equal, apart;
};
Spreads spreads(double p1, double p2) {
  const double pooled = (p1 + p2) / 2;
  return {std::sqrt(2 * pooled * (1 - pooled)), std::sqrt(p1 * (1 - p1) + p2 * (1 - p2))};
}

}  // namespace

double power_two_proportions(double n, double p1, double p2, double alpha, bool two_sided) {
  const Spreads sd = spreads(p1, p2);
  const double z = -normal_quantile(tail_of(alpha, two_sided));
  return normal_sf((z * sd.equal - std::sqrt(n) * std::abs(p1 - p2)) / sd.apart);
}

double sample_size_two_proportions(double p1, double p2, double alpha, double power, bool two_sided) {
  const Spreads sd = spreads(p1, p2);
  const double z = -normal_quantile(tail_of(alpha, two_sided));
  const double root_n = (z * sd.equal + normal_quantile(power) * sd.apart) / std::abs(p1 - p2);
  return root_n * root_n;
}

}  // namespace retrygate::stats
