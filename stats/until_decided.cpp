#include "stats/until_decided.hpp"

#include <algorithm>
#include <cmath>

#include "stats/interval.hpp"
#include "stats/methods.hpp"
#include "stats/multiplicity.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

// The mixture is tightest near so many seeds.
constexpr double tightest_at = 200;
const double rho2 = (-2 * std::log(alpha) + std::log(-2 * std::log(alpha) + 1)) / tightest_at;

Question first_seeds(const Question& q, std::size_t n) {
  Question part = q;
  part.pairs.baseline.resize(n);
  part.pairs.candidate.resize(n);
  return part;
}

// What a question has come to, look after look.
struct Course {
  Ruling now;
  Bounds pass{-infinite, infinite};  // running intersection, turned
  double p = 1;                      // running minimum
  bool shares_kept = false;          // a look at a yes/no metric passed
  bool decided_exactly = false;      // pass or fail without sampling theory
};

Bounds narrowed(const Bounds& so_far, const Bounds& here) {
  return {std::max(so_far.low, here.low), std::min(so_far.high, here.high)};
}

// The ruling of this look, with what all looks together say.
void finish(const Question& q, Course& course, Ruling r) {
  // Bounds that cross contradict each other (5 % of the time at most, each side): what is left is a point.
  const double low = std::min(course.pass.low, course.pass.high),
               high = std::max(course.pass.low, course.pass.high);
  r.low = q.lower_is_better ? low : -high;
  r.high = q.lower_is_better ? high : -low;
  r.p = course.p;
  if (by_bounds(q, course.pass) == Answer::pass) r.answer = Answer::pass;
  course.now = std::move(r);
}

void look(const Question& q, double looks, std::size_t family, bool last, Course& course) {
  const double spent = alpha / (looks * (looks + 1));
  if (auto exact = settled(q, spent, spent / static_cast<double>(family))) {
    // Sampling theory may have spoken before and stays.
    if (course.now.answer == Answer::inconclusive) {
      course.now = std::move(*exact);
      course.decided_exactly = course.now.answer != Answer::inconclusive;
    }
    return;
  }
  if (course.decided_exactly) return;
  if (q.method == Deciding::paired_shares) {
    const SharesTest test = test_shares(q, spent);
    course.p = std::min({1.0, course.p, test.p * alpha / spent});
    course.shares_kept = course.shares_kept || test.p_kept <= spent;
    if (!last) return;
    Ruling r = rule_by_shares(q, spent).ruling;
    r.p = course.p;
    r.answer = course.shares_kept ? Answer::pass : Answer::inconclusive;
    course.now = std::move(r);
    return;
  }
  const Studentized s = estimate(q.pairs);
  const auto n = static_cast<double>(q.pairs.baseline.size());
  Ruling r;
  r.method = "confidence sequence";
  r.effect = s.effect;
  const double sd = s.se * std::sqrt(n);
  r.law = "asymptotic, at every look";
  r.assumes = method_of(Deciding::paired_mean).assumes;
  const double reach = sequence_boundary(n, alpha) * sd;
  const Widening w = widening(s, q.pairs.baseline.size(), skewness_at_every_look);
  r.note = w.note;
  const Bounds here = turned(q, s.effect - w.low * reach, s.effect + w.high * reach);
  course.pass = narrowed(course.pass, here);
  course.p = std::min(course.p, joint(q, [&](const Limit& limit) {
                        return sequence_p(n, (toward(q, limit, s.effect) - limit.value) / sd /
                                                 (toward(q, limit, 1) > 0 ? w.low : w.high));
                      }));
  finish(q, course, std::move(r));
}

}  // namespace

double sequence_boundary(double n, double level_alpha) {
  const double v = n * rho2 + 1;
  return std::sqrt(2 * v / (n * n * rho2) * std::log1p(std::sqrt(v) / (2 * level_alpha)));
}

double sequence_p(double n, double x) {
  if (!(x > 0)) return 1;
  const double v = n * rho2 + 1;
  // The boundary solved for alpha: 1 + sqrt(v) / (2 alpha) = exp(n^2 rho^2 x^2 / (2 v)).
  return std::min(1.0, std::sqrt(v) / (2 * std::expm1(n * n * rho2 * x * x / (2 * v))));
}

Result<std::vector<Ruling>> decide_so_far(std::span<const Question> questions, const Looks& looks) {
  Errors errors = faults(questions);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  std::vector<Course> courses(questions.size());
  std::vector<double> p;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& q = questions[i];
    const std::size_t seeds = q.pairs.baseline.size();
    double number = 0;
    // Deterministic and unchanged policies need no second seed.
    if (q.same_policy || q.deterministic) look(q, 1, questions.size(), true, courses[i]);
    for (std::size_t n = looks.first; n <= seeds; n += looks.every)
      look(n == seeds ? q : first_seeds(q, n), ++number, questions.size(), n + looks.every > seeds,
           courses[i]);
    Ruling& now = courses[i].now;
    if (number == 0 && now.method.empty()) {
      now.method = "confidence sequence";
      now.seeds_needed = looks.first;
      now.note = "These are too few seeds for a first look";
    }
    p.push_back(courses[i].decided_exactly ? (now.answer == Answer::fail ? 0 : 1) : courses[i].p);
  }
  const std::vector<double> adjusted = holm(p);
  std::vector<Ruling> rulings;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Ruling& now = courses[i].now;
    if (now.p) {
      now.p_adjusted = adjusted[i];
      if (now.answer == Answer::inconclusive && adjusted[i] <= alpha) now.answer = Answer::fail;
    }
    RG_ASSERT(is_shown(now.method), std::string(now.method));
    rulings.push_back(std::move(now));
  }
  return rulings;
}

}  // namespace retrygate::stats
