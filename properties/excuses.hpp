// Reasons for a call to end early that have nothing to do with its outcome: no time is left, a budget is
// spent, a breaker is open. One counts only where the contract has it and it can really be the reason.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/contract.hpp"
#include "properties/bounds.hpp"
#include "properties/walk.hpp"

namespace retrygate {

// What had happened when the call ended. The counts are of its client, which may have made other calls.
struct Circumstances {
  Duration used;                           // of the call's time
  long double longest_wait = without_end;  // that might have followed, in ns
  std::int64_t failures = 0;               // attempts that have failed, this one included
  std::int64_t retries = 0;                // made so far
  std::int64_t failed_calls = 0;           // over by now
  std::optional<Duration> deadline = {};   // of the caller, from the start of the call
};

// The longest own delay that the contract allows before retry n, in ns; without_end where it sets no bound.
long double longest_wait(const Contract&, std::int64_t n, std::optional<Duration> previous);
// Of the only call of a client, at its last step.
Circumstances circumstances_of(const Contract&, const Case&, const Step& last);

// The first reason that the contract has and the circumstances allow.
std::optional<Stop> excuse(const Contract&, const Circumstances&);
// Is this one?
bool excused(const Contract&, Stop why, const Circumstances&);

}  // namespace retrygate
