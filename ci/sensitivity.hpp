// `retrygate sensitivity P`: which settings of a policy matter in a scenario, and do they act together? A
// designed experiment with every setting at two levels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/named.hpp"
#include "sim/sweep.hpp"
#include "stats/factorial.hpp"

namespace retrygate::ci {

// A setting with its two levels, as they are written in an override. `nominal` is empty when unknown.
struct Setting {
  std::string key, low, nominal, high;
  bool operator==(const Setting&) const = default;
};

// "key=low..high", as --vary has it.
Result<Setting> parse_setting(std::string_view text);

struct SensitivityRequest {
  std::string policy;  // a reference as find_policy takes it
  Where where;         // of the reference
  std::string scenario;
  std::vector<std::string> overrides;  // of the scenario
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> metrics;
  std::vector<std::string> vary;    // "key=low..high"; empty: the settings of usual_settings
  std::optional<std::size_t> runs;  // policies to simulate; else all combinations, 16 from 5 settings on
  unsigned threads = 0;
};

// base and cap halved and doubled; factor with half and double its excess over 1; max_attempts halved (at
// least 2) and doubled: those that the policy states and that an override can change.
std::vector<Setting> usual_settings(const SensitivityRequest&, const NamedPolicy& nominal);

struct SensitivityMetric {
  std::string id, unit;
  double nominal = 0;  // mean of the policy as it is
  stats::Experiment experiment;
  stats::Effect curvature;  // mean of the runs minus nominal: what a linear model leaves out
};
struct SensitivityReport {
  std::string policy, scenario;
  std::size_t seeds = 0;
  std::vector<Setting> settings;
  stats::TwoLevelDesign design;
  std::vector<SensitivityMetric> metrics;
};
Result<SensitivityReport> sensitivity(const SensitivityRequest&);

std::string sensitivity_text(const SensitivityReport&);
// Schema retrygate.sensitivity/1.
std::string sensitivity_json(const SensitivityReport&);

}  // namespace retrygate::ci
