// What `retrygate init` writes: the first suite of a team, and its pipeline.
#pragma once

#include <string>
#include <vector>

#include "policies/base/embedded.hpp"
#include "policies/base/error.hpp"

namespace retrygate::ci {

struct StarterRequest {
  std::string file = "retry/suite.toml";  // relative to the root of the repository
  std::string policy = "full-jitter";     // that is to be gated, as for show
  std::string baseline;                   // what it is compared with; empty: with itself as it is now
  std::vector<std::string> scenarios = {"outage-then-limit"};
  std::vector<std::string> metrics;  // "peak_1s:10%"; empty: those of the shipped suite
  std::vector<std::string> set;      // overrides of the scenarios
  std::string pipeline = "none";     // none, github, gitlab, shell
};
const std::vector<std::string>& pipelines();

struct StarterFile {
  std::string path, text;
};

// The suite and the files of the pipeline. The suite is what `gate` reads; mistakes of the request are
// reported at once, under the names of the options.
Result<std::vector<StarterFile>> starter(const StarterRequest&);

// Templates for pipelines by their names: action, github, gitlab, retrygate.
std::span<const EmbeddedFile> shipped_workflows();

}  // namespace retrygate::ci
