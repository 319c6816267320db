// What a recording shows: attempts that have already been made, held against a contract. A program in another
// language is judged by the recording of what it answered, a log by itself.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "policies/base/rng.hpp"
#include "policies/trace.hpp"
#include "properties/invariant.hpp"

namespace retrygate {

// A fresh process of the same program: the first calls of its clients 0, 1, 2 ...
struct FreshProcess {
  Seed seed;
  Trace trace = {};
};

struct Recording {
  Trace trace;
  std::vector<FreshProcess> processes = {};
  bool ours = true;  // was it asked by us? Then our time 0 is the start of 2026, and 503 or what the contract
                     // lists has been tried; a log may not hold what an invariant needs to see
  bool cut_short = false;  // the program failed before it had been asked all
};

// Can a recording decide this invariant at all?
bool decided_by_recording(std::string_view invariant);

// One recording against one contract, which outlive it.
class Judge {
 public:
  Judge(const Recording&, const Contract&);
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  ~Judge();

  // The verdict of an invariant that a recording decides. not-promised where the contract does not speak of
  // it, unsure where the recording does not hold what would show it.
  Finding operator()(std::string_view invariant, double alpha) const;

 private:
  struct Evidence;  // what is to be seen in it
  std::unique_ptr<const Evidence> evidence_;
};

}  // namespace retrygate
