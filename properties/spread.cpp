#include "properties/spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "properties/bounds.hpp"

namespace retrygate {
namespace {

// What rounding may add on either side of a point.
long double edge(const DelayLaw& law) { return 2 * (law.drawn.slack + law.drawn.above + law.tick); }
long double width(const DelayLaw& law) { return law.drawn.hi - law.drawn.lo + law.tick; }

// P(X >= k) where X of `drawn` marked pairs fall among `marked` of `n`: what chance does to two halves that
// have nothing to do with each other, whatever their laws are.
double hypergeometric_at_least(int k, int n, int marked, int drawn) {
  const auto log_choose = [](int from, int some) {
    return std::lgamma(from + 1.0) - std::lgamma(some + 1.0) - std::lgamma(from - some + 1.0);
  };
  double sum = 0;
  for (int i = std::max(k, drawn + marked - n); i <= std::min(marked, drawn); ++i)
    sum += std::exp(log_choose(marked, i) + log_choose(n - marked, drawn - i) - log_choose(n, drawn));
  return std::min(1.0, sum);
}

}  // namespace

std::vector<std::int64_t> retries_of_one_law(const Contract& c) {
  if (chained(c)) return {1};
  return {1, 2, 4, 8};
}

const std::vector<std::int64_t>& retries_with_a_law() {
  static const std::vector<std::int64_t> retries = [] {
    std::vector<std::int64_t> all(70);
    std::iota(all.begin(), all.end(), 1);
    for (const std::int64_t power : {128, 256}) all.insert(all.end(), {power - 1, power, power + 1});
    return all;
  }();
  return retries;
}

double binomial_at_least(int k, int n, double p) {
  if (k <= 0 || p >= 1) return 1;
  if (p <= 0) return 0;
  double sum = 0;
  for (int i = k; i <= n; ++i)
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
  return std::min(1.0, sum);
}

double collects(int k, int n, double share) { return std::min(1.0, binomial_at_least(k, n, share) / share); }

bool finds_an_atom(int n, double share, double alpha) {
  if (n >= static_cast<int>(draws_wanted)) return true;
  int least = 1;  // that is found
  while (least <= n && collects(least, n, share) >= alpha) ++least;
  return least <= n && binomial_at_least(least, n, 0.1) >= 0.999;
}

std::optional<std::string> far_from_law(const std::vector<Drawn>& draws, double alpha) {
  const auto n = static_cast<double>(draws.size());
  if (draws.empty()) return std::nullopt;
  const long double allowed = std::sqrt(std::log(2 / alpha) / (2 * n));
  std::vector<long double> least, most;
  for (const Drawn& d : draws) {
    const long double slack = d.law.drawn.slack + d.law.drawn.above + d.law.tick;
    least.push_back(d.law.below(d.delay - 1 - slack));
    most.push_back(d.law.below(d.delay + slack));
  }
  std::sort(least.begin(), least.end());
  std::sort(most.begin(), most.end());
  long double furthest = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    furthest = std::max({furthest, static_cast<long double>(i + 1) / n - most[i],
                         least[i] - static_cast<long double>(i) / n});
  }
  if (furthest <= allowed) return std::nullopt;
  return fmt::format("the delays lie {:.3f} from the declared law, {:.3f} is chance",
                     static_cast<double>(furthest), static_cast<double>(allowed));
}

bool can_spread(const DelayLaw& law) { return width(law) / law.tick >= 2 && width(law) >= 5 * edge(law); }

namespace {

// Delays that are all whole microseconds, milliseconds ... come from a clock that counts these: then equal
// ones are no herd, and the contract lacks a word.
std::string hint_of_a_tick(const std::vector<long double>& delays, const DelayLaw& law) {
  std::int64_t step = 0;
  for (const long double d : delays) {
    if (d < law.cut) step = std::gcd(step, static_cast<std::int64_t>(d));
  }
  for (const Duration tick : {Duration::s(1), Duration::ms(1), Duration::us(1)}) {
    if (step % tick.ns() == 0 && step > 0 && in_ns(tick) > law.tick)
      return fmt::format(
          "; every delay is a multiple of {0}: if that is the policy's resolution, promise tick = "
          "\"{0}\"",
          to_string(tick));
  }
  return "";
}

}  // namespace

std::optional<std::string> herds(const std::vector<long double>& delays, const DelayLaw& law, double alpha) {
  constexpr int bins = 20;
  const int n = static_cast<int>(delays.size());
  std::map<long double, int> same;
  std::vector<int> in_bin(bins);
  for (const long double d : delays) {
    if (d >= law.cut) continue;
    ++same[d];
    const long double part = (d - law.drawn.lo) / width(law);
    const long double place = (law.shape == nullptr ? part : law.shape(part)) * bins;
    ++in_bin[static_cast<std::size_t>(std::clamp(place, 0.0L, bins - 1.0L))];
  }
  const auto share = static_cast<double>(1.0L / bins + law.densest * edge(law) / width(law));
  const int fullest = *std::max_element(in_bin.begin(), in_bin.end());
  if (binomial_at_least(fullest, n, share) < alpha / 2 / bins)
    return fmt::format("{} come back within 1/{} of the interval", fullest, bins);
  const auto most = std::max_element(same.begin(), same.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == same.end()) return std::nullopt;
  // A value may collect its two neighbours by rounding; the union is over all values.
  const long double points = width(law) / law.tick / law.densest;
  if (static_cast<double>(points) * binomial_at_least(most->second, n, static_cast<double>(3 / points)) <
      alpha / 2)
    return fmt::format("{} come back at the same instant, after {}{}", most->second,
                       to_string(Duration::ns(static_cast<std::int64_t>(most->first))),
                       hint_of_a_tick(delays, law));
  return std::nullopt;
}

std::optional<std::string> dependence(const Pairs& pairs, const DelayLaw& law, double alpha) {
  const int n = static_cast<int>(pairs.first.size());
  if (n == 0) return std::nullopt;
  int equal = 0;
  std::vector<long double> all = pairs.first;
  all.insert(all.end(), pairs.second.begin(), pairs.second.end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  const long double median = *middle;
  int first_high = 0, second_high = 0, both_high = 0;
  for (std::size_t i = 0; i < pairs.first.size(); ++i) {
    const long double a = pairs.first[i], b = pairs.second[i];
    if (a == b && a < law.cut) ++equal;
    first_high += a > median;
    second_high += b > median;
    both_high += a > median && b > median;
  }
  // A value may collect its two neighbours by rounding.
  const auto same = static_cast<double>(std::min(1.0L, 3 * law.densest * law.tick / width(law)));
  if (binomial_at_least(equal, n, same) < alpha / 3)
    return fmt::format("{} of {} pairs wait exactly as long as each other{}", equal, n,
                       hint_of_a_tick(all, law));
  if (hypergeometric_at_least(both_high, n, first_high, second_high) < alpha / 3)
    return fmt::format("in {} of {} pairs both wait longer than most", both_high, n);
  const int only_first = first_high - both_high;
  if (hypergeometric_at_least(only_first, n, first_high, n - second_high) < alpha / 3)
    return fmt::format("in {} of {} pairs the first waits longer than most and the second does not",
                       only_first, n);
  return std::nullopt;
}

void Positions::add(const Contract& c, Duration first, Duration second) {
  const auto one = support_of(c, 1, std::nullopt), two = support_of(c, 2, std::nullopt);
  if (!one || !two || one->hi <= one->lo || two->hi <= two->lo) return;
  const auto place = [](const Support& s, Duration d) { return (in_ns(d) - s.lo) / (s.hi - s.lo); };
  pairs_.first.push_back(place(*one, first));
  pairs_.second.push_back(place(*two, second));
}

std::optional<std::string> Positions::dependent(double alpha) const {
  // Places of two intervals are equal by rounding alone: those are not counted (nothing lies below the cut).
  const DelayLaw law{Support{0, 1, 0}, -1, 1};
  return dependence(pairs_, law, alpha);
}

}  // namespace retrygate
