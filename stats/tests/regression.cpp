#include "stats/regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "stats/case.hpp"
#include "stats/isotonic.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

constexpr std::string_view intercept_name = "(intercept)";

// The columns in the order of `params.columns`, or of the case when that is absent.
std::vector<std::string> column_names(Reader& columns, Reader& settings) {
  std::vector<std::string> names = settings.texts("columns");
  std::erase(names, intercept_name);
  return settings.has("columns") ? names : columns.keys();
}

RegressionData data_of(Reader& the_case, Reader& settings) {
  RegressionData data;
  data.y = sample(the_case, "y");
  data.intercept = settings.flag("intercept").value_or(true);
  if (auto columns = the_case.table("columns")) {
    for (const std::string& name : column_names(*columns, settings))
      data.columns.push_back(sample(*columns, name));
  } else if (!wrong(the_case)) {
    the_case.fail(the_case.where(), "'columns' is missing");
  }
  if (the_case.has("weights")) data.weights = sample(the_case, "weights");
  if (wrong(the_case)) return data;

  const auto as_long = [&](const std::vector<double>& column) { return column.size() == data.y.size(); };
  if (!std::all_of(data.columns.begin(), data.columns.end(), as_long))
    the_case.fail("columns", fmt::format("every column must have {} numbers, as 'y' has", data.y.size()));
  if (data.columns.empty() && !data.intercept)
    the_case.fail("columns", "there is no column and no intercept");
  if (!data.weights.empty()) {
    if (!as_long(data.weights))
      the_case.fail("weights", fmt::format("'weights' must have {} numbers", data.y.size()));
    const auto [least, most] = std::minmax_element(data.weights.begin(), data.weights.end());
    if (*least < 0) the_case.fail("weights", fmt::format("a weight of {} is none", *least));
    if (*most <= 0) the_case.fail("weights", "every weight is 0");
  }
  return data;
}

// The logarithm of everything, for a scaling law.
void take_logarithms(Reader& the_case, RegressionData& data) {
  const auto take = [&](std::vector<double>& values, std::string_view key) {
    for (double& value : values) {
      if (value <= 0) {
        the_case.fail(key, fmt::format("{} has no logarithm", value));
        return;
      }
      value = std::log(value);
    }
  };
  take(data.y, "y");
  for (auto& column : data.columns) take(column, "columns");
}

Value head(const std::vector<double>& fitted) {
  return to_value(std::vector<double>(
      fitted.begin(), fitted.begin() + static_cast<std::ptrdiff_t>(std::min(fitted.size(), std::size_t{5}))));
}

Member each(std::string key, const LinearFit& fit, std::optional<double> (*read)(const Coefficient&)) {
  Array values;
  for (const Coefficient& c : fit.coefficients) values.push_back(to_value(read(c)));
  return member(std::move(key), std::move(values));
}

// The errors of the coefficients, and what they decide.
void add_errors(Table& result, const LinearFit& fit) {
  if (fit.status == Status::saturated) {
    result.push_back(member("std_errors", std::nullopt));
    return;
  }
  result.push_back(each("std_errors", fit, [](const Coefficient& c) { return c.std_error; }));
  if (fit.status == Status::perfect_fit) return;
  result.push_back(each("t_values", fit, [](const Coefficient& c) { return c.t; }));
  result.push_back(each("p_values", fit, [](const Coefficient& c) { return c.p; }));
  result.push_back(each("ci_low", fit, [](const Coefficient& c) {
    return c.interval ? std::optional(c.interval->low) : std::nullopt;
  }));
  result.push_back(each("ci_high", fit, [](const Coefficient& c) {
    return c.interval ? std::optional(c.interval->high) : std::nullopt;
  }));
  if (fit.overall) {
    result.push_back(member("f_statistic", fit.overall->f));
    result.push_back(count("df1", fit.overall->dof1));
    result.push_back(count("df2", fit.overall->dof2));
    result.push_back(member("f_p_value", fit.overall->p));
  }
}

Value prediction(const LinearFit& fit, const std::vector<double>& at, const std::vector<double>& x) {
  const Prediction p = predict(fit, x);
  return to_value(Table{member("x", at), member("fit", p.fit), member("se_fit", p.std_error),
                        member("ci_low", p.mean.low), member("ci_high", p.mean.high),
                        member("pi_low", p.value.low), member("pi_high", p.value.high)});
}

// Where to predict: `params.predict`. Files of cases with answers may name the point beside the answer only,
// as `expected.predict.x`; nothing else is read there.
std::vector<double> point_of_prediction(Reader& the_case, Reader& settings) {
  if (settings.has("predict")) return sample(settings, "predict");
  if (!the_case.has("expected")) return {};
  auto expected = the_case.table("expected");
  if (!expected || !expected->has("predict")) return {};
  auto predict = expected->table("predict");
  return predict ? sample(*predict, "x") : std::vector<double>{};
}

Result<Value> linear_model(Reader& the_case) {
  Reader settings = params(the_case);
  RegressionData data = data_of(the_case, settings);
  const double confidence = level(settings);
  const Value* transform = settings.any("transform");
  const bool logarithms = transform != nullptr && !std::holds_alternative<std::nullptr_t>(transform->data) &&
                          settings.word("transform", {"loglog"}).has_value();
  if (logarithms && !wrong(the_case)) take_logarithms(the_case, data);
  std::vector<double> at = point_of_prediction(the_case, settings);
  if (!at.empty()) {
    if (at.size() != data.columns.size() && !wrong(the_case))
      settings.fail("predict",
                    fmt::format("'predict' needs {} numbers, one per column", data.columns.size()));
    for (const double value : at) {
      if (logarithms && value <= 0) settings.fail("predict", fmt::format("{} has no logarithm", value));
    }
  }
  if (wrong(the_case)) return failure_of(the_case);

  const LinearFit fit = fit_linear(data, confidence);
  Table result{member(fit.status),
               count("rank", fit.rank),
               count("columns_total", data.columns.size() + (data.intercept ? 1 : 0)),
               member("rss", fit.rss),
               count("df_residual", fit.dof_residual),
               member("sigma", fit.sigma),
               {"fitted_head", {}, head(fit.fitted)}};
  Array independent;
  for (const std::size_t column : fit.independent_columns)
    independent.push_back(to_value(static_cast<std::int64_t>(column)));
  result.push_back(member("independent_columns", std::move(independent)));
  result.push_back(member("r_squared", fit.r_squared));
  result.push_back(member("adj_r_squared", fit.adj_r_squared));
  if (fit.status == Status::rank_deficient) return to_value(std::move(result));

  result.push_back(each("coefficients", fit, [](const Coefficient& c) { return std::optional(c.estimate); }));
  result.push_back(member("condition_scaled", fit.condition));
  add_errors(result, fit);
  if (logarithms && data.intercept && fit.coefficients.size() > 1) {
    result.push_back(member("scaling_exponent", fit.coefficients[1].estimate));
    result.push_back(member("scale", std::exp(fit.coefficients[0].estimate)));
  }
  if (!at.empty() && !fit.root.empty()) {
    std::vector<double> x = at;
    if (logarithms) std::transform(x.begin(), x.end(), x.begin(), [](double v) { return std::log(v); });
    result.push_back({"predict", {}, prediction(fit, at, x)});
  }
  return to_value(std::move(result));
}

Result<Value> means_of_two_groups(Reader& the_case) {
  const Value* value = the_case.any("groups");
  const auto* both = value == nullptr ? nullptr : std::get_if<Array>(&value->data);
  std::vector<Matrix> groups;
  if (both == nullptr || both->size() != 2) {
    the_case.fail("groups", "'groups' must be two lists of rows");
  } else {
    for (const Value& group : *both) {
      const Value table{value->where, Table{{"groups", group.where, group}}};
      Reader reader(table, the_case.complaints());
      groups.push_back(rows(reader, "groups"));
    }
    if (!wrong(the_case) && groups[0].front().size() != groups[1].front().size())
      the_case.fail("groups", "the rows of both groups must be equally long");
  }
  if (wrong(the_case)) return failure_of(the_case);
  const HotellingTest test = hotelling(groups[0], groups[1]);
  return to_value(Table{member(test.status), member("t2", test.t2),
                        member("mahalanobis_squared", test.mahalanobis_squared),
                        member("f_statistic", test.f), count("df1", test.dof1), count("df2", test.dof2),
                        member("p_value", test.p)});
}

Result<Value> monotone_fit(Reader& the_case) {
  Reader settings = params(the_case);
  const auto y = sample(the_case, "y");
  std::vector<double> weights;
  if (the_case.has("weights")) weights = sample(the_case, "weights");
  const bool decreasing = settings.flag("decreasing").value_or(false);
  if (wrong(the_case)) return failure_of(the_case);
  if (!weights.empty() && weights.size() != y.size())
    the_case.fail("weights", fmt::format("'weights' must have {} numbers", y.size()));
  for (const double weight : weights) {
    if (weight <= 0) the_case.fail("weights", fmt::format("a weight of {} is none", weight));
  }
  if (wrong(the_case)) return failure_of(the_case);
  const IsotonicFit fit = isotonic_regression(y, weights, decreasing);
  return to_value(Table{member(Status::ok), member("fitted", fit.fitted), count("blocks", fit.blocks),
                        member("rss", fit.rss)});
}

}  // namespace

void add_regression(Shelf<Procedure>& shelf) {
  const std::string_view assumes = "independent errors of mean 0 and of variance 1 / weight; normal, or many";
  const std::string_view source = "Bjorck 1996, sections 2.4 and 2.9";
  shelf.add(
      {"linear_model", "least squares with errors, intervals and prediction", assumes, source, linear_model});
  shelf.add({"linear_model_rank_deficient", "least squares when columns depend on each other", assumes,
             source, linear_model});
  shelf.add({"hotelling_t2", "do two groups have the same vector of means", "normal rows of equal covariance",
             "Hotelling 1931", means_of_two_groups});
  shelf.add({"isotonic_regression", "best fit by a curve that only rises, or only falls",
             "independent errors of mean 0", "Barlow, Bartholomew, Bremner and Brunk 1972", monotone_fit});
}

}  // namespace retrygate::stats
