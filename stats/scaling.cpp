#include "stats/scaling.hpp"

#include <algorithm>
#include <cmath>

#include "stats/isotonic.hpp"
#include "stats/regression.hpp"
#include "stats/sample.hpp"
#include "stats/student.hpp"

namespace retrygate::stats {
namespace {

bool all_positive(const Growth& growth) {
  for (const auto& at_size : growth.values) {
    if (!std::all_of(at_size.begin(), at_size.end(), [](double v) { return v > 0; })) return false;
  }
  return true;
}

// Sizes and values as logarithms, value by value. Sizes are measured from their middle, so that a quadratic
// term is no near copy of the linear one.
struct Logarithms {
  std::vector<double> size, value;
  double middle = 0;
};

Logarithms logarithms(const Growth& growth) {
  Logarithms all;
  for (const double size : growth.sizes)
    all.middle += std::log(size) / static_cast<double>(growth.sizes.size());
  for (std::size_t i = 0; i < growth.sizes.size(); ++i) {
    for (const double value : growth.values[i]) {
      all.size.push_back(std::log(growth.sizes[i]) - all.middle);
      all.value.push_back(std::log(value));
    }
  }
  return all;
}

// p of a quadratic term beside the linear one; none when there are too few sizes to tell.
std::optional<double> p_of_bend(const Growth& growth, const Logarithms& logs, double level) {
  if (growth.sizes.size() < 3) return std::nullopt;
  std::vector<double> squares;
  for (const double s : logs.size) squares.push_back(s * s);
  const LinearFit bent = fit_linear({{logs.size, squares}, logs.value, {}, true}, level, ErrorModel::hc3);
  return bent.status == Status::ok ? bent.coefficients[2].p : std::nullopt;
}

// Slopes of each seed's own line through its logarithms.
std::vector<double> exponents_by_seed(const Growth& growth) {
  std::vector<double> exponents;
  for (std::size_t seed = 0; seed < growth.values.front().size(); ++seed) {
    Growth own{growth.sizes, {}};
    for (const auto& at_size : growth.values) own.values.push_back({at_size[seed]});
    const Logarithms logs = logarithms(own);
    exponents.push_back(fit_linear({{logs.size}, logs.value, {}, true}).coefficients[1].estimate);
  }
  return exponents;
}

}  // namespace

PowerLaw power_law(const Growth& growth, double level) {
  PowerLaw law;
  if (!all_positive(growth)) {
    law.status = Status::undefined;
    return law;
  }
  const Logarithms logs = logarithms(growth);
  const LinearFit fit = fit_linear({{logs.size}, logs.value, {}, true}, level, ErrorModel::hc3);
  law.status = fit.status;
  law.exponent = fit.coefficients[1].estimate;
  law.scale = std::exp(fit.coefficients[0].estimate - law.exponent * logs.middle);
  law.std_error = fit.coefficients[1].std_error;
  law.interval = fit.coefficients[1].interval;
  law.r_squared = fit.r_squared;
  std::vector<double> centres;
  for (const auto& at_size : growth.values) {
    std::vector<double> own;
    for (const double value : at_size) own.push_back(std::log(value));
    centres.push_back(mean(own));
  }
  for (std::size_t i = 1; i < centres.size(); ++i)
    law.local.push_back((centres[i] - centres[i - 1]) / std::log(growth.sizes[i] / growth.sizes[i - 1]));
  law.p_bend = p_of_bend(growth, logs, level);
  return law;
}

ExponentDifference compare_exponents(const Growth& baseline, const Growth& candidate, double level) {
  ExponentDifference difference;
  difference.status = Status::undefined;
  if (!all_positive(baseline) || !all_positive(candidate)) return difference;
  const TTest t =
      t_paired(exponents_by_seed(candidate), exponents_by_seed(baseline), {0, Alternative::two_sided, level});
  difference.status = t.status;
  difference.estimate = t.estimate;
  difference.p = t.p_value;
  if (t.low && t.high) difference.interval = Interval{*t.low, *t.high};
  return difference;
}

std::string_view to_string(Direction direction) {
  switch (direction) {
    case Direction::rises:
      return "rises";
    case Direction::falls:
      return "falls";
    case Direction::level:
      return "level";
    case Direction::neither:
      return "neither";
  }
  return "";
}

Trend trend(const Growth& growth) {
  Trend result;
  for (const auto& at_size : growth.values) result.means.push_back(mean(at_size));
  const bool rises = std::is_sorted(result.means.begin(), result.means.end());
  const bool falls = std::is_sorted(result.means.rbegin(), result.means.rend());
  result.direction = rises && falls ? Direction::level
                     : rises        ? Direction::rises
                     : falls        ? Direction::falls
                                    : Direction::neither;
  const IsotonicFit up = isotonic_regression(result.means),
                    down = isotonic_regression(result.means, {}, true);
  const auto left = [&](const IsotonicFit& fit) {
    double squares = 0;
    for (std::size_t i = 0; i < fit.fitted.size(); ++i)
      squares += (result.means[i] - fit.fitted[i]) * (result.means[i] - fit.fitted[i]);
    return squares;
  };
  const bool better_up = left(up) <= left(down);
  result.monotone = better_up ? up.fitted : down.fitted;
  double spread = 0;
  const double centre = mean(result.means);
  for (const double m : result.means) spread += (m - centre) * (m - centre);
  if (spread > 0) result.explained = 1 - (better_up ? left(up) : left(down)) / spread;
  return result;
}

}  // namespace retrygate::stats
