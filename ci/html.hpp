// HTML as text: escaping, tables, data for scripts, and the hashes of a content security policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/config.hpp"

namespace retrygate::ci {

// Text for an element or a quoted attribute, cleaned.
std::string html(std::string_view text);

// `html(text)` as the id of an element and the target of a link: letters, digits and hyphens.
std::string anchor(std::string_view text);

// JSON for the inside of <script type="application/json">: no `<` in it, and bytes that are no UTF-8
// replaced.
std::string script_json(const Value&);

// x with five significant digits, which is all that a plot shows; without a point when it is whole.
Value plotted(double x);
Value plotted(std::optional<double> x);  // null when there is none

// "sha256-BASE64" of a hash in hexadecimal, as a content security policy has it.
std::string csp_hash(std::string_view sha256_hex);

// A cell is HTML already. A column that begins with '#' holds numbers and is set to the right.
struct HtmlTable {
  std::string caption;               // HTML; may be empty
  std::vector<std::string> columns;  // text; the first one's cells are the headers of their rows
  std::vector<std::vector<std::string>> rows = {};
};
std::string html(const HtmlTable&);

// <details> with a summary; both are HTML.
std::string folded(std::string_view summary, std::string_view content, bool open = false);

}  // namespace retrygate::ci
