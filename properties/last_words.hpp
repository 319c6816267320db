// What a process says last when a subject kills it by a signal.
#pragma once

#include <string_view>

namespace retrygate {

// While it lives, SIGSEGV, SIGBUS, SIGABRT, SIGFPE and SIGILL first write to standard error what was being
// tried; then the signal goes on to whom it would have gone without. One at a time.
class LastWords {
 public:
  LastWords();
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  // Copied beforehand, for the handler may allocate nothing; cut after 2000 bytes.
  static void are(std::string_view text);
};

}  // namespace retrygate
