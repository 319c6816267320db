#include "policies/base/error.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace retrygate {

void (*on_failed_assertion)() = [] { std::abort(); };

std::string to_string(const Where& where) {
  if (where.line == 0) return where.file;
  if (where.column == 0) return fmt::format("{}:{}", where.file, where.line);
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}

std::string to_string(const Error& error) {
  std::string text = to_string(error.where);
  if (!text.empty()) text += ": ";
  text += "error: " + error.message;
  if (!error.hint.empty()) text += "\n  hint: " + error.hint;
  return text;
}

std::string to_string(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) text += to_string(error) + "\n";
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
