// What the subcommands print, apart from the parsing of their options.
#pragma once

#include <string>
#include <vector>

#include "ci/report.hpp"
#include "policies/named.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

// What something undecided does: exit with 3; exit with 0 but say so in the last line; nothing.
enum class Inconclusive { fail, warn, pass };

struct CheckRequest {
  std::uint64_t seed = 1;
  int cases = 200;
  std::vector<std::string> only;  // invariant ids; empty is all
  bool strict = false;            // a failed SHOULD counts too
  Inconclusive inconclusive = Inconclusive::warn;
};

// Every subject against every invariant that it promises. Unknown ids in `only` are an error. The report is
// not concluded: several may be one.
Result<Report> check_policies(const std::vector<NamedPolicy>&, const CheckRequest&);
Errors unknown_invariants(const std::vector<std::string>& ids, const Where&);
// Lays the verdicts of a report down as its exit code.
void conclude(Report&, const CheckRequest&);

// Means over seeds of every metric of a table, one block per policy and scenario.
std::string samples_text(const SampleTable&);

}  // namespace retrygate::ci
