#include "stats/group_sequential.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"
#include "stats/numeric.hpp"

namespace retrygate::stats {
namespace {

constexpr double edge = 9;  // a standard normal lies beyond with probability 1e-19

// The law of Z at the looks made so far, of trials that have not been stopped: weights on points of the
// region of continuation. Score Z * sqrt(information) has independent increments.
class Trial {
 public:
  explicit Trial(bool two_sided) : two_sided_(two_sided) {}

  // P(not stopped before, and beyond `critical` at a look with this information).
  double crossing(double information, double critical) const {
    if (points_.empty()) return (two_sided_ ? 2 : 1) * normal_sf(critical);
    const double step = std::sqrt(information - information_);
    const double bound = critical * std::sqrt(information), unit = std::sqrt(information_);
    double sum = 0;
    for (const Node& point : points_) {
      double beyond = normal_sf((bound - point.at * unit) / step);
      if (two_sided_) beyond += normal_sf((bound + point.at * unit) / step);
      sum += point.weight * beyond;
    }
    return sum;
  }

  // Goes on past a look; `next` is the information of the one after it, for the fineness of the points.
  void look(double information, double critical, double next) {
    const double reach = std::min(critical, edge);
    const double kernel = std::sqrt(points_.empty() ? 1 : (information - information_) / information);
    const double next_kernel = std::sqrt((next - information) / information);
    std::vector<Node> points =
        gauss_legendre({two_sided_ ? -reach : -edge, reach}, 2 * std::min({1.0, kernel, next_kernel}));
    for (Node& point : points) point.weight *= density(information, point.at);
    points_ = std::move(points);
    information_ = information;
  }

 private:
  double density(double information, double z) const {
    const auto phi = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); };
    if (points_.empty()) return phi(z);
    const double step = std::sqrt(information - information_);
    const double score = z * std::sqrt(information), unit = std::sqrt(information_);
    double sum = 0;
    for (const Node& point : points_) sum += point.weight * phi((score - point.at * unit) / step);
    return sum * std::sqrt(information) / step;
  }

  bool two_sided_;
  double information_ = 0;
  std::vector<Node> points_;  // empty: no look yet
};

// Runs through the looks; `choose(trial, k)` gives the critical value of look k.
template <class Choose>
SequentialBoundary run(const SequentialPlan& plan, const Choose& choose) {
  SequentialBoundary boundary;
  Trial trial(plan.two_sided);
  double spent = 0;
  for (std::size_t k = 0; k < plan.information.size(); ++k) {
    const double critical = choose(trial, k);
    spent += trial.crossing(plan.information[k], critical);
    boundary.critical.push_back(critical);
    boundary.spent.push_back(spent);
    boundary.nominal_p.push_back(normal_sf(critical));
    if (k + 1 < plan.information.size()) trial.look(plan.information[k], critical, plan.information[k + 1]);
  }
  return boundary;
}

// Critical values shape(k) * constant.
SequentialBoundary constant_shape(const SequentialPlan& plan) {
  const auto with = [&](double constant) {
    return run(plan, [&](const Trial&, std::size_t k) {
      return plan.shape == BoundaryShape::pocock ? constant : constant / std::sqrt(plan.information[k]);
    });
  };
  // One look alone would spend everything at `low`; `high` spends too little even if looks were exclusive.
  const double looks = static_cast<double>(plan.information.size()),
               side = plan.alpha / (plan.two_sided ? 2 : 1);
  const double low = -normal_quantile(side), high = -normal_quantile(side / looks);
  const double constant =
      looks == 1 ? low : root([&](double c) { return with(c).spent.back() - plan.alpha; }, {low, high});
  SequentialBoundary boundary = with(constant);
  boundary.constant = constant;
  return boundary;
}

// How much of alpha may be spent by then.
double allowance(const SequentialPlan& plan, double information) {
  const double sides = plan.two_sided ? 2 : 1, side = plan.alpha / sides;
  switch (plan.shape) {
    case BoundaryShape::spending_obrien_fleming:
      return sides * 2 * normal_sf(-normal_quantile(side / 2) / std::sqrt(information));
    case BoundaryShape::spending_pocock:
      return plan.alpha * std::log1p((std::numbers::e - 1) * information);
    default:
      return plan.alpha * std::pow(information, plan.gamma);
  }
}

SequentialBoundary spending_shape(const SequentialPlan& plan) {
  double spent = 0;
  return run(plan, [&](const Trial& trial, std::size_t k) {
    const double information = plan.information[k], left = allowance(plan, information) - spent;
    spent += left;
    constexpr double beyond_all = 38;  // normal_sf is 0 in a double
    const auto surplus = [&](double critical) { return trial.crossing(information, critical) - left; };
    if (surplus(beyond_all) >= 0) return infinite;
    return root(surplus, {plan.two_sided ? 0 : -beyond_all, beyond_all});
  });
}

}  // namespace

SequentialBoundary group_sequential(const SequentialPlan& plan) {
  const bool constant = plan.shape == BoundaryShape::obrien_fleming || plan.shape == BoundaryShape::pocock;
  return constant ? constant_shape(plan) : spending_shape(plan);
}

}  // namespace retrygate::stats
