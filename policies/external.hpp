// A policy that lives in a program of any language: protocol `retrygate-policy` version 1, JSON Lines over
// stdin and stdout on virtual time. policies/adapters/README.md is its guide.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/attempt.hpp"
#include "policies/base/config.hpp"
#include "policies/base/rng.hpp"
#include "policies/process.hpp"

namespace retrygate {

// What the program says of itself when it is greeted.
struct Introduction {
  std::string name;
  bool seeded = true;       // takes all its randomness from our seed
  bool jumps = false;       // attempt numbers may skip
  bool can_before = false;  // wants to be asked before a send
  bool can_cancel = false;  // can be told of a cancellation while it waits
};

// One line to the program.
struct Question {
  enum class Kind : std::uint8_t {
    ended,     // this attempt has ended so: what now?
    may_send,  // the attempt is about to be sent: may it?
    cancelled  // the caller gave up during the wait after this attempt
  };
  Kind kind = Kind::ended;
  std::int64_t client = 0;  // names a fresh instance of the policy
  std::int64_t call = 0;    // names a fresh call of it
  Attempt attempt = {};     // of may_send: its number, and when it would start as `finished`
};

// How a program broke the protocol, with what shows it.
struct ProtocolFault {
  std::string what;      // "the program ended with exit code 1"
  std::string question;  // the line that it had to answer; empty at its start and end
  std::string answer;    // the line that it wrote, if it wrote one
  std::string said;      // the last lines of its stderr
  bool late = false;     // it was only silent for too long, which a busy machine can do to any program
};
std::string to_string(const ProtocolFault&);

// A line that a program wrote in answer to question `id`: a decision, or what is wrong with the line. Only
// the answer to may_send may be "send".
tl::expected<Decision, std::string> read_answer(const std::string& line, std::int64_t id, bool may_send);
// Its answer to the greeting.
tl::expected<Introduction, std::string> read_greeting(const std::string& line);

// One running program. Answers come in the order of the questions, and many may be under way at once.
class ExternalProgram {
 public:
  // Starts `command` and greets it. `contract` is what the user wrote as its contract; it is passed on. Not
  // started, or no valid greeting: a fault.
  static tl::expected<ExternalProgram, ProtocolFault> start(const std::string& command, Seed seed,
                                                            const Value* contract = nullptr,
                                                            ProcessLimits limits = {});
  // The same in two steps: programs that were launched start up at the same time.
  static tl::expected<ExternalProgram, ProtocolFault> launch(const std::string& command, Seed seed,
                                                             const Value* contract = nullptr,
                                                             ProcessLimits limits = {});
  std::optional<ProtocolFault> greet();

  const Introduction& introduction() const { return introduction_; }

  // One decision per question; fewer when the program broke the protocol, which fault() then tells. After a
  // fault nothing more is asked. `wait(0)` is the answer of one that lets a send through.
  std::vector<Decision> ask(std::span<const Question> questions);
  const std::optional<ProtocolFault>& fault() const { return fault_; }

  // Ends the program: it must write no more and exit with 0. Its fault, the first one if there was one.
  std::optional<ProtocolFault> finish();

  std::int64_t asked() const { return last_id_; }  // questions so far

 private:
  ExternalProgram(Process process, std::string hello)
      : process_(std::move(process)), hello_(std::move(hello)) {}
  ProtocolFault told(std::string what, std::string question = {}, std::string answer = {});

  Process process_;
  std::string hello_;
  Introduction introduction_;
  std::int64_t last_id_ = 0;
  std::optional<ProtocolFault> fault_;
};

}  // namespace retrygate
