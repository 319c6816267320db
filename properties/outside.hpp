// Checks what lives outside: a program of any language, asked over pipes, and a recorded trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/external.hpp"
#include "properties/check.hpp"
#include "properties/recorded.hpp"

namespace retrygate {

struct OutsideOptions {
  Seed seed{1};
  std::vector<std::string> only = {};    // ids; empty is all
  const Value* contract_text = nullptr;  // the contract as written: what the program is greeted with
  ProcessLimits limits = {};
};

struct OutsideResult {
  // In the order of their ids; what was asked for by name and cannot be tried is unsure.
  std::vector<VerdictRow> rows;
  std::vector<std::string> notes = {};  // what was not tried, and why
  std::int64_t decisions = 0;           // that the program was asked for
};

// One program against all invariants that a recording of its answers decides, within 60,000 decisions and
// nine processes. Programs that cannot be started or do not greet: the fault.
tl::expected<OutsideResult, ProtocolFault> check_program(const std::string& name, const std::string& command,
                                                         const Contract&, const OutsideOptions& = {});

// A recording of a real client against all invariants that it decides.
OutsideResult check_trace(const std::string& name, Trace, const Contract&, const OutsideOptions& = {});

}  // namespace retrygate
