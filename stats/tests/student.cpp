#include "stats/student.hpp"

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

TQuestion question_of(Reader& c) {
  Reader p = params(c);
  return {number_or(p, "mu", 0), alternative(p), level(p)};
}

Table table_of(const TTest& t) {
  return {member(t.status),
          member("method", std::string(t.method)),
          member("estimate", t.estimate),
          member("std_error", t.std_error),
          member("statistic", t.statistic),
          member("df", t.df),
          member("p_value", t.p_value),
          member("ci_low", t.low),
          member("ci_high", t.high)};
}

using TwoSampleTest = TTest (*)(std::span<const double>, std::span<const double>, const TQuestion&);

template <TwoSampleTest test>
Result<Value> run_two(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  const TQuestion question = question_of(c);
  if (wrong(c)) return failure_of(c);
  const TTest t = test(x, y, question);
  Table all = table_of(t);
  all.push_back(member("mean_x", t.mean_x));
  all.push_back(member("mean_y", t.mean_y));
  return to_value(std::move(all));
}

Result<Value> run_paired(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  const TQuestion question = question_of(c);
  if (!wrong(c) && x.size() != y.size()) c.fail("y", "pairs need as many values in 'y' as in 'x'");
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(t_paired(x, y, question)));
}

Result<Value> run_one(Reader& c) {
  const auto x = sample(c, "x");
  const TQuestion question = question_of(c);
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(t_one_sample(x, question)));
}

}  // namespace

void add_student(Shelf<Procedure>& shelf) {
  shelf.add({"t_welch", "difference of two means, variances may differ",
             "independent samples; normal values or large samples", "Welch 1947", &run_two<&t_welch>});
  shelf.add({"t_pooled", "difference of two means, one common variance",
             "independent samples with equal variances; normal values or large samples", "Student 1908",
             &run_two<&t_pooled>});
  shelf.add({"t_paired", "mean of the differences of pairs", "independent pairs; differences normal or many",
             "Student 1908", &run_paired});
  shelf.add(
      {"t_one_sample", "mean of one sample", "independent values; normal or many", "Student 1908", &run_one});
}

}  // namespace retrygate::stats
