#include "stats/brunner_munzel.hpp"

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

Result<Value> run_test(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  Reader p = params(c);
  const double at = level(p);
  if (wrong(c)) return failure_of(c);
  const BrunnerMunzel test = brunner_munzel(x, y, at);
  return to_value(
      Table{member(test.status), member("p_x_less_y", test.p_x_less_y), member("a12", 1 - test.p_x_less_y),
            member("var_x", test.var_x), member("var_y", test.var_y), member("statistic", test.statistic),
            member("df", test.df), member("p_value", test.p_value), member("p_less", test.p_less),
            member("p_greater", test.p_greater), member("p_normal", test.p_normal),
            member("std_error", test.std_error), member("ci_low", test.low), member("ci_high", test.high)});
}

Result<Value> run_permutation(Reader& c) {
  const auto x = sample(c, "x", 2), y = sample(c, "y", 2);
  Reader p = params(c);
  const Draws draws = draws_of(p);
  if (wrong(c)) return failure_of(c);
  const PermutationTest test = brunner_munzel_permutation(x, y, draws);
  Table all = members_of(test);
  all.push_back(member("p_x_greater", test.p_less));
  all.push_back(member("p_x_less", test.p_greater));
  return to_value(std::move(all));
}

}  // namespace

void add_brunner_munzel(Shelf<Procedure>& shelf) {
  shelf.add({"brunner_munzel", "P(x < y) + P(x = y) / 2 with test and interval",
             "independent samples of any laws, about 10 values or more each", "Brunner and Munzel 2000",
             &run_test});
  shelf.add({"brunner_munzel_permutation", "the same by exchanges of labels",
             "independent samples of any laws; exact when the laws are equal", "Neubert and Brunner 2007",
             &run_permutation});
}

}  // namespace retrygate::stats
