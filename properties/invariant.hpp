// What must hold of a retry policy: the invariants, what is checked, and the words of a verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/loop.hpp"
#include "policies/preset.hpp"

namespace retrygate {

enum class Level : std::uint8_t { must, should };
enum class Evidence : std::uint8_t { exact, statistical };
// In order of severity: the worse wins. broken is a failure of the checker, never of the subject.
enum class Verdict : std::uint8_t { holds, not_promised, unsure, deviates, fails, broken };
std::string_view to_string(Level);
std::string_view to_string(Evidence);
std::string_view to_string(Verdict);

// The same policy at an edge of its settings: no delay, a delay of 1 ns, a cap as low as the base.
struct Variant {
  std::string settings;  // "base=0ns"
  AnyPolicy policy;
};

struct Subject {
  std::string name;
  AnyPolicy policy;
  Contract contract;
  std::vector<Deviation> deviations = {};
  std::vector<Variant> variants = {};
  // The policy as a fresh process would have it. Absent: the same value, with other seeds.
  std::function<AnyPolicy(std::uint64_t process)> fresh = {};
  // Do decisions follow from the Rng that is passed in? A program with a generator of its own says no: the
  // same case may then give another delay.
  bool keyed = true;
  bool jumps = true;  // may attempt numbers skip?
  // A whole retry loop in place of a policy, which is then never asked.
  std::optional<AnyLoop> loop = {};
  // How attempts fail where any failure will do. Absent: as the contract promises to retry.
  std::optional<Status> failure = {};
};
Subject subject_of(std::string name, AnyPolicy);
Subject subject_of(std::string name, AnyLoop);

struct Counterexample {
  std::string unshrunk;        // the case as it was first met
  std::string shrunk;          // the least case found; the same text when nothing smaller fails
  std::string place = {};      // of the case, for a token; empty: it shows in all cases together
  std::string elsewhere = {};  // where else it fails; empty: that was not looked for
  std::string token = {};      // what names it (token.hpp)
  std::string repeat = {};     // the command that repeats it
};

// What an invariant is given to spend.
struct Trial {
  std::uint64_t seed = 0;  // of this invariant and subject alone
  int cases = 200;
  int shrinks = 400;     // at most so many smaller cases are tried
  double alpha = 1e-10;  // of a statistical invariant: how often a faithful subject may be accused
  bool jumps = true;     // may attempt numbers skip?
  // The place of the one case to try, where the invariant has places; nothing else is tried, or shrunk.
  std::optional<std::string> replay = {};
  std::function<void(const std::string&)> first_failure = {};  // told of it before anything is shrunk
  std::function<void(const std::string&)> trying = {};         // told of each case before it is tried
  std::uint64_t suite_seed = 1;                                // what `seed` was made from
};

struct Finding {
  Verdict verdict = Verdict::holds;
  std::string note;  // why it is unsure or broken
  Counterexample counterexample = {};
};

struct Invariant {
  std::string_view id;
  Level level;
  Evidence evidence;
  std::string_view claim;
  std::string_view why;
  std::string_view source;          // where users were bitten
  bool (*applies)(const Subject&);  // is it promised at all?
  Finding (*check)(const Subject&, const Trial&);
};

const Shelf<Invariant>& invariants();

}  // namespace retrygate
