#include "ci/claims_waits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/experiments/calls.hpp"
#include "sim/experiments/occ.hpp"
#include "sim/run.hpp"
#include "stats/fit.hpp"

namespace retrygate::ci {
DrawnLaw drawn_law(std::string_view policy_text, const std::vector<Duration>& ceilings, double low,
                   const Seeds& seeds) {
  const AnyPolicy policy = policy_named(policy_text);
  const std::size_t retries = ceilings.size();
  std::vector<std::vector<double>> drawn(retries);  // in units of the ceiling
  for (const std::uint64_t seed : seeds.values()) {
    for (std::uint64_t client = 0; client < 100; ++client) {
      const auto delays = failing_call(policy, Seed{seed}, client, retries);
      for (std::size_t n = 0; n < retries; ++n)
        drawn[n].push_back(delays[n].seconds() / ceilings[n].seconds());
    }
  }
  double furthest = 0, mean = 0, variance = 0, lowest = 1, highest = 0, p = 1;
  for (std::vector<double>& waits : drawn) {
    const stats::KolmogorovSmirnov fit = stats::ks_uniform(waits, {low, 1});
    furthest = std::max(furthest, fit.statistic);
    p = std::min(p, fit.p_value);
    const Column c = column(std::move(waits));
    lowest = std::min(lowest, c.low());
    highest = std::max(highest, c.high());
    mean += c.mean() / static_cast<double>(retries);
    variance += c.variance() / static_cast<double>(retries);
  }
  p = std::min(1.0, p * static_cast<double>(retries));  // Bonferroni
  return {p > 1e-6 && lowest >= low && highest <= 1,
          fmt::format(
              "{:.4f} c to {:.4f} c, mean {:.4f} c, variance {:.4f} c^2; Kolmogorov-Smirnov distance at most "
              "{:.4f}, p = {:.2g}",
              lowest, highest, mean, variance, furthest, p)};
}

Busiest busiest(std::string_view policy_text, std::int64_t clients, std::int64_t retries,
                const Seeds& seeds) {
  const AnyPolicy policy = policy_named(policy_text);
  std::vector<double> first_10, first_100, storm, with_first;
  const auto peak = [](const std::vector<std::int64_t>& instants, Duration w) {
    return static_cast<double>(busiest_window(instants, w));
  };
  for (const std::uint64_t seed : seeds.values()) {
    const auto wave = arrivals(policy, clients, Seed{seed}, {2, 2});
    first_10.push_back(peak(wave, Duration::ms(10)));
    first_100.push_back(peak(wave, Duration::ms(100)));
    auto all = arrivals(policy, clients, Seed{seed}, {2, retries + 1});
    storm.push_back(peak(all, Duration::ms(100)));
    all.insert(all.begin(), static_cast<std::size_t>(clients), 0);
    with_first.push_back(peak(all, Duration::ms(100)));
  }
  return {column(first_10), column(first_100), column(storm), column(with_first)};
}

Column contended_calls(std::string_view policy, std::int64_t clients, const Seeds& seeds) {
  Contention contention(policy_named(policy), clients);
  std::vector<double> calls;
  for (const std::uint64_t seed : seeds.values())
    calls.push_back(static_cast<double>(contention.run(Seed{seed}).calls));
  return column(std::move(calls));
}

std::string give_or_take(const Column& c) {
  return fmt::format("{:.4g} +- {:.1g}", c.mean(), 2 * c.standard_error());
}

}  // namespace retrygate::ci
