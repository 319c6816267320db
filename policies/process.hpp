// A program that answers lines with lines, started and watched by us. POSIX stays behind process.cpp; it is
// the one place below ci/ that meets real time, because a program that hangs must be given up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/units.hpp"

namespace retrygate {

struct ProcessLimits {
  // The longest real time from one line of it to the next. Where the machine, and not the program, is too
  // busy, four times as long.
  Duration answer = Duration::s(5);
  std::size_t line_bytes = 64 * 1024;   // the longest line it may write
  std::size_t stderr_bytes = 8 * 1024;  // how much of the end of its stderr is kept
};

// How a program let us down; `what` continues the sentence "the program ...".
struct Lapse {
  enum class Kind { late, ended, long_line } kind = Kind::late;
  std::string what;
};

class Process {
 public:
  // Runs `/bin/sh -c COMMAND` in a process group of its own, which does not outlive us, however we end.
  // Nothing is said about whether the command exists: the shell starts and then ends with 127. Error: the
  // system gives no process or pipe.
  static Result<Process> start(const std::string& command, ProcessLimits limits = {});

  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();  // kills what is left of the group, and reaps it

  // Writes `text` and reads `lines` lines, both at once, so that no pipe fills up. Fewer lines come back
  // only with a lapse.
  struct Heard {
    std::vector<std::string> lines;  // without their newlines
    std::optional<Lapse> lapse;
  };
  Heard exchange(std::string_view text, std::size_t lines);

  // Closes its stdin and waits for its end. What it still wrote comes back; a lapse when it does not end in
  // time, or not with exit code 0.
  Heard finish();

  std::string stderr_tail();  // the end of what it has written there so far

 private:
  struct State;
  explicit Process(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace retrygate
