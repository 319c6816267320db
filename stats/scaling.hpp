// How a metric grows with the size of a fleet: as a power of it, or at least in one direction.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stats/interval.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

// One metric at several sizes. The same seeds at every size: values[size][seed].
struct Growth {
  std::vector<double> sizes;  // above 0, rising, at least 2
  std::vector<std::vector<double>> values;
};

struct PowerLaw {
  // undefined: a value is 0 or below, which no power law gives; saturated: two values in all; perfect_fit: no
  // residuals.
  Status status = Status::ok;
  double exponent = 0, scale = 0;    // value = scale * size^exponent
  std::optional<double> std_error;   // of the exponent, robust (HC3)
  std::optional<Interval> interval;  // of the exponent
  std::optional<double> r_squared;   // of the logarithms
  std::vector<double> local;         // exponent from each size to the next, by the means of logarithms
  std::optional<double> p_bend;      // of "the exponent is the same everywhere": a quadratic term, HC3
};
// Least squares of log value on log size over all seeds, 0 < level < 1.
PowerLaw power_law(const Growth&, double level);

// Do two policies grow with different exponents? Candidate minus baseline, paired by seed: each seed has an
// exponent of its own, and their difference is a sample of one number per seed (Student's t).
struct ExponentDifference {
  Status status = Status::ok;  // undefined: a value is not above 0, one seed, or no spread
  std::optional<double> estimate;
  std::optional<Interval> interval;
  std::optional<double> p;
};
ExponentDifference compare_exponents(const Growth& baseline, const Growth& candidate, double level);

enum class Direction { rises, falls, level, neither };
std::string_view to_string(Direction);

// The means over seeds, and the nearest curve that goes in one direction only.
struct Trend {
  Direction direction = Direction::neither;  // of the means themselves
  std::vector<double> means, monotone;       // by size
  double explained = 1;                      // share of the spread of the means that the monotone curve keeps
};
Trend trend(const Growth&);

}  // namespace retrygate::stats
