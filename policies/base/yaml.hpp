// YAML as the same tree of Values that TOML and JSON become. yaml-cpp stays behind this wall.
#pragma once

#include <string>
#include <string_view>

#include "policies/base/config.hpp"

namespace retrygate {

// All documents of a stream, in order; JSON is YAML too. Every value knows its line and column. Plain words
// become booleans, whole numbers, decimals or null as in YAML's core schema, quoted ones stay texts. Errors:
// what is no YAML, a key given twice, nesting beyond 64, more than a million values.
Result<std::vector<Value>> parse_yaml(std::string_view text, const std::string& source);

}  // namespace retrygate
