#include "stats/regression.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/base/error.hpp"
#include "stats/distributions.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

constexpr double left_of_column = 1e-13;  // a smaller rest of a column of norm 1 is rounding

// The rows that count, times the roots of their weights. Columns are divided by a power of 2 near their norm
// and y by one above its values, which is exact and lets nothing overflow.
struct Problem {
  Eigen::MatrixXd a;  // rows by columns
  Eigen::VectorXd y;
  std::vector<int> exponents;  // of the columns
  int y_exponent = 0;
  std::vector<double> root_weights;  // of the rows

  // A coefficient of the scaled columns in the units of the data.
  double unscaled(Eigen::Index column, double coefficient) const {
    return std::ldexp(coefficient, y_exponent - exponents[static_cast<std::size_t>(column)]);
  }
};

// The exponent of the power of 2 next to the norm of `values`.
int norm_exponent(const std::vector<double>& values) {
  const int exponent = common_exponent({values});
  double squares = 0;
  for (const double v : scaled_down(values, exponent)) squares += v * v;
  return squares > 0 ? exponent + static_cast<int>(std::lround(std::log2(squares) / 2)) : 0;
}

Eigen::VectorXd eigen(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

Problem problem_of(const RegressionData& data) {
  Problem problem;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    const double weight = data.weights.empty() ? 1 : data.weights[i];
    if (weight == 0) continue;
    rows.push_back(i);
    problem.root_weights.push_back(std::sqrt(weight));
  }
  const auto weighted = [&](const std::vector<double>& values, int exponent) {
    std::vector<double> chosen;
    for (std::size_t r = 0; r < rows.size(); ++r)
      chosen.push_back(std::ldexp(values[rows[r]], -exponent) * problem.root_weights[r]);
    return chosen;
  };
  Matrix columns;
  if (data.intercept) columns.emplace_back(data.y.size(), 1.0);
  columns.insert(columns.end(), data.columns.begin(), data.columns.end());
  problem.a.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(columns.size()));
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const int outer = common_exponent({columns[j]}), inner = norm_exponent(weighted(columns[j], outer));
    problem.exponents.push_back(outer + inner);
    problem.a.col(static_cast<Eigen::Index>(j)) = eigen(weighted(columns[j], outer + inner));
  }
  problem.y_exponent = common_exponent({data.y});
  problem.y = eigen(weighted(data.y, problem.y_exponent));
  return problem;
}

// y - r - a * c, each row to 106 bits.
Eigen::VectorXd missing(const Problem& problem, const Eigen::VectorXd& r, const Eigen::VectorXd& c) {
  Eigen::VectorXd f(r.size());
  for (Eigen::Index i = 0; i < r.size(); ++i) {
    Twofold sum = two_sum(problem.y[i], -r[i]);
    for (Eigen::Index j = 0; j < c.size(); ++j) sum = sum - Twofold{problem.a(i, j)} * c[j];
    f[i] = sum.value();
  }
  return f;
}

// -a' * r, each column to 106 bits.
Eigen::VectorXd slanted(const Problem& problem, const Eigen::VectorXd& r) {
  Eigen::VectorXd g(problem.a.cols());
  for (Eigen::Index j = 0; j < g.size(); ++j) {
    Twofold sum;
    for (Eigen::Index i = 0; i < r.size(); ++i) sum = sum - Twofold{problem.a(i, j)} * r[i];
    g[j] = sum.value();
  }
  return g;
}

struct Solution {
  Eigen::VectorXd c, rest;  // coefficients and residuals of the scaled problem
};

// Residuals and coefficients are refined together: "the residuals are what is left" and "they are orthogonal
// to the columns" are the equations. Without that, residuals inherit the condition of the columns.
// Source: A. Bjorck, "Iterative refinement of linear least squares solutions I", 1967.
Solution solve(const Eigen::ColPivHouseholderQR<Eigen::MatrixXd>& qr, const Problem& problem) {
  Solution s;
  s.c = qr.solve(problem.y);
  s.rest = missing(problem, Eigen::VectorXd::Zero(problem.y.size()), s.c);
  const Eigen::Index p = qr.cols();
  if (qr.rank() < p) return s;
  const auto r = qr.matrixR().topLeftCorner(p, p).triangularView<Eigen::Upper>();
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    const Eigen::VectorXd f = missing(problem, s.rest, s.c), g = slanted(problem, s.rest);
    Eigen::VectorXd d = qr.householderQ().adjoint() * f;
    const Eigen::VectorXd z = r.transpose().solve(qr.colsPermutation().transpose() * g);
    const Eigen::VectorXd step = qr.colsPermutation() * Eigen::VectorXd(r.solve(d.head(p) - z));
    s.c += step;
    d.head(p) = z;
    s.rest += qr.householderQ() * d;
  }
  return s;
}

// Columns that are no combination of earlier ones: Gram and Schmidt, twice.
std::vector<std::size_t> independent(const Eigen::MatrixXd& a) {
  std::vector<std::size_t> kept;
  Eigen::MatrixXd basis(a.rows(), 0);
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    Eigen::VectorXd rest = a.col(j);
    const double whole = rest.norm();
    for (int pass = 0; pass < 2; ++pass) rest -= basis * (basis.transpose() * rest);
    const double norm = rest.norm();
    if (norm <= left_of_column * whole) continue;
    basis.conservativeResize(Eigen::NoChange, basis.cols() + 1);
    basis.col(basis.cols() - 1) = rest / norm;
    kept.push_back(static_cast<std::size_t>(j));
  }
  return kept;
}

// What a residual contributes to the robust covariance, from its leverage; not finite where a row decides a
// coefficient alone.
double robust_variance(ErrorModel model, double residual, double leverage, double n, double dof) {
  const double square = residual * residual, left = 1 - leverage;
  switch (model) {
    case ErrorModel::classical:
    case ErrorModel::hc0:
      return square;
    case ErrorModel::hc1:
      return square * n / dof;
    case ErrorModel::hc2:
      return square / left;
    case ErrorModel::hc3:
      return square / (left * left);
  }
  return square;
}

// A root of the covariance of the scaled coefficients; empty when it is not finite.
Eigen::MatrixXd covariance_root(const Eigen::ColPivHouseholderQR<Eigen::MatrixXd>& qr,
                                const Eigen::VectorXd& rest, double sigma, ErrorModel model) {
  const Eigen::Index n = rest.size(), p = qr.cols();
  const Eigen::MatrixXd inverse =
      qr.matrixR().topLeftCorner(p, p).triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(p, p));
  const Eigen::MatrixXd spread = qr.colsPermutation() * inverse;
  if (model == ErrorModel::classical) return spread * sigma;
  const Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(n, p);
  Eigen::MatrixXd weighted = q;  // its Gram matrix is Q' diag(variances) Q
  for (Eigen::Index i = 0; i < n; ++i) {
    const double leverage = q.row(i).squaredNorm();
    // A leverage of 1 up to rounding: the row's residual is 0 whatever its error was.
    const bool alone = 1 - leverage < 1e-12 && (model == ErrorModel::hc2 || model == ErrorModel::hc3);
    if (alone) return {};
    const double variance =
        robust_variance(model, rest[i], leverage, static_cast<double>(n), static_cast<double>(n - p));
    weighted.row(i) *= std::sqrt(variance);
  }
  const Eigen::HouseholderQR<Eigen::MatrixXd> gram(weighted);
  const Eigen::MatrixXd r = gram.matrixQR().topRows(p).triangularView<Eigen::Upper>();
  return spread * r.transpose();
}

struct Squares {
  double rss = 0, model = 0;  // about the mean with an intercept, else about 0
};

Squares squares(const Problem& problem, const Eigen::VectorXd& rest, const RegressionData& data) {
  Squares s;
  s.rss = rest.squaredNorm();
  const Eigen::VectorXd fitted = problem.y - rest;
  if (!data.intercept) {
    s.model = fitted.squaredNorm();
    return s;
  }
  // Column 0 has the direction of the mean: what the fit is beyond it.
  const Eigen::VectorXd mean = problem.a.col(0).normalized();
  Eigen::VectorXd beyond = fitted - mean * mean.dot(fitted);
  beyond -= mean * mean.dot(beyond);
  s.model = beyond.squaredNorm();
  return s;
}

std::vector<double> fitted_values(const RegressionData& data, const Problem& problem,
                                  const Eigen::VectorXd& c, const Eigen::VectorXd& rest) {
  const std::size_t first = data.intercept ? 1 : 0;
  std::vector<double> fitted;
  std::size_t row = 0;
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    const double weight = data.weights.empty() ? 1 : data.weights[i];
    if (weight > 0) {
      const double left = rest[static_cast<Eigen::Index>(row)] / problem.root_weights[row];
      fitted.push_back(std::ldexp(std::ldexp(data.y[i], -problem.y_exponent) - left, problem.y_exponent));
      ++row;
      continue;
    }
    Twofold sum;  // a row of weight 0 has no residual
    for (Eigen::Index j = 0; j < c.size(); ++j) {
      const auto k = static_cast<std::size_t>(j);
      sum =
          sum + Twofold{std::ldexp(k < first ? 1 : data.columns[k - first][i], -problem.exponents[k])} * c[j];
    }
    fitted.push_back(std::ldexp(sum.value(), problem.y_exponent));
  }
  return fitted;
}

// Largest to smallest stretch of the columns, each divided by its norm; all rows, without weights.
double condition_of(const RegressionData& data) {
  RegressionData plain = data;
  plain.weights.clear();
  Eigen::MatrixXd a = problem_of(plain).a;
  for (Eigen::Index j = 0; j < a.cols(); ++j) a.col(j).normalize();
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(a);
  const Eigen::Index k = std::min(a.rows(), a.cols());
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(
      qr.matrixQR().topRows(k).triangularView<Eigen::Upper>().toDenseMatrix());
  const double smallest = svd.singularValues().minCoeff();
  return smallest > 0 && a.rows() >= a.cols() ? svd.singularValues().maxCoeff() / smallest
                                              : std::numeric_limits<double>::infinity();
}

Coefficient coefficient(double estimate, double std_error, double dof, double level) {
  Coefficient c{estimate, std_error, {}, {}, {}};
  if (std_error > 0) {
    c.t = estimate / std_error;
    c.p = 2 * student_sf(std::abs(*c.t), dof);
    const double reach = student_upper_quantile((1 - level) / 2, dof) * std_error;
    c.interval = Interval{estimate - reach, estimate + reach};
  }
  return c;
}

}  // namespace

LinearFit fit_linear(const RegressionData& data, double level, ErrorModel model) {
  const Problem problem = problem_of(data);
  const Eigen::Index n = problem.a.rows(), p = problem.a.cols();
  RG_ASSERT(n > 0 && p > 0, fmt::format("{} rows and {} columns", n, p));
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(problem.a.rows(), problem.a.cols());
  qr.setThreshold(left_of_column);
  qr.compute(problem.a);

  const auto [c, rest] = solve(qr, problem);

  LinearFit fit;
  fit.level = level;
  fit.intercept = data.intercept;
  fit.rank = static_cast<std::size_t>(qr.rank());
  fit.dof_residual = static_cast<std::size_t>(n - qr.rank());
  fit.independent_columns = independent(problem.a);
  fit.fitted = fitted_values(data, problem, c, rest);
  fit.condition = condition_of(data);
  const Squares s = squares(problem, rest, data);
  const double rss = std::ldexp(s.rss, 2 * problem.y_exponent);
  if (std::isfinite(rss)) fit.rss = rss;
  const auto dof = static_cast<double>(fit.dof_residual);
  const double sigma = dof > 0 ? std::sqrt(s.rss / dof) : 0;
  if (dof > 0) fit.sigma = std::ldexp(sigma, problem.y_exponent);

  const double free = static_cast<double>(n - (data.intercept ? 1 : 0));  // degrees of freedom of y
  if (s.model + s.rss > 0) {
    fit.r_squared = s.model / (s.model + s.rss);
    if (dof > 0) fit.adj_r_squared = 1 - s.rss / (s.model + s.rss) * free / dof;
  }

  // Rounding of a solution is some units in the last place of y per row.
  const double rounding = 64 * std::numeric_limits<double>::epsilon() * problem.y.norm();
  const bool perfect = std::sqrt(s.rss) <= rounding;
  if (qr.rank() < p) {
    fit.status = Status::rank_deficient;
    return fit;
  }
  for (Eigen::Index j = 0; j < p; ++j)
    fit.coefficients.push_back({problem.unscaled(j, c[j]), {}, {}, {}, {}});
  if (dof == 0) {
    fit.status = Status::saturated;
    return fit;
  }
  if (perfect) fit.status = Status::perfect_fit;

  const Eigen::MatrixXd root = covariance_root(qr, rest, sigma, model);
  for (Eigen::Index j = 0; j < root.rows(); ++j) {
    std::vector<double> row;
    for (Eigen::Index k = 0; k < p; ++k) row.push_back(problem.unscaled(j, root(j, k)));
    fit.root.push_back(std::move(row));
    Coefficient& own = fit.coefficients[static_cast<std::size_t>(j)];
    const double std_error = problem.unscaled(j, root.row(j).norm());
    own = perfect ? Coefficient{own.estimate, std_error, {}, {}, {}}
                  : coefficient(own.estimate, std_error, dof, level);
  }
  const std::size_t tested = fit.rank - (data.intercept ? 1 : 0);
  if (tested > 0 && !perfect) {
    const double f = s.model / static_cast<double>(tested) / (s.rss / dof);
    fit.overall = {f, f_sf(f, static_cast<double>(tested), dof), tested, fit.dof_residual};
  }
  return fit;
}

Prediction predict(const LinearFit& fit, std::span<const double> x) {
  std::vector<double> row;
  if (fit.intercept) row.push_back(1);
  row.insert(row.end(), x.begin(), x.end());
  RG_ASSERT(row.size() == fit.coefficients.size() && !fit.root.empty(), fmt::format("{} values", x.size()));
  long double sum = 0;
  std::vector<long double> spread(row.size(), 0);
  for (std::size_t j = 0; j < row.size(); ++j) {
    sum += static_cast<long double>(row[j]) * static_cast<long double>(fit.coefficients[j].estimate);
    for (std::size_t k = 0; k < row.size(); ++k)
      spread[k] += static_cast<long double>(row[j]) * static_cast<long double>(fit.root[j][k]);
  }
  Prediction result;
  result.fit = static_cast<double>(sum);
  for (const long double part : spread)
    result.std_error = std::hypot(result.std_error, static_cast<double>(part));
  const double t = student_upper_quantile((1 - fit.level) / 2, static_cast<double>(fit.dof_residual));
  const double of_mean = t * result.std_error, of_value = t * std::hypot(result.std_error, *fit.sigma);
  result.mean = {result.fit - of_mean, result.fit + of_mean};
  result.value = {result.fit - of_value, result.fit + of_value};
  return result;
}

HotellingTest hotelling(const Matrix& first, const Matrix& second) {
  const auto n1 = static_cast<Eigen::Index>(first.size()), n2 = static_cast<Eigen::Index>(second.size());
  const auto p = static_cast<Eigen::Index>(first.front().size());
  HotellingTest test;
  test.dof1 = static_cast<std::size_t>(p);
  if (n1 + n2 - p - 1 < 1) {
    test.status = Status::undefined;
    return test;
  }
  test.dof2 = static_cast<std::size_t>(n1 + n2 - p - 1);

  // Deviations from the means of the groups, each column divided by its norm: its QR is a root of the pooled
  // covariance.
  Eigen::MatrixXd deviations(n1 + n2, p);
  Eigen::VectorXd difference(p);
  for (Eigen::Index j = 0; j < p; ++j) {
    const auto column = [&](const Matrix& group) {
      std::vector<double> values;
      for (const auto& row : group) values.push_back(row[static_cast<std::size_t>(j)]);
      return values;
    };
    const std::vector<double> x = column(first), y = column(second);
    const int exponent = common_exponent({x, y});
    const std::vector<double> sx = scaled_down(x, exponent), sy = scaled_down(y, exponent);
    const Twofold mx = moments(sx).mean, my = moments(sy).mean;
    for (Eigen::Index i = 0; i < n1; ++i)
      deviations(i, j) = (Twofold{sx[static_cast<std::size_t>(i)]} - mx).value();
    for (Eigen::Index i = 0; i < n2; ++i)
      deviations(n1 + i, j) = (Twofold{sy[static_cast<std::size_t>(i)]} - my).value();
    difference[j] = (mx - my).value();
    if (const double norm = deviations.col(j).norm(); norm > 0) {
      deviations.col(j) /= norm;
      difference[j] /= norm;
    }
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(n1 + n2, p);
  qr.setThreshold(left_of_column);
  qr.compute(deviations);
  if (qr.rank() < p) {
    test.status = Status::undefined;
    return test;
  }
  const Eigen::VectorXd z = qr.matrixR().topLeftCorner(p, p).triangularView<Eigen::Upper>().transpose().solve(
      qr.colsPermutation().transpose() * difference);
  const auto all = static_cast<double>(n1 + n2);
  test.mahalanobis_squared = (all - 2) * z.squaredNorm();
  test.t2 = *test.mahalanobis_squared * static_cast<double>(n1) * static_cast<double>(n2) / all;
  test.f = *test.t2 * static_cast<double>(test.dof2) / ((all - 2) * static_cast<double>(p));
  test.p = f_sf(*test.f, static_cast<double>(test.dof1), static_cast<double>(test.dof2));
  return test;
}

std::optional<double> inverse_form(const Matrix& m, std::span<const double> x) {
  const auto p = static_cast<Eigen::Index>(x.size());
  Eigen::MatrixXd matrix(p, p);
  Eigen::VectorXd vector(p);
  for (Eigen::Index i = 0; i < p; ++i) {
    vector[i] = x[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < p; ++j)
      matrix(i, j) = m[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  if (matrix.cwiseAbs().maxCoeff() == 0) return std::nullopt;
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition(p, p);
  decomposition.setThreshold(left_of_column);
  decomposition.compute(matrix);
  return vector.dot(decomposition.solve(vector));
}

}  // namespace retrygate::stats
