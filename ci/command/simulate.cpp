#include "ci/command/simulate.hpp"

#include <fmt/format.h>

#include "ci/command/shared.hpp"
#include "ci/json_io.hpp"
#include "ci/suite.hpp"

namespace retrygate::ci {

ExitCode simulate(const SimOptions& options) {
  Errors errors;
  const auto policies = find_policies(options.policies, "--policy", errors);
  const auto scenario = keep(find_scenario(options.scenario, {"--scenario", 1, 1}, options.set), errors);
  const auto seeds = keep(parse_seeds(options.seeds, {"--seeds", 1, 1}), errors);
  std::vector<std::string> ids = options.metrics;
  for (const std::string& id : ids) keep(find_metric(id, {"--metric", 1, 1}), errors);
  if (ids.empty()) {
    for (const Metric& metric : metrics()) ids.emplace_back(metric.id);
  }
  if (!errors.empty()) return refuse(errors);
  const auto table = sweep(policies, {*scenario}, seeds->values(), ids, options.threads);
  if (!table) return refuse(table.error());
  const std::string text = options.format == "json" ? samples_json({*table}) : samples_text(*table);
  if (options.out.empty()) {
    fmt::print("{}", text);
  } else if (const auto done = write_file(options.out, text); !done) {
    return refuse(done.error());
  }
  return ExitCode::pass;
}

}  // namespace retrygate::ci
