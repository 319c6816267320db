// JSON as the same tree of Values that TOML becomes: one Reader for all that people and programs write.
// nlohmann-json stays behind this wall.
#pragma once

#include <string>
#include <string_view>

#include "policies/base/config.hpp"

namespace retrygate {

// A document of any kind. Every value knows its line and column (bytes). Whole numbers beyond int64 become
// doubles. Errors: what is no JSON or no UTF-8, a key given twice, nesting beyond 64. `first_line` is the
// number of the text's first line, for documents that are lines of a stream.
Result<Value> parse_json(std::string_view text, const std::string& source, int first_line = 1);

enum class Layout { lines, compact };  // indented by one space; or all on one line. No newline at the end.

// Members in their order. Doubles as the shortest decimals that read back to the same value; infinities as
// the texts "Infinity" and "-Infinity", NaN as null. Bytes that are no UTF-8 become U+FFFD.
std::string write_json(const Value&, Layout = Layout::lines);

}  // namespace retrygate
