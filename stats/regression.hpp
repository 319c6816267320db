// Least squares, and tests that need its linear algebra. Eigen stays behind this wall.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/interval.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

using Matrix = std::vector<std::vector<double>>;

struct RegressionData {
  Matrix columns;               // of what explains y, each as long as y; without the intercept
  std::vector<double> y;        // not empty
  std::vector<double> weights;  // >= 0, inverse to the variances; empty: equal. A row of 0 does not count.
  bool intercept = true;
};

// What the residuals are assumed to be. The robust ones need no common variance; hc3 is the one that stays
// honest for few rows.
// Sources: MacKinnon and White, "Some heteroskedasticity-consistent covariance matrix estimators with
// improved finite sample properties", 1985; Long and Ervin 2000.
enum class ErrorModel { classical, hc0, hc1, hc2, hc3 };

struct Coefficient {
  double estimate = 0;
  std::optional<double> std_error, t, p;  // p of "is 0", two-sided
  std::optional<Interval> interval;
};

struct LinearFit {
  // saturated: no residual degrees of freedom; perfect_fit: residuals are rounding; rank_deficient: columns
  // depend on each other, the coefficients are not unique and left out, everything else is.
  Status status = Status::ok;
  std::vector<Coefficient> coefficients;         // the intercept first
  std::vector<std::size_t> independent_columns;  // each not a combination of earlier ones, the intercept is 0
  std::size_t rank = 0;
  std::size_t dof_residual = 0;
  std::vector<double> fitted;  // of all rows
  std::optional<double> rss;   // weighted sum of squared residuals; none beyond the range of a double
  std::optional<double> sigma;
  std::optional<double> r_squared, adj_r_squared;  // about 0 without an intercept
  struct Overall {
    double f = 0, p = 1;
    std::size_t dof1 = 0, dof2 = 0;
  };
  std::optional<Overall> overall;  // of "all but the intercept are 0"; by the classical error model
  double condition = 1;            // of the columns, each divided by its norm, without weights

  Matrix root;  // covariance of the coefficients = root * root transposed; empty when there is none
  double level = 0.95;
  bool intercept = true;
};
// 0 < level < 1. At least one column or the intercept; at least one row of positive weight.
// By Householder's QR with column pivoting on scaled columns, refined with residuals to 106 bits. A
// column counts as a combination of others when less than 1e-13 of it is left. Source: A. Bjorck, "Numerical
// Methods for Least Squares Problems", 1996, sections 2.4 and 2.9.
LinearFit fit_linear(const RegressionData&, double level = 0.95, ErrorModel = ErrorModel::classical);

struct Prediction {
  double fit = 0, std_error = 0;  // of the mean there
  Interval mean;                  // of the mean
  Interval value;                 // of one new value of weight 1; by a common variance
};
// `x` without the intercept, one number per column. The fit has a covariance.
Prediction predict(const LinearFit&, std::span<const double> x);

// Do two groups have the same vector of means? Rows of p values each, at least one row per group.
// Source: H. Hotelling, "The generalization of Student's ratio", 1931.
struct HotellingTest {
  Status status = Status::ok;  // undefined: the pooled covariance is singular
  std::optional<double> mahalanobis_squared, t2, f, p;
  std::size_t dof1 = 0, dof2 = 0;
};
HotellingTest hotelling(const Matrix& first, const Matrix& second);

// x' M^+ x for a symmetric M that is not negative, where x lies in its range; nothing when M is 0.
std::optional<double> inverse_form(const Matrix& m, std::span<const double> x);

}  // namespace retrygate::stats
