#include "stats/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "stats/distributions.hpp"
#include "stats/multiplicity.hpp"
#include "stats/sample.hpp"
#include "stats/signed_rank.hpp"

namespace retrygate::stats {
namespace {

double sign(const Question& q) { return q.lower_is_better ? 1 : -1; }

// Do all seeds tell the same effect? Up to rounding: 0.4 - 0.1 and 0.5 - 0.2 differ in the last bit, which is
// no spread. A relative effect is the same in all seeds when candidate and baseline are proportional.
bool constant(const Question& q) {
  const std::vector<double>&b = q.pairs.baseline, &c = q.pairs.candidate;
  const double rounding = 8 * std::numeric_limits<double>::epsilon();
  double size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) size = std::max({size, std::abs(b[i]), std::abs(c[i])});
  const double factor = q.pairs.relative ? mean(c) / mean(b) : 1;
  const double first = q.pairs.relative ? 0 : c[0] - b[0];
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::abs(c[i] - factor * b[i] - first) > rounding * size * std::max(1.0, std::abs(factor)))
      return false;
  }
  return true;
}

// Everything about a question that needs no sampling theory; nothing if it does.
std::optional<Ruling> settled(const Question& q) {
  const std::size_t n = q.pairs.baseline.size();
  const double b = q.pairs.baseline[0], c = q.pairs.candidate[0];
  Ruling r;
  if (q.same_policy) {
    r.answer = Answer::pass;
    r.method = "unchanged";
    r.low = r.high = 0.0;
    r.note = "the same policy on both sides";
    return r;
  }
  if (n > 1 && !constant(q)) return std::nullopt;
  r.effect = q.pairs.relative ? mean(q.pairs.candidate) / mean(q.pairs.baseline) - 1 : c - b;
  const Answer by_value = sign(q) * r.effect <= q.margin ? Answer::pass : Answer::fail;
  if (q.deterministic) {
    r.answer = by_value;
    r.method = "deterministic";
    r.low = r.high = r.effect;
    r.note = "no policy drew a random number: deterministic, more seeds add nothing";
  } else if (n == 1) {
    r.method = "one seed";
    r.seeds_needed = bootstrap_from;
    r.note = "one seed says nothing about the others";
  } else {
    r.method = "constant difference";
    r.answer = n >= constant_decides_from ? by_value : Answer::inconclusive;
    if (n < constant_decides_from) r.seeds_needed = constant_decides_from;
    r.note = fmt::format("all {} seeds agree: at most {:.1f} % of seeds can differ (95 %)", n,
                         100 * (1 - std::pow(alpha, 1 / static_cast<double>(n))));
  }
  return r;
}

// The same question to the signed rank test.
double rank_p(const Question& q) {
  std::vector<double> beyond;
  for (std::size_t i = 0; i < q.pairs.baseline.size(); ++i) {
    const double b = q.pairs.baseline[i], c = q.pairs.candidate[i];
    const double limit = q.pairs.relative ? b * (1 + sign(q) * q.margin) : b + sign(q) * q.margin;
    beyond.push_back(sign(q) * (c - limit));
  }
  return signed_rank(beyond).p_greater;
}

// Quantile of sorted values, type 7.
double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  return low == high ? low : low + (at - static_cast<double>(below)) * (high - low);
}

Ruling sampled(const Question& q, const Studentized& s) {
  const std::size_t n = q.pairs.baseline.size();
  const double dof = static_cast<double>(n - 1);
  const double t = (sign(q) * s.effect - q.margin) / s.se;
  Ruling r;
  r.effect = s.effect;
  if (s.replicates.empty()) {
    const double reach = student_quantile(1 - alpha, dof) * s.se;
    r.low = s.effect - reach;
    r.high = s.effect + reach;
    r.p = student_sf(t, dof);
    r.method = "Student's t";
  } else {
    r.low = s.effect - quantile(s.replicates, 1 - alpha) * s.se;
    r.high = s.effect - quantile(s.replicates, alpha) * s.se;
    // A bad effect that chance alone would push as far beyond the margin: on the upper side of the
    // replicates when more is worse, on the lower one when less is.
    const auto beyond =
        q.lower_is_better
            ? s.replicates.end() - std::lower_bound(s.replicates.begin(), s.replicates.end(), t)
            : std::upper_bound(s.replicates.begin(), s.replicates.end(), -t) - s.replicates.begin();
    r.p = (1 + static_cast<double>(beyond)) / (1 + static_cast<double>(s.replicates.size()));
    r.method = "bootstrap-t";
  }
  r.sensitivity_p = rank_p(q);
  return r;
}

// Seeds at which the bound (or the test, against a family of `family`) would clear the margin if effect
// and spread stay as they are: n (z / t)^2.
std::optional<std::size_t> seeds_needed(const Question& q, const Studentized& s, std::size_t family) {
  const double distance = std::abs(sign(q) * s.effect - q.margin);
  if (distance == 0) return std::nullopt;
  const bool worse = sign(q) * s.effect > q.margin;
  const double z = normal_quantile(1 - alpha / (worse ? static_cast<double>(family) : 1.0));
  const double n = static_cast<double>(q.pairs.baseline.size()) * std::pow(z * s.se / distance, 2);
  if (n > 1e9) return std::nullopt;
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

Result<std::vector<Ruling>> decide(std::span<const Question> questions, Seed seed) {
  std::vector<Ruling> rulings(questions.size());
  std::vector<std::size_t> open;  // needs sampling theory
  Errors errors;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& q = questions[i];
    RG_ASSERT(!q.pairs.baseline.empty() && q.pairs.baseline.size() == q.pairs.candidate.size(),
              fmt::format("{} pairs", q.pairs.baseline.size()));
    if (q.pairs.relative && mean(q.pairs.baseline) == 0) {
      errors.push_back({q.where, "a margin in % of a baseline whose mean is 0 has no meaning",
                        "write an absolute margin such as \"0.5\""});
    } else if (auto done = settled(q)) {
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
    std::vector<Pairs> pairs;
    for (const std::size_t i : members) pairs.push_back(questions[i].pairs);
    std::vector<Studentized> done;
    if (n >= bootstrap_from) {
      done = bootstrap_t(pairs, bootstrap_resamples, seed);
    } else {
      for (const Pairs& pair : pairs) done.push_back(estimate(pair));
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
    const double bad_bound = q.lower_is_better ? *r.high : -*r.low;
    if (bad_bound <= q.margin)
      r.answer = Answer::pass;
    else if (*r.p_adjusted <= alpha)
      r.answer = Answer::fail;
    else
      r.seeds_needed = seeds_needed(q, studies[i], questions.size());
  }
  return rulings;
}

}  // namespace retrygate::stats
