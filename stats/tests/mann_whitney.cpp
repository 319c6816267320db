#include "stats/mann_whitney.hpp"

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

Table table_of(const MannWhitney& test) {
  return {member(test.status),
          member("method", std::string(test.method)),
          member("statistic", test.statistic),
          member("u_y", test.u_y),
          member("rank_sum_x", test.rank_sum_x),
          member("p_value", test.p_value),
          member("p_value_abs", test.p_value_abs),
          member("p_less", test.p_less),
          member("p_greater", test.p_greater)};
}

Result<Value> run_exact(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  if (wrong(c)) return failure_of(c);
  const auto test = mann_whitney_exact(x, y);
  if (!test) return too_many(c, "mann_whitney_asymptotic");
  return to_value(table_of(*test));
}

Result<Value> run_normal(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  if (wrong(c)) return failure_of(c);
  return to_value(members_of(mann_whitney_normal(x, y)));
}

Result<Value> run_auto(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(mann_whitney(x, y)));
}

Result<Value> run_shift(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  Reader p = params(c);
  const double at = level(p);
  const Law law = law_of(p);
  if (wrong(c)) return failure_of(c);
  const auto shift = hodges_lehmann(x, y, at, law);
  if (!shift) return too_many(c, "method=normal");
  return shift_of(*shift);
}

Result<Value> run_effect(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  Reader p = params(c);
  const double at = level(p);
  if (wrong(c)) return failure_of(c);
  const OrdinalEffect e = ordinal_effect(x, y, at);
  return to_value(Table{
      member(Status::ok), count("greater", e.greater), count("equal", e.equal), count("less", e.less),
      member("a12", e.a12), member("cliffs_delta", e.delta), member("delta_ci_low_fisher", e.fisher_low),
      member("delta_ci_high_fisher", e.fisher_high), member("cliff_variance", e.cliff_variance),
      member("delta_ci_low_cliff", e.cliff_low), member("delta_ci_high_cliff", e.cliff_high)});
}

}  // namespace

void add_mann_whitney(Shelf<Procedure>& shelf) {
  shelf.add({"mann_whitney", "does x tend to be larger than y; exact while cheap, else normal",
             "independent samples; one law under the null hypothesis", "Mann and Whitney 1947", &run_auto});
  shelf.add({"mann_whitney_exact", "the same by the permutation law of the midranks",
             "independent samples; one law under the null hypothesis", "Mann and Whitney 1947", &run_exact});
  shelf.add({"mann_whitney_asymptotic", "the same by the normal law, corrected for ties and continuity",
             "independent samples, not small; one law under the null hypothesis", "Mann and Whitney 1947",
             &run_normal});
  shelf.add({"hodges_lehmann", "shift of x against y: median of all differences, with its interval",
             "independent samples whose laws differ by a shift", "Hodges and Lehmann 1963", &run_shift});
  shelf.add({"effect_size", "P(x > y) as A12 and Cliff's delta, with intervals", "independent samples",
             "Vargha and Delaney 2000; Cliff 1996", &run_effect});
}

}  // namespace retrygate::stats
