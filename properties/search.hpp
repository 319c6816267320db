// The search for a counterexample: random cases, and smaller ones around the first that fails.
// RapidCheck stays behind search.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/base/units.hpp"
#include "properties/invariant.hpp"

namespace retrygate {

// One case that an invariant is tried on.
struct Case {
  std::int64_t attempt = 1;  // the attempt that has just failed
  std::uint64_t seed = 0;
  std::uint64_t client = 0;
  std::uint64_t call = 0;
  Duration started;           // of the call
  std::int64_t permille = 0;  // of a time limit: how much of it was used up
  std::uint64_t choice = 0;   // what else an invariant chooses by, see `pick`
};

// One of `n` things, n >= 1; `place` tells apart the choices of one case. The first one for choice 0.
std::size_t pick(const Case&, std::size_t place, std::size_t n);

// One command of a sequence, as the invariant reads it: which of six, and two choices of four for how.
struct Command {
  static constexpr std::size_t kinds = 6, choices = 4;
  std::size_t kind = 0, how = 0, also = 0;
};

// What commands are given to: the subject, and a model of what it must do.
class Machine {
 public:
  virtual ~Machine() = default;
  // What is wrong with what the subject did. Nothing is run after a complaint.
  virtual std::optional<std::string> run(const Command&) = 0;
};

// Attempts tried: dense to 70, then where counters and powers of two have ended in the past. Without jumps
// nothing beyond dense_to.
inline constexpr std::int64_t dense_to = 1100;
const std::vector<std::int64_t>& attempt_numbers();
std::size_t numbers_tried(bool jumps);  // how many of them, from the first

// "1..70, 96, 127..129": numbers that count on are joined. In at most so many parts, "1..70, ... 1100".
std::string ranges(const std::vector<std::int64_t>& increasing, std::size_t parts_most = 100);

// What tells the failing cases of an invariant apart: the attempt after which the delay is wrong, or several
// things of which the number of the attempt need not be one.
enum class Blame : std::uint8_t { attempt, several };

// What is wrong with a case, in words that name the attempt; which one it is, unless it is the case's own.
struct Wrong {
  Wrong(std::string what) : text(std::move(what)) {}  // NOLINT(google-explicit-constructor)
  Wrong(std::string what, std::int64_t after) : text(std::move(what)), attempt(after) {}
  std::string text;
  std::optional<std::int64_t> attempt;
};

// Which attempt numbers the cases of a search take: `first`, as far as they lie within reach, then one after
// the other all the rest, again and again; none beyond `last`, if there is any up to it.
struct Order {
  std::vector<std::int64_t> first = {};
  std::optional<std::int64_t> last = {};
};

// `complaint` returns what is wrong with a case, if anything. Its attempt goes by the order, the rest of it
// is drawn. A case to replay is tried alone. Deterministic, and bounded by trial.cases and trial.shrinks.
// Unsure when there is no case at all.
Finding search(const Trial& trial, const std::function<std::optional<Wrong>(const Case&)>& complaint,
               Blame = Blame::several, const Order& = {});

// Stateful: random sequences of commands, each given to a fresh machine; a sequence that fails is made
// shorter, and its commands simpler. A case has no attempt of its own here (it is 1). The first sequences are
// short, the later ones have up to `longest` commands.
Finding search_sequences(const Trial& trial, int longest,
                         const std::function<std::unique_ptr<Machine>(const Case&)>& machine);

}  // namespace retrygate
