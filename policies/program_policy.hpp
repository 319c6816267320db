// A policy in another process as a value: a running program that is asked one question at a time.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "policies/external.hpp"
#include "policies/policy.hpp"

namespace retrygate {

// The program broke the protocol: nothing more can be decided. Thrown where a decision is due and there is no
// other way to say it; the text names the program, what it broke and what shows it.
struct ProgramFault : std::runtime_error {
  ProgramFault(const std::string& text, bool has_started) : std::runtime_error(text), started(has_started) {}
  bool started;  // false: it never came so far as to greet
};

// Where policies are named, this stands before the command of one in a program: exec:CMD.
inline constexpr std::string_view program_prefix = "exec:";

class ProgramPolicy {
 public:
  // Numbers by which the program knows a client and a call of it; given when they are first asked about.
  struct Client {
    std::int64_t number = -1;
    Instant now;  // the last time that it was told
  };
  struct Call {
    std::int64_t number = -1;
    std::int64_t attempt = 0;   // the last one that was told
    std::int64_t admitted = 0;  // the last one that the gate has let through
    Instant started;
  };

  // Not running: what a name stands for. Whoever asks it for a decision gets a ProgramFault.
  ProgramPolicy(std::string command, Contract contract)
      : command_(std::move(command)), contract_(std::move(contract)) {}

  // The same, started and greeted with a seed: a process of its own, ended with the last copy.
  tl::expected<ProgramPolicy, ProtocolFault> started(Seed, const Value* contract_text,
                                                     ProcessLimits = {}) const;

  // One that can "before" and was not asked about this attempt is asked first. A refusal is the decision
  // then; that of sre-throttle, which is made by chance, changes nothing.
  Decision after(Client&, Call&, const Attempt&, Rng&) const;
  // Asks one that can "before"; any other lets everything through.
  Decision before(Client&, Call&, const Sending&, Rng&) const;
  // Tells one that can "cancel"; what it answers changes nothing.
  void abandoned(Client&, Call&, Instant now) const;
  // Its answer when the caller gives up `into` the wait after this attempt.
  Decision cancel(Client&, Call&, const Attempt&, Duration into) const;

  Contract contract() const { return contract_; }
  const std::string& command() const { return command_; }
  bool operator==(const ProgramPolicy& other) const {
    return command_ == other.command_ && contract_ == other.contract_;
  }
  friend std::string to_string(const ProgramPolicy& p) { return std::string(program_prefix) + p.command_; }

  // Of a running one:
  const Introduction& introduction() const;
  std::int64_t asked() const;  // questions so far
  std::optional<ProtocolFault> fault() const;
  std::optional<ProtocolFault> finish() const;  // ends it; its fault, the first one if there was one

 private:
  struct Session;
  Session& session() const;
  Decision ask(Client&, Call&, Question) const;
  Decision ask_the_gate(Client&, Call&, const Attempt&, Rng&) const;

  std::string command_;
  Contract contract_;
  std::shared_ptr<Session> session_;
};

}  // namespace retrygate
