#include "properties/last_words.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "policies/base/error.hpp"

namespace retrygate {
namespace {

struct Caught {
  int number;
  const char* name;
};
constexpr std::array signals{Caught{SIGSEGV, "SIGSEGV"}, Caught{SIGBUS, "SIGBUS"}, Caught{SIGABRT, "SIGABRT"},
                             Caught{SIGFPE, "SIGFPE"}, Caught{SIGILL, "SIGILL"}};

// All that the handler reads, written while no handler runs.
struct Last {
  std::array<char, 2000> words{};
  volatile std::size_t length = 0;
  bool installed = false;
  std::array<struct sigaction, signals.size()> before{};
  stack_t stack_before{};
  // A stack that overflowed leaves none for the handler.
  alignas(16) std::array<char, 65'536> stack{};
};
Last last_words;

void say(const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t done = ::write(STDERR_FILENO, text, size);
    if (done <= 0) return;
    text += done;
    size -= static_cast<std::size_t>(done);
  }
}

// Calls nothing that is not async-signal-safe (POSIX.1-2017, section 2.4.3).
void handle(int number, siginfo_t* info, void*) {
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (signals[i].number != number) continue;
    say("retrygate: ", 11);
    say(signals[i].name, std::strlen(signals[i].name));
    say(" while trying ", 14);
    say(last_words.words.data(), last_words.length);
    say("\n", 1);
    ::sigaction(number, &last_words.before[i], nullptr);
  }
  // A fault happens again when the handler returns; what somebody sent has to be sent again.
  if (info->si_code <= 0) ::raise(number);
}

}  // namespace

LastWords::LastWords() {
  RG_ASSERT(!last_words.installed, "one at a time");
  last_words.installed = true;
  are("nothing yet");
  stack_t own{};
  own.ss_sp = last_words.stack.data();
  own.ss_size = last_words.stack.size();
  ::sigaltstack(&own, &last_words.stack_before);
  struct sigaction action {};
  action.sa_sigaction = &handle;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i)
    ::sigaction(signals[i].number, &action, &last_words.before[i]);
}

LastWords::~LastWords() {
  for (std::size_t i = 0; i < signals.size(); ++i)
    ::sigaction(signals[i].number, &last_words.before[i], nullptr);
  ::sigaltstack(&last_words.stack_before, nullptr);
  last_words.installed = false;
}

void LastWords::are(std::string_view text) {
  last_words.length = 0;
  const std::size_t size = std::min(text.size(), last_words.words.size());
  std::copy_n(text.begin(), size, last_words.words.begin());
  last_words.length = size;
}

}  // namespace retrygate
