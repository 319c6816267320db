#include "policies/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>

namespace retrygate {

void (*on_failed_assertion)() = [] { std::abort(); };

std::string to_string(const Where& where) {
  if (where.line == 0) return where.file;
  if (where.column == 0) return fmt::format("{}:{}", where.file, where.line);
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}

Errors by_place(Errors all) {
  Errors once;
  for (Error& error : all) {
    if (std::find(once.begin(), once.end(), error) == once.end()) once.push_back(std::move(error));
  }
  std::stable_sort(once.begin(), once.end(), [](const Error& a, const Error& b) {
    return std::tie(a.where.file, a.where.line, a.where.column) <
           std::tie(b.where.file, b.where.line, b.where.column);
  });
  return once;
}

std::string inert(std::string_view text) {
  std::string out;
  bool blank = true;  // so far this line has nothing but blanks, those beyond ASCII included
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const std::size_t word = rest.starts_with("##") ? rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 2)
                                                    : std::string_view::npos;
    if ((blank && rest.starts_with("::")) || (word != std::string_view::npos && rest[word] == '['))
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(rest[0]));
    else
      out += rest[0];
    const auto byte = static_cast<unsigned char>(rest[0]);
    blank = byte == '\n' || byte == '\r' || (blank && (byte <= ' ' || byte >= 0x80));
  }
  return out;
}

namespace {

// What users wrote comes back in messages: a terminal must not obey it, nor a reader drown in it.
std::string printable(std::string_view text) {
  constexpr std::size_t bytes_max = 2000;
  std::size_t end = std::min(text.size(), bytes_max);
  if (end < text.size()) {
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end;  // not within a character
  }
  std::string out;
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  if (end < text.size()) out += fmt::format(" ... ({} more bytes)", text.size() - end);
  return out;
}

}  // namespace

std::string to_string(const Error& error) {
  std::string text = printable(to_string(error.where));
  if (!text.empty()) text += ": ";
  text += "error: " + printable(error.message);
  if (!error.hint.empty()) text += "\n  hint: " + printable(error.hint);
  return inert(text);
}

std::string to_string(const Errors& errors) {
  constexpr std::size_t shown_max = 100;
  std::string text;
  for (std::size_t i = 0; i < std::min(errors.size(), shown_max); ++i) text += to_string(errors[i]) + "\n";
  if (errors.size() > shown_max) text += fmt::format("and {} more errors\n", errors.size() - shown_max);
  return text;
}

void assertion_failed(const char* file, int line, const char* condition, std::string_view values) {
  fmt::print(stderr,
             "{}:{}: internal error: '{}' does not hold: {}\nThis is a fault of retrygate, not of your "
             "input; please report it.\n",
             file, line, condition, values);
  on_failed_assertion();
  std::abort();
}

}  // namespace retrygate
