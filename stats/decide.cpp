#include "stats/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "stats/distributions.hpp"
#include "stats/multiplicity.hpp"
#include "stats/sample.hpp"
#include "stats/signed_rank.hpp"

namespace retrygate::stats {
namespace {

double sign(const Question& q) { return q.lower_is_better ? 1 : -1; }

// Values that differ by so much differ by rounding only.
double rounding(const Question& q) {
  double size = 0;
  for (const double v : q.pairs.baseline) size = std::max(size, std::abs(v));
  for (const double v : q.pairs.candidate) size = std::max(size, std::abs(v));
  return 8 * std::numeric_limits<double>::epsilon() * size;
}

bool finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
}

// Candidate minus baseline, seed by seed.
std::vector<double> differences(const Pairs& pairs) {
  std::vector<double> d;
  for (std::size_t i = 0; i < pairs.baseline.size(); ++i) d.push_back(pairs.candidate[i] - pairs.baseline[i]);
  return d;
}

// Quantile of type 7 of sorted values; nothing where the law has no finite one.
std::optional<double> finite_quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  return low + (at - static_cast<double>(below)) * (high - low);
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

// Bounds on the effect on the bad side, turned so that more is worse: inside means within the question.
struct Bounds {
  double low, high;
};
Answer by_bounds(const Question& q, Bounds b) {
  switch (q.asking) {
    case Asking::not_worse:
      return b.high <= q.margin ? Answer::pass : b.low > q.margin ? Answer::fail : Answer::inconclusive;
    case Asking::better:
      return b.high <= -q.margin ? Answer::pass : b.low > -q.margin ? Answer::fail : Answer::inconclusive;
    case Asking::equivalent:
      if (b.high <= q.margin && b.low >= -q.margin) return Answer::pass;
      return b.low > q.margin || b.high < -q.margin ? Answer::fail : Answer::inconclusive;
  }
  return Answer::inconclusive;
}

// All seeds but a few show one and the same difference: no law to resample from. The share of seeds that
// differ is bounded exactly (Clopper and Pearson), and none is taken to differ by more than the worst seen.
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
  if (q.pairs.relative && std::abs(s.usual) > allowed) return std::nullopt;
  s.worst_by = s.worse > 0 ? d.back() - s.usual : 0;
  s.best_by = s.better > 0 ? s.usual - d.front() : 0;
  return s;
}

// The share of seeds, at most: exact upper bound at level 1 - a for k of n.
double share_at_most(std::size_t k, std::size_t n, double a) {
  return beta_upper_quantile(a, static_cast<double>(k) + 1, static_cast<double>(n - k));
}

// Everything about a question that needs no sampling theory; nothing if it does.
std::optional<Ruling> settled(const Question& q, std::size_t family) {
  const std::size_t n = q.pairs.baseline.size();
  Ruling r;
  if (q.same_policy) {
    r.answer = Answer::pass;
    r.method = "unchanged";
    r.low = r.high = 0.0;
    r.note = "the same policy on both sides";
    return r;
  }
  r.effect = effect(q);
  const double bad = sign(q) * r.effect;
  const Answer by_value = by_bounds(q, {bad, bad});
  if (q.deterministic && constant(q)) {
    r.answer = by_value;
    r.method = "deterministic";
    r.low = r.high = r.effect;
    r.note = "no policy drew a random number: deterministic, more seeds add nothing";
    return r;
  }
  if (n == 1) {
    r.method = "one seed";
    r.seeds_needed = bootstrap_from;
    r.note = "one seed says nothing about the others";
    return r;
  }
  if (constant(q)) {
    r.method = "constant difference";
    r.answer = n >= constant_decides_from ? by_value : Answer::inconclusive;
    if (n < constant_decides_from) r.seeds_needed = constant_decides_from;
    r.note = fmt::format("all {} seeds agree: at most {:.1f} % of seeds can differ (95 %)", n,
                         100 * share_at_most(0, n, alpha));
    return r;
  }
  const auto few = sparse(q);
  if (!few) return std::nullopt;
  r.method = "few seeds differ";
  const double unit = q.pairs.relative ? mean(q.pairs.baseline) : 1;
  const auto bounds = [&](double a) {
    return Bounds{(few->usual - share_at_most(few->better, n, a) * few->best_by) / unit,
                  (few->usual + share_at_most(few->worse, n, a) * few->worst_by) / unit};
  };
  const Bounds shown = bounds(alpha);
  r.low = sign(q) > 0 ? shown.low : -shown.high;
  r.high = sign(q) > 0 ? shown.high : -shown.low;
  const Answer passes = by_bounds(q, shown),
               fails = by_bounds(q, bounds(alpha / static_cast<double>(family)));
  if (n >= constant_decides_from)
    r.answer = passes == Answer::pass  ? Answer::pass
               : fails == Answer::fail ? Answer::fail
                                       : Answer::inconclusive;
  if (r.answer == Answer::inconclusive) r.seeds_needed = std::max(constant_decides_from, 4 * n);
  r.note = fmt::format(
      "only {} of {} seeds differ from the rest; the bound takes the worst of them for the worst there is",
      few->others, n);
  return r;
}

// The limits of a question as nulls "turned effect <= limit": one, or for equivalence one on each side.
struct Limit {
  double side;   // +1: the bad side is tested; -1: the good one
  double value;  // of side * turned effect
};
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

// One p of several sides: the least, for each that could have been it.
double joint(const Question& q, const std::function<double(const Limit&)>& p) {
  const std::vector<Limit> all = limits(q);
  double least = 1;
  for (const Limit& limit : all) least = std::min(least, p(limit));
  return std::min(1.0, static_cast<double>(all.size()) * least);
}

// What lies beyond a limit, seed by seed, turned so that more is further beyond.
std::vector<double> beyond(const Question& q, const Limit& limit) {
  const double turn = sign(q) * limit.side;
  std::vector<double> all;
  for (std::size_t i = 0; i < q.pairs.baseline.size(); ++i) {
    const double b = q.pairs.baseline[i], c = q.pairs.candidate[i];
    const double at = q.pairs.relative ? b * (1 + turn * limit.value) : b + turn * limit.value;
    all.push_back(turn * (c - at));
  }
  return all;
}

Opinion student(const Question& q, const Studentized& s) {
  const auto dof = static_cast<double>(q.pairs.baseline.size() - 1);
  const double reach = student_quantile(1 - alpha, dof) * s.se;
  return {"Student's t",
          joint(q,
                [&](const Limit& limit) {
                  return student_sf((limit.side * sign(q) * s.effect - limit.value) / s.se, dof);
                }),
          s.effect - reach, s.effect + reach};
}

// Sample variance.
double variance(const std::vector<double>& x) {
  const double centre = mean(x);
  double squares = 0;
  for (const double v : x) squares += (v - centre) * (v - centre);
  return squares / static_cast<double>(x.size() - 1);
}

Ruling sampled(const Question& q, const Studentized& s) {
  Ruling r;
  r.effect = s.effect;
  const Opinion t = student(q, s);
  if (s.replicates.empty()) {
    r.method = t.method;
    r.p = t.p;
    r.low = t.low;
    r.high = t.high;
  } else {
    r.method = "bootstrap-t";
    const auto bound = [&](double level) -> std::optional<double> {
      const auto at = finite_quantile(s.replicates, level);
      if (!at) return std::nullopt;
      return s.effect - *at * s.se;
    };
    r.low = bound(1 - alpha);
    r.high = bound(alpha);
    if (!r.low || !r.high) r.note = "too few distinct seeds for a bound";
    std::vector<double> mirrored(s.replicates.rbegin(), s.replicates.rend());
    for (double& v : mirrored) v = -v;
    // A bad effect that chance alone would push as far beyond the limit.
    r.p = joint(q, [&](const Limit& limit) {
      const double turn = limit.side * sign(q);
      return upper_tail(turn > 0 ? s.replicates : mirrored, (turn * s.effect - limit.value) / s.se);
    });
    r.opinions.push_back(t);
  }
  r.opinions.push_back({"signed rank",
                        joint(q, [&](const Limit& limit) { return signed_rank(beyond(q, limit)).p_greater; }),
                        std::nullopt, std::nullopt});
  const double paired = variance(differences(q.pairs));
  const double apart = variance(q.pairs.baseline) + variance(q.pairs.candidate);
  if (paired > 0 && apart > 0) r.pairing_gain = apart / paired;
  return r;
}

// Seeds at which the bound (or the test, against a family of `family`) would clear the margin if effect
// and spread stay as they are: n (z / t)^2.
std::optional<std::size_t> seeds_needed(const Question& q, const Studentized& s, std::size_t family) {
  double n = 0;
  bool inside = true;
  for (const Limit& limit : limits(q)) inside = inside && limit.side * sign(q) * s.effect <= limit.value;
  for (const Limit& limit : limits(q)) {
    const double distance = limit.side * sign(q) * s.effect - limit.value;
    if (distance == 0) return std::nullopt;
    if (!inside && distance < 0) continue;  // the other side decides
    const double z = normal_quantile(1 - alpha / (inside ? 1.0 : static_cast<double>(family)));
    n = std::max(n, static_cast<double>(q.pairs.baseline.size()) * std::pow(z * s.se / distance, 2));
  }
  if (!(n <= 1e9)) return std::nullopt;
  return std::max(q.pairs.baseline.size() + 1, static_cast<std::size_t>(std::ceil(n)));
}

}  // namespace

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

double upper_tail(std::span<const double> sorted, double t) {
  const auto size = static_cast<double>(sorted.size());
  const auto reached = static_cast<double>(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), t));
  const double share = (reached + 1) / (size + 1);
  constexpr double enough = 10;
  const std::size_t top = sorted.size() / 40;
  if (reached >= enough || top < 100 || !std::isfinite(sorted.back())) return share;
  const std::span<const double> tail = sorted.last(top);
  const double from = sorted[sorted.size() - top - 1];
  double sum = 0, squares = 0;
  for (const double v : tail) sum += v - from;
  const double centre = sum / static_cast<double>(top);
  for (const double v : tail) squares += (v - from - centre) * (v - from - centre);
  const double spread = squares / static_cast<double>(top - 1);
  if (!(centre > 0) || !(spread > 0)) return share;
  const double shape = std::max(0.0, (1 - centre * centre / spread) / 2);
  const double scale = centre * (1 - shape);
  const double excess = (t - from) / scale;
  const double survival = shape > 1e-9 ? std::pow(1 + shape * excess, -1 / shape) : std::exp(-excess);
  return std::min((enough + 1) / (size + 1), static_cast<double>(top) / size * survival);
}

Result<std::vector<Ruling>> decide(std::span<const Question> questions, Seed seed) {
  std::vector<Ruling> rulings(questions.size());
  std::vector<std::size_t> open;  // needs sampling theory
  Errors errors;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& q = questions[i];
    RG_ASSERT(!q.pairs.baseline.empty() && q.pairs.baseline.size() == q.pairs.candidate.size(),
              fmt::format("{} pairs", q.pairs.baseline.size()));
    RG_ASSERT(finite(q.pairs.baseline) && finite(q.pairs.candidate), "a sample is not finite");
    if (q.pairs.relative && !(mean(q.pairs.baseline) > rounding(q))) {
      errors.push_back({q.where, "a margin in % of a baseline whose mean is not above 0 has no meaning",
                        "write an absolute margin such as \"0.5\""});
    } else if (auto done = settled(q, questions.size())) {
      rulings[i] = std::move(*done);
    } else {
      open.push_back(i);
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));

  // Questions with equally many seeds share their resamples.
  std::vector<Studentized> studies(questions.size());
  std::map<std::size_t, std::vector<std::size_t>> by_size;
  for (const std::size_t i : open) by_size[questions[i].pairs.baseline.size()].push_back(i);
  for (const auto& [n, members] : by_size) {
    std::vector<Studentized> done;
    // In blocks, so that a run of a thousand questions needs no gigabytes; every block draws the same
    // resamples.
    constexpr std::size_t block = 32;
    for (std::size_t begin = 0; begin < members.size(); begin += block) {
      std::vector<Pairs> pairs;
      for (std::size_t k = begin; k < std::min(begin + block, members.size()); ++k)
        pairs.push_back(questions[members[k]].pairs);
      std::vector<Studentized> part;
      if (n >= bootstrap_from) {
        part = bootstrap_t(pairs, bootstrap_resamples, seed);
      } else {
        for (const Pairs& pair : pairs) part.push_back(estimate(pair));
      }
      std::move(part.begin(), part.end(), std::back_inserter(done));
    }
    for (std::size_t k = 0; k < members.size(); ++k) studies[members[k]] = std::move(done[k]);
  }

  // The family is every question that was asked; one settled without chance counts with p 0 or 1.
  std::vector<double> p(questions.size());
  for (const std::size_t i : open) rulings[i] = sampled(questions[i], studies[i]);
  for (std::size_t i = 0; i < rulings.size(); ++i)
    p[i] = rulings[i].p.value_or(rulings[i].answer == Answer::fail ? 0 : 1);
  const std::vector<double> adjusted = holm(p);
  for (const std::size_t i : open) {
    const Question& q = questions[i];
    Ruling& r = rulings[i];
    r.p_adjusted = adjusted[i];
    // A bound that does not exist lies nowhere.
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double low = r.low.value_or(-infinite), high = r.high.value_or(infinite);
    if (by_bounds(q, q.lower_is_better ? Bounds{low, high} : Bounds{-high, -low}) == Answer::pass)
      r.answer = Answer::pass;
    else if (*r.p_adjusted <= alpha)
      r.answer = Answer::fail;
    else
      r.seeds_needed = seeds_needed(q, studies[i], questions.size());
  }
  return rulings;
}

}  // namespace retrygate::stats
