#include "stats/fit.hpp"

#include <algorithm>

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

FitLaw fit_law(Reader& params) {
  if (!params.has("method")) return FitLaw::automatic;
  const auto word = params.word("method", {"auto", "exact", "asymptotic"});
  return static_cast<FitLaw>(word.value_or(0));
}

Range range_of(Reader& params) {
  const Range range{number_or(params, "a", 0), number_or(params, "b", 1)};
  if (!(range.a < range.b)) params.fail("b", "'b' must lie above 'a'");
  return range;
}

Table table_of(const KolmogorovSmirnov& test) {
  return {member(Status::ok),
          member("method", std::string(test.method)),
          member("statistic", test.statistic),
          member("d_plus", test.d_plus),
          member("d_minus", test.d_minus),
          member("p_value", test.p_value),
          member("p_plus", test.p_plus),
          member("p_minus", test.p_minus),
          member("p_asymptotic", test.p_limit),
          member("p_plus_asymptotic", test.p_plus_limit),
          member("p_minus_asymptotic", test.p_minus_limit)};
}

Result<Value> run_ks(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  Reader p = params(c);
  const FitLaw law = fit_law(p);
  if (!wrong(c) && law == FitLaw::exact &&
      static_cast<double>(x.size()) * static_cast<double>(y.size()) > 1e9)
    c.fail("x", "too many values for the exact law", "use method=asymptotic");
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(ks_two_sample(x, y, law)));
}

Result<Value> run_ks_uniform(Reader& c) {
  const auto x = sample(c, "x");
  Reader p = params(c);
  const Range range = range_of(p);
  FitLaw law = fit_law(p);
  // The exact law of many values far from uniform takes long; automatic knows when.
  if (x.size() > 2000 && law == FitLaw::exact) law = FitLaw::automatic;
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(ks_uniform(x, range, law)));
}

Result<Value> run_ad_uniform(Reader& c) {
  const auto x = sample(c, "x");
  Reader p = params(c);
  const Range range = range_of(p);
  if (wrong(c)) return failure_of(c);
  const AndersonDarling test = ad_uniform(x, range);
  return to_value(Table{member(Status::ok), member("statistic", test.statistic),
                        member("p_value", test.p_value), member("p_marsaglia", test.p_finite)});
}

Result<Value> run_ad_k(Reader& c) {
  const Samples groups = samples(c, "groups", 2);
  Reader p = params(c);
  const bool exact = p.flag("exact").value_or(true);
  const Draws draws = draws_of(p);
  if (groups.size() > 256) c.fail("groups", "at most 256 groups");
  if (wrong(c)) return failure_of(c);
  const KSampleAndersonDarling test = ad_k_sample(groups, exact, draws);
  if (test.status != Status::ok) return to_value(Table{member(test.status)});
  Table all{member(test.status),
            member("a2", test.a2),
            member("a2_midrank", test.a2_midrank),
            member("sigma", test.sigma),
            member("t", test.t),
            member("t_midrank", test.t_midrank),
            member("p_asymptotic", test.p_limit),
            member("p_asymptotic_midrank", test.p_limit_midrank)};
  if (test.labels) {
    const std::string kind = test.labels->all ? "exact" : "monte_carlo";
    all.push_back(member("p_" + kind, test.labels->p_greater));
    all.push_back(member("p_" + kind + "_midrank", test.labels_midrank->p_greater));
    all.push_back(count("arrangements", test.labels->counts.total));
    all.push_back(resamples_of(*test.labels));
  }
  return to_value(std::move(all));
}

Result<Value> run_cvm(Reader& c) {
  const auto x = sample(c, "x"), y = sample(c, "y");
  Reader p = params(c);
  const FitLaw law = fit_law(p);
  const Draws draws = draws_of(p);
  if (wrong(c)) return failure_of(c);
  const bool permute = law != FitLaw::limit && (law == FitLaw::exact || x.size() + y.size() <= 20);
  const CramerVonMises test = cvm_two_sample(x, y, permute, draws);
  Table all{member(Status::ok), member("method", std::string(test.labels ? test.labels->method : "limit")),
            member("statistic", test.statistic), member("p_asymptotic", test.p_limit),
            member("p_value", test.labels ? test.labels->p_greater : test.p_limit)};
  if (test.labels) {
    all.push_back(count("arrangements", test.labels->counts.total));
    all.push_back(resamples_of(*test.labels));
  }
  return to_value(std::move(all));
}

bool are_counts(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v >= 0 && v <= 0x1p53; });
}

bool are_weights(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v >= 0 && v <= 1e15; }) &&
         std::any_of(values.begin(), values.end(), [](double v) { return v > 0; });
}

Result<Value> run_chi_square(Reader& c) {
  const auto x = sample(c, "x");
  Reader p = params(c);
  std::vector<double> probabilities = p.numbers("p");
  if (probabilities.empty()) probabilities.assign(x.size(), 1);
  if (!are_counts(x)) c.fail("x", "counts lie between 0 and 2^53");
  if (!are_weights(probabilities)) p.fail("p", "probabilities are not negative, and not all 0");
  if (probabilities.size() != x.size()) p.fail("p", "'p' must be as long as 'x'");
  if (wrong(c)) return failure_of(c);
  const ChiSquare test = chi_square_fit(x, probabilities);
  return to_value(Table{member(test.status), member("statistic", test.statistic), member("df", test.df),
                        member("p_value", test.p_value), member("min_expected", test.min_expected)});
}

Result<Value> run_chi_square_table(Reader& c) {
  const Samples table = rows(c, "table");
  Reader p = params(c);
  const bool yates = p.flag("correction").value_or(false);
  for (const auto& row : table) {
    if (!are_counts(row)) c.fail("table", "counts lie between 0 and 2^53");
  }
  if (wrong(c)) return failure_of(c);
  const ChiSquare test = chi_square_table(table, yates);
  return to_value(Table{member(test.status), member("statistic", test.statistic), member("df", test.df),
                        member("p_value", test.p_value), member("min_expected", test.min_expected)});
}

}  // namespace

void add_fit(Shelf<Procedure>& shelf) {
  shelf.add({"ks_two_sample", "largest distance of two distribution functions; exact given the ties",
             "independent samples", "Kolmogorov 1933; Smirnov 1939", &run_ks});
  shelf.add({"ks_uniform", "largest distance from the uniform law on [a, b]",
             "independent values; a and b known; continuous law",
             "Marsaglia, Tsang and Wang 2003; Birnbaum and Tingey 1951", &run_ks_uniform});
  shelf.add({"ad_uniform", "weighted distance from the uniform law on [a, b], sensitive at its ends",
             "independent values, about 8 or more; a and b known", "Anderson and Darling 1954",
             &run_ad_uniform});
  shelf.add({"ad_k_sample", "do k samples follow one law; sensitive in the tails", "independent samples",
             "Scholz and Stephens 1987", &run_ad_k});
  shelf.add({"cvm_two_sample", "squared distance of two distribution functions", "independent samples",
             "Anderson 1962", &run_cvm});
  shelf.add({"chi_square_gof", "counts against probabilities", "independent counts, expected about 5 or more",
             "Pearson 1900", &run_chi_square});
  shelf.add({"chi_square_table", "are rows and columns of a table of counts independent",
             "independent counts, expected about 5 or more", "Pearson 1900", &run_chi_square_table});
}

}  // namespace retrygate::stats
