// How far a run is, on stderr.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace retrygate::ci {

// In place on a terminal, four times a second at most; as lines when `plain`, one in ten seconds. What it
// wrote in place is gone when it ends.
class Progress {
 public:
  explicit Progress(std::string_view when);  // auto (a terminal), plain, none
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool wanted() const { return wanted_; }
  // `note` follows the numbers.
  void operator()(std::size_t done, std::size_t all, std::string_view note = {});

 private:
  bool wanted_, in_place_, shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

}  // namespace retrygate::ci
