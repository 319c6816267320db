// What a case may not be is an error that says so, and where data define nothing there is a state, not a NaN.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "policies/base/json.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

// The result of a procedure as JSON on one line, or its errors.
std::string result(std::string_view id, std::string_view the_case) {
  const Procedure* procedure = procedures().find(id);
  if (procedure == nullptr) return "no such procedure";
  const auto parsed = parse_json(the_case, "case.json");
  if (!parsed) return to_string(parsed.error());
  const auto got = run(*procedure, *parsed);
  return got ? write_json(*got, Layout::compact) : to_string(got.error());
}

#define EXPECT_SAYS(id, the_case, words) \
  EXPECT_NE(result(id, the_case).find(words), std::string::npos) << result(id, the_case)

TEST(Errors, CountsAndShares) {
  EXPECT_SAYS("binomial_interval", R"({"k": 7, "n": 5})",
              "case.json:1:7: error: 'k' must be at most 5, not 7");
  EXPECT_SAYS("binomial_interval", R"({"k": 0, "n": 0})", "'n' must be at least 1, not 0");
  EXPECT_SAYS("binomial_interval", R"({"n": 5})", "'k' is missing");
  EXPECT_SAYS("binomial_test", R"({"k": 1, "n": 5, "params": {"p0": 1.5}})", "'p0' must lie between 0 and 1");
  EXPECT_SAYS("fisher_exact", R"({"table": [[1, 2], [3]]})", "rows of 'table' must be equally long");
  EXPECT_SAYS("fisher_exact", R"({"table": [[1, 2], [3, -4]]})", "a count of -4 is none");
  EXPECT_SAYS("fisher_exact", R"({"table": [[0, 0], [0, 0]]})", "every count of 'table' is 0");
  EXPECT_SAYS("fisher_exact", R"({"table": [[9000000, 9000000], [9000000, 9000000]]})",
              "too many for an exact law");
  EXPECT_SAYS("mcnemar", R"({"table": [[1, 2, 3], [3, 4, 5]]})", "two rows of two counts");
  EXPECT_SAYS("poisson_rate_interval", R"({"events": 3, "exposure": 0})",
              "'exposure' must be above 0, not 0");
  EXPECT_SAYS("poisson_rate_ratio", R"({"events": [0, 0], "exposure": [1, 2]})", R"("status":"undefined")");
  EXPECT_SAYS("p_adjust", R"({"p": [0.1, 1.1]})", "a p value of 1.1 is none");
  EXPECT_SAYS("p_adjust", R"({"p": [0.1, 0.2], "params": {"n": 1}})", "'n' must lie between 2 and");
}

TEST(Errors, Plans) {
  EXPECT_SAYS("sample_size_t", R"({"params": {"delta": 0, "power": 0.8}})",
              "no sample size finds a 'delta' of 0");
  EXPECT_SAYS("sample_size_t", R"({"params": {"delta": 1, "power": 0.04}})", "'power' must be above 'alpha'");
  EXPECT_SAYS("sample_size_t", R"({"params": {"delta": 1}})", "'power' is missing");
  EXPECT_SAYS("power_t", R"({"params": {"n": 1, "delta": 1}})", "'n' must be at least 2, not 1");
  EXPECT_SAYS("sample_size_noether", R"({"params": {"test": "sign", "p": 0.5, "power": 0.8}})",
              "no sample size finds a 'p' of 0.5");
  EXPECT_SAYS("power_two_proportions", R"({"params": {"n": 10, "p1": 0.2, "p2": 0.2}})",
              "no sample size finds a difference of 0");
}

TEST(Errors, Sequences) {
  EXPECT_SAYS("group_sequential_boundary", R"({"params": {"design": "OF", "information": [0.5, 0.4]}})",
              "'information' must rise");
  EXPECT_SAYS("group_sequential_boundary", R"({"params": {"design": "P", "information": [0.5]}})",
              "must be 1");
  EXPECT_SAYS("group_sequential_boundary", R"({"params": {"design": "OB", "information": [1]}})",
              "known: OF, P, asOF");
  EXPECT_SAYS("beta_binomial_eprocess", R"({"wins": [0, 2], "params": {"p0": 0.5}})", "0 and 1 only");
  EXPECT_SAYS("sprt_bernoulli", R"({"wins": [0], "params": {"p0": 0.5, "p1": 0.5}})",
              "must differ from 'p0'");
  EXPECT_SAYS("stitched_boundary", R"({"params": {"v": [1], "eta": 1}})", "'eta' must be above 1");
  EXPECT_SAYS("quantile_ci_order", R"({"x": [], "params": {"p": 0.5}})", "'x' needs at least 1 number");
  EXPECT_SAYS("quantile_ci_order", R"({"x": [1], "params": {"p": 1}})",
              "'p' must lie between 0 and 1, not 1");
}

// Numbers at the far ends: an error of the case, never an end of the program.
TEST(Errors, OutOfReach) {
  EXPECT_SAYS("sample_size_noether",
              R"({"params": {"test": "mann_whitney", "p": 0.5000000001, "power": 0.8}})",
              "no practical size finds so small an effect");
  for (const char* delta : {"1e-10", "1e-300", "5e-324"})
    EXPECT_SAYS("sample_size_t", fmt::format(R"({{"params": {{"delta": {}, "power": 0.8}}}})", delta),
                "no practical size finds so small an effect");
  EXPECT_SAYS("sample_size_t", R"({"params": {"delta": 1e-5, "power": 0.8}})", R"("status":"ok")");
  EXPECT_SAYS("group_sequential_boundary",
              R"({"params": {"design": "OF", "information": [0.5, 0.5000000000001, 1]}})",
              "looks at 0.5 and 0.5000000000001 lie too close together");
  EXPECT_SAYS("bootstrap_million",
              R"({"x": [1, 2, 3], "y": [1, 1, 1, 2], "params": {"kind": "ratio", "statistic": "variance"}})",
              "a ratio of variances is not defined");
  for (const char* n : {"1", "9007199254740992", "4503599627370496", "1000000000", "123456789012345"}) {
    for (const char* k : {"0", "1", "4503599627370496", "123456789012344", "499999999"}) {
      for (const char* id : {"binomial_interval", "poisson_rate_interval", "binomial_test"}) {
        const std::string text = fmt::format(R"({{"k": {1}, "n": {0}, "events": {1}, "exposure": 1}})", n, k);
        EXPECT_NE(result(id, text), "") << id << text;
      }
    }
  }
  for (const char* delta : {"1e6", "1e300", "1e-300", "40", "-1e9"}) {
    for (const char* n : {"2", "3", "1000", "1000000000"}) {
      for (const char* id : {"power_t", "sample_size_t", "detectable_difference_t", "power_t_unequal_n"}) {
        const std::string text = fmt::format(
            R"({{"params": {{"n": {1}, "n1": {1}, "n2": 2, "delta": {0}, "d": {0}, "power": 0.9}}}})", delta,
            n);
        EXPECT_NE(result(id, text), "") << id << text;
      }
    }
  }
}

// A spending function that has spent nothing a double can hold at a first look: no finite boundary there.
TEST(Errors, NothingSpentYet) {
  EXPECT_SAYS("group_sequential_boundary",
              R"({"params": {"design": "asOF", "information": [0.0001, 1], "alpha": 0.05}})",
              R"("critical_values":["Infinity",1.644853)");
}

}  // namespace
}  // namespace retrygate::stats
