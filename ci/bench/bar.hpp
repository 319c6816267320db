// What the programs of bars have in common: how a bar is told, and what all of them together say.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace retrygate::bench {

enum class Outcome { met, missed, skipped };

// Prints the line of one bar; skipped: a peer, or a tool, is not installed.
Outcome report(const std::string& name, const std::string& value, const std::string& bar, Outcome);

// Prints the counts. 0: all that was measured was met; 1: a bar was missed; 3: nothing was measured.
int closing(const std::vector<Outcome>&);

double median(std::vector<double>);

// What a command writes to its standard output; nothing if it fails to run.
std::optional<std::string> output_of(const std::string& command);

}  // namespace retrygate::bench
