// Holds a policy against the invariants that its contract promises.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/invariant.hpp"

namespace retrygate {

struct Options {
  Seed seed{1};
  int cases = 200;
  std::vector<std::string> only = {};  // ids; empty is all
};

struct VerdictRow {
  std::string subject;
  const Invariant* invariant = nullptr;
  Verdict verdict = Verdict::holds;
  std::string note;
  Counterexample counterexample = {};
};

// One row per invariant in the order of their ids. The seed of a row follows from the suite's seed, the
// invariant's id and the subject's name alone: a new invariant disturbs no other.
std::vector<VerdictRow> check(const Subject&, const Options& = {});

Verdict worst(const std::vector<VerdictRow>&);  // holds when there is none

}  // namespace retrygate
