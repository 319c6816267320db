// Is a process that keeps silent to blame for it, or does the machine keep it waiting? Linux says so in /proc;
// elsewhere nothing is known.
#pragma once

#include <sys/types.h>

#include <optional>

#include "policies/base/units.hpp"

namespace retrygate {

// All processes of a group together.
struct GroupLoad {
  bool wants_cpu = false;  // one of them could run, or waits for a disk
  Duration cpu;            // that they have used
};
std::optional<GroupLoad> load_of_group(pid_t group);

// Between these two, `apart` of real time: did it want to run, and get less than half of one core? Then its
// silence is none of its own. False when nothing is known.
bool was_starved(const std::optional<GroupLoad>& before, const std::optional<GroupLoad>& after,
                 Duration apart);

}  // namespace retrygate
