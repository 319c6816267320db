// `retrygate compare --over clients=200..100000`: how two policies change with the size of the fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/named.hpp"
#include "sim/sweep.hpp"
#include "stats/scaling.hpp"

namespace retrygate::ci {

struct GrowthRow;  // ci/report.hpp

// A key of the scenario and the whole numbers that it takes.
struct Over {
  std::string key;
  std::vector<std::int64_t> sizes;  // rising, at least 2
};
// "clients=200..100000": both ends and the numbers 1, 2, 5 times a power of ten between them;
// "clients=200,1000,5000": these.
Result<Over> parse_over(std::string_view text, Where);

// A shipped scenario or one of a file at every size.
Result<std::vector<Scenario>> scenarios_over(const std::string& id, const std::vector<std::string>& overrides,
                                             const Over&);

struct GrowthRequest {
  NamedPolicy baseline;
  std::vector<NamedPolicy> candidates;
  std::vector<std::vector<Scenario>> scenarios;  // each at the sizes of `over`
  Over over;
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> metrics;
  unsigned threads = 0;
};

// One metric of one candidate in one scenario.
struct GrowthComparison {
  std::string scenario, baseline, candidate, metric, unit;
  stats::Growth baseline_values, candidate_values;
  struct Step {
    std::optional<double> effect;             // candidate's mean / baseline's - 1; none when that is 0
    std::optional<stats::Interval> interval;  // 95 %, by Fieller, paired by seed; none without spread
  };
  std::vector<Step> steps;  // by size
  stats::PowerLaw baseline_law, candidate_law;
  stats::ExponentDifference difference;
  stats::Trend baseline_trend, candidate_trend;
  std::size_t baseline_cut = 0,
              candidate_cut = 0;  // runs that did not get there: the horizon stands for them
  // Sizes from the smallest on at which every run got there: the laws are those of these, undefined below 2.
  std::size_t baseline_reached = 0, candidate_reached = 0;
};
struct GrowthReport {
  Over over;
  std::size_t seeds = 0;
  std::vector<GrowthComparison> comparisons;
};
Result<GrowthReport> grow(const GrowthRequest&);

std::vector<GrowthRow> growth_rows(const GrowthReport&);
std::string growth_text(const std::vector<GrowthRow>&);  // for a terminal
// Schema retrygate.growth/1.
std::string growth_json(const GrowthReport&);

}  // namespace retrygate::ci
