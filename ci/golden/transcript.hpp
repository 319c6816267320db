// What the tests of the command have in common: a scratch folder, a run of a shell command in it, and its
// transcript. Tests only.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "ci/version.hpp"
#include "policies/base/testing.hpp"

namespace retrygate::ci {

inline const std::filesystem::path source_dir = RETRYGATE_SOURCE_DIR;

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

struct Ran {
  int code = 0;  // 128 + n when signal n ended it, as shells have it
  std::string out, err;
  double seconds = 0;
};

// Runs `command` by /bin/sh in `folder`; `retrygate` is the one that was just built. `meanwhile` is called
// with the process id and the seconds that have passed, until the command ends. It is killed after
// `seconds_max`.
inline Ran run(const std::string& command, const std::filesystem::path& folder, double seconds_max = 120,
               const std::function<void(pid_t, double)>& meanwhile = {}) {
  const Scratch streams;
  const std::string out = streams.path() / "out", err = streams.path() / "err";
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    const std::string path = std::string(RETRYGATE_BUILD_DIR) + ":" + std::getenv("PATH");
    ::setenv("PATH", path.c_str(), 1);
    ::setenv("LC_ALL", "C", 1);
    ::unsetenv("NO_COLOR");
    const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT, 0666);
    const int to_err = ::open(err.c_str(), O_WRONLY | O_CREAT, 0666);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (::chdir(folder.c_str()) != 0 || ::dup2(nothing, 0) < 0 || ::dup2(to_out, 1) < 0 ||
        ::dup2(to_err, 2) < 0)
      ::_exit(126);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  Ran ran;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (ran.seconds > seconds_max) ::kill(-child, SIGKILL);
    if (meanwhile) meanwhile(child, ran.seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ran.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ran.out = contents(out);
  ran.err = contents(err);
  return ran;
}

// "$ command", what it wrote to stdout, "! " before each line of stderr, and its exit code.
inline std::string transcript(const std::string& command, const Ran& ran) {
  std::string text = "$ " + command + "\n" + ran.out;
  if (text.back() != '\n') text += '\n';
  for (std::size_t begin = 0; begin < ran.err.size();) {
    const std::size_t end = std::min(ran.err.find('\n', begin), ran.err.size());
    text += fmt::format("! {}\n", ran.err.substr(begin, end - begin));
    begin = end + 1;
  }
  return text + fmt::format("[exit {}]\n", ran.code);
}

// How often `word` stands in the text.
inline std::size_t count(std::string_view text, std::string_view word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// Fractions with more than 12 digits are cut to 10: the last ones depend on the mathematical library and on
// the instructions that it finds.
inline std::string without_last_digits(std::string_view text) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && (part(text[end]) || (end > begin && (text[end] == '-' || text[end] == '+') &&
                                                     (text[end - 1] == 'e' || text[end - 1] == 'E'))))
      ++end;
    if (end == begin) {
      out += text[begin++];
      continue;
    }
    const std::string word(text.substr(begin, end - begin));
    char* rest = nullptr;
    const double value = std::strtod(word.c_str(), &rest);
    const bool cut = word.size() > 13 && word.find('.') != std::string::npos && *rest == '\0';
    out += cut ? fmt::format("{:.10g}", value) : word;
    begin = end;
  }
  return out;
}

// "19 hold, 16 not promised" as "NN hold, NN not promised": a new invariant changes these numbers everywhere.
inline std::string without_counts(std::string text) {
  for (const std::string_view after : {" hold", " not promised"}) {
    for (std::size_t at = text.find(after); at != std::string::npos; at = text.find(after, at + 1)) {
      for (std::size_t i = at; i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0; --i)
        text[i - 1] = 'N';
    }
  }
  return text;
}

// What differs from commit to commit or from machine to machine is masked.
inline std::string masked(std::string text) {
  text = without_counts(std::move(text));
  text = replaced(std::move(text), commit(), "COMMIT");
  text = replaced(std::move(text), version(), "VERSION");
  return without_last_digits(text);
}

}  // namespace retrygate::ci
