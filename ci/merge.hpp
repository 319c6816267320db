// Sample files of parts of a sweep (`sim --shard i/n`) -> the file of the whole.
#pragma once

#include <string>
#include <vector>

#include "policies/base/error.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

struct SampleText {
  std::string source;  // what messages call it
  std::string text;    // schema retrygate.samples/1
};

// Every part of the run (`shard`), each whole: a part that is missing, there twice or was interrupted is an
// error. Cells of the same policy, scenario and parameters are joined and ordered by seed: samples_json
// writes the same bytes as the run without --shard. Whether the policy drew (Cell::drew) is not in the files.
// A seed that is there twice, cells that differ between the files, and whatever is no sample are errors.
Result<SampleTable> merge_samples(const std::vector<SampleText>& parts);

}  // namespace retrygate::ci
