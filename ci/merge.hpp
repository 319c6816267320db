// Sample files of parts of a sweep (`sim --shard i/n`) -> the file of the whole.
#pragma once

#include <string>
#include <vector>

#include "policies/base/error.hpp"

namespace retrygate::ci {

struct SampleText {
  std::string source;  // what messages call it
  std::string text;    // schema retrygate.samples/1
};

// Cells of the same policy, scenario and parameters are joined and ordered by seed: the same bytes as the run
// without
// --shard wrote. A seed that is there twice, or cells that differ between the files, are errors.
Result<std::string> merge_samples(const std::vector<SampleText>& parts);

}  // namespace retrygate::ci
