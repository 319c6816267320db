// What the subcommands print, apart from the parsing of their options.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ci/report.hpp"
#include "ci/saved_cases.hpp"
#include "policies/named.hpp"
#include "properties/check.hpp"
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
  std::string cases_file = {};             // where cases that failed are kept; empty: nowhere
  std::optional<std::string> replay = {};  // the token of one case: that one alone, of the only subject
  // Told of a failure before smaller cases are tried.
  std::function<void(const std::string& subject, std::string_view invariant, const std::string& unshrunk)>
      first_failure = {};
};

// How a report shows a subject.
struct ShownSubject {
  std::string name;
  Where where = {};
  std::string options = {};  // what a command that repeats its check says beside it: " --contract FILE"
};

// The cases that failed earlier, out of request.cases_file, and into it what this run adds. What cannot be
// read or written is a note of the report: no verdict depends on it.
class CaseKeeper {
 public:
  CaseKeeper(const CheckRequest&, Report&);
  // What a check of this subject is asked to do.
  Options options_for(const std::string& subject) const;
  // Lays the rows of one subject down in the report, keeps what failed and drops what is mended.
  void add(const std::vector<retrygate::VerdictRow>&, const ShownSubject&);
  void close();

 private:
  const CheckRequest& request_;
  Report& report_;
  bool saving_ = false;
  SavedCases saved_;
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
