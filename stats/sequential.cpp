#include "stats/sequential.hpp"

#include <algorithm>
#include <cmath>

#include "stats/distributions.hpp"
#include "stats/twofold.hpp"

namespace retrygate::stats {
namespace {

// Running sums of x - theta0.
std::vector<double> running_sums(std::span<const double> x, double theta0) {
  std::vector<double> sums;
  Twofold sum;
  for (const double v : x) {
    sum = sum + two_sum(v, -theta0);
    sums.push_back(sum.value());
  }
  return sums;
}

std::vector<Evidence> with_p(const std::vector<double>& log_ratios) {
  std::vector<Evidence> all;
  double largest = 0;
  for (const double log_ratio : log_ratios) {
    largest = std::max(largest, log_ratio);
    all.push_back({log_ratio, std::exp(-largest)});
  }
  return all;
}

// log(1 + n (tau / sigma)^2)
double log_spread(const NormalMixture& mixture, double n) {
  const double r = mixture.tau / mixture.sigma, squared = n * r * r;
  return std::isfinite(squared) ? std::log1p(squared)
                                : std::log(n) + 2 * (std::log(mixture.tau) - std::log(mixture.sigma));
}

}  // namespace

std::optional<std::size_t> first_rejection(std::span<const Evidence> evidence, double alpha) {
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    if (evidence[i].always_valid_p <= alpha) return i + 1;
  }
  return std::nullopt;
}

std::vector<Evidence> msprt_normal(const NormalMixture& mixture, std::span<const double> x) {
  std::vector<double> log_ratios;
  double n = 0;
  for (const double sum : running_sums(x, mixture.theta0)) {
    n += 1;
    const double z = sum / mixture.sigma / std::hypot(mixture.sigma / mixture.tau, std::sqrt(n));
    log_ratios.push_back(z * z / 2 - log_spread(mixture, n) / 2);
    if (!std::isfinite(log_ratios.back())) throw OutOfReach("the evidence is beyond a double");
  }
  return with_p(log_ratios);
}

std::vector<Interval> confidence_sequence(const NormalMixture& mixture, std::span<const double> x,
                                          double alpha) {
  std::vector<Interval> all;
  double n = 0;
  for (const double sum : running_sums(x, mixture.theta0)) {
    n += 1;
    const double reach = mixture.sigma / n * std::hypot(mixture.sigma / mixture.tau, std::sqrt(n)) *
                         std::sqrt(log_spread(mixture, n) - 2 * std::log(alpha));
    const double mean = mixture.theta0 + sum / n;
    all.push_back({mean - reach, mean + reach});
  }
  return all;
}

double normal_mixture_rho(double v_opt, double alpha) {
  const double bits = 2 * std::log(1 / alpha);
  return v_opt / (bits + std::log1p(bits));
}

double normal_mixture_boundary(double v, double rho, double alpha) {
  return std::sqrt((v + rho) * (std::log1p(v / rho) - 2 * std::log(alpha)));
}

double Stitching::k1() const {
  const double root = std::sqrt(std::sqrt(eta));
  return (root + 1 / root) / std::sqrt(2.0);
}

double Stitching::k2() const { return (std::sqrt(eta) + 1) / 2; }

double stitched_boundary(const Stitching& b, double v) {
  const double from = std::max(v, b.m);
  const double l = b.s * std::log(std::log(b.eta * from / b.m)) +
                   std::log(zeta(b.s) / (b.alpha * std::pow(std::log(b.eta), b.s)));
  const double shift = b.k2() * b.c * l;
  return std::sqrt(b.k1() * b.k1() * from * l + shift * shift) + shift;
}

std::vector<Evidence> beta_binomial_eprocess(const BetaBinomial& e, const std::vector<bool>& wins) {
  std::vector<double> log_ratios;
  double log_e = 0, won = 0, n = 0;
  for (const bool win : wins) {
    // The predictive probability of what happened next, over that of the null hypothesis.
    const double predicted = (win ? e.a + won : e.b + n - won) / (e.a + e.b + n);
    log_e += std::log(predicted / (win ? e.p0 : 1 - e.p0));
    won += win ? 1 : 0;
    n += 1;
    log_ratios.push_back(log_e);
  }
  return with_p(log_ratios);
}

double Sprt::upper() const { return std::log((1 - beta) / alpha); }
double Sprt::lower() const { return std::log(beta / (1 - alpha)); }

SprtRun sprt_bernoulli(const Sprt& test, const std::vector<bool>& wins) {
  const double of_win = std::log(test.p1 / test.p0);
  const double of_loss = std::log1p(-test.p1) - std::log1p(-test.p0);
  SprtRun run;
  double won = 0, lost = 0;
  for (const bool win : wins) {
    (win ? won : lost) += 1;
    run.log_ratio.push_back(won * of_win + lost * of_loss);
    if (run.decided_at) continue;
    if (run.log_ratio.back() >= test.upper()) run.decision = SprtDecision::accept_h1;
    if (run.log_ratio.back() <= test.lower()) run.decision = SprtDecision::accept_h0;
    if (run.decision != SprtDecision::go_on) run.decided_at = run.log_ratio.size();
  }
  return run;
}

}  // namespace retrygate::stats
