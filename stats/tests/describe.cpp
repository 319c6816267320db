#include "stats/case.hpp"
#include "stats/procedure.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

Result<Value> run_describe(Reader& c) {
  const auto x = sample(c, "x");
  Reader p = params(c);
  const double mad_constant = number_or(p, "mad_constant", 1.4826, 0);
  std::vector<double> probs = p.numbers("probs");
  if (probs.empty()) probs = {0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};
  for (const double q : probs) {
    if (q < 0 || q > 1) p.fail("probs", "a quantile's probability lies between 0 and 1");
  }
  if (wrong(c)) return failure_of(c);
  const Description d = describe(x);
  const std::vector<double> in_order = sorted(x);
  const auto quantiles = [&](QuantileType type) {
    std::vector<double> all;
    for (const double q : probs) all.push_back(quantile(in_order, q, type));
    return all;
  };
  return to_value(Table{count("n", d.n),
                        member("sum", d.sum),
                        member("mean", d.mean),
                        member("min", d.min),
                        member("max", d.max),
                        member("variance_population", d.variance_population),
                        member("variance", d.variance),
                        member("sd", d.sd),
                        member("std_error", d.std_error),
                        member("skewness_g1", d.skewness_g1),
                        member("kurtosis_excess_g2", d.kurtosis_excess_g2),
                        member("skewness_G1", d.skewness_G1),
                        member("kurtosis_G2", d.kurtosis_G2),
                        member("skewness_b1", d.skewness_b1),
                        member("kurtosis_b2", d.kurtosis_b2),
                        member("median", d.median),
                        member("mad_raw", d.mad),
                        member("mad_scaled", d.mad * mad_constant),
                        member("trimmed_mean_10", trimmed_mean(in_order, 0.10)),
                        member("trimmed_mean_20", trimmed_mean(in_order, 0.20)),
                        member("trimmed_mean_25", trimmed_mean(in_order, 0.25)),
                        member("probs", probs),
                        member("quantiles_type6", quantiles(QuantileType::six)),
                        member("quantiles_type7", quantiles(QuantileType::seven)),
                        member("quantiles_type8", quantiles(QuantileType::eight)),
                        member("iqr_type7", quantile(in_order, 0.75) - quantile(in_order, 0.25))});
}

}  // namespace

void add_describe(Shelf<Procedure>& shelf) {
  shelf.add({"describe", "moments, shape, quantiles, robust place and spread of one sample",
             "finite values; shape needs spread",
             "Hyndman and Fan 1996 (quantiles); Joanes and Gill 1998 (shape)", &run_describe});
}

}  // namespace retrygate::stats
