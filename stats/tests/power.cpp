#include "stats/power.hpp"

#include <fmt/format.h>

#include <cmath>

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

constexpr std::int64_t trials_limit = 1'000'000'000;
// A double counts no further, and nobody draws so many.
constexpr double practical_size = 0x1p53;

void refuse_size(Reader& settings, std::string_view key, double n) {
  settings.fail(key,
                fmt::format("no practical size finds so small an effect: it takes about {:.3g} values", n));
}

// One-sided tests of a plan look in the direction of the effect, whichever word is used.
bool two_sided(Reader& settings) {
  if (!settings.has("alternative")) return true;
  return settings.word("alternative", {"two.sided", "one.sided", "greater", "less"}).value_or(0) == 0;
}

TPlan plan(Reader& settings, bool has_delta) {
  TPlan plan;
  if (settings.has("type"))
    plan.design =
        static_cast<TDesign>(settings.word("type", {"one.sample", "paired", "two.sample"}).value_or(2));
  if (has_delta) plan.delta = number_or(settings, "delta", 0);
  plan.sd = positive(settings, "sd", 1);
  plan.alpha = fraction(settings, "alpha", 0.05);
  plan.two_sided = two_sided(settings);
  return plan;
}

// The power asked for: above the level, which any effect reaches.
double target(Reader& settings, double alpha) {
  const double power = fraction(settings, "power");
  if (power <= alpha) settings.fail("power", "'power' must be above 'alpha'");
  return power;
}

Result<Value> power_of_t(Reader& the_case) {
  Reader settings = params(the_case);
  TPlan t = plan(settings, true);
  const auto n = static_cast<double>(whole(settings, "n", 2, trials_limit));
  if (wrong(the_case)) return failure_of(the_case);
  const double both = power_t(t, n);
  t.both_tails = false;
  return to_value(Table{member(Status::ok), member("power", both), member("power_one_tail", power_t(t, n))});
}

Result<Value> size_of_t(Reader& the_case) {
  Reader settings = params(the_case);
  TPlan t = plan(settings, true);
  if (t.delta == 0) settings.fail("delta", "no sample size finds a 'delta' of 0");
  const double power = target(settings, t.alpha);
  if (wrong(the_case)) return failure_of(the_case);
  if (const double about = normal_sample_size(t, power); !(about < practical_size)) {
    refuse_size(settings, "delta", about);
    return failure_of(the_case);
  }
  const double n = sample_size_t(t, power);
  const std::int64_t rounded = whole_sample_size_t(t, power);
  const double reached = power_t(t, static_cast<double>(rounded));
  t.both_tails = false;
  return to_value(Table{member(Status::ok), member("n", n), member("n_ceil", rounded),
                        member("n_one_tail", sample_size_t(t, power)), member("power_at_n_ceil", reached)});
}

Result<Value> difference_of_t(Reader& the_case) {
  Reader settings = params(the_case);
  const TPlan t = plan(settings, false);
  const auto n = static_cast<double>(whole(settings, "n", 2, trials_limit));
  const double power = target(settings, t.alpha);
  if (wrong(the_case)) return failure_of(the_case);
  return to_value(Table{member(Status::ok), member("delta", detectable_difference_t(t, n, power))});
}

Result<Value> power_of_unequal_t(Reader& the_case) {
  Reader settings = params(the_case);
  const auto n1 = static_cast<double>(whole(settings, "n1", 2, trials_limit));
  const auto n2 = static_cast<double>(whole(settings, "n2", 2, trials_limit));
  const double effect = number_or(settings, "d", 0);
  const double alpha = fraction(settings, "alpha", 0.05);
  const Alternative side = alternative(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const double towards = side == Alternative::less ? -effect : effect;
  return to_value(
      Table{member(Status::ok),
            member("power", power_t_unequal(n1, n2, towards, alpha, side == Alternative::two_sided))});
}

Result<Value> power_of_binomial(Reader& the_case) {
  Reader settings = params(the_case);
  const std::int64_t n = whole(settings, "n", 1, trials_limit);
  const double p0 = fraction(settings, "p0"), p1 = number_or(settings, "p1", 0.5, 0, 1);
  const double alpha = fraction(settings, "alpha", 0.05);
  const Alternative side = alternative(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const BinomialPower power = power_binomial(n, p0, p1, alpha, side);
  Table result{member(Status::ok), member("size", power.size), member("power", power.power)};
  if (side != Alternative::less) result.push_back(member("critical_high", power.critical_high));
  if (side != Alternative::greater) result.push_back(member("critical_low", power.critical_low));
  return to_value(std::move(result));
}

Result<Value> power_of_fisher(Reader& the_case) {
  Reader settings = params(the_case);
  constexpr std::int64_t limit = 400;  // every outcome is visited: n1 * n2 tables
  TwoGroups groups;
  groups.n1 = whole(settings, "n1", 1, limit);
  groups.n2 = whole(settings, "n2", 1, limit);
  groups.p1 = number_or(settings, "p1", 0.5, 0, 1);
  groups.p2 = number_or(settings, "p2", 0.5, 0, 1);
  const double alpha = fraction(settings, "alpha", 0.05);
  if (wrong(the_case)) return failure_of(the_case);
  const FisherPower power = power_fisher(groups, alpha);
  return to_value(Table{member(Status::ok), member("power_two_sided", power.two_sided),
                        member("power_greater", power.greater)});
}

Result<Value> size_of_rank_test(Reader& the_case) {
  Reader settings = params(the_case);
  if (!settings.has("test")) settings.fail("test", "'test' is missing");
  const auto test = settings.word("test", {"mann_whitney", "signed_rank", "sign"});
  const double p = fraction(settings, "p");
  if (p == 0.5 && !wrong(the_case)) settings.fail("p", "no sample size finds a 'p' of 0.5");
  const double alpha = fraction(settings, "alpha", 0.05);
  const double share = fraction(settings, "fraction_x", 0.5);
  const double power = target(settings, alpha);
  const bool both = two_sided(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const double n = sample_size_noether(static_cast<RankTest>(*test), p, alpha, power, both, share);
  if (!(n < practical_size)) {
    refuse_size(settings, "p", n);
    return failure_of(the_case);
  }
  return to_value(
      Table{member(Status::ok), member("n", n), member("n_ceil", static_cast<std::int64_t>(std::ceil(n)))});
}

Result<Value> power_of_two_shares(Reader& the_case) {
  Reader settings = params(the_case);
  const double n = positive(settings, "n");
  const double p1 = fraction(settings, "p1"), p2 = fraction(settings, "p2");
  if (p1 == p2 && !wrong(the_case)) settings.fail("p2", "no sample size finds a difference of 0");
  const double alpha = fraction(settings, "alpha", 0.05);
  const bool both = two_sided(settings);
  if (wrong(the_case)) return failure_of(the_case);
  return to_value(Table{member(Status::ok), member("power", power_two_proportions(n, p1, p2, alpha, both)),
                        member("n_for_80", sample_size_two_proportions(p1, p2, alpha, 0.8, both)),
                        member("n_for_90", sample_size_two_proportions(p1, p2, alpha, 0.9, both))});
}

}  // namespace

void add_power(Shelf<Procedure>& shelf) {
  const std::string_view normal = "normal values of equal spread";
  const std::string_view noncentral = "noncentral t law; Cohen 1988, chapter 2";
  shelf.add({"power_t", "power of a t test", normal, noncentral, power_of_t});
  shelf.add({"sample_size_t", "size of a t test that reaches a power", normal, noncentral, size_of_t});
  shelf.add({"detectable_difference_t", "difference that a t test finds with a given power", normal,
             noncentral, difference_of_t});
  shelf.add({"power_t_unequal_n", "power of a t test of two groups of different size", normal, noncentral,
             power_of_unequal_t});
  shelf.add({"power_binomial_exact", "power of the exact binomial test, with its rejection region",
             "independent trials of one probability", "binomial law, equal tails", power_of_binomial});
  shelf.add({"power_fisher_exact", "power of Fisher's exact test", "two independent groups",
             "all outcomes of both groups; Fisher 1935", power_of_fisher});
  shelf.add({"sample_size_noether", "size of a rank test that reaches a power",
             "continuous values; large samples", "Noether 1987", size_of_rank_test});
  shelf.add({"power_two_proportions", "power and size of a comparison of two proportions",
             "two independent groups; large samples", "Fleiss, Levin and Paik 2003, section 4.2",
             power_of_two_shares});
}

}  // namespace retrygate::stats
