// What a subject promises, as data. Every field is optional: what is absent is not promised, and the
// checks say so. Design: "Subjects", "Contract".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/attempt.hpp"
#include "policies/base/config.hpp"

namespace retrygate {

enum class GrowthKind : std::uint8_t { none, constant, linear, exponential };
enum class JitterKind : std::uint8_t { none, full, equal, proportional, additive, decorrelated };
enum class CapKind : std::uint8_t { hard, clamp, before_jitter };
std::string_view to_string(GrowthKind);
std::string_view to_string(JitterKind);
std::string_view to_string(CapKind);

// How a delay is spread around its ceiling c.
//   none          c
//   full          U[0, c]
//   equal         U[c/2, c]
//   proportional  U[c - ratio*c, c + ratio*c]       ratio in (0, 1]
//   additive      U[c, c + most]                    most > 0
//   decorrelated  U[base, 3 * previous delay], previous = base at first; growth does not apply
struct Jitter {
  JitterKind kind = JitterKind::none;
  double ratio = 0;
  Duration most;
  bool operator==(const Jitter&) const = default;
};
std::string to_string(const Jitter&);

// A set of statuses: single ones, and whole classes such as "5xx".
struct RetryOn {
  std::vector<Status> statuses;
  std::vector<int> classes;  // 4 for "4xx", 5 for "5xx"
  bool contains(Status) const;
  // Does it speak about this kind of status at all? A list of HTTP codes says nothing about gRPC.
  bool speaks_about(Status::Kind) const;
  bool operator==(const RetryOn&) const = default;
};
std::string to_string(const RetryOn&);

struct Contract {
  std::string name;
  std::optional<GrowthKind> growth;
  std::optional<Duration> base;  // the first ceiling; the constant delay
  std::optional<double> factor;  // of an exponential growth
  std::optional<Duration> cap;
  CapKind cap_kind = CapKind::hard;  // means something where there is a cap
  std::optional<Jitter> jitter;
  Duration tick = Duration::ns(1);           // resolution of the delays
  std::optional<std::int64_t> max_attempts;  // the first try counts
  std::optional<Duration> elapsed;           // no attempt starts later than this after the call started
  std::optional<Duration> deadline;  // the call must be over by then: no attempt starts at or after it
  std::optional<RetryOn> retry_on;
  std::optional<bool> idempotent_only;  // a request that is not idempotent is never sent again
  bool operator==(const Contract&) const = default;
};

// Takes the contract's keys out of a table; leaves unknown ones to the caller's finish(). Keys that
// contradict each other (cap below base, factor without exponential growth) are complaints.
Contract read_contract(Reader&);
// The keys that a policy shares with a contract (all but `name` and `tick`), without the rules between
// them: a policy reads them over its own defaults and judges the result with `judge`.
void read_contract_keys(Reader&, Contract& into);
void judge(Reader&, const Contract&);

std::vector<std::string> describe(const Contract&);  // one promise a line, "delay never above 5s (hard cap)"

}  // namespace retrygate
