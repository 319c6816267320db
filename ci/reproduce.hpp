// `retrygate reproduce`: the published experiments, claim by claim.
#pragma once

#include <string>
#include <vector>

#include "ci/claims.hpp"
#include "ci/suite.hpp"

namespace retrygate::ci {

// The names of the experiments, in the order they are printed.
std::vector<std::string_view> experiments();

// One experiment, or "all". Seeds apply to the experiments that draw: at least two.
Result<std::vector<ClaimRow>> reproduce(const std::string& name, const Seeds&);

std::string claims_text(const std::vector<ClaimRow>&);

}  // namespace retrygate::ci
