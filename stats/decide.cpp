#include "stats/decide.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "stats/distributions.hpp"
#include "stats/multiplicity.hpp"
#include "stats/permutation.hpp"
#include "stats/sample.hpp"
#include "stats/signed_rank.hpp"

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

// What lies beyond a limit, seed by seed, turned so that more is further beyond.
std::vector<double> beyond(const Question& q, const Limit& limit) {
  const double turn = toward(q, limit, 1);
  std::vector<double> all;
  for (std::size_t i = 0; i < q.pairs.baseline.size(); ++i) {
    const double b = q.pairs.baseline[i], c = q.pairs.candidate[i];
    const double at = q.pairs.relative ? b * (1 + turn * limit.value) : b + turn * limit.value;
    all.push_back(turn * (c - at));
  }
  return all;
}

// p that the limits are not kept: of several sides the worst, for all must be kept.
double kept(const Question& q, const std::function<double(const Limit&)>& p) {
  double most = 0;
  for (const Limit& limit : limits(q)) most = std::max(most, p(limit));
  return most;
}

Opinion student(const Question& q, const Studentized& s) {
  const auto dof = static_cast<double>(q.pairs.baseline.size() - 1);
  const double reach = student_quantile(1 - alpha, dof) * s.se;
  const auto t = [&](const Limit& limit) { return (toward(q, limit, s.effect) - limit.value) / s.se; };
  return {"Student's t", joint(q, [&](const Limit& limit) { return student_sf(t(limit), dof); }),
          kept(q, [&](const Limit& limit) { return student_sf(-t(limit), dof); }), s.effect - reach,
          s.effect + reach};
}

double variance(const std::vector<double>& x) { return describe(x).variance.value_or(0); }

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
      const double turn = toward(q, limit, 1);
      return upper_tail(turn > 0 ? s.replicates : mirrored, (turn * s.effect - limit.value) / s.se);
    });
    r.opinions.push_back(t);
  }
  const auto ask = [&](std::string_view method, const auto& test) {
    r.opinions.push_back({method,
                          joint(q, [&](const Limit& limit) { return test(beyond(q, limit)).p_greater; }),
                          kept(q, [&](const Limit& limit) { return test(beyond(q, limit)).p_less; }),
                          std::nullopt, std::nullopt});
  };
  ask("signed rank", [](const std::vector<double>& x) { return signed_rank(x); });
  ask("sign flips", [](const std::vector<double>& x) {
    return flip_signs(x, Centre::mean, {sign_flips, Seed{1}, 1});
  });
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
  for (const Limit& limit : limits(q)) inside = inside && toward(q, limit, s.effect) <= limit.value;
  for (const Limit& limit : limits(q)) {
    const double distance = toward(q, limit, s.effect) - limit.value;
    if (distance == 0) return std::nullopt;
    if (!inside && distance < 0) continue;  // the other side decides
    const double z = normal_quantile(1 - alpha / (inside ? 1.0 : static_cast<double>(family)));
    n = std::max(n, static_cast<double>(q.pairs.baseline.size()) * std::pow(z * s.se / distance, 2));
  }
  if (!(n <= 1e9)) return std::nullopt;
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

Result<std::vector<Ruling>> decide(std::span<const Question> questions, Seed seed) {
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
    if (by_bounds(q, turned(q, low, high)) == Answer::pass)
      r.answer = Answer::pass;
    else if (*r.p_adjusted <= alpha)
      r.answer = Answer::fail;
    else
      r.seeds_needed = seeds_needed(q, studies[i], questions.size());
  }
  judge_opinions(rulings, p);
  return rulings;
}

}  // namespace retrygate::stats
