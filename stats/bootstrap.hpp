// Bootstrap of any statistic: percentile, BCa and bootstrap-t intervals, exact where all resamples can be
// counted. Sources: B. Efron, "Better bootstrap confidence intervals", 1987; Efron and Tibshirani, "An
// Introduction to the Bootstrap", 1993.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/base/rng.hpp"
#include "stats/sample.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

// What is estimated from a sample. A location shift moves all but the variance by as much.
struct Functional {
  enum class Kind { mean, median, variance, trimmed_mean, quantile };
  Kind kind = Kind::mean;
  double p = 0;  // of a quantile, or the share that is trimmed at each end
  QuantileType type = QuantileType::seven;
  std::size_t least() const { return kind == Kind::variance ? 2 : 1; }  // values that it needs
};
// Brings x into another order. At least functional.least() values.
double evaluate(const Functional&, std::span<double> x);

// Of two samples the difference or the ratio. The values below a ratio have one sign and are not 0.
enum class Contrast { difference, ratio };
struct Estimand {
  Functional functional;
  Contrast contrast = Contrast::difference;
};

// Leaving one value out. At least least() + 1 values.
struct Jackknife {
  Status status = Status::ok;  // degenerate: all values are equal, acceleration is 0
  double estimate = 0;
  std::vector<double> values;
  double bias = 0, se = 0, acceleration = 0;
};
Jackknife jackknife(std::span<const double> x, const Functional&);
// Efron's acceleration of two samples: the cubes and squares of both, each divided by its size.
double acceleration(std::span<const double> x, std::span<const double> y, const Estimand&);

// The levels at which BCa reads the law of the replicates. Empty where 1 - a (z0 + z) is not positive:
// outside the range of the formula.
struct BcaLevels {
  Status status = Status::ok;
  std::optional<double> low, high;
};
BcaLevels bca_levels(double z0, double acceleration, double level);

// The law of the statistic over resamples: sorted values with their probabilities.
class ResampleLaw {
 public:
  // Equal probabilities; quantiles of type 7.
  static ResampleLaw drawn(std::vector<double> replicates);
  // Every resample counted. Values that differ by at most `slack` are one; quantiles are the least value
  // whose distribution function reaches p.
  static ResampleLaw all(std::vector<std::pair<double, double>> values_and_probabilities, double slack);

  bool is_all() const { return all_; }
  std::size_t size() const { return values_.size(); }
  double mean() const;
  double sd() const;  // of the law; of drawn replicates the sample's
  double quantile(double p) const;
  double less(double than) const;  // probability
  double equal(double to) const;
  // Phi^-1(P(less) + P(equal) / 2); empty when all replicates lie on one side.
  std::optional<double> z0(double estimate) const;

 private:
  int exponent_of() const;
  template <class Visit>
  void for_each(const Visit&) const;  // visit(value, probability)

  std::vector<double> values_, cumulative_;  // cumulative_: of counted ones
  bool all_ = false;
  double slack_ = 0;
};

struct Resampling {
  std::uint64_t count = 10'000;
  Seed seed{1};
  unsigned threads = 1;  // 0 is one per core; the replicates do not depend on it
};

// The exact law where it can be counted: the median and quantiles that are a value of the sample by the
// binomial law, whatever the size; else every multiset of up to 9 values. Empty otherwise.
std::optional<ResampleLaw> ideal_law(std::span<const double> x, const Functional&);
ResampleLaw drawn_law(std::span<const double> x, const Functional&, const Resampling& = {});
// Both samples are drawn, independently.
ResampleLaw drawn_law(std::span<const double> x, std::span<const double> y, const Estimand&,
                      const Resampling& = {});

struct Ends {
  double low = 0, high = 0;
};
struct BootstrapIntervals {
  Status status = Status::ok;  // degenerate: all replicates equal; undefined: BCa has no levels
  double estimate = 0, mean = 0, se = 0;
  double acceleration = 0;
  std::optional<double> z0;
  Ends percentile;
  BcaLevels levels;
  std::optional<double> bca_low, bca_high;
};
BootstrapIntervals intervals(const ResampleLaw&, double estimate, double acceleration, double level);

// Bootstrap-t of a mean: estimate less the quantiles of (mean* - mean) / se*, times se. Empty without spread.
std::optional<Ends> studentized_mean(std::span<const double> x, double level, const Resampling& = {});

}  // namespace retrygate::stats
