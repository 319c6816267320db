// Times to an event of which some are only known to be longer: a call that had not succeeded by the horizon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/interval.hpp"

namespace retrygate::stats {

struct Lifetime {
  double time = 0;    // >= 0, any unit
  bool event = true;  // false: censored, the event had not happened by `time`
};

// At one time events come before censorings. Times that differ by less than 1.5e-8 of their mean are one.
struct SurvivalStep {
  double time = 0;
  std::int64_t at_risk = 0;  // just before
  std::int64_t events = 0;
  double survival = 1;               // after
  std::optional<double> std_error;   // of the survival, Greenwood; none when it is 0
  std::optional<Interval> interval;  // none with the standard error
};

// On which scale the interval is symmetric; it is cut to [0, 1].
enum class SurvivalScale { log, log_log, plain };

struct SurvivalCurve {
  std::vector<SurvivalStep> steps;  // one per time with an event
  std::int64_t events = 0, censored = 0;
  double last_time = 0;  // of all, censored or not

  // The time by which the share `p` has had the event; the middle of the stretch if the curve is flat at 1 -
  // p.
  std::optional<double> quantile(double p) const;
  // From the limits of the curve, at its level (Brookmeyer and Crowley 1982); an end may not be reached.
  std::optional<double> quantile_low(double p) const;
  std::optional<double> quantile_high(double p) const;
};
// 0 < level < 1, at least one lifetime.
// Source: E. L. Kaplan and P. Meier, "Nonparametric estimation from incomplete observations", 1958.
SurvivalCurve kaplan_meier(std::span<const Lifetime>, double level, SurvivalScale);

// Area under the curve up to tau > 0: the mean of min(time, tau). Beyond the last time the curve stays level.
struct RestrictedMean {
  double mean = 0;
  double std_error = 0;  // Greenwood
  bool beyond_last_time = false;
};
RestrictedMean restricted_mean(const SurvivalCurve&, double tau);

// Do groups differ? Weights survival^rho: 0 is the log-rank test, 1 Peto and Peto's.
struct GroupedLifetime {
  Lifetime life;
  std::size_t group = 0;    // 0 .. groups - 1
  std::size_t stratum = 0;  // only lifetimes of one stratum are compared
};
struct LogRank {
  std::vector<double> observed, expected;     // weighted numbers of events, by group
  std::vector<std::vector<double>> variance;  // of observed - expected
  std::optional<double> chi_square, p;        // none when there is nothing to compare
  int dof = 0;
  std::optional<double> z;  // of two groups: positive when the first has more events than expected
};
// Hypergeometric variance. groups >= 2.
// Source: D. P. Harrington and T. R. Fleming, "A class of rank test procedures for censored survival data",
// 1982.
LogRank log_rank(std::span<const GroupedLifetime>, std::size_t groups, double rho);

}  // namespace retrygate::stats
