// Checks what lives outside: a program of any language, asked over pipes, and a recorded trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/external.hpp"
#include "properties/check.hpp"
#include "properties/recorded.hpp"

namespace retrygate {

struct OutsideOptions : Options {
  const Value* contract_text = nullptr;  // the contract as written: what the program is greeted with
  ProcessLimits limits = {};
};

struct OutsideResult {
  // In the order of their ids; what was asked for by name and cannot be tried is unsure.
  std::vector<VerdictRow> rows;
  Coverage coverage = {};
  std::int64_t decisions = 0;  // that the program was asked for
};

// What is put to a program: 60,000 decisions at most, calls of up to 1,100 attempts, 8 fresh processes beside
// the first. With other cases than 200 all three in proportion.
struct Effort {
  std::int64_t decisions = 60'000, attempts = 1100, draws = 2000;
  std::size_t processes = 8;
};
Effort effort_of(int cases);

// One program against all invariants that a recording of its answers decides. A failure is looked for again
// in a fresh process that is told of nothing else; the case that shows it there is the least one. Programs
// that cannot be started or do not greet: the fault.
tl::expected<OutsideResult, ProtocolFault> check_program(const std::string& name, const std::string& command,
                                                         const Contract&, const OutsideOptions& = {});
// The one case of a token alone; without a place in it all that the invariant needs.
tl::expected<OutsideResult, ProtocolFault> replay_program(const Token&, const std::string& name,
                                                          const std::string& command, const Contract&,
                                                          const OutsideOptions& = {});

// A recording of a real client against all invariants that it decides.
OutsideResult check_trace(const std::string& name, Trace, const Contract&, const OutsideOptions& = {});

}  // namespace retrygate
