#include "ci/layout.hpp"

#include <algorithm>

namespace retrygate::ci {

std::string wrapped(const std::string& first, std::string_view text, std::size_t indent) {
  std::string out, line = first;
  bool fresh = true;  // nothing but the mark or the indentation on this line
  const auto next_line = [&] {
    out += line + "\n";
    line.assign(indent, ' ');
    fresh = true;
  };
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!fresh && line.size() + 1 + word.size() > columns) next_line();
    if (!fresh) line += ' ';
    while (line.size() + word.size() > columns) {
      const std::size_t fits = columns - line.size();
      line += word.substr(0, fits);
      word.remove_prefix(fits);
      next_line();
    }
    line += word;
    fresh = false;
  }
  return out + line + "\n";
}

std::string wrapped(std::string_view text, std::size_t indent) {
  return wrapped(std::string(indent, ' '), text, indent);
}

std::string command_lines(const std::string& first, std::string_view command, std::size_t indent) {
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

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t left = (most - 2) / 2;
  return text.substr(0, left) + ".." + text.substr(text.size() - (most - 2 - left));
}

}  // namespace retrygate::ci
