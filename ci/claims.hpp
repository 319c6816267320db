// Published claims against what this project computes. Verdict words: OK, OK-IF (only under a stated
// condition), IMPRECISE, WRONG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace retrygate::ci {

struct ClaimRow {
  std::string experiment;
  std::string claim;
  std::string published;
  std::string ours;
  std::string verdict;
  std::string why;
};

// The flaky-service article: seed 42 as printed, then a paired study over seeds first..last (at least two).
std::vector<ClaimRow> reproduce_flaky(std::uint64_t first, std::uint64_t last);

// What the other articles print that needs no simulation.
std::vector<ClaimRow> reproduce_tables();

}  // namespace retrygate::ci
