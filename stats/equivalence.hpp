// Is a difference small enough not to matter? And how large is a ratio of means, with an honest interval.
#pragma once

#include <optional>
#include <span>

#include "stats/interval.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

// Two one-sided t tests: the difference mean(x) - mean(y) lies above margins.low and below margins.high.
// Source: D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", 1987.
struct Equivalence {
  Status status = Status::ok;  // undefined: no standard error, or one of exactly 0; `sides` is empty
  double estimate = 0;
  std::optional<double> std_error, df;
  struct Sides {
    double t_low = 0, p_low = 1;    // against "at most margins.low"
    double t_high = 0, p_high = 1;  // against "at least margins.high"
    double p = 1;                   // the larger of the two
    Interval interval;              // of level 1 - 2 error_rate: inside the margins exactly when equivalent
    bool equivalent = false;        // p <= error_rate
  };
  std::optional<Sides> sides;
};
// margins.low < margins.high, 0 < error_rate < 0.5.
Equivalence tost_welch(std::span<const double> x, std::span<const double> y, Interval margins,
                       double error_rate);
Equivalence tost_paired(std::span<const double> x, std::span<const double> y, Interval margins,
                        double error_rate);

// Is x worse than y by less than the margin? One-sided Welch test of the difference mean(x) - mean(y).
struct NonInferiority {
  Status status = Status::ok;
  double estimate = 0;
  std::optional<double> std_error, df, statistic, p;
  std::optional<double> bound;      // of level 1 - error_rate, on the bad side
  std::optional<bool> noninferior;  // p <= error_rate
};
enum class Larger { worse, better };
NonInferiority noninferiority_welch(std::span<const double> x, std::span<const double> y, double margin,
                                    double error_rate, Larger = Larger::worse);  // margin >= 0

// mean(x) / mean(y) by Fieller: all ratios r for which x - r y has a mean that may be 0. Where mean(y) is not
// clearly different from 0 that is no interval, and the status says so.
// Source: E. C. Fieller, "Some problems in interval estimation", 1954.
struct FiellerRatio {
  // unbounded_exclusive: everything but `excluded`; unbounded_all: nothing is excluded; undefined: mean(y) is
  // exactly 0, or there is no spread.
  Status status = Status::ok;
  std::optional<double> estimate, df;
  std::optional<double> g;  // (t se(mean y) / mean y)^2: the interval is bounded when below 1
  std::optional<Interval> interval;
  std::optional<Interval> excluded;
};
FiellerRatio ratio_unpaired(std::span<const double> x, std::span<const double> y, double level);
FiellerRatio ratio_paired(std::span<const double> x, std::span<const double> y, double level);

}  // namespace retrygate::stats
