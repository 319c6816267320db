#include "stats/sequential.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "stats/case.hpp"
#include "stats/group_sequential.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

Result<Value> boundary_of_looks(Reader& the_case) {
  Reader settings = params(the_case);
  SequentialPlan plan;
  if (!settings.has("design")) settings.fail("design", "'design' is missing");
  const auto shape = settings.word("design", {"OF", "P", "asOF", "asP", "asKD"});
  if (shape) plan.shape = static_cast<BoundaryShape>(*shape);
  plan.information = sample(settings, "information");
  plan.two_sided = integer_or(settings, "sided", 1, 1, 2) == 2;
  plan.alpha = fraction(settings, "alpha", 0.025);
  if (!plan.two_sided && plan.alpha >= 0.5) settings.fail("alpha", "a one-sided 'alpha' must be below 0.5");
  plan.gamma = positive(settings, "gamma", 2);
  // Work grows as looks come closer: the law between two of them is that much narrower.
  constexpr double least_step = 1e-3;
  constexpr std::size_t looks_most = 200;
  double before = 0;
  for (const double information : plan.information) {
    if (information <= before || information > 1)
      settings.fail("information", "'information' must rise from above 0 to at most 1");
    else if (information < before * (1 + least_step))
      settings.fail("information",
                    fmt::format("looks at {} and {} lie too close together", before, information),
                    "each needs 0.1 % more information than the one before");
    before = information;
  }
  if (plan.information.size() > looks_most)
    settings.fail("information",
                  fmt::format("{} looks are too many, at most {}", plan.information.size(), looks_most));
  const bool constant = plan.shape == BoundaryShape::obrien_fleming || plan.shape == BoundaryShape::pocock;
  if (constant && before != 1)
    settings.fail("information", "the last 'information' of this design must be 1");
  if (wrong(the_case)) return failure_of(the_case);
  const SequentialBoundary boundary = group_sequential(plan);
  Table result{member(Status::ok), member("critical_values", boundary.critical),
               member("alpha_spent", boundary.spent), member("nominal_p_one_sided", boundary.nominal_p)};
  if (boundary.constant) result.push_back(member("constant", *boundary.constant));
  return to_value(std::move(result));
}

// A long series is shown at some of its places (from 0): all of the first 30, else `early`, the given
// quarters, and the last.
std::vector<std::size_t> places(std::size_t n, std::initializer_list<std::size_t> early,
                                std::initializer_list<std::size_t> quarters) {
  std::vector<std::size_t> all;
  if (n <= 30) {
    for (std::size_t i = 0; i < n; ++i) all.push_back(i);
    return all;
  }
  all.assign(early);
  for (const std::size_t quarter : quarters) all.push_back(n * quarter / 4);
  all.push_back(n - 1);
  return all;
}

template <class Series, class Read>
Value at(const std::vector<std::size_t>& places, const Series& series, const Read& read) {
  std::vector<double> values;
  for (const std::size_t place : places) values.push_back(read(series[place]));
  return to_value(values);
}

Value numbered(const std::vector<std::size_t>& places) {
  Array values;
  for (const std::size_t place : places) values.push_back(to_value(static_cast<std::int64_t>(place + 1)));
  return to_value(std::move(values));
}

Member maybe_count(std::string key, std::optional<std::size_t> n) {
  return n ? count(std::move(key), *n) : member(std::move(key), std::nullopt);
}

double log_ratio(const Evidence& e) { return e.log_ratio; }
double always_valid_p(const Evidence& e) { return e.always_valid_p; }

Result<Value> mixture_sprt(Reader& the_case) {
  const auto x = sample(the_case, "x");
  Reader settings = params(the_case);
  const NormalMixture mixture{positive(settings, "sigma"), positive(settings, "tau"),
                              number_or(settings, "theta0", 0)};
  const double alpha = fraction(settings, "alpha", 0.05);
  if (wrong(the_case)) return failure_of(the_case);
  const auto evidence = msprt_normal(mixture, x);
  const auto intervals = confidence_sequence(mixture, x, alpha);
  const auto shown = places(x.size(), {0, 1, 2, 4, 9}, {1, 2, 3});
  return to_value(Table{member(Status::ok),
                        {"n", {}, numbered(shown)},
                        {"log_likelihood_ratio", {}, at(shown, evidence, log_ratio)},
                        {"always_valid_p", {}, at(shown, evidence, always_valid_p)},
                        {"cs_low", {}, at(shown, intervals, [](const Interval& i) { return i.low; })},
                        {"cs_high", {}, at(shown, intervals, [](const Interval& i) { return i.high; })},
                        maybe_count("first_rejection", first_rejection(evidence, alpha))});
}

// Variances to evaluate a boundary at.
std::vector<double> variances(Reader& settings) {
  std::vector<double> v = sample(settings, "v");
  for (const double at : v) {
    if (at < 0) settings.fail("v", fmt::format("a variance of {} is none", at));
  }
  return v;
}

Result<Value> mixture_boundary(Reader& the_case) {
  Reader settings = params(the_case);
  const double alpha = fraction(settings, "alpha", 0.05);
  const double v_opt = positive(settings, "v_opt");
  const auto v = variances(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const double rho = normal_mixture_rho(v_opt, alpha);
  std::vector<double> boundary;
  for (const double at : v) boundary.push_back(normal_mixture_boundary(at, rho, alpha));
  return to_value(Table{member(Status::ok), member("rho", rho), member("boundary", boundary)});
}

double above_one(Reader& settings, std::string_view key, double otherwise) {
  const double value = positive(settings, key, otherwise);
  if (value <= 1 && !wrong(settings)) settings.fail(key, fmt::format("'{}' must be above 1", key));
  return value;
}

Result<Value> boundary_by_stitching(Reader& the_case) {
  Reader settings = params(the_case);
  Stitching stitching;
  stitching.alpha = fraction(settings, "alpha", 0.05);
  stitching.m = positive(settings, "m", 1);
  stitching.c = number_or(settings, "c", 0, 0);
  stitching.eta = above_one(settings, "eta", 2);
  stitching.s = above_one(settings, "s", 1.4);
  const auto v = variances(settings);
  if (wrong(the_case)) return failure_of(the_case);
  std::vector<double> boundary;
  for (const double at : v) boundary.push_back(stitched_boundary(stitching, at));
  return to_value(Table{member(Status::ok), member("k1", stitching.k1()), member("k2", stitching.k2()),
                        member("boundary", boundary)});
}

std::vector<bool> wins(Reader& the_case) {
  std::vector<bool> all;
  for (const double win : sample(the_case, "wins")) {
    if (win != 0 && win != 1) the_case.fail("wins", "'wins' must hold 0 and 1 only");
    all.push_back(win == 1);
  }
  return all;
}

Result<Value> eprocess(Reader& the_case) {
  const auto won = wins(the_case);
  Reader settings = params(the_case);
  const BetaBinomial law{fraction(settings, "p0"), positive(settings, "a", 1), positive(settings, "b", 1)};
  const double alpha = fraction(settings, "alpha", 0.05);
  if (wrong(the_case)) return failure_of(the_case);
  const auto evidence = beta_binomial_eprocess(law, won);
  const auto shown = places(won.size(), {0, 1, 4, 9}, {1, 2, 3});
  return to_value(Table{member(Status::ok),
                        {"n", {}, numbered(shown)},
                        {"log_e", {}, at(shown, evidence, log_ratio)},
                        {"always_valid_p", {}, at(shown, evidence, always_valid_p)},
                        maybe_count("first_rejection", first_rejection(evidence, alpha))});
}

Result<Value> wald_sprt(Reader& the_case) {
  const auto won = wins(the_case);
  Reader settings = params(the_case);
  const Sprt test{fraction(settings, "p0"), fraction(settings, "p1"), fraction(settings, "alpha", 0.05),
                  fraction(settings, "beta", 0.05)};
  if (test.p0 == test.p1 && !wrong(the_case)) settings.fail("p1", "'p1' must differ from 'p0'");
  if (test.alpha + test.beta >= 1) settings.fail("beta", "'alpha' and 'beta' together must be below 1");
  if (wrong(the_case)) return failure_of(the_case);
  const SprtRun run = sprt_bernoulli(test, won);
  const std::string decision = run.decision == SprtDecision::accept_h0   ? "accept_h0"
                               : run.decision == SprtDecision::accept_h1 ? "accept_h1"
                                                                         : "continue";
  const auto shown = places(won.size(), {0, 1, 4, 9}, {2});
  return to_value(Table{member(Status::ok),
                        member("upper", test.upper()),
                        member("lower", test.lower()),
                        {"n", {}, numbered(shown)},
                        {"log_lr", {}, at(shown, run.log_ratio, [](double v) { return v; })},
                        member("decision", decision),
                        maybe_count("decision_n", run.decided_at)});
}

}  // namespace

void add_sequential(Shelf<Procedure>& shelf) {
  const std::string_view howard = "Howard, Ramdas, McAuliffe and Sekhon 2021";
  shelf.add({"group_sequential_boundary", "critical values for a few planned looks",
             "normal test statistics whose scores have independent increments",
             "Pocock 1977; O'Brien and Fleming 1979; Lan and DeMets 1983; Jennison and Turnbull 2000",
             boundary_of_looks});
  shelf.add({"msprt_normal", "always-valid p and confidence sequence of a mean",
             "independent values of known spread, normal or at most as heavy",
             "Robbins 1970; Johari, Koomen, Pekelis and Walsh 2022", mixture_sprt});
  shelf.add({"normal_mixture_boundary", "boundary that a sum crosses with probability alpha at most, ever",
             "sub-Gaussian steps", howard, mixture_boundary});
  shelf.add({"stitched_boundary", "the same, growing as the law of the iterated logarithm",
             "sub-gamma steps, one-sided", howard, boundary_by_stitching});
  shelf.add({"beta_binomial_eprocess", "evidence against a given chance of a win, valid at any time",
             "independent trials", "Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021", eprocess});
  shelf.add({"sprt_bernoulli", "decides between two chances of a win as soon as it can", "independent trials",
             "Wald 1945", wald_sprt});
}

}  // namespace retrygate::stats
