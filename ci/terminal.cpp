#include "ci/terminal.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace retrygate::ci {
namespace {

struct Paint {
  std::string_view word, code;
};
constexpr std::array paints = {Paint{"pass", "32"}, Paint{"FAIL", "31"}, Paint{"?", "33"}};

std::string painted(std::string_view word, std::string_view code) {
  return "\x1b[1;" + std::string(code) + "m" + std::string(word) + "\x1b[0m";
}

// A row of a table ends with its verdict; the last line of a report is its verdict.
std::string painted_line(std::string_view line) {
  constexpr std::string_view last = "Verdict: ";
  if (line.starts_with(last)) {
    const std::string_view rest = line.substr(last.size());
    const std::string_view code = rest.starts_with("pass")           ? "32"
                                  : rest.starts_with("inconclusive") ? "33"
                                                                     : "31";
    return std::string(last) + painted(rest, code);
  }
  for (const Paint& paint : paints) {
    const std::string_view ending = paint.word;
    if (!line.starts_with("  ") || !line.ends_with(ending)) continue;
    const std::size_t at = line.size() - ending.size();
    if (line[at - 1] == ' ') return std::string(line.substr(0, at)) + painted(ending, paint.code);
  }
  return std::string(line);
}

}  // namespace

std::string coloured(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += painted_line(text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

bool wants_colour(std::string_view when) {
  if (when != "auto") return when == "always";
  const char* off = std::getenv("NO_COLOR");
  return (off == nullptr || *off == '\0') && ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace retrygate::ci
