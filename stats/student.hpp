// Student's t: one sample, pairs, two samples.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "stats/status.hpp"

namespace retrygate::stats {

// `undefined` when the standard error is exactly 0 or a sample is too small for one: the estimate is given
// all the same. Data with a large offset are no reason to refuse.
struct TTest {
  Status status = Status::ok;
  std::string_view method;  // "Welch", "pooled", "paired", "one sample"
  double estimate = 0;      // mean, or difference of means x - y
  double mean_x = 0, mean_y = 0;
  std::optional<double> std_error, statistic, df;
  std::optional<double> p_value;    // of `estimate equals mu`, on the side asked for
  std::optional<double> low, high;  // of the level asked for; a one-sided interval ends at an infinity
};

struct TQuestion {
  double mu = 0;
  Alternative alternative = Alternative::two_sided;
  double level = 0.95;
};

// Mean of independent values. Assumes a normal mean: normal values, or many. At least 1 value.
TTest t_one_sample(std::span<const double> x, const TQuestion& = {});
// The same of the differences x[i] - y[i].
TTest t_paired(std::span<const double> x, std::span<const double> y, const TQuestion& = {});
// Variances may differ; degrees of freedom of Satterthwaite.
// Source: B. L. Welch, "The generalization of Student's problem when several different population variances
// are involved", 1947.
TTest t_welch(std::span<const double> x, std::span<const double> y, const TQuestion& = {});
// Equal variances.
TTest t_pooled(std::span<const double> x, std::span<const double> y, const TQuestion& = {});

}  // namespace retrygate::stats
