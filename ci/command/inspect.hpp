// `show`, `import`, `list`, `explain`, `stats`, `reproduce`: commands that look and decide nothing.
#pragma once

#include <string>

#include "ci/exit_code.hpp"
#include "ci/stats_command.hpp"

namespace retrygate::ci {

struct ShowOptions {
  std::string policy, deadline, outage, outages, format = "text";
  std::int64_t attempts = 12;
};
ExitCode show(const ShowOptions&);

struct ImportOptions {
  std::string kind, file, out;
  bool force = false;  // `out` may be replaced
};
ExitCode import_settings(const ImportOptions&);

ExitCode list(const std::string& kind, const std::string& format);

ExitCode explain(const std::string& id);  // "": what can be explained

ExitCode reproduce_experiments(const std::string& name, const std::string& seeds, const std::string& format);

struct StatsCommand {
  StatsRequest request;
  std::string cases, format = "text";
};
ExitCode statistics(const StatsCommand&);

}  // namespace retrygate::ci
