// How things go wrong: what a user wrote (Error, Result), and what we got wrong (RG_ASSERT).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace retrygate {

// A place in what the user wrote. line and column count from 1; 0 means the file as a whole. For the
// command line, `file` is the option's name ("--policy") and column counts in its value.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Where&) const = default;
};

// One fault of the user's input: what is wrong, and what would do (may be empty).
struct Error {
  Where where;
  std::string message;
  std::string hint;
  bool operator==(const Error&) const = default;
};
using Errors = std::vector<Error>;

// A value, or everything that is wrong with the input it was to be made from (never empty).
template <class T>
using Result = tl::expected<T, Errors>;

// "overload.toml:3:7: error: cap ..\n  hint: .."; control characters as \x1b, a long text is cut
std::string to_string(const Error&);
std::string to_string(const Where&);
std::string to_string(const Errors&);  // each ends with a newline; beyond 100 only their number is said

// A text for a log in which a CI server looks for commands to itself: what it would obey loses its first
// character to an escape, "\x3a:error::..". GitHub obeys a line that begins with :: (after blanks) and ##[
// anywhere, Azure ##vso[, TeamCity ##teamcity[. All else stays as it is.
std::string inert(std::string_view text);

// In the order in which they stand, file by file, and what was met on two ways once.
Errors by_place(Errors);

inline tl::unexpected<Errors> failure(Where where, std::string message, std::string hint = {}) {
  return tl::unexpected(Errors{Error{std::move(where), std::move(message), std::move(hint)}});
}

// The value, or nothing after its errors were added to `errors`: how a reader of many things goes on.
template <class T>
std::optional<T> keep(Result<T> result, Errors& errors) {
  if (result) return std::move(*result);
  errors.insert(errors.end(), result.error().begin(), result.error().end());
  return std::nullopt;
}

// What a failed RG_ASSERT does after its message is on stderr; the command sets it to exit with code
// 4, elsewhere it is std::abort. It must not return.
extern void (*on_failed_assertion)();

[[noreturn]] void assertion_failed(const char* file, int line, const char* condition,
                                   std::string_view values);

}  // namespace retrygate

// A mistake of ours: kept in release builds. `values` is a text that shows the values involved.
#define RG_ASSERT(condition, values)                                                         \
  do {                                                                                       \
    if (!(condition)) ::retrygate::assertion_failed(__FILE__, __LINE__, #condition, values); \
  } while (false)
