#include "stats/groups.hpp"

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

Table table_of(const GroupTest& test) {
  return {member(test.status), member("statistic", test.statistic), member("df1", test.df1),
          member("df2", test.df2), member("p_value", test.p_value)};
}

Result<Value> run_anova(Reader& c) {
  const Samples groups = samples(c, "groups", 2);
  if (wrong(c)) return failure_of(c);
  const GroupTest test = anova(groups);
  Table all = table_of(test);
  all.push_back(member("eta_squared", test.effect));
  return to_value(std::move(all));
}

Result<Value> run_welch(Reader& c) {
  const Samples groups = samples(c, "groups", 2);
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(welch_anova(groups)));
}

Result<Value> run_levene(Reader& c) {
  const Samples groups = samples(c, "groups", 2);
  Reader p = params(c);
  const auto centre = p.word("center", {"median", "mean"});
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(levene(groups, static_cast<LeveneCentre>(centre.value_or(0)))));
}

Result<Value> run_kruskal(Reader& c) {
  const Samples groups = samples(c, "groups", 2);
  if (wrong(c)) return failure_of(c);
  const KruskalWallis result = kruskal_wallis(groups);
  return to_value(Table{member(result.test.status), member("statistic", result.test.statistic),
                        member("df", result.test.df1), member("p_value", result.test.p_value),
                        member("tie_correction", result.tie_correction),
                        member("epsilon_squared", result.test.effect)});
}

Result<Value> run_friedman(Reader& c) {
  const Samples table = rows(c, "table");
  if (!wrong(c) && table.front().size() < 2) c.fail("table", "'table' needs at least 2 columns");
  if (wrong(c)) return failure_of(c);
  const Friedman result = friedman(table);
  return to_value(Table{member(result.test.status), member("statistic", result.test.statistic),
                        member("df", result.test.df1), member("p_value", result.test.p_value),
                        member("kendall_w", result.test.effect), member("rank_sums", result.rank_sums),
                        member("iman_davenport_f", result.f), member("iman_davenport_p", result.f_p_value)});
}

}  // namespace

void add_groups(Shelf<Procedure>& shelf) {
  shelf.add({"anova_oneway", "do the means of k groups differ, one common variance",
             "independent groups with equal variances; normal values or large groups", "Fisher 1925",
             &run_anova});
  shelf.add({"welch_anova", "do the means of k groups differ, variances may differ",
             "independent groups; normal values or large groups", "Welch 1951", &run_welch});
  shelf.add({"levene", "do the spreads of k groups differ; from medians (Brown-Forsythe) or means",
             "independent groups", "Levene 1960; Brown and Forsythe 1974", &run_levene});
  shelf.add({"kruskal_wallis", "do k groups differ in rank; chi-square law, corrected for ties",
             "independent groups of one law under the null hypothesis, about 5 values or more each",
             "Kruskal and Wallis 1952", &run_kruskal});
  shelf.add({"friedman", "do k columns differ in rank within rows (seeds); Kendall's W", "independent rows",
             "Friedman 1937; Iman and Davenport 1980", &run_friedman});
}

}  // namespace retrygate::stats
