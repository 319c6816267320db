// How often a faithful policy is accused: every preset, under many seeds.
#pragma once

#include <cstddef>

namespace retrygate {

// Prints a Markdown table. Returns how many accusations there were.
std::size_t false_alarms(std::size_t seeds);

}  // namespace retrygate
