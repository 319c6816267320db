// What the tests of the simulator share. Not part of the library's interface.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "policies/named.hpp"
#include "sim/metrics.hpp"
#include "sim/run.hpp"

namespace retrygate::testing_sim {

inline AnyPolicy policy(const std::string& reference) {
  auto found = find_policy(reference, {"test", 1, 1});
  RG_ASSERT(found, to_string(found.error()));
  return found->policy;
}

inline Scenario scenario(const std::string& toml) {
  auto table = parse_toml(toml, "test");
  RG_ASSERT(table, to_string(table.error()));
  auto made = read_scenario("test", *table);
  RG_ASSERT(made, to_string(made.error()));
  return *made;
}

inline const std::string once = "fixed:base=1ms,max_attempts=1";

inline Totals play(const std::string& reference, const Scenario& s, std::uint64_t seed = 1,
                   const RunOptions& options = {}) {
  auto totals = run(policy(reference), s, Seed{seed}, options);
  RG_ASSERT(totals, to_string(totals.error()));
  return *totals;
}

inline std::optional<double> value(const Totals& totals, std::string_view metric) {
  return find_metric(metric)->read(totals);
}

struct MeanOfSeeds {
  double mean = 0, error = 0;  // standard error
};

// Of one value a seed.
inline MeanOfSeeds mean_of(const std::vector<double>& all) {
  const auto n = static_cast<double>(all.size());
  MeanOfSeeds result;
  for (const double x : all) result.mean += x / n;
  double squares = 0;
  for (const double x : all) squares += (x - result.mean) * (x - result.mean);
  result.error = std::sqrt(squares / (n - 1) / n);
  return result;
}

// A metric over seeds 1..n.
inline MeanOfSeeds over_seeds(const std::string& reference, const Scenario& s, std::string_view metric,
                              int n) {
  const Metric m = *find_metric(metric);
  const Measures measures = measures_for(std::vector{m});
  const AnyPolicy p = policy(reference);
  std::vector<double> all;
  Runner runner;
  for (int seed = 1; seed <= n; ++seed)
    all.push_back(
        *m.read(*runner.run(p, s, Seed{static_cast<std::uint64_t>(seed)}, {.measures = &measures})));
  return mean_of(all);
}

}  // namespace retrygate::testing_sim
