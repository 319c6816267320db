// What belongs to a terminal and not to the report: colour.
#pragma once

#include <string>
#include <string_view>

namespace retrygate::ci {

// The text report with its verdict words in colour (ECMA-48 SGR): green, red, yellow.
std::string coloured(std::string_view text);

// `when` is "auto", "always" or "never"; auto is a terminal without NO_COLOR (no-color.org).
bool wants_colour(std::string_view when);

}  // namespace retrygate::ci
