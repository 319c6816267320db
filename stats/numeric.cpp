#include "stats/numeric.hpp"

#include <fmt/format.h>

#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>

#include "policies/base/error.hpp"

namespace retrygate::stats {

double root(const std::function<double(double)>& f, Interval bracket) {
  const double at_low = f(bracket.low), at_high = f(bracket.high);
  if (at_low == 0) return bracket.low;
  if (at_high == 0) return bracket.high;
  RG_ASSERT((at_low < 0) != (at_high < 0),
            fmt::format("f({}) = {} and f({}) = {}", bracket.low, at_low, bracket.high, at_high));
  std::uintmax_t steps = 500;
  const auto found = boost::math::tools::toms748_solve(f, bracket.low, bracket.high, at_low, at_high,
                                                       boost::math::tools::eps_tolerance<double>(52), steps);
  return std::abs(f(found.first)) <= std::abs(f(found.second)) ? found.first : found.second;
}

double root_above(const std::function<double(double)>& f, double start, double step) {
  const bool left = f(start) < 0;
  double low = start;
  while (std::isfinite(start + step)) {
    const double high = start + step, there = f(high);
    if (there == 0 || (there < 0) != left) return root(f, {low, high});
    low = high;
    step *= 2;
  }
  assertion_failed(__FILE__, __LINE__, "a sign change", fmt::format("none above {}", start));
}

std::vector<Node> gauss_legendre(Interval interval, double panel) {
  using Rule = boost::math::quadrature::gauss<double, 20>;  // nodes on [-1, 1]; the positive half is stored
  const auto panels = static_cast<int>(std::ceil((interval.high - interval.low) / panel));
  const double half = (interval.high - interval.low) / panels / 2;
  std::vector<Node> nodes;
  for (int i = 0; i < panels; ++i) {
    const double centre = interval.low + (2 * i + 1) * half;
    for (std::size_t k = 0; k < Rule::abscissa().size(); ++k) {
      nodes.push_back({centre - half * Rule::abscissa()[k], half * Rule::weights()[k]});
      nodes.push_back({centre + half * Rule::abscissa()[k], half * Rule::weights()[k]});
    }
  }
  return nodes;
}

}  // namespace retrygate::stats
