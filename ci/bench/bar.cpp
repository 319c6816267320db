#include "ci/bench/bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace retrygate::bench {

Outcome report(const std::string& name, const std::string& value, const std::string& bar, Outcome outcome) {
  const char* words[] = {"met", "MISSED", "skipped"};
  fmt::print("{:<44} {:>12} {:>12}  {}\n", name, value, bar, words[static_cast<int>(outcome)]);
  std::fflush(stdout);
  return outcome;
}

int closing(const std::vector<Outcome>& outcomes) {
  const auto count = [&](Outcome what) { return std::count(outcomes.begin(), outcomes.end(), what); };
  fmt::print("{} met, {} missed, {} skipped (a peer that is not installed)\n", count(Outcome::met),
             count(Outcome::missed), count(Outcome::skipped));
  if (count(Outcome::missed) > 0) return 1;
  return count(Outcome::met) > 0 ? 0 : 3;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const std::size_t half = x.size() / 2;
  return x.size() % 2 == 1 ? x[half] : (x[half - 1] + x[half]) / 2;
}

std::optional<std::string> output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char piece[4096];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  if (::pclose(pipe) != 0) return std::nullopt;
  return text;
}

}  // namespace retrygate::bench
