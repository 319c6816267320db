// What the cases of reference/ do not hold: robust errors, and data that leave no error to be told.
#include "stats/regression.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/base/json.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

// R's data set `cars`: stopping distance in feet by speed in miles per hour.
RegressionData cars() {
  RegressionData data;
  data.columns = {{4,  4,  7,  7,  8,  9,  10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13,
                   13, 13, 14, 14, 14, 14, 15, 15, 15, 16, 16, 17, 17, 17, 18, 18, 18,
                   18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25}};
  data.y = {2,  10, 4,  22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28,  26, 34,
            34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40, 32, 40, 50, 42,  56, 76,
            84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85};
  return data;
}

struct Robust {
  ErrorModel model;
  double intercept, slope;
};

// R 4.2.2: m <- lm(dist ~ speed, cars); X <- model.matrix(m); B <- solve(crossprod(X)); e <- resid(m);
// h <- hatvalues(m); sqrt(diag(B %*% crossprod(X * sqrt(v)) %*% B)) with v = e^2 (HC0), e^2 * 50 / 48,
// e^2 / (1 - h), e^2 / (1 - h)^2.
TEST(Regression, RobustErrors) {
  const Robust expected[] = {{ErrorModel::hc0, 5.54187217729, 0.398680875607},
                             {ErrorModel::hc1, 5.65614960587, 0.406901964768},
                             {ErrorModel::hc2, 5.73234685909, 0.412802205248},
                             {ErrorModel::hc3, 5.93180331907, 0.427537219172}};
  for (const Robust& want : expected) {
    const LinearFit fit = fit_linear(cars(), 0.95, want.model);
    EXPECT_NEAR(*fit.coefficients[0].std_error, want.intercept, 1e-10);
    EXPECT_NEAR(*fit.coefficients[1].std_error, want.slope, 1e-11);
    // The interval belongs to the error.
    EXPECT_NEAR(fit.coefficients[1].interval->high - fit.coefficients[1].estimate,
                2.0106347576242 * want.slope, 1e-8);  // qt(0.975, 48)
  }
}

// A row that has a coefficient for itself has no residual: HC2 and HC3 are 0 / 0 there, and left out.
TEST(Regression, RowWithACoefficientOfItsOwn) {
  RegressionData data;
  data.columns = {{0, 0, 0, 1}};
  data.y = {1, 2, 4, 8};
  const LinearFit plain = fit_linear(data), robust = fit_linear(data, 0.95, ErrorModel::hc3);
  EXPECT_TRUE(plain.coefficients[0].std_error.has_value());
  EXPECT_FALSE(robust.coefficients[0].std_error.has_value());
  EXPECT_TRUE(robust.root.empty());
}

// Columns of any scale and offset give the same fit: that is what scaling and refinement are for.
TEST(Regression, OffsetAndScaleDoNotMatter) {
  const RegressionData near = cars();
  RegressionData far = near;
  for (double& x : far.columns[0]) x = (x + 0x1p36) * 0x1p-400;  // exact
  const LinearFit a = fit_linear(near), b = fit_linear(far);
  for (std::size_t i = 0; i < a.fitted.size(); ++i) EXPECT_NEAR(b.fitted[i], a.fitted[i], 1e-11);
  EXPECT_NEAR(*b.rss, *a.rss, 1e-9);
  EXPECT_NEAR(b.coefficients[1].estimate * 0x1p-400, a.coefficients[1].estimate, 1e-12);
}

TEST(Regression, ConstantResponse) {
  RegressionData data = cars();
  std::fill(data.y.begin(), data.y.end(), 3.0);
  const LinearFit fit = fit_linear(data);
  EXPECT_EQ(fit.status, Status::perfect_fit);
  EXPECT_NEAR(fit.coefficients[0].estimate, 3, 1e-14);
  EXPECT_FALSE(fit.overall.has_value());
  std::fill(data.y.begin(), data.y.end(), 0.0);
  EXPECT_FALSE(fit_linear(data).r_squared.has_value());
}

// One variable: T^2 is the square of Student's pooled t. R: t.test(1:5, c(3, 5, 9, 4), var.equal = TRUE).
TEST(Hotelling, OneVariableIsStudentsT) {
  const HotellingTest test = hotelling({{1}, {2}, {3}, {4}, {5}}, {{3}, {5}, {9}, {4}});
  EXPECT_NEAR(*test.t2, 2.5609756097561, 1e-12);
  EXPECT_NEAR(*test.p, 0.153564249218077, 1e-12);
}

// A value that both groups share in every row has no spread: nothing can be said.
TEST(Hotelling, SingularCovariance) {
  EXPECT_EQ(hotelling({{1, 7}, {2, 7}, {3, 7}}, {{2, 7}, {5, 7}}).status, Status::undefined);
}

std::string error_of(std::string_view id, std::string_view the_case) {
  const auto got = run(*procedures().find(id), *parse_json(the_case, "case.json"));
  return got ? "" : to_string(got.error());
}

// The point of a prediction is a parameter; a case that carries its answer may name it there.
TEST(Regression, PointOfPrediction) {
  const auto result = [](std::string_view the_case) {
    return write_json(*run(*procedures().find("linear_model"), *parse_json(the_case, "case.json")),
                      Layout::compact);
  };
  const std::string as_parameter =
      result(R"({"y": [1, 2, 4], "columns": {"x": [1, 2, 3]}, "params": {"predict": [4]}})");
  EXPECT_NE(as_parameter.find(R"("predict":{"x":[4.0],"fit":5.33333)"), std::string::npos) << as_parameter;
  EXPECT_EQ(
      result(
          R"({"y": [1, 2, 4], "columns": {"x": [1, 2, 3]}, "expected": {"predict": {"x": [4], "fit": 9}}})"),
      as_parameter);
}

TEST(RegressionErrors, SayWhatIsWrong) {
  const auto says = [](std::string_view id, std::string_view the_case, std::string_view words) {
    return error_of(id, the_case).find(words) != std::string::npos;
  };
  EXPECT_TRUE(
      says("linear_model", R"({"y": [1, 2], "columns": {"x": [1]}})", "every column must have 2 numbers"));
  EXPECT_TRUE(says("linear_model", R"({"y": [1, 2]})", "'columns' is missing"));
  EXPECT_TRUE(says("linear_model", R"({"y": [1, 2], "columns": {"x": [1, 2]}, "weights": [1, -1]})",
                   "a weight of -1 is none"));
  EXPECT_TRUE(says("linear_model", R"({"y": [1, 2], "columns": {"x": [1, 2]}, "weights": [0, 0]})",
                   "every weight is 0"));
  EXPECT_TRUE(says("linear_model",
                   R"({"y": [1, 0], "columns": {"x": [1, 2]}, "params": {"transform": "loglog"}})",
                   "0 has no logarithm"));
  EXPECT_TRUE(says("linear_model", R"({"y": [1, 2], "columns": {"x": [1, 2]}, "params": {"columns": ["z"]}})",
                   "'z' is missing"));
  EXPECT_TRUE(says("linear_model",
                   R"({"y": [1, 2], "columns": {"x": [1, 2]}, "params": {"predict": [1, 2]}})",
                   "'predict' needs 1 numbers"));
  EXPECT_TRUE(says("hotelling_t2", R"({"groups": [[[1, 2]], [[1]]]})", "rows of both groups"));
  EXPECT_TRUE(says("isotonic_regression", R"({"y": [1, 2], "weights": [1, 0]})", "a weight of 0 is none"));
  EXPECT_TRUE(says("kaplan_meier", R"({"time": [1, -2], "event": [1, 1]})", "a time of -2 is none"));
  EXPECT_TRUE(says("kaplan_meier", R"({"time": [1, 2], "event": [1]})", "'event' must have 2 values"));
  EXPECT_TRUE(says("log_rank", R"({"time": [1, 2], "event": [1, 1], "group": [3, 3]})", "only one group"));
}

}  // namespace
}  // namespace retrygate::stats
