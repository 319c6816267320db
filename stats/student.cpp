#include "stats/student.hpp"

#include <algorithm>
#include <cmath>

#include "stats/distributions.hpp"
#include "stats/interval.hpp"
#include "stats/sample.hpp"

namespace retrygate::stats {
namespace {

// What the four tests share once estimate, standard error and degrees of freedom are known, in units of
// 2^exponent.
struct ScaledEstimate {
  Twofold estimate;
  double variance = 0;  // of the estimate
  std::optional<double> df;
  int exponent = 0;
};

TTest conclude(const ScaledEstimate& s, const TQuestion& question, std::string_view method) {
  TTest t;
  t.method = method;
  t.df = s.df;
  t.estimate = std::ldexp(s.estimate.value(), s.exponent);
  const double se = std::sqrt(s.variance);
  if (s.df) t.std_error = std::ldexp(se, s.exponent);
  if (!s.df || se == 0) {
    t.status = Status::undefined;
    return t;
  }
  const double df = *s.df;
  const double statistic = (s.estimate - Twofold{std::ldexp(question.mu, -s.exponent)}).value() / se;
  t.statistic = statistic;
  const double estimate = s.estimate.value();
  switch (question.alternative) {
    case Alternative::two_sided: {
      t.p_value = std::min(1.0, 2 * student_sf(std::abs(statistic), df));
      const double reach = student_upper_quantile((1 - question.level) / 2, df) * se;
      t.low = std::ldexp(estimate - reach, s.exponent);
      t.high = std::ldexp(estimate + reach, s.exponent);
      break;
    }
    case Alternative::less:
      t.p_value = student_sf(-statistic, df);
      t.low = -infinite;
      t.high = std::ldexp(estimate + student_upper_quantile(1 - question.level, df) * se, s.exponent);
      break;
    case Alternative::greater:
      t.p_value = student_sf(statistic, df);
      t.low = std::ldexp(estimate - student_upper_quantile(1 - question.level, df) * se, s.exponent);
      t.high = infinite;
      break;
  }
  return t;
}

// mu takes part in the scale, so that neither it nor the data overflow.
int exponent_of(std::span<const double> x, std::span<const double> y, const TQuestion& question) {
  return common_exponent({x, y, {&question.mu, 1}});
}

TTest one_sample(const Moments& m, int exponent, const TQuestion& question, std::string_view method) {
  ScaledEstimate s{m.mean, 0, std::nullopt, exponent};
  if (m.n > 1) {
    s.variance = m.variance() / static_cast<double>(m.n);
    s.df = static_cast<double>(m.n - 1);
  }
  return conclude(s, question, method);
}

struct TwoSamples {
  Moments x, y;
  int exponent = 0;
};

TwoSamples two_samples(std::span<const double> x, std::span<const double> y, const TQuestion& question) {
  const int exponent = exponent_of(x, y, question);
  return {moments(scaled_down(x, exponent)), moments(scaled_down(y, exponent)), exponent};
}

TTest with_means(TTest t, const TwoSamples& samples) {
  t.mean_x = std::ldexp(samples.x.mean.value(), samples.exponent);
  t.mean_y = std::ldexp(samples.y.mean.value(), samples.exponent);
  return t;
}

}  // namespace

TTest t_one_sample(std::span<const double> x, const TQuestion& question) {
  const int exponent = exponent_of(x, {}, question);
  TTest t = one_sample(moments(scaled_down(x, exponent)), exponent, question, "one sample");
  t.mean_x = t.estimate;
  return t;
}

TTest t_paired(std::span<const double> x, std::span<const double> y, const TQuestion& question) {
  const int exponent = exponent_of(x, y, question);
  return one_sample(moments_of_differences(scaled_down(x, exponent), scaled_down(y, exponent)), exponent,
                    question, "paired");
}

TTest t_welch(std::span<const double> x, std::span<const double> y, const TQuestion& question) {
  const TwoSamples both = two_samples(x, y, question);
  ScaledEstimate s{both.x.mean - both.y.mean, 0, std::nullopt, both.exponent};
  if (x.size() > 1 && y.size() > 1) {
    const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
    const double from_x = both.x.variance() / m, from_y = both.y.variance() / n;
    s.variance = from_x + from_y;
    if (s.variance > 0) {
      const double share = from_x / s.variance;
      s.df = 1 / (share * share / (m - 1) + (1 - share) * (1 - share) / (n - 1));
    }
  }
  TTest t = conclude(s, question, "Welch");
  if (x.size() > 1 && y.size() > 1 && s.variance == 0) t.std_error = 0.0;
  return with_means(std::move(t), both);
}

TTest t_pooled(std::span<const double> x, std::span<const double> y, const TQuestion& question) {
  const TwoSamples both = two_samples(x, y, question);
  ScaledEstimate s{both.x.mean - both.y.mean, 0, std::nullopt, both.exponent};
  if (x.size() + y.size() > 2) {
    const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
    s.df = m + n - 2;
    s.variance = (both.x.m2 + both.y.m2) / *s.df * (1 / m + 1 / n);
  }
  return with_means(conclude(s, question, "pooled"), both);
}

}  // namespace retrygate::stats
