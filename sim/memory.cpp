#include "sim/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

namespace retrygate {
namespace {

// "max" or a file that is not there is no limit.
std::optional<double> limit_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  double bytes = 0;
  if (in >> bytes) return bytes;
  return std::nullopt;
}

}  // namespace

// Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (memory.max holds for everything below it; a line
// "0::PATH" in /proc/self/cgroup) and cgroup-v1/memory.rst. Where a container sees only its own part of the
// tree, PATH may not exist there; the top of what it sees is looked at in any case.
double memory_limit_bytes(const std::string& root) {
  double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (!v2 && controllers.find(",memory,") == std::string::npos) continue;
    const std::filesystem::path top = root + (v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
    const std::filesystem::path own = std::filesystem::path(line.substr(second + 1)).relative_path();
    std::filesystem::path group = top;
    auto part = own.begin();
    for (;;) {
      const auto limit = limit_in(group / (v2 ? "memory.max" : "memory.limit_in_bytes"));
      bytes = std::min(bytes, limit.value_or(bytes));
      if (part == own.end()) break;
      group /= *part++;
    }
  }
  return bytes;
}

}  // namespace retrygate
