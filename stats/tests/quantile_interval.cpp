#include "stats/quantile_interval.hpp"

#include "stats/case.hpp"
#include "stats/procedure.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

Result<Value> quantile_ci_order(Reader& the_case) {
  const auto x = sorted(sample(the_case, "x"));
  Reader settings = params(the_case);
  const double p = fraction(settings, "p", 0.5);
  const double confidence = level(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const QuantileInterval both = quantile_interval(x, p, confidence);
  const QuantileBound upper = quantile_upper_bound(x, p, confidence);
  const QuantileBound lower = quantile_lower_bound(x, p, confidence);
  return to_value(Table{member(Status::ok), member("estimate_type7", quantile(x, p)),
                        member("index_low", both.index_low), member("index_high", both.index_high),
                        member("ci_low", both.low), member("ci_high", both.high),
                        member("tail_low", both.tail_low), member("tail_high", both.tail_high),
                        member("coverage", both.coverage), member("upper_bound_index", upper.index),
                        member("upper_bound", upper.bound), member("upper_bound_level", upper.level),
                        member("lower_bound_index", lower.index), member("lower_bound", lower.bound),
                        member("lower_bound_level", lower.level)});
}

}  // namespace

void add_quantile_interval(Shelf<Procedure>& shelf) {
  shelf.add({"quantile_ci_order", "interval and one-sided bounds for a quantile",
             "independent values of any one law", "David and Nagaraja 2003, section 7.1", quantile_ci_order});
}

}  // namespace retrygate::stats
