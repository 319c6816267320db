#include "ci/samples.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace retrygate::ci {
namespace {

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

Result<std::vector<double>> comparable(const std::vector<std::optional<double>>& samples,
                                       const Metric& metric, Duration horizon, Where where) {
  std::vector<double> values;
  const double limit = horizon.seconds();
  for (const std::optional<double>& sample : samples) {
    if (metric.unit == "s")
      values.push_back(std::min(sample.value_or(limit), limit));
    else if (sample)
      values.push_back(*sample);
    else
      return failure(std::move(where), fmt::format("'{}' has no value in some seeds", metric.id),
                     "choose another metric");
  }
  return values;
}

std::string samples_csv(const SampleTable& table) {
  std::string out = "policy,definition,scenario,params,seed,digest";
  for (const std::string& metric : table.metrics) out += "," + metric;
  out += "\n";
  for (const Cell& cell : table.cells) {
    const std::string names =
        fmt::format("{},{},{},{}", quoted(cell.policy), quoted(cell.definition), quoted(cell.scenario),
                    quoted(fmt::format("{}", fmt::join(cell.params, ";"))));
    for (std::size_t i = 0; i < cell.seeds.size(); ++i) {
      out += fmt::format("{},{},{:016x}", names, cell.seeds[i], cell.digests[i]);
      for (const std::vector<std::optional<double>>& column : cell.samples)
        out += column[i] ? fmt::format(",{}", *column[i]) : ",";
      out += "\n";
    }
  }
  return out;
}

}  // namespace retrygate::ci
