#include "ci/samples.hpp"

#include <fmt/format.h>

#include <bit>

#include "policies/base/hash.hpp"
#include "policies/base/json.hpp"

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
                                       const Metric& metric, const Scenario& scenario, Where where) {
  const bool nothing_to_recover_from =
      metric.missing == Missing::horizon_after_faults && !scenario.has_faults();
  std::vector<double> values;
  for (const std::optional<double>& sample : samples) {
    if (sample)
      values.push_back(*sample);
    else if (nothing_to_recover_from)
      return failure(std::move(where),
                     fmt::format("'{}': scenario '{}' has no outage to recover from", metric.id, scenario.id),
                     "choose another metric or scenario");
    else if (metric.missing == Missing::error)
      return failure(std::move(where),
                     fmt::format("'{}' has no value in some seeds of scenario '{}'", metric.id, scenario.id),
                     "choose another metric");
    else
      values.push_back(scenario.horizon.seconds());
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

std::uint64_t sum_of(const Cell& cell, const std::vector<std::string>& metrics) {
  std::uint64_t sum = fnv1a("");
  // As a file holds it: bytes that are no UTF-8 have been replaced there.
  const auto text = [&](const std::string& t) { sum = fnv1a(write_json(to_value(t), Layout::compact), sum); };
  const auto bits = [&](std::uint64_t b) { sum = fnv1a(hex(b), sum); };
  text(cell.policy);
  text(cell.definition);
  text(cell.scenario);
  for (const std::string& param : cell.params) text(param);
  for (const std::uint64_t seed : cell.seeds) bits(seed);
  for (const std::uint64_t digest : cell.digests) bits(digest);
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    text(metrics[m]);
    for (const std::optional<double>& sample : cell.samples[m])
      sample ? bits(std::bit_cast<std::uint64_t>(*sample)) : text("null");
  }
  return sum;
}

}  // namespace retrygate::ci
