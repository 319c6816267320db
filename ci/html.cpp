#include "ci/html.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "ci/layout.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {

std::string html(std::string_view text) {
  std::string out;
  for (const char c : clean(text, "\n\t")) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

std::string anchor(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    out += plain ? std::string(1, c) : fmt::format("_{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string script_json(const Value& data) {
  std::string out;
  for (const char c : write_json(data, Layout::compact))
    out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

Value plotted(double x) {
  const double kept = std::strtod(fmt::format("{:.5g}", x).c_str(), nullptr);
  if (kept == std::trunc(kept) && std::abs(kept) < 1e15) return to_value(static_cast<std::int64_t>(kept));
  return to_value(std::optional(kept));
}
Value plotted(std::optional<double> x) { return x ? plotted(*x) : to_value(x); }

std::string csp_hash(std::string_view sha256_hex) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  // 256 bits are 42 digits of 6 bits and one of 4, padded to a multiple of four digits.
  const auto nibble = [&](std::size_t i) {
    const char c = i < sha256_hex.size() ? sha256_hex[i] : '0';
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  std::string out = "sha256-";
  for (std::size_t i = 0; i < sha256_hex.size(); i += 3) {
    const unsigned bits = nibble(i) << 8 | nibble(i + 1) << 4 | nibble(i + 2);
    out += digits[bits >> 6];
    out += digits[bits & 63];
  }
  out.back() = '=';  // 64 nibbles leave 4 bits for the last pair: one digit and padding
  return out;
}

std::string html(const HtmlTable& table) {
  std::vector<bool> numbers;
  std::string out = "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"table\"><table>\n";
  if (!table.caption.empty()) out += "<caption>" + table.caption + "</caption>\n";
  out += "<thead><tr>";
  for (const std::string& column : table.columns) {
    numbers.push_back(column.starts_with('#'));
    out += fmt::format("<th scope=\"col\"{}>{}</th>", numbers.back() ? " class=\"n\"" : "",
                       html(std::string_view(column).substr(numbers.back() ? 1 : 0)));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == 0)
        out += "<th scope=\"row\">" + row[i] + "</th>";
      else
        out +=
            (numbers[i] ? "<td class=n>" : "<td>") + row[i];  // HTML closes a cell where the next one begins
    }
    out += "\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string folded(std::string_view summary, std::string_view content, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open" : "", summary,
                     content);
}

}  // namespace retrygate::ci
