#include "stats/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "stats/distributions.hpp"
#include "stats/parallel.hpp"

namespace retrygate::stats {
namespace {

constexpr std::size_t count_all_up_to = 9;  // values: 24310 multisets
constexpr std::uint64_t resamples_a_piece = 256;

double normal_cdf(double z) { return normal_sf(-z); }

double mean_of(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double order_statistic(std::span<double> x, std::size_t k) {
  const auto at = x.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(x.begin(), at, x.end());
  return *at;
}

// The values less one of them and divided by a power of two: data with an offset keep their digits (the
// difference is exact for values of one size) and squares do not overflow.
struct Centred {
  std::vector<double> values;
  double centre = 0;
  int exponent = 0;
  // A statistic of the values as it is of the data.
  double restored(const Functional& functional, double value) const {
    if (functional.kind == Functional::Kind::variance) return std::ldexp(value, 2 * exponent);
    return std::ldexp(value + centre, exponent);
  }
  // A length, without the centre.
  double restored_length(const Functional& functional, double value) const {
    return std::ldexp(value, functional.kind == Functional::Kind::variance ? 2 * exponent : exponent);
  }
};

Centred centred(std::span<const double> x) {
  const int exponent = common_exponent({x});
  Centred c{scaled_down(x, exponent), std::ldexp(x.front(), -exponent), exponent};
  for (double& v : c.values) v -= c.centre;
  return c;
}

// The statistic with each value left out in turn.
std::vector<double> leave_one_out(const std::vector<double>& x, const Functional& functional) {
  std::vector<double> all, rest(x.size() - 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::copy(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(i), rest.begin());
    std::copy(x.begin() + static_cast<std::ptrdiff_t>(i) + 1, x.end(),
              rest.begin() + static_cast<std::ptrdiff_t>(i));
    all.push_back(evaluate(functional, rest));
  }
  return all;
}

bool all_equal(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [&](double v) { return v == x.front(); });
}

// Sums of powers of (mean - value), which are the influences times -1 / (n - 1).
struct Influences {
  double squares = 0, cubes = 0;
};

Influences influences(const std::vector<double>& values) {
  Influences sums;
  if (all_equal(values)) return sums;
  const double mean = mean_of(values);
  for (const double v : values) {
    const double d = mean - v;
    sums.squares += d * d;
    sums.cubes += d * d * d;
  }
  return sums;
}

double acceleration_of(const Influences& sums) {
  return sums.squares > 0 ? sums.cubes / (6 * sums.squares * std::sqrt(sums.squares)) : 0;
}

double combine(double x, double y, Contrast contrast) {
  return contrast == Contrast::difference ? x - y : x / y;
}

// Calls fill(rng, begin, end) for the resamples of each piece, with randomness of its own.
template <class Fill>
void in_pieces(const Resampling& resampling, const Fill& fill) {
  const std::uint64_t pieces = (resampling.count + resamples_a_piece - 1) / resamples_a_piece;
  const StreamKey stream(resampling.seed, Stream::bootstrap);
  in_parallel(pieces, resampling.threads, [&](std::size_t piece) {
    Rng rng = stream.at(piece);
    const std::uint64_t begin = piece * resamples_a_piece;
    fill(rng, begin, std::min(begin + resamples_a_piece, resampling.count));
  });
}

void draw(std::span<const double> from, std::vector<double>& into, Rng& rng) {
  into.resize(from.size());
  for (double& v : into) v = from[static_cast<std::size_t>(rng.below(from.size()))];
}

// Every multiset of n of the sorted values: visit(multiset, probability).
void for_each_multiset(const std::vector<double>& sorted,
                       const std::function<void(std::vector<double>&, double)>& visit) {
  const std::size_t n = sorted.size();
  std::vector<std::size_t> picks(n, 0);  // not falling
  std::vector<double> values(n);
  for (;;) {
    // n! / (product of the factorials of the runs) / n^n
    double probability = 1;
    for (std::size_t i = 0, run = 0; i < n; ++i) {
      values[i] = sorted[picks[i]];
      run = i > 0 && picks[i] == picks[i - 1] ? run + 1 : 1;
      probability *= static_cast<double>(i + 1) / static_cast<double>(run * n);
    }
    visit(values, probability);
    std::size_t at = n;
    while (at > 0 && picks[at - 1] == n - 1) --at;
    if (at == 0) return;
    const std::size_t next = picks[at - 1] + 1;
    std::fill(picks.begin() + static_cast<std::ptrdiff_t>(at) - 1, picks.end(), next);
  }
}

// The rank of the order statistic that the functional is, if it is one; from 1.
std::optional<std::size_t> rank_of(const Functional& functional, std::size_t n) {
  if (functional.kind == Functional::Kind::median && n % 2 == 1) return (n + 1) / 2;
  if (functional.kind == Functional::Kind::quantile && functional.type == QuantileType::one)
    return inverse_rank(functional.p, n);
  return std::nullopt;
}

}  // namespace

double evaluate(const Functional& functional, std::span<double> x) {
  switch (functional.kind) {
    case Functional::Kind::mean:
      return mean_of(x);
    case Functional::Kind::median: {
      const double high = order_statistic(x, x.size() / 2);
      if (x.size() % 2 == 1) return high;
      const double low = *std::max_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
      return low == high ? low : std::midpoint(low, high);
    }
    case Functional::Kind::variance: {
      const double mean = mean_of(x);
      double squares = 0;
      for (const double v : x) squares += (v - mean) * (v - mean);
      return squares / static_cast<double>(x.size() - 1);
    }
    case Functional::Kind::trimmed_mean: {
      const auto cut = static_cast<std::size_t>(std::floor(static_cast<double>(x.size()) * functional.p));
      std::sort(x.begin(), x.end());
      return mean_of(x.subspan(cut, x.size() - 2 * cut));
    }
    case Functional::Kind::quantile:
      std::sort(x.begin(), x.end());
      return quantile(x, functional.p, functional.type);
  }
  return 0;
}

Jackknife jackknife(std::span<const double> x, const Functional& functional) {
  Centred c = centred(x);
  Jackknife j;
  std::vector<double> values = leave_one_out(c.values, functional);
  const double estimate = evaluate(functional, c.values);
  const auto n = static_cast<double>(x.size());
  const Influences sums = influences(values);
  j.status = sums.squares > 0 ? Status::ok : Status::degenerate;
  // Of the data themselves: an order statistic is one of them to the last bit.
  std::vector<double> whole(x.begin(), x.end());
  const bool of_place =
      functional.kind == Functional::Kind::median || functional.kind == Functional::Kind::quantile;
  j.estimate = of_place ? evaluate(functional, whole) : c.restored(functional, estimate);
  if (j.status == Status::ok) j.bias = c.restored_length(functional, (n - 1) * (mean_of(values) - estimate));
  j.se = c.restored_length(functional, std::sqrt((n - 1) / n * sums.squares));
  j.acceleration = acceleration_of(sums);
  for (double& v : values) v = c.restored(functional, v);
  j.values = std::move(values);
  return j;
}

double acceleration(std::span<const double> x, std::span<const double> y, const Estimand& estimand) {
  const int exponent = common_exponent({x, y});
  std::vector<double> of_x = scaled_down(x, exponent), of_y = scaled_down(y, exponent);
  std::vector<double> without_x = leave_one_out(of_x, estimand.functional),
                      without_y = leave_one_out(of_y, estimand.functional);
  const double whole_x = evaluate(estimand.functional, of_x), whole_y = evaluate(estimand.functional, of_y);
  for (double& v : without_x) v = combine(v, whole_y, estimand.contrast);
  for (double& v : without_y) v = combine(whole_x, v, estimand.contrast);
  Influences sums;
  for (const auto* values : {&without_x, &without_y}) {
    const Influences part = influences(*values);
    const double n = static_cast<double>(values->size()), share = (n - 1) / n;
    sums.squares += share * share * part.squares;
    sums.cubes += share * share * share * part.cubes;
  }
  return acceleration_of(sums);
}

BcaLevels bca_levels(double z0, double acceleration, double level) {
  BcaLevels levels;
  const double z = normal_quantile((1 - level) / 2);
  const auto at = [&](double tail) -> std::optional<double> {
    const double denominator = 1 - acceleration * (z0 + tail);
    if (!(denominator > 0)) return std::nullopt;
    return normal_cdf(z0 + (z0 + tail) / denominator);
  };
  levels.low = at(z);
  levels.high = at(-z);
  if (!levels.low || !levels.high) levels.status = Status::undefined;
  return levels;
}

ResampleLaw ResampleLaw::drawn(std::vector<double> replicates) {
  ResampleLaw law;
  law.values_ = std::move(replicates);
  std::sort(law.values_.begin(), law.values_.end());
  const double range = law.values_.back() - law.values_.front();
  law.slack_ = std::isfinite(range) ? 1e-12 * range : 0;
  return law;
}

ResampleLaw ResampleLaw::all(std::vector<std::pair<double, double>> values, double slack) {
  std::sort(values.begin(), values.end());
  ResampleLaw law;
  law.all_ = true;
  law.slack_ = slack;
  double sum = 0;
  for (const auto& [value, probability] : values) {
    sum += probability;
    if (law.values_.empty() || value - law.values_.back() > slack) {
      law.values_.push_back(value);
      law.cumulative_.push_back(sum);
    } else {
      law.cumulative_.back() = sum;
    }
  }
  return law;
}

// A variance of large numbers may be beyond the doubles; then so are mean and spread.
double ResampleLaw::mean() const {
  if (std::isinf(values_.back())) return values_.back();
  // From the middle value on and scaled, so that neither an offset nor a size costs digits.
  const int exponent = exponent_of();
  const double middle = std::ldexp(values_[values_.size() / 2], -exponent);
  double sum = 0;
  for_each([&](double value, double probability) {
    sum += (std::ldexp(value, -exponent) - middle) * probability;
  });
  return std::ldexp(middle + sum, exponent);
}

double ResampleLaw::sd() const {
  if (std::isinf(values_.back())) return values_.back();
  const int exponent = exponent_of();
  const double centre = std::ldexp(mean(), -exponent);
  double sum = 0;
  for_each([&](double value, double probability) {
    const double d = std::ldexp(value, -exponent) - centre;
    sum += d * d * probability;
  });
  // Of drawn replicates the sample's.
  const auto n = static_cast<double>(values_.size());
  if (!all_ && values_.size() > 1) sum *= n / (n - 1);
  return std::ldexp(std::sqrt(sum), exponent);
}

int ResampleLaw::exponent_of() const { return common_exponent({values_}); }

template <class Visit>
void ResampleLaw::for_each(const Visit& visit) const {
  double before = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!all_) {
      visit(values_[i], 1 / static_cast<double>(values_.size()));
    } else {
      visit(values_[i], (cumulative_[i] - before) / cumulative_.back());
      before = cumulative_[i];
    }
  }
}

double ResampleLaw::quantile(double p) const {
  if (!all_) return stats::quantile(values_, p);
  // A distribution function that equals p up to rounding reaches it.
  const auto at = std::lower_bound(cumulative_.begin(), cumulative_.end(), (p - 1e-13) * cumulative_.back());
  return values_[std::min(static_cast<std::size_t>(at - cumulative_.begin()), values_.size() - 1)];
}

double ResampleLaw::less(double than) const {
  const auto count = static_cast<std::size_t>(
      std::lower_bound(values_.begin(), values_.end(), than - slack_) - values_.begin());
  if (!all_) return static_cast<double>(count) / static_cast<double>(values_.size());
  return count == 0 ? 0 : cumulative_[count - 1] / cumulative_.back();
}

double ResampleLaw::equal(double to) const {
  const auto count = static_cast<std::size_t>(std::upper_bound(values_.begin(), values_.end(), to + slack_) -
                                              values_.begin());
  if (!all_) return static_cast<double>(count) / static_cast<double>(values_.size()) - less(to);
  return count == 0 ? 0 : std::max(0.0, cumulative_[count - 1] / cumulative_.back() - less(to));
}

std::optional<double> ResampleLaw::z0(double estimate) const {
  const double share = less(estimate) + equal(estimate) / 2;
  if (!(share > 0 && share < 1)) return std::nullopt;
  return normal_quantile(share);
}

std::optional<ResampleLaw> ideal_law(std::span<const double> x, const Functional& functional) {
  const std::size_t n = x.size();
  const std::vector<double> in_order = sorted(x);
  std::vector<std::pair<double, double>> law;
  if (const auto rank = rank_of(functional, n)) {
    // The r-th smallest of a resample is at most x_(k) when at least r of n draws are: Bin(n, k / n) >= r.
    double before = 0;
    for (std::size_t k = 1; k <= n; ++k) {
      const double up_to =
          k == n ? 1
                 : binomial_sf(static_cast<std::int64_t>(*rank) - 1, static_cast<std::int64_t>(n),
                               static_cast<double>(k) / static_cast<double>(n));
      law.emplace_back(in_order[k - 1], up_to - before);
      before = up_to;
    }
    return ResampleLaw::all(std::move(law), 0);
  }
  if (n > count_all_up_to || n < functional.least()) return std::nullopt;
  const Centred c = centred(in_order);
  double largest = 0;
  for_each_multiset(c.values, [&](std::vector<double>& values, double probability) {
    const double value = evaluate(functional, values);
    largest = std::max(largest, std::abs(value));
    law.emplace_back(c.restored(functional, value), probability);
  });
  return ResampleLaw::all(std::move(law), c.restored_length(functional, 1e-12 * largest));
}

ResampleLaw drawn_law(std::span<const double> x, const Functional& functional, const Resampling& resampling) {
  const Centred c = centred(x);
  std::vector<double> replicates(resampling.count);
  in_pieces(resampling, [&](Rng& rng, std::uint64_t begin, std::uint64_t end) {
    std::vector<double> resample;
    for (std::uint64_t r = begin; r < end; ++r) {
      draw(c.values, resample, rng);
      replicates[r] = c.restored(functional, evaluate(functional, resample));
    }
  });
  return ResampleLaw::drawn(std::move(replicates));
}

ResampleLaw drawn_law(std::span<const double> x, std::span<const double> y, const Estimand& estimand,
                      const Resampling& resampling) {
  // Of a ratio the scale does not matter.
  const int exponent = common_exponent({x, y});
  const int unit = estimand.contrast == Contrast::ratio                     ? 0
                   : estimand.functional.kind == Functional::Kind::variance ? 2 * exponent
                                                                            : exponent;
  const std::vector<double> from_x = scaled_down(x, exponent), from_y = scaled_down(y, exponent);
  std::vector<double> replicates(resampling.count);
  in_pieces(resampling, [&](Rng& rng, std::uint64_t begin, std::uint64_t end) {
    std::vector<double> resample;
    for (std::uint64_t r = begin; r < end; ++r) {
      draw(from_x, resample, rng);
      const double of_x = evaluate(estimand.functional, resample);
      draw(from_y, resample, rng);
      replicates[r] =
          std::ldexp(combine(of_x, evaluate(estimand.functional, resample), estimand.contrast), unit);
    }
  });
  return ResampleLaw::drawn(std::move(replicates));
}

BootstrapIntervals intervals(const ResampleLaw& law, double estimate, double acceleration, double level) {
  BootstrapIntervals b;
  b.estimate = estimate;
  b.mean = law.mean();
  b.se = law.sd();
  b.acceleration = acceleration;
  b.percentile = {law.quantile((1 - level) / 2), law.quantile((1 + level) / 2)};
  b.z0 = law.z0(estimate);
  if (b.se == 0) b.status = Status::degenerate;
  if (!b.z0) {
    b.status = Status::undefined;
    return b;
  }
  b.levels = bca_levels(*b.z0, acceleration, level);
  if (b.levels.status != Status::ok) b.status = b.levels.status;
  if (b.levels.low) b.bca_low = law.quantile(*b.levels.low);
  if (b.levels.high) b.bca_high = law.quantile(*b.levels.high);
  return b;
}

std::optional<Ends> studentized_mean(std::span<const double> x, double level, const Resampling& resampling) {
  const Centred c = centred(x);
  const auto n = static_cast<double>(x.size());
  const Moments m = moments(c.values);
  if (x.size() < 2 || !(m.m2 > 0)) return std::nullopt;
  const double mean = m.mean.value(), se = std::sqrt(m.variance() / n);
  std::vector<double> replicates(resampling.count);
  in_pieces(resampling, [&](Rng& rng, std::uint64_t begin, std::uint64_t end) {
    std::vector<double> resample;
    for (std::uint64_t r = begin; r < end; ++r) {
      draw(c.values, resample, rng);
      const double off = mean_of(resample) - mean;
      const double variance = evaluate({Functional::Kind::variance}, resample);
      // A resample without spread says only on which side it lies.
      replicates[r] = variance > 0 ? off / std::sqrt(variance / n)
                      : off == 0   ? 0
                                   : std::copysign(std::numeric_limits<double>::infinity(), off);
    }
  });
  std::sort(replicates.begin(), replicates.end());
  const auto end = [&](double p) {
    return std::ldexp(mean - quantile(replicates, p) * se + c.centre, c.exponent);
  };
  return Ends{end((1 + level) / 2), end((1 - level) / 2)};
}

}  // namespace retrygate::stats
