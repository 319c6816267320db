// `retrygate import`: retry settings of other tools as policies of ours, checked.
#pragma once

#include <string>

#include "ci/commands.hpp"

namespace retrygate::ci {

struct ImportOutput {
  std::string toml;  // [policy.NAME] tables
  std::string told;  // warnings, and what the check of the policies said
  ExitCode code = ExitCode::pass;
};

// `kind` is an importer's id, `path` a file. Unknown kinds and faulty files are errors.
Result<ImportOutput> import_policies(const std::string& kind, const std::string& path);

}  // namespace retrygate::ci
