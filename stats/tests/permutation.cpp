#include "stats/permutation.hpp"

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

Table table_of(const PermutationTest& test) {
  Table all = members_of(test);
  all.push_back(member("p_less", test.p_less));
  all.push_back(member("p_greater", test.p_greater));
  return all;
}

template <Centre centre>
Result<Value> run_difference(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  Reader p = params(c);
  const Draws draws = draws_of(p);
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(permute_difference(x, y, centre, draws)));
}

// Of `x`, or of the pairs x - y; `margin` is taken off first.
Result<Value> run_flips(Reader& c) {
  auto x = sample(c, "x");
  Reader p = params(c);
  const Draws draws = draws_of(p);
  const double margin = number_or(p, "margin", 0);
  const auto statistic = p.text("statistic").value_or("mean");
  const bool of_median = statistic.starts_with("median");
  if (!of_median && !statistic.starts_with("mean")) p.fail("statistic", "'statistic' must be mean or median");
  if (wrong(c)) return failure_of(c);
  for (double& v : x) v -= margin;
  return to_value(table_of(flip_signs(x, of_median ? Centre::median : Centre::mean, draws)));
}

}  // namespace

void add_permutation(Shelf<Procedure>& shelf) {
  constexpr std::string_view source = "Fisher 1935; Phipson and Smyth 2010 (Monte Carlo p)";
  shelf.add({"permutation_mean_difference", "difference of means under all exchanges of labels",
             "under the null hypothesis the labels are exchangeable", source, &run_difference<Centre::mean>});
  shelf.add({"permutation_median_difference", "difference of medians under all exchanges of labels",
             "under the null hypothesis the labels are exchangeable", source,
             &run_difference<Centre::median>});
  shelf.add({"permutation_sign_flip", "mean or median of differences under all exchanges of signs",
             "under the null hypothesis each difference is symmetric about the margin", source, &run_flips});
}

}  // namespace retrygate::stats
