#include "stats/survival.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "stats/distributions.hpp"
#include "stats/regression.hpp"

namespace retrygate::stats {
namespace {

// Times as they were drawn from one clock: 0.1 + 0.2 and 0.3 are one. Source: survival::aeqSurv of R.
std::vector<double> merged_times(std::vector<double> times) {
  std::vector<double> distinct = times;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  double mean = 0;
  for (const double time : distinct) mean += time / static_cast<double>(distinct.size());
  const double near = std::sqrt(std::numeric_limits<double>::epsilon()) * mean;
  std::vector<double> starts;  // of runs of times that are one
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    if (i == 0 || distinct[i] - distinct[i - 1] > near) starts.push_back(distinct[i]);
  }
  for (double& time : times) time = *(std::upper_bound(starts.begin(), starts.end(), time) - 1);
  return times;
}

// Lifetimes of one time: how many events, how many in all.
struct Tie {
  std::int64_t events = 0, all = 0;
};

std::optional<Interval> limits(double survival, double std_error, double z, SurvivalScale scale) {
  const double on_log = z * std_error / survival;
  switch (scale) {
    case SurvivalScale::log:
      return Interval{survival * std::exp(-on_log), std::min(1.0, survival * std::exp(on_log))};
    case SurvivalScale::log_log: {
      const double factor = std::exp(on_log / -std::log(survival));
      return Interval{std::pow(survival, factor), std::pow(survival, 1 / factor)};
    }
    case SurvivalScale::plain:
      return Interval{std::max(0.0, survival - z * std_error), std::min(1.0, survival + z * std_error)};
  }
  return std::nullopt;
}

// Where a falling step curve first is at or below `level`; within rounding of it, the middle of that stretch.
std::optional<double> first_at_or_below(
    const SurvivalCurve& curve, double level,
    const std::function<std::optional<double>(const SurvivalStep&)>& height) {
  constexpr double rounding = 1e-12;
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    const auto here = height(curve.steps[i]);
    if (!here) return std::nullopt;
    if (*here > level + rounding) continue;
    if (*here < level - rounding) return curve.steps[i].time;
    for (std::size_t j = i + 1; j < curve.steps.size(); ++j) {
      const auto next = height(curve.steps[j]);
      if (!next || *next < level - rounding) return (curve.steps[i].time + curve.steps[j].time) / 2;
    }
    return (curve.steps[i].time + curve.last_time) / 2;
  }
  return std::nullopt;
}

}  // namespace

SurvivalCurve kaplan_meier(std::span<const Lifetime> lives, double level, SurvivalScale scale) {
  std::vector<double> times;
  for (const Lifetime& life : lives) times.push_back(life.time);
  times = merged_times(std::move(times));
  std::map<double, Tie> ties;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    Tie& tie = ties[times[i]];
    ++tie.all;
    if (lives[i].event) ++tie.events;
  }

  SurvivalCurve curve;
  curve.last_time = ties.rbegin()->first;
  const double z = -normal_quantile((1 - level) / 2);
  auto at_risk = static_cast<std::int64_t>(lives.size());
  double survival = 1, greenwood = 0;
  for (const auto& [time, tie] : ties) {
    if (tie.events > 0) {
      const auto n = static_cast<double>(at_risk), d = static_cast<double>(tie.events);
      SurvivalStep step{time, at_risk, tie.events, survival * ((n - d) / n), {}, {}};
      survival = step.survival;
      if (survival > 0) {
        greenwood += d / (n * (n - d));
        step.std_error = survival * std::sqrt(greenwood);
        step.interval = limits(survival, *step.std_error, z, scale);
      }
      curve.steps.push_back(step);
      curve.events += tie.events;
    }
    curve.censored += tie.all - tie.events;
    at_risk -= tie.all;
  }
  return curve;
}

std::optional<double> SurvivalCurve::quantile(double p) const {
  return first_at_or_below(*this, 1 - p, [](const SurvivalStep& s) { return std::optional(s.survival); });
}

std::optional<double> SurvivalCurve::quantile_low(double p) const {
  return first_at_or_below(*this, 1 - p, [](const SurvivalStep& s) {
    return s.interval ? std::optional(s.interval->low) : std::nullopt;
  });
}

std::optional<double> SurvivalCurve::quantile_high(double p) const {
  return first_at_or_below(*this, 1 - p, [](const SurvivalStep& s) {
    return s.interval ? std::optional(s.interval->high) : std::nullopt;
  });
}

RestrictedMean restricted_mean(const SurvivalCurve& curve, double tau) {
  RestrictedMean result;
  result.beyond_last_time = tau > curve.last_time;
  double variance = 0, area = 0, end = tau;  // area from the step to tau, backwards
  for (std::size_t i = curve.steps.size(); i-- > 0;) {
    const SurvivalStep& step = curve.steps[i];
    if (step.time > tau) continue;
    area += step.survival * (end - step.time);
    end = step.time;
    const auto n = static_cast<double>(step.at_risk), d = static_cast<double>(step.events);
    if (area > 0) variance += area * area * (d / (n * (n - d)));
  }
  result.mean = area + end;  // the curve is 1 before the first step
  result.std_error = std::sqrt(variance);
  return result;
}

LogRank log_rank(std::span<const GroupedLifetime> lives, std::size_t groups, double rho) {
  std::vector<double> times;
  for (const GroupedLifetime& one : lives) times.push_back(one.life.time);
  times = merged_times(std::move(times));
  std::map<std::size_t, std::map<double, std::vector<Tie>>> strata;  // by stratum, time, group
  for (std::size_t i = 0; i < lives.size(); ++i) {
    auto& tie = strata[lives[i].stratum].try_emplace(times[i], groups).first->second[lives[i].group];
    ++tie.all;
    if (lives[i].life.event) ++tie.events;
  }

  LogRank result;
  result.observed.assign(groups, 0);
  result.expected.assign(groups, 0);
  result.variance.assign(groups, std::vector<double>(groups, 0));
  for (const auto& [stratum, by_time] : strata) {
    std::vector<double> at_risk(groups, 0);
    for (const auto& [time, ties] : by_time) {
      for (std::size_t g = 0; g < groups; ++g) at_risk[g] += static_cast<double>(ties[g].all);
    }
    double survival = 1;  // of the pooled groups, just before
    for (const auto& [time, ties] : by_time) {
      double n = 0, d = 0;
      for (std::size_t g = 0; g < groups; ++g) {
        n += at_risk[g];
        d += static_cast<double>(ties[g].events);
      }
      const double weight = rho == 0 ? 1 : std::pow(survival, rho);
      const double spread = n > 1 ? weight * weight * d * (n - d) / (n - 1) : 0;
      for (std::size_t g = 0; g < groups; ++g) {
        const double share = at_risk[g] / n;
        result.observed[g] += weight * static_cast<double>(ties[g].events);
        result.expected[g] += weight * d * share;
        for (std::size_t h = 0; h < groups; ++h)
          result.variance[g][h] += spread * share * ((g == h ? 1 : 0) - at_risk[h] / n);
      }
      survival *= (n - d) / n;
      for (std::size_t g = 0; g < groups; ++g) at_risk[g] -= static_cast<double>(ties[g].all);
    }
  }

  // The differences sum to 0, so the last group says nothing new; a group that never was at risk neither.
  std::vector<double> differences;
  for (std::size_t g = 0; g < groups; ++g) {
    differences.push_back(result.observed[g] - result.expected[g]);
    if (result.expected[g] > 0) ++result.dof;
  }
  --result.dof;
  const auto form = inverse_form(result.variance, differences);
  if (!form || result.dof < 1) return result;
  result.chi_square = *form;
  result.p = chi_square_sf(*form, result.dof);
  if (groups == 2) result.z = differences[0] / std::sqrt(result.variance[0][0]);
  return result;
}

}  // namespace retrygate::stats
