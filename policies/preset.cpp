#include "policies/preset.hpp"

#include <fmt/format.h>

#include "policies/named.hpp"

namespace retrygate {

std::vector<std::string> about(const Preset& preset) {
  std::vector<std::string> lines = {fmt::format("Law: {}", preset.summary)};
  if (const auto defaults = find_policy(preset.id, {})) {
    lines.push_back(fmt::format("Defaults: {}", to_string(defaults->policy)));
    for (const std::string& promise : describe(defaults->policy.contract()))
      lines.push_back(fmt::format("Promises: {}", promise));
  }
  lines.push_back(fmt::format("Source: {}", preset.source));
  for (const Deviation& d : preset.deviations)
    lines.push_back(fmt::format("Deviation from {}{}: {} ({})", d.invariant,
                                d.shows ? "" : ", which a check with the defaults does not show", d.why,
                                d.source));
  return lines;
}

}  // namespace retrygate
