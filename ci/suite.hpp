// A suite: which policies are compared where, over which seeds, with what margins, and which are checked.
#pragma once

#include <string>
#include <vector>

#include "policies/base/config.hpp"
#include "policies/base/embedded.hpp"
#include "policies/named.hpp"

namespace retrygate::ci {

// A metric, and how much worse it may get: a share of the baseline's mean, or an absolute amount in the
// metric's own unit (seconds for times). Without an amount it is estimated and not judged.
struct Margin {
  std::string metric;
  std::optional<double> amount = {};  // 0.1 for "10%"
  bool relative = false;
  std::string text = {};  // as written
  Where where = {};
};
// "10%", "200ms" (of a time) or "0.5".
Result<Margin> parse_margin(const std::string& metric, std::string_view text, Where);

struct Seeds {
  std::uint64_t first = 1, last = 200;
  std::uint64_t count() const { return last - first + 1; }
  std::vector<std::uint64_t> values() const;
};
std::string to_string(const Seeds&);                      // "1..200"
Result<Seeds> parse_seeds(std::string_view text, Where);  // "1..200" or "7"

struct CompareTask {
  NamedPolicy baseline;
  std::vector<NamedPolicy> candidates;  // may be empty where a stored baseline is given
  std::vector<std::string> scenarios;
  std::vector<std::string> set = {};  // overrides of every scenario, "clients=400"
  Seeds seeds;
  std::vector<Margin> margins;
  Where where;
};

struct CheckTask {
  std::vector<NamedPolicy> subjects;
  std::vector<std::string> invariants;  // empty: all
};

struct Suite {
  std::string name, summary, path;
  std::vector<CompareTask> compare;
  std::vector<CheckTask> check;
};

// `metrics` are the ids that exist; all mistakes of the file are reported at once.
Result<Suite> read_suite(const Value& file, const std::string& path,
                         const std::vector<std::string_view>& metrics);
// "" is the shipped default; a shipped suite's id; else a path.
Result<Suite> find_suite(const std::string& reference, const std::vector<std::string_view>& metrics);
std::span<const EmbeddedFile> shipped_suites();

}  // namespace retrygate::ci
