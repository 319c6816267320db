// Values as TOML that people read. Reading it is in config.hpp.
#pragma once

#include <string>

#include "policies/base/config.hpp"

namespace retrygate {

// A value as the right side of an assignment, on one line; tables within it are inline. No null.
std::string write_toml(const Value&);
// "key = value" for every member, a line each. Keys that are no bare keys are quoted.
std::string write_toml(const Table&);

}  // namespace retrygate
