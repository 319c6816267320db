#include "policies/process_load.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

namespace retrygate {
namespace {

// What proc(5) calls /proc/PID/stat: after the name in brackets come the state, parent, group, session,
// terminal, its group, flags, four counts of faults, and the clock ticks in user and in system mode.
struct Stat {
  char state = ' ';
  pid_t group = 0;
  std::int64_t ticks = 0;
};

std::optional<Stat> stat_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  Stat stat;
  std::int64_t skipped = 0, user = 0, system = 0;
  rest >> stat.state >> skipped >> stat.group;
  for (int i = 0; i < 8; ++i) rest >> skipped;
  rest >> user >> system;
  stat.ticks = user + system;
  return rest ? std::optional(stat) : std::nullopt;
}

}  // namespace

std::optional<GroupLoad> load_of_group(pid_t group) {
  std::error_code fault;
  std::filesystem::directory_iterator processes("/proc", fault);
  const std::int64_t per_s = ::sysconf(_SC_CLK_TCK);
  if (fault || per_s <= 0) return std::nullopt;
  GroupLoad load;
  bool found = false;
  for (const std::filesystem::directory_iterator end; processes != end; processes.increment(fault)) {
    if (fault) return std::nullopt;
    const std::string name = processes->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = stat_of(processes->path());
    if (!stat || stat->group != group) continue;
    found = true;
    load.wants_cpu = load.wants_cpu || stat->state == 'R' || stat->state == 'D';
    load.cpu = load.cpu + Duration::ns(stat->ticks * (1'000'000'000 / per_s));
  }
  return found ? std::optional(load) : std::nullopt;
}

bool was_starved(const std::optional<GroupLoad>& before, const std::optional<GroupLoad>& after,
                 Duration apart) {
  return before && after && before->wants_cpu && after->wants_cpu && after->cpu - before->cpu < apart / 2;
}

}  // namespace retrygate
