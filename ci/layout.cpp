#include "ci/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/base/error.hpp"

namespace retrygate::ci {
namespace {

// Is it a byte of UTF-8 that stands within a character?
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The length of the character that the text begins with; 0 if it is none that may stay (Unicode 15, table 3-7
// of well-formed bytes).
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : std::uint32_t{0};
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  const bool none = (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code < 0xfdf0);
  const bool control = code < 0xa0 || code == 0x2028 || code == 0x2029;  // C1, line and paragraph separators
  // What makes a reader see the rest of a line in another order (UAX #9): a name could move its own verdict.
  const bool reorders = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return code < least[length] || code > 0x10ffff || surrogate || none || control || reorders ? 0 : length;
}

}  // namespace

std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && most - end < 4 && continues(text[end])) --end;
  return text.substr(0, most - end < 4 ? end : most);  // longer ones are no UTF-8
}

std::string clean(std::string_view text, std::string_view kept) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = kept.find(text[0]) != std::string_view::npos ? 1 : character(text);
    out += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::vector<std::string> broken(std::string_view raw, std::size_t first, std::size_t rest) {
  std::string cleaned = clean(raw, "\n\t");
  std::replace_if(
      cleaned.begin(), cleaned.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  std::string_view text = cleaned;
  std::vector<std::string> lines(1);
  bool fresh = true;  // nothing on this line yet
  const auto room = [&] { return (lines.size() == 1 ? first : rest) - lines.back().size(); };
  const auto next_line = [&] {
    lines.emplace_back();
    fresh = true;
  };
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    // A number keeps its sign: "12.1 %" is one word.
    if (text.starts_with('%')) {
      const std::size_t sign = std::min(text.find(' '), text.size());
      word = {word.data(), word.size() + 1 + sign};
      text.remove_prefix(std::min(sign + 1, text.size()));
    }
    if (!fresh && 1 + word.size() > room()) next_line();
    if (!fresh) lines.back() += ' ';
    while (word.size() > room()) {
      const std::string_view fits = beginning(word, room());
      lines.back() += fits;
      word.remove_prefix(fits.size());
      next_line();
    }
    lines.back() += word;
    fresh = false;
  }
  return lines;
}

std::string wrapped(const std::string& first, std::string_view text, std::size_t indent) {
  const std::vector<std::string> lines = broken(text, columns - first.size(), columns - indent);
  return first + fmt::format("{}\n", fmt::join(lines, "\n" + std::string(indent, ' ')));
}

std::string wrapped(std::string_view text, std::size_t indent) {
  return wrapped(std::string(indent, ' '), text, indent);
}

std::string inert_lines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = text.substr(begin, end - begin);
    begin = end;
    const std::string safe = inert(line);
    if (safe.size() <= std::max(line.size(), columns + 1)) {
      out += safe;
      continue;
    }
    const std::size_t indent = std::min(safe.find_first_not_of(' '), columns / 2);
    // What begins a line now may be obeyed now.
    out += inert_lines(wrapped(std::string(indent, ' '), std::string_view(safe).substr(indent), indent));
  }
  return out;
}

std::string command_lines(const std::string& first, std::string_view raw, std::size_t indent) {
  const std::string cleaned = clean(raw);
  std::string_view command = cleaned;
  std::string out, line = first;
  bool fresh = true;
  while (!command.empty()) {
    bool quoted = false;
    std::size_t end = 0;
    for (; end < command.size() && (quoted || command[end] != ' '); ++end) quoted ^= command[end] == '\'';
    const std::string_view word = command.substr(0, end);
    command.remove_prefix(std::min(end + 1, command.size()));
    if (!fresh && line.size() + 1 + word.size() + 2 > columns) {
      out += line + " \\\n";
      line.assign(indent, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  return out + line + "\n";
}

std::string shortened(const std::string& raw, std::size_t most) {
  const std::string text = clean(raw);
  if (text.size() <= most) return text;
  const std::string_view left = beginning(text, (most - 2) / 2);
  std::size_t right = text.size() - (most - 2 - left.size());
  while (right < text.size() && continues(text[right])) ++right;
  return fmt::format("{}..{}", left, std::string_view(text).substr(right));
}

}  // namespace retrygate::ci
