#include "stats/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

bool finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
}

double sign(const Question& q) { return q.lower_is_better ? 1 : -1; }

// Values that differ by so much differ by rounding only.
double rounding(const Question& q) {
  double size = 0;
  for (const double v : q.pairs.baseline) size = std::max(size, std::abs(v));
  for (const double v : q.pairs.candidate) size = std::max(size, std::abs(v));
  return 8 * std::numeric_limits<double>::epsilon() * size;
}

double effect(const Question& q) {
  return q.pairs.relative ? mean(q.pairs.candidate) / mean(q.pairs.baseline) - 1 : mean(differences(q.pairs));
}

// Do all seeds tell the same effect? Up to rounding: 0.4 - 0.1 and 0.5 - 0.2 differ in the last bit, which is
// no spread. A relative effect is the same in all seeds when candidate and baseline are proportional.
bool constant(const Question& q) {
  const std::vector<double>&b = q.pairs.baseline, &c = q.pairs.candidate;
  const double factor = q.pairs.relative ? mean(c) / mean(b) : 1;
  const double first = q.pairs.relative ? 0 : c[0] - b[0];
  const double allowed = rounding(q) * std::max(1.0, std::abs(factor));
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::abs(c[i] - factor * b[i] - first) > allowed) return false;
  }
  return true;
}

// What one seed that differs adds at least to how bad it is, where no such seed was seen: a step. Nothing if
// the others lie on a limit, a margin of 0 above all: a mean of exactly 0 is beyond any number of seeds, and
// what is said there is said of seeds alone (59 of 59 alike, S. S. Wilks 1941).
double unseen_step(const Question& q, double usual) {
  for (const Limit& limit : limits(q)) {
    if (limit.side * usual == limit.value) return 0;
  }
  return q.step / (q.pairs.relative ? mean(q.pairs.baseline) : 1);
}

// All seeds but a few show one and the same difference: no law to resample from. The share of seeds that
// differ is bounded exactly (Clopper and Pearson), and none is taken to differ by more than the worst seen.
// Everything in the effect's unit.
struct Sparse {
  double usual = 0;  // the difference of most seeds
  std::size_t others = 0;
  std::size_t worse = 0, better = 0;  // of the others
  double worst_by = 0, best_by = 0;   // at most, not negative
};
std::optional<Sparse> sparse(const Question& q) {
  std::vector<double> d = differences(q.pairs);
  for (double& v : d) v *= sign(q);
  std::sort(d.begin(), d.end());
  const double allowed = rounding(q);
  std::size_t most = 0;
  Sparse s;
  for (std::size_t begin = 0; begin < d.size();) {
    std::size_t end = begin + 1;
    while (end < d.size() && d[end] - d[begin] <= allowed) ++end;
    if (end - begin > most) {
      most = end - begin;
      s.usual = d[begin];
      s.better = begin;
      s.worse = d.size() - end;
    }
    begin = end;
  }
  s.others = d.size() - most;
  if (s.others >= sparse_below || 2 * s.others >= d.size()) return std::nullopt;
  // With a margin in % the usual difference must mean the same in every seed.
  const auto [least, largest] = std::minmax_element(q.pairs.baseline.begin(), q.pairs.baseline.end());
  if (q.pairs.relative && std::abs(s.usual) > allowed && *largest - *least > allowed) return std::nullopt;
  const double unit = q.pairs.relative ? mean(q.pairs.baseline) : 1;
  const double unseen = unseen_step(q, s.usual / unit);
  s.worst_by = s.worse > 0 ? (d.back() - s.usual) / unit : unseen;
  s.best_by = s.better > 0 ? (s.usual - d.front()) / unit : unseen;
  s.usual /= unit;
  return s;
}

constexpr ShownMethod methods_shown[] = {
    {"unchanged",
     "The same policy stands on both sides: there is nothing to test. It passes, unless it was to be "
     "better."},
    {"deterministic",
     "Neither the policies nor the scenario drew a random number: the difference is exact and more seeds add "
     "nothing."},
    {"one seed", "One seed of a random world says nothing about the others: inconclusive."},
    {"constant difference",
     "Random numbers were drawn, yet all n seeds show the same difference. At most 1 - 0.05^(1/n) of seeds "
     "can differ (95 %); it is decided by the difference from 59 seeds on, where that share is below 5 %, "
     "and of what is counted only if as many seeds, each off by 1, fit into the margin (a margin that is met "
     "exactly is a question about seeds)."},
    {"few seeds differ",
     "All seeds but a few (fewer than 10, and less than half) show one and the same difference: too few to "
     "resample. The share of seeds that differ is bounded exactly (Clopper and Pearson 1934), and none of "
     "them is taken to differ by more than the worst that was seen."},
    {"bootstrap-t",
     "Decides from 30 seeds on: the seeds are drawn with replacement 10,000 times, all metrics together, and "
     "the studentised effect gives the interval and the p value. Efron and Tibshirani, An Introduction to "
     "the Bootstrap, 1993, section 12.5."},
    {"Student's t",
     "The mean of the differences, seed by seed, by Student's t; decides below 30 seeds, and is a second "
     "opinion above. Student 1908."},
    {"signed rank",
     "Wilcoxon's signed rank test of the differences, seed by seed, with their pseudomedian. Wilcoxon 1945, "
     "Pratt 1959, Hodges and Lehmann 1963."},
    {"sign flips",
     "A permutation test of the mean difference: if both policies were alike, each seed's difference could "
     "as well have the other sign. Fisher 1935, Phipson and Smyth 2010."},
    {"sign test",
     "In how many seeds is the candidate worse? The median, by the binomial law. Arbuthnott 1710."},
    {"paired shares",
     "For metrics that are 0 or 1 in a seed: the difference of two shares of the same seeds, with exact "
     "bounds. Tango 1998; Hsueh, Liu and Chen 2001; Berger and Boos 1994."},
    {"Tango's score",
     "A score test of the difference of two shares of the same seeds, by the normal law: a second opinion. "
     "Tango 1998."},
    {"McNemar",
     "An exact test that two shares of the same seeds are equal: of the seeds that turned, how many turned "
     "each way? A second opinion where the margin is 0. McNemar 1947."},
    {"confidence sequence",
     "Decides with --until-decided: bounds that hold after every seed at once, so that looking often and "
     "stopping early makes no mistake likelier. Looks after 50 seeds and every 50 more. Waudby-Smith et al., "
     "Time-uniform central limit theory and asymptotic confidence sequences, 2024."},
};

// The share of seeds, at most: exact upper bound at level 1 - a for k of n.
double share_at_most(std::size_t k, std::size_t n, double a) {
  return beta_upper_quantile(a, static_cast<double>(k) + 1, static_cast<double>(n - k));
}

}  // namespace

std::span<const ShownMethod> shown_methods() { return methods_shown; }

bool is_shown(std::string_view method) {
  return std::any_of(std::begin(methods_shown), std::end(methods_shown),
                     [&](const ShownMethod& one) { return one.name == method; });
}

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::pass:
      return "pass";
    case Answer::fail:
      return "fail";
    case Answer::inconclusive:
      return "inconclusive";
  }
  return "";
}

std::string_view to_string(Asking asking) {
  switch (asking) {
    case Asking::not_worse:
      return "not-worse";
    case Asking::better:
      return "better";
    case Asking::equivalent:
      return "equivalent";
  }
  return "";
}

std::vector<double> differences(const Pairs& pairs) {
  std::vector<double> d;
  for (std::size_t i = 0; i < pairs.baseline.size(); ++i) d.push_back(pairs.candidate[i] - pairs.baseline[i]);
  return d;
}

Bounds turned(const Question& q, double low, double high) {
  return q.lower_is_better ? Bounds{low, high} : Bounds{-high, -low};
}

Answer by_bounds(const Question& q, Bounds b) {
  switch (q.asking) {
    case Asking::not_worse:
      return b.high <= q.margin ? Answer::pass : b.low > q.margin ? Answer::fail : Answer::inconclusive;
    case Asking::better:
      // Without a margin it must be better at all: no difference is none.
      if (q.margin == 0) return b.high < 0 ? Answer::pass : b.low >= 0 ? Answer::fail : Answer::inconclusive;
      return b.high <= -q.margin ? Answer::pass : b.low > -q.margin ? Answer::fail : Answer::inconclusive;
    case Asking::equivalent:
      if (b.high <= q.margin && b.low >= -q.margin) return Answer::pass;
      return b.low > q.margin || b.high < -q.margin ? Answer::fail : Answer::inconclusive;
  }
  return Answer::inconclusive;
}

std::vector<Limit> limits(const Question& q) {
  switch (q.asking) {
    case Asking::not_worse:
      return {{1, q.margin}};
    case Asking::better:
      return {{1, -q.margin}};
    case Asking::equivalent:
      return {{1, q.margin}, {-1, q.margin}};
  }
  return {};
}

double toward(const Question& q, const Limit& limit, double effect) { return limit.side * sign(q) * effect; }

double joint(const Question& q, const std::function<double(const Limit&)>& p) {
  const std::vector<Limit> all = limits(q);
  double least = 1;
  for (const Limit& limit : all) least = std::min(least, p(limit));
  // A p below what a double can hold is not 0.
  return std::clamp(static_cast<double>(all.size()) * least, std::numeric_limits<double>::min(), 1.0);
}

std::size_t constant_decides_from(double a) {
  return static_cast<std::size_t>(std::ceil(std::log(a) / std::log(0.95)));
}

std::optional<Ruling> settled(const Question& q, double pass_alpha, double fail_alpha) {
  const std::size_t n = q.pairs.baseline.size(), least = constant_decides_from(pass_alpha);
  Ruling r;
  if (q.same_policy) {
    r.answer = by_bounds(q, {0, 0});
    r.method = "unchanged";
    r.low = r.high = 0.0;
    r.note = "The same policy stands on both sides";
    return r;
  }
  r.effect = effect(q);
  const double bad = sign(q) * r.effect;
  const Answer by_value = by_bounds(q, {bad, bad});
  if (q.deterministic && constant(q)) {
    r.answer = by_value;
    r.method = "deterministic";
    r.low = r.high = r.effect;
    r.note = "No policy drew a random number: the difference is exact, and more seeds add nothing";
    return r;
  }
  if (n == 1) {
    r.method = "one seed";
    r.seeds_needed = bootstrap_from;
    r.note = "One seed says nothing about the others";
    return r;
  }
  // A share has a law whatever the seeds show.
  if (q.method == Deciding::paired_shares) return std::nullopt;
  if (constant(q)) {
    r.method = "constant difference";
    r.law = "exact";
    const double unseen = unseen_step(q, bad);
    const auto within = [&](double a) {
      const double reach = share_at_most(0, n, a) * unseen;
      return by_bounds(q, {bad - reach, bad + reach});
    };
    if (n >= least && (within(pass_alpha) == Answer::pass || within(fail_alpha) == Answer::fail))
      r.answer = by_value;
    const double differ = share_at_most(0, n, pass_alpha);
    r.note = fmt::format("All {} seeds agree: with {:.3g} % confidence at most {:.1f} % of seeds can differ", n,
                         100 * (1 - pass_alpha), 100 * differ);
    double room = infinite;  // to the nearest limit
    for (const Limit& limit : limits(q)) room = std::min(room, std::abs(limit.side * bad - limit.value));
    if (r.answer == Answer::pass && room > 0 && q.margin > 0)
      r.note += fmt::format(", and only by more than {:.2g} times the margin could they break it",
                            room / differ / q.margin);
    if (r.answer != Answer::inconclusive) return r;
    if (n >= least) r.note += ", which is more than the margin leaves room for";
    // So many that the seeds that can differ then add less than the room.
    const double wanted = unseen > room ? std::log(pass_alpha) / std::log1p(-room / unseen) : 0;
    if (wanted <= most_seeds) r.seeds_needed = std::max(least, static_cast<std::size_t>(std::ceil(wanted)));
    return r;
  }
  const auto few = sparse(q);
  if (!few) return std::nullopt;
  r.method = "few seeds differ";
  r.law = "exact";
  const auto bounds = [&](double a) {
    return Bounds{few->usual - share_at_most(few->better, n, a) * few->best_by,
                  few->usual + share_at_most(few->worse, n, a) * few->worst_by};
  };
  const Bounds shown = bounds(pass_alpha);
  r.low = sign(q) > 0 ? shown.low : -shown.high;
  r.high = sign(q) > 0 ? shown.high : -shown.low;
  const Answer passes = by_bounds(q, shown), fails = by_bounds(q, bounds(fail_alpha));
  if (n >= least)
    r.answer = passes == Answer::pass  ? Answer::pass
               : fails == Answer::fail ? Answer::fail
                                       : Answer::inconclusive;
  if (r.answer == Answer::inconclusive) r.seeds_needed = std::max(least, 4 * n);
  r.note = fmt::format(
      "Only {} of {} seeds differ from the rest; the bound takes the worst of them for the worst there is",
      few->others, n);
  return r;
}

Errors faults(std::span<const Question> questions) {
  Errors errors;
  for (const Question& q : questions) {
    RG_ASSERT(!q.pairs.baseline.empty() && q.pairs.baseline.size() == q.pairs.candidate.size(),
              fmt::format("{} pairs", q.pairs.baseline.size()));
    RG_ASSERT(finite(q.pairs.baseline) && finite(q.pairs.candidate), "a sample is not finite");
    if (q.pairs.relative && !(mean(q.pairs.baseline) > rounding(q)))
      errors.push_back({q.where, "a margin in % of a baseline whose mean is not above 0 has no meaning",
                        "write an absolute margin such as \"0.5\""});
  }
  return errors;
}

}  // namespace retrygate::stats
