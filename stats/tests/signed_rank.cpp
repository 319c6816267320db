#include "stats/signed_rank.hpp"

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

// `x`, or the differences x - y when both are given.
std::vector<double> differences_of(Reader& c) {
  auto x = sample(c, "x");
  if (!c.has("y")) return x;
  const auto y = sample(c, "y");
  if (x.size() != y.size()) c.fail("y", "pairs need as many values in 'y' as in 'x'");
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) x[i] -= y[i];
  return x;
}

Zeros zeros_of(Reader& params) {
  if (!params.has("zero_method")) return Zeros::pratt;
  return params.word("zero_method", {"pratt", "wilcox"}).value_or(0) == 0 ? Zeros::pratt : Zeros::wilcoxon;
}

Table table_of(const SignedRank& test) {
  return {member(test.status),
          member("method", std::string(test.method)),
          member("statistic", test.v_plus),
          member("v_minus", test.v_minus),
          count("n_used", test.n_used),
          count("n_zero", test.n_zero),
          member("p_value", test.p_two_sided),
          member("p_value_abs", test.p_two_sided),
          member("p_less", test.p_less),
          member("p_greater", test.p_greater)};
}

Result<Value> run_exact(Reader& c) {
  const auto x = differences_of(c);
  Reader p = params(c);
  const Zeros zeros = zeros_of(p);
  if (wrong(c)) return failure_of(c);
  const auto test = signed_rank_exact(x, zeros);
  if (!test) return too_many(c, "signed_rank_asymptotic");
  return to_value(table_of(*test));
}

Result<Value> run_auto(Reader& c) {
  const auto x = differences_of(c);
  if (wrong(c)) return failure_of(c);
  return to_value(table_of(signed_rank(x)));
}

Result<Value> run_normal(Reader& c) {
  const auto x = differences_of(c);
  Reader p = params(c);
  const Zeros zeros = zeros_of(p);
  if (wrong(c)) return failure_of(c);
  const NormalSignedRank result = signed_rank_normal(x, zeros);
  Table all = members_of(result.test);
  all.push_back(count("n_used", result.n_used));
  all.push_back(count("n_zero", result.n_zero));
  return to_value(std::move(all));
}

Result<Value> run_pseudomedian(Reader& c) {
  const auto x = differences_of(c);
  Reader p = params(c);
  const double at = level(p);
  const Law law = law_of(p);
  if (wrong(c)) return failure_of(c);
  const auto shift = pseudomedian(x, at, law);
  if (!shift) return too_many(c, "method=normal");
  return shift_of(*shift);
}

Result<Value> run_sign(Reader& c) {
  const auto x = differences_of(c);
  Reader p = params(c);
  const double at = level(p);
  if (wrong(c)) return failure_of(c);
  const SignTest test = sign_test(x, at);
  return to_value(Table{member(test.status), count("statistic", test.positive), count("n_used", test.n_used),
                        count("n_zero", test.n_zero), member("p_value", test.p_value),
                        member("p_less", test.p_less), member("p_greater", test.p_greater),
                        member("median", test.median), member("ci_low", test.low),
                        member("ci_high", test.high), member("conf_level_achieved", test.level_achieved),
                        count("order_index", test.order_index)});
}

}  // namespace

void add_signed_rank(Shelf<Procedure>& shelf) {
  constexpr std::string_view symmetric = "independent pairs; differences symmetric under the null hypothesis";
  shelf.add({"signed_rank", "are differences symmetric about 0; exact while cheap, else normal", symmetric,
             "Wilcoxon 1945; Pratt 1959 (zeros)", &run_auto});
  shelf.add({"signed_rank_exact", "the same by the law of the midranks under sign flips", symmetric,
             "Wilcoxon 1945; Pratt 1959 (zeros)", &run_exact});
  shelf.add({"signed_rank_asymptotic", "the same by the normal law, corrected for ties and continuity",
             symmetric, "Wilcoxon 1945; Pratt 1959 (zeros)", &run_normal});
  shelf.add({"pseudomedian", "median of all means of two differences, with its interval", symmetric,
             "Hodges and Lehmann 1963", &run_pseudomedian});
  shelf.add({"sign_test", "is the median of differences 0; interval of the median", "independent pairs",
             "Arbuthnott 1710; binomial law", &run_sign});
}

}  // namespace retrygate::stats
