// How much memory a process may use.
#pragma once

#include <string>

namespace retrygate {

// Bytes: the machine's memory, or less where a control group (version 1 or 2) of this process says so. `root`
// is where /proc and /sys are; tests have their own.
double memory_limit_bytes(const std::string& root = "");

}  // namespace retrygate
