#include "ci/command/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace retrygate::ci {

Progress::Progress(std::string_view when)
    : wanted_(when == "plain" || (when == "auto" && ::isatty(STDERR_FILENO) == 1)),
      in_place_(wanted_ && when == "auto") {}

Progress::~Progress() {
  if (shown_ && in_place_) fmt::print(stderr, "\r\033[K");
}

void Progress::operator()(std::size_t done, std::size_t all, std::string_view note) {
  const auto now = std::chrono::steady_clock::now();
  if (!wanted_ || done == 0 || now - last_ < std::chrono::milliseconds(in_place_ ? 250 : 10'000)) return;
  last_ = now;
  shown_ = true;
  const double spent = std::chrono::duration<double>(now - start_).count();
  const double left = spent / static_cast<double>(done) * static_cast<double>(std::max(done, all) - done);
  fmt::print(stderr, "{}{} of {} runs, about {:.0f} s left{}{}{}", in_place_ ? "\r\033[K" : "", done, all,
             left, note.empty() ? "" : "; ", note, in_place_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace retrygate::ci
