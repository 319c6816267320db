#include "stats/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policies/base/shelf.hpp"
#include "stats/decide.hpp"
#include "stats/distributions.hpp"
#include "stats/permutation.hpp"
#include "stats/signed_rank.hpp"

namespace retrygate::stats {
namespace {

constexpr Method all[] = {
    {Deciding::paired_mean, "paired-mean",
     "mean of the differences, or ratio of the means, by bootstrap-t; Student's t below 30 seeds",
     "enough seeds for the skewness of the differences: it is measured, and too few do not decide",
     "Efron and Tibshirani 1993, section 12.5; Student 1908"},
    {Deciding::student, "student-t", "the same by Student's t, whatever the number of seeds",
     "differences normal, or many and not strongly skewed", "Student 1908"},
    {Deciding::signed_rank, "signed-rank",
     "pseudomedian of the differences with Wilcoxon's signed rank test; not the mean",
     "differences symmetric about the margin under the null hypothesis",
     "Wilcoxon 1945; Pratt 1959 (zeros); Hodges and Lehmann 1963"},
    {Deciding::sign_flips, "sign-flips", "mean of the differences with a permutation test by flipped signs",
     "differences symmetric about the margin under the null hypothesis",
     "Fisher 1935; Phipson and Smyth 2010"},
    {Deciding::sign, "sign-test", "median of the differences with the sign test; not the mean", "nothing",
     "Arbuthnott 1710; binomial law"},
    {Deciding::paired_shares, "paired-shares",
     "difference of two shares of the same seeds, for metrics that are 0 or 1; decides those always",
     "nothing", "Tango 1998; Hsueh, Liu and Chen 2001; Berger and Boos 1994"},
};

// p that the limits are not kept: of several sides the worst, for all must be kept.
double kept(const Question& q, const std::function<double(const Limit&)>& p) {
  double most = 0;
  for (const Limit& limit : limits(q)) most = std::max(most, p(limit));
  return most;
}

// The seeds as they lie around an effect m: what its test is put to.
std::vector<double> around(const Question& q, double m) {
  std::vector<double> all_of;
  for (std::size_t i = 0; i < q.pairs.baseline.size(); ++i) {
    const double b = q.pairs.baseline[i], c = q.pairs.candidate[i];
    all_of.push_back(q.pairs.relative ? c - b * (1 + m) : c - b - m);
  }
  return all_of;
}

// An interval that holds every effect at which seeds lie on both sides.
Interval range(const Question& q) {
  double low = 0, high = 0;
  bool first = true;
  for (std::size_t i = 0; i < q.pairs.baseline.size(); ++i) {
    const double b = q.pairs.baseline[i], c = q.pairs.candidate[i];
    if (q.pairs.relative && !(b > 0)) continue;
    const double effect = q.pairs.relative ? c / b - 1 : c - b;
    low = first ? effect : std::min(low, effect);
    high = first ? effect : std::max(high, effect);
    first = false;
  }
  const double beyond_it = std::max({high - low, std::abs(low), std::abs(high)}) * 1e-9;
  return {low - beyond_it, high + beyond_it};
}

// Where `holds` turns from true at `from` to false at `to`: the last place that a bisection finds it to hold.
double last_true(double from, double to, const std::function<bool(double)>& holds) {
  for (int i = 0; i < 60; ++i) {
    const double middle = from + (to - from) / 2;
    if (middle == from || middle == to) break;
    (holds(middle) ? from : to) = middle;
  }
  return from;
}

}  // namespace

std::span<const Method> methods() { return all; }

const Method& method_of(Deciding deciding) {
  return *std::find_if(std::begin(all), std::end(all),
                       [&](const Method& method) { return method.deciding == deciding; });
}

Result<Deciding> find_method(std::string_view id, Where where) {
  std::vector<std::string_view> ids;
  for (const Method& method : all) {
    if (method.id == id) return method.deciding;
    ids.push_back(method.id);
  }
  return failure(std::move(where), fmt::format("unknown method '{}'{}", id, did_you_mean(id, ids)),
                 fmt::format("known: {}", fmt::join(ids, ", ")));
}

std::vector<double> beyond(const Question& q, const Limit& limit) {
  const double turn = toward(q, limit, 1);
  std::vector<double> values = around(q, turn * limit.value);
  for (double& v : values) v *= turn;
  return values;
}

CentreTest test_centre(Deciding deciding, std::span<const double> values) {
  if (deciding == Deciding::signed_rank) {
    const SignedRank test = signed_rank(values);
    return {test.p_greater, test.p_less, test.method == "exact" ? "exact" : "normal approximation"};
  }
  if (deciding == Deciding::sign_flips) {
    const PermutationTest test = flip_signs(values, Centre::mean, {sign_flips, Seed{1}, 1});
    return {test.p_greater, test.p_less,
            test.all ? "all sign flips" : fmt::format("{} random sign flips", sign_flips)};
  }
  RG_ASSERT(deciding == Deciding::sign, "no test of a centre");
  const SignTest test = sign_test(values, 1 - 2 * alpha);
  return {test.p_greater, test.p_less, "exact"};
}

Opinion opinion_of(Deciding deciding, const Question& q) {
  const std::string_view shown = deciding == Deciding::signed_rank  ? "signed rank"
                                 : deciding == Deciding::sign_flips ? "sign flips"
                                                                    : "sign test";
  return {shown,
          joint(q, [&](const Limit& limit) { return test_centre(deciding, beyond(q, limit)).p_greater; }),
          kept(q, [&](const Limit& limit) { return test_centre(deciding, beyond(q, limit)).p_less; }),
          std::nullopt, std::nullopt};
}

Widening widening(const Studentized& s, std::size_t seeds, double per) {
  constexpr double so_much = 4;
  constexpr std::size_t least = 10;
  const auto needed = static_cast<std::size_t>(std::ceil(5 + per * s.skewness * s.skewness));
  Widening w;
  if (seeds >= std::max(least, needed)) return w;
  w.seeds = std::max(least, needed);
  if (seeds < least || s.skewness < 0) w.low = so_much;
  if (seeds < least || s.skewness > 0) w.high = so_much;
  w.note =
      seeds < least
          ? fmt::format("{} seeds do not show how skewed they are: both bounds are taken {} times as wide",
                        seeds, so_much)
          : fmt::format(
                "The seeds are skewed ({:+.2g}): with fewer than about {} the long tail may not show, and "
                "the {} bound is taken {} times as far",
                s.skewness, w.seeds, s.skewness > 0 ? "upper" : "lower", so_much);
  return w;
}

std::size_t seeds_for(const Question& q, double effect, const Widening& w) {
  const std::vector<Limit> all_of = limits(q);
  const bool wide = std::any_of(all_of.begin(), all_of.end(), [&](const Limit& limit) {
    // The bound on the far side of the effect decides.
    const bool inside = toward(q, limit, effect) <= limit.value;
    return ((toward(q, limit, 1) > 0) == inside ? w.high : w.low) > 1;
  });
  return wide ? w.seeds : 0;
}

Opinion student_opinion(const Question& q, const Studentized& s, const Widening& w) {
  const auto dof = static_cast<double>(q.pairs.baseline.size() - 1);
  const double reach = student_quantile(1 - alpha, dof) * s.se;
  const auto t = [&](const Limit& limit) { return (toward(q, limit, s.effect) - limit.value) / s.se; };
  // What speaks against a limit above is the bound from below.
  const auto against = [&](const Limit& limit) { return toward(q, limit, 1) > 0 ? w.low : w.high; };
  const auto in_favour = [&](const Limit& limit) { return toward(q, limit, 1) > 0 ? w.high : w.low; };
  return {"Student's t",
          joint(q, [&](const Limit& limit) { return student_sf(t(limit) / against(limit), dof); }),
          kept(q, [&](const Limit& limit) { return student_sf(-t(limit) / in_favour(limit), dof); }),
          s.effect - w.low * reach, s.effect + w.high * reach};
}

Estimated rule_by_student(const Question& q, const Widening& w) {
  const Studentized s = estimate(q.pairs);
  const Opinion t = student_opinion(q, s, w);
  Estimated result;
  Ruling& r = result.ruling;
  r.effect = s.effect;
  r.method = t.method;
  r.law = fmt::format("t with {} degrees of freedom", q.pairs.baseline.size() - 1);
  r.assumes = method_of(Deciding::student).assumes;
  r.p = t.p;
  r.low = t.low;
  r.high = t.high;
  r.note = w.note;
  result.se = s.se;
  result.seeds = seeds_for(q, s.effect, w);
  return result;
}

Estimated rule_by_centre(const Question& q) {
  Estimated result;
  Ruling& r = result.ruling;
  const auto at = [&](double m) { return test_centre(q.method, around(q, m)); };
  const Interval whole = range(q);
  // A flat stretch on which both sides are equally likely gives its middle.
  r.effect = (last_true(whole.low, whole.high,
                        [&](double m) {
                          const CentreTest test = at(m);
                          return test.p_greater < test.p_less;
                        }) +
              last_true(whole.high, whole.low,
                        [&](double m) {
                          const CentreTest test = at(m);
                          return test.p_less < test.p_greater;
                        })) /
             2;
  if (at(whole.low).p_greater <= alpha)
    r.low = last_true(whole.low, whole.high, [&](double m) { return at(m).p_greater <= alpha; });
  if (at(whole.high).p_less <= alpha)
    r.high = last_true(whole.high, whole.low, [&](double m) { return at(m).p_less <= alpha; });
  const Opinion asked = opinion_of(q.method, q);
  r.method = asked.method;
  r.law = at(r.effect).law;
  r.assumes = method_of(q.method).assumes;
  r.p = asked.p;
  if (!r.low || !r.high)
    r.note = fmt::format("{} seeds are too few for a bound by this test", q.pairs.baseline.size());
  else
    result.se = (*r.high - *r.low) / (2 * normal_quantile(1 - alpha));
  return result;
}

namespace {

// p_greater: the effect lies beyond the limit.
PairedTest turned_test(const Question& q, const PairedShares& s, const Limit& limit,
                       PairedTest (*test)(const PairedShares&, double)) {
  const double turn = toward(q, limit, 1);
  const PairedTest t = test(s, std::clamp(turn * limit.value, -1.0, 1.0));
  return turn > 0 ? t : PairedTest{t.p_less, t.p_greater, t.exact};
}

}  // namespace

PairedShares shares_of(const Question& q) {
  PairedShares s{static_cast<std::int64_t>(q.pairs.baseline.size())};
  for (std::size_t i = 0; i < q.pairs.baseline.size(); ++i) {
    const double b = q.pairs.baseline[i], c = q.pairs.candidate[i];
    RG_ASSERT((b == 0 || b == 1) && (c == 0 || c == 1) && !q.pairs.relative, "a yes/no metric is 0 or 1");
    s.first_only += c > b;
    s.second_only += b > c;
  }
  return s;
}

Estimated rule_by_shares(const Question& q, double a) {
  const PairedShares s = shares_of(q);
  Estimated result;
  Ruling& r = result.ruling;
  const auto exceeded = [&](const Limit& limit, const auto& test) { return turned_test(q, s, limit, test); };
  r.method = "paired shares";
  r.effect = s.difference();
  r.law = s.pairs <= paired_exact_limit ? "exact" : "normal approximation";
  r.assumes = method_of(Deciding::paired_shares).assumes;
  r.p = joint(q, [&](const Limit& limit) { return exceeded(limit, &test_paired_shares).p_greater; });
  Interval shown = paired_interval(s, 1 - 2 * a);
  // The ends are where a bisection found the test to turn; what was asked is tested itself.
  for (const Limit& limit : limits(q)) {
    const double asked = toward(q, limit, 1) * limit.value;
    if (std::abs(asked) > 1 || exceeded(limit, &test_paired_shares).p_less <= a) continue;
    if (toward(q, limit, 1) > 0)
      shown.high = std::max(shown.high, std::nextafter(asked, 2.0));
    else
      shown.low = std::min(shown.low, std::nextafter(asked, -2.0));
  }
  r.low = shown.low;
  r.high = shown.high;
  const auto by = [&](std::string_view name, PairedTest (*test)(const PairedShares&, double)) {
    r.opinions.push_back({name, joint(q, [&](const Limit& limit) { return exceeded(limit, test).p_greater; }),
                          kept(q, [&](const Limit& limit) { return exceeded(limit, test).p_less; }),
                          std::nullopt, std::nullopt});
  };
  if (a == alpha) {
    by("Tango's score", &score_test_paired_shares);
    // McNemar's test is about equal shares and nothing else.
    if (q.margin == 0)
      by("McNemar", [](const PairedShares& pairs, double) {
        const std::int64_t n = pairs.first_only + pairs.second_only;
        return PairedTest{binomial_sf(pairs.first_only - 1, n, 0.5), binomial_cdf(pairs.first_only, n, 0.5)};
      });
  }
  const double margin = std::min(q.margin, 1.0);
  result.se = tango_error(s, toward(q, limits(q).front(), 1) > 0 ? margin : -margin);
  r.note = fmt::format("{} of {} seeds turned from no to yes, {} from yes to no", s.first_only, s.pairs,
                       s.second_only);
  return result;
}

SharesTest test_shares(const Question& q, double a) {
  const PairedShares s = shares_of(q);
  constexpr double well_above = 10;
  const auto by = [&](const auto& test) {
    return SharesTest{joint(q, [&](const Limit& limit) { return turned_test(q, s, limit, test).p_greater; }),
                      kept(q, [&](const Limit& limit) { return turned_test(q, s, limit, test).p_less; })};
  };
  const SharesTest roughly = by(&score_test_paired_shares);
  if (roughly.p > well_above * a && roughly.p_kept > well_above * a) return {};
  return by(&test_paired_shares);
}

}  // namespace retrygate::stats
