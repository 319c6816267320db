// Holds a policy against the invariants that its contract promises.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/named.hpp"
#include "properties/invariant.hpp"
#include "properties/token.hpp"

namespace retrygate {

struct Options {
  Seed seed{1};
  int cases = 200;
  std::vector<std::string> only = {};  // ids; empty is all
  // Cases that failed before. Each is tried before its invariant is searched; one that still fails is the
  // finding. Those of other subjects are passed over.
  std::vector<Token> saved = {};
  // Told of a case that fails, as it was first met, before smaller ones are tried.
  std::function<void(const Invariant&, const std::string& unshrunk)> first_failure = {};
  // Told of each case before it is tried: of what a subject that kills the process was given.
  std::function<void(const Invariant&, const std::string& text)> trying = {};
  // Smaller cases that are tried around one that fails. Absent: 400, but none where draws do not come back.
  std::optional<int> shrinks = {};
};

struct VerdictRow {
  std::string subject;
  const Invariant* invariant = nullptr;
  Verdict verdict = Verdict::holds;
  std::string note;
  Counterexample counterexample = {};
  std::optional<Token> mended = {};  // a saved case of this invariant that no longer fails
};

// One row per invariant in the order of their ids. The seed of a row follows from the suite's seed, the
// invariant's id and the subject's name alone: a new invariant disturbs no other.
std::vector<VerdictRow> check(const Subject&, const Options& = {});
// The same for one invariant.
VerdictRow check_one(const Invariant&, const Subject&, const Options& = {});
// The one case of a token alone, of this subject: it fails as it did then, or holds. Of an invariant that has
// no single cases all of them.
VerdictRow replay(const Token&, const Subject&, const Options& = {});

// A named policy as a subject: with the deviations of its preset, and the same policy at the edges of its
// settings, as far as it takes them.
Subject subject_of(const NamedPolicy&);
// How far a check goes: what it tries, in a line, and what it leaves out.
struct Coverage {
  std::string tried;
  std::vector<std::string> not_tried;
};
Coverage coverage_of(const Subject&, const Options& = {});
// Is that what a check with these options does anyway?
bool repeats_all(const Token&, const Options&);
// Gives a failing case its token, and the command that repeats it.
void name_case(Counterexample&, const std::string& subject, Token);

Verdict worst(const std::vector<VerdictRow>&);  // holds when there is none

}  // namespace retrygate
