// Exit codes of the command (README.md) and the last line that says them.
#pragma once

#include <initializer_list>
#include <string_view>

namespace retrygate::ci {

enum class ExitCode : int { pass = 0, violation = 1, usage = 2, inconclusive = 3, internal = 4 };

// If several apply: 2, 4, 1, 3, 0.
constexpr ExitCode worst(std::initializer_list<ExitCode> codes) {
  for (const ExitCode code :
       {ExitCode::usage, ExitCode::internal, ExitCode::violation, ExitCode::inconclusive}) {
    for (const ExitCode given : codes) {
      if (given == code) return code;
    }
  }
  return ExitCode::pass;
}

constexpr std::string_view word(ExitCode code) {
  switch (code) {
    case ExitCode::pass:
      return "pass";
    case ExitCode::violation:
      return "fail";
    case ExitCode::usage:
      return "usage error";
    case ExitCode::inconclusive:
      return "inconclusive";
    case ExitCode::internal:
      return "internal error";
  }
  return "";
}

}  // namespace retrygate::ci
