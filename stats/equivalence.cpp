#include "stats/equivalence.hpp"

#include <algorithm>
#include <cmath>

#include "stats/distributions.hpp"
#include "stats/sample.hpp"
#include "stats/student.hpp"

namespace retrygate::stats {
namespace {

using TestOfMeans = TTest (*)(std::span<const double>, std::span<const double>, const TQuestion&);

Equivalence two_one_sided(TestOfMeans test, std::span<const double> x, std::span<const double> y,
                          Interval margins, double error_rate) {
  const TTest low = test(x, y, {margins.low, Alternative::greater, 1 - error_rate});
  const TTest high = test(x, y, {margins.high, Alternative::less, 1 - error_rate});
  Equivalence result{low.status, low.estimate, low.std_error, low.df, {}};
  if (low.status != Status::ok) return result;
  const double p = std::max(*low.p_value, *high.p_value);
  result.sides = {*low.statistic,         *low.p_value,   *high.statistic, *high.p_value, p,
                  {*low.low, *high.high}, p <= error_rate};
  return result;
}

// Means and their variances and covariance; x and y each in units of a power of 2.
struct Means {
  double x = 0, y = 0;
  double xx = 0, xy = 0, yy = 0;
  int exponent = 0;  // of the ratio x / y
};

// The set of r with (x - r y)^2 <= t^2 var(x - r y): a r^2 - 2 b r + c <= 0.
void solve_fieller(FiellerRatio& ratio, const Means& m, double t) {
  const double a = m.y * m.y - t * t * m.yy, b = m.x * m.y - t * t * m.xy, c = m.x * m.x - t * t * m.xx;
  const auto in_units = [&](double r) { return std::ldexp(r, m.exponent); };
  // The discriminant without b^2 - a c, which cancels when the spread is small.
  const double half = t * std::sqrt(std::max(0.0, m.x * m.x * m.yy - 2 * m.x * m.y * m.xy + m.y * m.y * m.xx -
                                                      t * t * (m.xx * m.yy - m.xy * m.xy)));
  const double discriminant = b * b - a * c;
  if (a <= 0 && discriminant <= 0) {
    ratio.status = Status::unbounded_all;
    return;
  }
  // The root of larger size first, the other from the product of both.
  const double large = b >= 0 ? b + half : b - half;
  const double one = in_units(large / a), other = in_units(large == 0 ? 0 : c / large);
  const Interval ends{std::min(one, other), std::max(one, other)};
  if (a > 0) {
    ratio.interval = ends;
  } else {
    ratio.status = Status::unbounded_exclusive;
    ratio.excluded = ends;
  }
}

// `df_at(r)`: degrees of freedom of x - r y.
template <class DegreesOfFreedom>
FiellerRatio fieller(const Means& m, double level, const DegreesOfFreedom& df_at) {
  FiellerRatio ratio;
  if (m.y == 0 || (m.xx == 0 && m.yy == 0)) {
    ratio.status = Status::undefined;
    if (m.y != 0) ratio.estimate = std::ldexp(m.x / m.y, m.exponent);
    return ratio;
  }
  const double r = m.x / m.y;
  ratio.estimate = std::ldexp(r, m.exponent);
  ratio.df = df_at(r);
  if (!std::isfinite(*ratio.df) || *ratio.df <= 0) {
    ratio.df.reset();
    ratio.status = Status::undefined;
    return ratio;
  }
  const double t = student_upper_quantile((1 - level) / 2, *ratio.df);
  ratio.g = t * t * m.yy / (m.y * m.y);
  solve_fieller(ratio, m, t);
  return ratio;
}

}  // namespace

Equivalence tost_welch(std::span<const double> x, std::span<const double> y, Interval margins,
                       double error_rate) {
  return two_one_sided(t_welch, x, y, margins, error_rate);
}

Equivalence tost_paired(std::span<const double> x, std::span<const double> y, Interval margins,
                        double error_rate) {
  return two_one_sided(t_paired, x, y, margins, error_rate);
}

NonInferiority noninferiority_welch(std::span<const double> x, std::span<const double> y, double margin,
                                    double error_rate, Larger larger) {
  const bool worse = larger == Larger::worse;
  const TTest t = t_welch(
      x, y, {worse ? margin : -margin, worse ? Alternative::less : Alternative::greater, 1 - error_rate});
  NonInferiority result{t.status, t.estimate, t.std_error, t.df, t.statistic, t.p_value, {}, {}};
  if (t.status != Status::ok) return result;
  result.bound = worse ? t.high : t.low;
  result.noninferior = *t.p_value <= error_rate;
  return result;
}

FiellerRatio ratio_unpaired(std::span<const double> x, std::span<const double> y, double level) {
  const int ex = common_exponent({x}), ey = common_exponent({y});
  const Moments mx = moments(scaled_down(x, ex)), my = moments(scaled_down(y, ey));
  const auto nx = static_cast<double>(x.size()), ny = static_cast<double>(y.size());
  Means m{mx.mean.value(), my.mean.value(), 0, 0, 0, ex - ey};
  if (x.size() > 1) m.xx = mx.variance() / nx;
  if (y.size() > 1) m.yy = my.variance() / ny;
  if (x.size() < 2 || y.size() < 2) m.xx = m.yy = 0;  // no spread is known of one value
  return fieller(m, level, [&](double r) {
    const double from_y = r * r * m.yy, share = m.xx / (m.xx + from_y);
    return 1 / (share * share / (nx - 1) + (1 - share) * (1 - share) / (ny - 1));
  });
}

FiellerRatio ratio_paired(std::span<const double> x, std::span<const double> y, double level) {
  const int ex = common_exponent({x}), ey = common_exponent({y});
  const std::vector<double> sx = scaled_down(x, ex), sy = scaled_down(y, ey);
  const Moments mx = moments(sx), my = moments(sy);
  const auto n = static_cast<double>(x.size());
  Means m{mx.mean.value(), my.mean.value(), 0, 0, 0, ex - ey};
  if (x.size() > 1) {
    Twofold products;
    for (std::size_t i = 0; i < sx.size(); ++i)
      products = products + Twofold{(Twofold{sx[i]} - mx.mean).value()} * (Twofold{sy[i]} - my.mean).value();
    m.xx = mx.variance() / n;
    m.yy = my.variance() / n;
    m.xy = products.value() / (n - 1) / n;
  }
  return fieller(m, level, [&](double) { return n - 1; });
}

}  // namespace retrygate::stats
