#include "stats/equivalence.hpp"

#include <fmt/format.h>

#include <cmath>

#include "stats/case.hpp"
#include "stats/procedure.hpp"
#include "stats/student.hpp"

namespace retrygate::stats {
namespace {

struct TwoSamples {
  std::vector<double> x, y;
};

TwoSamples two_samples(Reader& the_case, bool paired) {
  TwoSamples both{sample(the_case, "x"), sample(the_case, "y")};
  if (paired && both.x.size() != both.y.size() && !wrong(the_case))
    the_case.fail("y", fmt::format("'y' must have {} values, one per value of 'x'", both.x.size()));
  return both;
}

double one_sided_alpha(Reader& settings) {
  const double alpha = fraction(settings, "alpha", 0.05);
  if (alpha >= 0.5 && !wrong(settings)) settings.fail("alpha", "'alpha' must be below 0.5");
  return alpha;
}

Interval margins(Reader& settings, Interval otherwise) {
  const Interval both{number_or(settings, "low", otherwise.low), number_or(settings, "high", otherwise.high)};
  if (both.low >= both.high) settings.fail("high", "'high' must be above 'low'");
  return both;
}

Result<Value> tost(Reader& the_case, bool paired) {
  const TwoSamples data = two_samples(the_case, paired);
  Reader settings = params(the_case);
  const double alpha = one_sided_alpha(settings);
  const Interval allowed = margins(settings, {-1, 1});
  if (wrong(the_case)) return failure_of(the_case);
  const Equivalence e = (paired ? tost_paired : tost_welch)(data.x, data.y, allowed, alpha);
  using Sides = Equivalence::Sides;
  const auto side = [&](double (*read)(const Sides&)) {
    return e.sides ? std::optional(read(*e.sides)) : std::nullopt;
  };
  Table result{member(e.status),
               member("estimate", e.estimate),
               member("std_error", e.std_error),
               member("df", e.df),
               member("t_low", side([](const Sides& s) { return s.t_low; })),
               member("p_low", side([](const Sides& s) { return s.p_low; })),
               member("t_high", side([](const Sides& s) { return s.t_high; })),
               member("p_high", side([](const Sides& s) { return s.p_high; })),
               member("p_value", side([](const Sides& s) { return s.p; })),
               member("ci_low", side([](const Sides& s) { return s.interval.low; })),
               member("ci_high", side([](const Sides& s) { return s.interval.high; }))};
  result.push_back(e.sides ? member("equivalent", e.sides->equivalent) : member("equivalent", std::nullopt));
  return to_value(std::move(result));
}

Result<Value> of_two_groups(Reader& the_case) { return tost(the_case, false); }
Result<Value> of_pairs(Reader& the_case) { return tost(the_case, true); }

Result<Value> noninferiority(Reader& the_case) {
  const TwoSamples data = two_samples(the_case, false);
  Reader settings = params(the_case);
  const double alpha = one_sided_alpha(settings);
  const double margin = number_or(settings, "margin", 0, 0);
  auto larger = Larger::worse;
  if (settings.has("larger_is"))
    larger = static_cast<Larger>(settings.word("larger_is", {"worse", "better"}).value_or(0));
  if (wrong(the_case)) return failure_of(the_case);
  const NonInferiority n = noninferiority_welch(data.x, data.y, margin, alpha, larger);
  Table result{member(n.status),
               member("estimate", n.estimate),
               member("std_error", n.std_error),
               member("df", n.df),
               member("statistic", n.statistic),
               member("p_value", n.p),
               member(larger == Larger::worse ? "ci_high" : "ci_low", n.bound)};
  result.push_back(n.noninferior ? member("noninferior", *n.noninferior)
                                 : member("noninferior", std::nullopt));
  return to_value(std::move(result));
}

bool is_paired(Reader& settings) { return settings.flag("paired").value_or(false); }

Result<Value> ratio_by_fieller(Reader& the_case) {
  Reader settings = params(the_case);
  const bool paired = is_paired(settings);
  const TwoSamples data = two_samples(the_case, paired);
  const double confidence = level(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const FiellerRatio r = (paired ? ratio_paired : ratio_unpaired)(data.x, data.y, confidence);
  const auto end = [](const std::optional<Interval>& i, double Interval::*which) {
    return i ? std::optional((*i).*which) : std::nullopt;
  };
  return to_value(Table{member(r.status), member("estimate", r.estimate), member("df", r.df),
                        member("g", r.g), member("ci_low", end(r.interval, &Interval::low)),
                        member("ci_high", end(r.interval, &Interval::high)),
                        member("excluded_low", end(r.excluded, &Interval::low)),
                        member("excluded_high", end(r.excluded, &Interval::high))});
}

// Means of logarithms: the ratio of geometric means, and whether it lies between 4/5 and 5/4.
Result<Value> ratio_of_logarithms(Reader& the_case) {
  Reader settings = params(the_case);
  const bool paired = is_paired(settings);
  TwoSamples data = two_samples(the_case, paired);
  const double confidence = level(settings), alpha = one_sided_alpha(settings);
  const Interval allowed = margins(settings, {0.8, 1.25});
  if (allowed.low <= 0) settings.fail("low", "'low' must be above 0");
  for (auto* values : {&data.x, &data.y}) {
    for (double& value : *values) {
      if (value <= 0) the_case.fail(values == &data.x ? "x" : "y", fmt::format("{} has no logarithm", value));
      value = std::log(value);
    }
  }
  if (wrong(the_case)) return failure_of(the_case);
  const TTest t = (paired ? t_paired : t_welch)(data.x, data.y, {0, Alternative::two_sided, confidence});
  const Equivalence e = (paired ? tost_paired : tost_welch)(
      data.x, data.y, {std::log(allowed.low), std::log(allowed.high)}, alpha);
  const auto exp = [](const std::optional<double>& v) {
    return v ? std::optional(std::exp(*v)) : std::nullopt;
  };
  Table result{member(t.status),
               member("log_estimate", t.estimate),
               member("log_std_error", t.std_error),
               member("df", t.df),
               member("statistic", t.statistic),
               member("p_value", t.p_value),
               member("ratio", std::exp(t.estimate)),
               member("ci_low", exp(t.low)),
               member("ci_high", exp(t.high)),
               member("p_tost_80_125", e.sides ? std::optional(e.sides->p) : std::nullopt)};
  result.push_back(e.sides ? member("equivalent_80_125", e.sides->equivalent)
                           : member("equivalent_80_125", std::nullopt));
  return to_value(std::move(result));
}

}  // namespace

void add_equivalence(Shelf<Procedure>& shelf) {
  const std::string_view normal = "independent values with a normal mean: normal values, or many";
  shelf.add({"tost_welch", "are two means the same up to a margin", normal, "Schuirmann 1987; Welch 1947",
             of_two_groups});
  shelf.add({"tost_paired", "is the mean difference of pairs 0 up to a margin",
             "independent pairs whose mean difference is normal", "Schuirmann 1987", of_pairs});
  shelf.add({"noninferiority_welch", "is a mean worse by less than a margin", normal, "Welch 1947",
             noninferiority});
  shelf.add({"ratio_fieller", "ratio of two means with its confidence set", normal, "Fieller 1954",
             ratio_by_fieller});
  shelf.add({"ratio_log", "ratio of two geometric means, and is it between 4/5 and 5/4",
             "independent positive values whose logarithms have a normal mean", "Schuirmann 1987",
             ratio_of_logarithms});
}

}  // namespace retrygate::stats
