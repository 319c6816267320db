#include "stats/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"
#include "stats/methods.hpp"
#include "stats/multiplicity.hpp"
#include "stats/parallel.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

// Quantile of type 7 of sorted values; nothing where the law has no finite one.
std::optional<double> finite_quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  return low + (at - static_cast<double>(below)) * (high - low);
}

double variance(const std::vector<double>& x) { return describe(x).variance.value_or(0); }

Estimated sampled(const Question& q, const Studentized& s) {
  const Widening w =
      widening(s.replicates.empty() ? estimate(q.pairs) : s, q.pairs.baseline.size(), skewness_at_once);
  if (s.replicates.empty()) return rule_by_student(q, w);
  Estimated result;
  Ruling& r = result.ruling;
  r.effect = s.effect;
  r.method = "bootstrap-t";
  r.law = fmt::format("{} resamples, nowhere narrower than Student's t", s.replicates.size());
  r.assumes = method_of(Deciding::paired_mean).assumes;
  const auto bound = [&](double level) -> std::optional<double> {
    const auto at = finite_quantile(s.replicates, level);
    if (!at) return std::nullopt;
    return s.effect - *at * s.se;
  };
  r.low = bound(1 - alpha);
  r.high = bound(alpha);
  if (!r.low || !r.high)
    r.note =
        "So few seeds differ from the rest that resampling finds no bound; a margin in the metric's unit may "
        "have one";
  // Resamples of symmetric heavy tails give bounds that are too narrow, Student's t of skewed seeds.
  const Opinion t = student_opinion(q, s, w);
  if (r.low) r.low = std::min(*r.low, *t.low);
  if (r.high) r.high = std::max(*r.high, *t.high);
  if (r.note.empty()) r.note = w.note;
  std::vector<double> mirrored(s.replicates.rbegin(), s.replicates.rend());
  for (double& v : mirrored) v = -v;
  // A bad effect that chance alone would push as far beyond the limit.
  r.p = joint(q, [&](const Limit& limit) {
    const double turn = toward(q, limit, 1);
    return upper_tail(turn > 0 ? s.replicates : mirrored, (turn * s.effect - limit.value) / s.se);
  });
  r.p = std::max(*r.p, t.p);
  result.se = s.se;
  result.seeds = seeds_for(q, s.effect, w);
  return result;
}

// What the method of the question makes of it; a study where it resamples.
Estimated ruled(const Question& q, const Studentized& s, bool opinions) {
  const bool shares = q.method == Deciding::paired_shares;
  Estimated result = shares                              ? rule_by_shares(q, alpha)
                     : q.method == Deciding::paired_mean ? sampled(q, s)
                     : q.method == Deciding::student     ? rule_by_student(q)
                                                         : rule_by_centre(q);
  Ruling& r = result.ruling;
  if (opinions && !shares && r.method != "Student's t")
    r.opinions.push_back(student_opinion(q, estimate(q.pairs)));
  for (const Deciding other : {Deciding::signed_rank, Deciding::sign_flips}) {
    if (opinions && !shares && other != q.method) r.opinions.push_back(opinion_of(other, q));
  }
  const double paired = variance(differences(q.pairs));
  const double apart = variance(q.pairs.baseline) + variance(q.pairs.candidate);
  if (paired > 0 && apart > 0) r.pairing_gain = apart / paired;
  return result;
}

// Seeds at which the bound (or the test, against a family of `family`) would clear the margin with a chance
// of 80 % if effect and spread stay as they are: n ((z_alpha + z_80) / t)^2.
std::optional<std::size_t> seeds_needed(const Question& q, double effect, double se, std::size_t family) {
  if (!(se > 0)) return std::nullopt;
  double n = 0;
  bool inside = true;
  for (const Limit& limit : limits(q)) inside = inside && toward(q, limit, effect) <= limit.value;
  for (const Limit& limit : limits(q)) {
    const double distance = toward(q, limit, effect) - limit.value;
    if (distance == 0) return std::nullopt;
    if (!inside && distance < 0) continue;  // the other side decides
    const double z =
        normal_quantile(1 - alpha / (inside ? 1.0 : static_cast<double>(family))) + normal_quantile(0.8);
    n = std::max(n, static_cast<double>(q.pairs.baseline.size()) * std::pow(z * se / distance, 2));
  }
  if (!(n <= most_seeds)) return std::nullopt;
  return std::max(q.pairs.baseline.size() + 1, static_cast<std::size_t>(std::ceil(n)));
}

// What each other test would say by the same rule. `p` is the family of the deciding tests; a question that
// a method says nothing about keeps its member.
void judge_opinions(std::vector<Ruling>& rulings, const std::vector<double>& p) {
  std::map<std::string_view, std::vector<std::pair<std::size_t, Opinion*>>> by_method;
  for (std::size_t i = 0; i < rulings.size(); ++i) {
    for (Opinion& opinion : rulings[i].opinions) by_method[opinion.method].emplace_back(i, &opinion);
  }
  for (const auto& [method, members] : by_method) {
    std::vector<double> family = p;
    for (const auto& [i, opinion] : members) family[i] = opinion->p;
    const std::vector<double> adjusted = holm(family);
    for (const auto& [i, opinion] : members) {
      opinion->p_adjusted = adjusted[i];
      opinion->answer = opinion->p_kept <= alpha       ? Answer::pass
                        : opinion->p_adjusted <= alpha ? Answer::fail
                                                       : Answer::inconclusive;
    }
  }
}

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

// The skewness (type 1) that a sample of n >= 8 normal values stays below with probability p.
double skewness_quantile(double p, double n) {
  const double kurtosis =
      3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9));
  const double w2 = std::sqrt(2 * (kurtosis - 1)) - 1;
  const double y = std::sqrt(2 / (w2 - 1)) * std::sinh(normal_quantile(p) * std::sqrt(std::log(w2) / 2));
  return y * std::sqrt(6 * (n - 2) / ((n + 1) * (n + 3)));
}

// How much further than Student's t bootstrap-t asks for, on average over the chance of its resamples, given
// the skewness (type 1) of the seeds.
double further(double skewness, double n) {
  const double z = normal_quantile(1 - alpha);
  const double shift = -skewness * (2 * z * z + 1) / (6 * std::sqrt(n));
  const double error = std::sqrt(alpha * (1 - alpha) / bootstrap_resamples) / normal_density(z);
  return shift * normal_sf(-shift / error) + error * normal_density(shift / error);
}

}  // namespace

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

Result<std::vector<Ruling>> decide(std::span<const Question> questions, Seed seed,
                                   const DecideOptions& options) {
  std::vector<Ruling> rulings(questions.size());
  std::vector<std::size_t> open;  // needs sampling theory
  Errors errors = faults(questions);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& q = questions[i];
    if (auto done = settled(q, alpha, alpha / static_cast<double>(questions.size()))) {
      rulings[i] = std::move(*done);
    } else {
      open.push_back(i);
    }
  }

  // Questions with equally many seeds share their resamples.
  std::vector<Studentized> studies(questions.size());
  std::map<std::size_t, std::vector<std::size_t>> by_size;
  for (const std::size_t i : open) {
    const std::size_t n = questions[i].pairs.baseline.size();
    if (questions[i].method == Deciding::paired_mean && n >= bootstrap_from) by_size[n].push_back(i);
  }
  for (const auto& [n, members] : by_size) {
    std::vector<Studentized> done;
    // In blocks, so that a run of a thousand questions needs no gigabytes; every block draws the same
    // resamples.
    constexpr std::size_t block = 32;
    for (std::size_t begin = 0; begin < members.size(); begin += block) {
      std::vector<Pairs> pairs;
      for (std::size_t k = begin; k < std::min(begin + block, members.size()); ++k)
        pairs.push_back(questions[members[k]].pairs);
      std::vector<Studentized> part = bootstrap_t(pairs, bootstrap_resamples, seed, options.threads);
      std::move(part.begin(), part.end(), std::back_inserter(done));
    }
    for (std::size_t k = 0; k < members.size(); ++k) studies[members[k]] = std::move(done[k]);
  }

  // The family is every question that was asked; one settled without chance counts with p 0 or 1.
  std::vector<double> p(questions.size());
  std::vector<Estimated> estimated(questions.size());
  in_parallel(open.size(), options.threads, [&](std::size_t k) {
    const std::size_t i = open[k];
    estimated[i] = ruled(questions[i], studies[i], options.opinions);
    studies[i] = {};
  });
  for (const std::size_t i : open) rulings[i] = std::move(estimated[i].ruling);
  for (std::size_t i = 0; i < rulings.size(); ++i)
    p[i] = rulings[i].p.value_or(rulings[i].answer == Answer::fail ? 0 : 1);
  const std::vector<double> adjusted = holm(p);
  for (const std::size_t i : open) {
    const Question& q = questions[i];
    Ruling& r = rulings[i];
    r.p_adjusted = adjusted[i];
    // A bound that does not exist lies nowhere.
    const double low = r.low.value_or(-infinite), high = r.high.value_or(infinite);
    if (by_bounds(q, turned(q, low, high)) == Answer::pass)
      r.answer = Answer::pass;
    else if (*r.p_adjusted <= alpha)
      r.answer = Answer::fail;
    else
      r.seeds_needed = seeds_needed(q, r.effect, estimated[i].se, questions.size());
    if (r.seeds_needed) r.seeds_needed = std::max(*r.seeds_needed, estimated[i].seeds);
  }
  judge_opinions(rulings, p);
  for (const Ruling& r : rulings) {
    RG_ASSERT(is_shown(r.method), std::string(r.method));
    for (const Opinion& opinion : r.opinions)
      RG_ASSERT(is_shown(opinion.method), std::string(opinion.method));
  }
  return rulings;
}

double power_to_fail(double beyond, std::size_t n) {
  const auto seeds = static_cast<double>(n);
  const double critical = student_quantile(1 - alpha, seeds - 1);
  const auto power_at = [&](double bound) {
    return noncentral_t_sf(bound, seeds - 1, std::sqrt(seeds) * beyond);
  };
  constexpr std::size_t transform_from = 8;
  if (n < transform_from) return power_at(widening({}, n, skewness_at_once).low * critical);
  constexpr int points = 400;
  double power = 0;
  for (int i = 0; i < points; ++i) {
    const double g1 = skewness_quantile((i + 0.5) / points, seeds);
    Studentized seen;
    seen.skewness = g1 * std::sqrt(seeds * (seeds - 1)) / (seeds - 2);
    const double by_student = widening(seen, n, skewness_at_once).low * critical;
    const double by_bootstrap = n < bootstrap_from ? 0 : critical + further(g1, seeds);
    power += power_at(std::max(by_student, by_bootstrap)) / points;
  }
  return power;
}

}  // namespace retrygate::stats
