// Holds a policy against the invariants that its contract promises.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policies/named.hpp"
#include "properties/invariant.hpp"

namespace retrygate {

struct Options {
  Seed seed{1};
  int cases = 200;
  std::vector<std::string> only = {};  // ids; empty is all
  // Cases that failed before, invariant id -> token: they are tried first.
  std::map<std::string, std::string, std::less<>> replay = {};
  // Told of a case that fails, as it was first met, before smaller ones are tried.
  std::function<void(const Invariant&, const std::string& unshrunk)> first_failure = {};
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
// The same for one invariant.
VerdictRow check_one(const Invariant&, const Subject&, const Options& = {});

// A named policy as a subject: with the deviations of its preset, and the same policy at the edges of its
// settings, as far as it takes them.
Subject subject_of(const NamedPolicy&);
// "attempts 1..70, 96, .. 2147483648" or, for a subject that takes no jumps, what of them is not tried.
std::string attempts_tried(const Subject&);

Verdict worst(const std::vector<VerdictRow>&);  // holds when there is none

}  // namespace retrygate
