// `retrygate check` for what lives outside: programs (exec:CMD) and recorded traces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ci/commands.hpp"
#include "policies/find_contract.hpp"

namespace retrygate::ci {

bool is_program(const std::string& subject);  // exec:CMD

// Neither concludes its report: several may be one (ci/commands.hpp).

// Every program against what the contract promises; without one, against what is always promised. A program
// that cannot be started is a note and exit code 4.
Result<Report> check_programs(const std::vector<std::string>& subjects, const std::optional<NamedContract>&,
                              const CheckRequest&);

// The recording in a CSV file (policies/trace.hpp says its columns).
Result<Report> check_recording(const std::string& path, const std::optional<NamedContract>&,
                               const CheckRequest&);

// One of them, which `reference` names on a command line; its contract as the program is greeted with it.
// What fails and what was tried goes into the report.
Result<void> check_program_as(const ShownSubject&, const std::string& reference, const std::string& command,
                              const Contract&, const Value* contract_text, const CheckRequest&, CaseKeeper&,
                              Report&);

void append(Report& to, const Report& more);

}  // namespace retrygate::ci
