// What a subject promises, as data. Every field is optional: what is absent is not promised, and the
// checks say so. Design: "Subjects", "Contract".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/attempt.hpp"
#include "policies/base/config.hpp"

namespace retrygate {

enum class GrowthKind : std::uint8_t { none, constant, linear, exponential, fibonacci, polynomial, table };
enum class JitterKind : std::uint8_t {
  none,
  full,
  equal,
  proportional,
  additive,
  decorrelated,
  decorrelated_v2
};
enum class CapKind : std::uint8_t { hard, clamp, before_jitter };
std::string_view to_string(GrowthKind);
// Does it draw from the delay before, instead of a ceiling that grows?
constexpr bool replaces_growth(JitterKind kind) {
  return kind == JitterKind::decorrelated || kind == JitterKind::decorrelated_v2;
}
std::string_view to_string(JitterKind);
std::string_view to_string(CapKind);

// How a delay is spread around its ceiling c.
//   none          c
//   full          U[0, c]
//   equal         U[c/2, c]
//   proportional  U[c - ratio*c, c + ratio*c]       ratio in (0, 1]
//   additive      U[c, c + most]                    most > 0
//   decorrelated  U[base, 3 * previous delay], previous = base at first; growth does not apply
//   decorrelated_v2  base / 1.4 * (f(n - 1 + U) - f(n - 2 + U')), f(t) = 2^t tanh(sqrt(4 t)), U' the draw of
//   the
//                 retry before; base is near the median of the first delay; growth does not apply. Source:
//                 Polly.Contrib.WaitAndRetry, Backoff.DecorrelatedJitterV2
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

// What a wait forced by Retry-After does to the policy's own delay.
enum class RetryAfterRule : std::uint8_t {
  floor,          // max(own, header)
  exact,          // header
  max,            // min(own, header): early by declaration
  exact_or_stop,  // header; a header above retry_after_max ends the call
  ignore
};
enum class RetryAfterOver : std::uint8_t { stop, clip };  // what is done above retry_after_max
std::string_view to_string(RetryAfterRule);
std::string_view to_string(RetryAfterOver);

// What limits the retries of all calls of a client together. Every kind starts full.
enum class BudgetKind : std::uint8_t {
  token_bucket,   // capacity tokens, + refill_per_s; a retry costs `cost`
  ratio,          // retries <= ratio * calls within `window`, + reserve_per_s (Finagle, Linkerd)
  grpc_throttle,  // capacity tokens; a failure costs 1, a success gives `ratio`; retries while above half
  aws_quota,  // capacity tokens; a retry costs `cost`, after a timeout `timeout_cost`; a success gives back
              // what the last retry of the call cost, or 1
  aws_adaptive,  // a measured send rate, cut on throttling and raised by the CUBIC law; with a capacity, the
                 // aws_quota as well, as in the SDKs' adaptive mode
  sre_throttle  // sends fail at once with probability max(0, (calls - k * accepts) / (calls + 1)) in `window`
};
std::string_view to_string(BudgetKind);
struct Budget {
  BudgetKind kind = BudgetKind::token_bucket;
  double capacity = 0;        // tokens
  double cost = 1;            // tokens of a retry
  double timeout_cost = 0;    // tokens of a retry after a timeout
  double refill_per_s = 0;    // tokens per second
  double ratio = 0;           // retries per call; tokens per success
  double reserve_per_s = 0;   // retries per second that are always allowed
  double k = 0;               // sre_throttle: calls per accepted call that are let through
  Duration window = {};       // how long a call counts; aws_adaptive: how long a measurement takes
  double beta = 0;            // aws_adaptive: a throttled rate is multiplied by it
  double cubic_scale = 0;     // aws_adaptive: rate(t) = cubic_scale * (t - k)^3 + the rate when throttled
  double rate_per_s_min = 0;  // aws_adaptive: sends per second that are always allowed
  double smoothing = 0;       // aws_adaptive: weight of the newest measurement
  bool operator==(const Budget&) const = default;
};
std::string to_string(const Budget&);

// A circuit breaker: closed -> open after `failures` in a row, or when the share of failures among the last
// `window_calls` reaches `failure_ratio`; open -> half-open after `open_for`; half-open lets `trials` through
// at a time and closes after `successes` in a row, opens again at the first failure.
enum class BreakerUnit : std::uint8_t { attempt, call };  // what it counts
struct Breaker {
  BreakerUnit unit = BreakerUnit::attempt;
  std::int64_t failures = 0;      // 0: by failure_ratio
  double failure_ratio = 0;       // (0, 1]; 0: by failures
  std::int64_t window_calls = 0;  // of failure_ratio, 1..64; none opens before so many were counted
  Duration open_for;
  std::int64_t trials = 1;
  std::int64_t successes = 1;
  bool operator==(const Breaker&) const = default;
};
std::string to_string(const Breaker&);

struct Contract {
  std::string name;
  std::optional<GrowthKind> growth;
  std::optional<Duration> base;                // the first ceiling; the constant delay
  std::optional<double> factor;                // of an exponential growth
  std::optional<double> exponent;              // of a polynomial growth: base * n^exponent
  std::optional<std::vector<Duration>> table;  // of growth by table; its last entry goes on
  std::optional<Duration> cap;
  CapKind cap_kind = CapKind::hard;  // means something where there is a cap
  std::optional<Jitter> jitter;
  Duration tick = Duration::ns(1);           // resolution of the delays
  std::optional<std::int64_t> max_attempts;  // the first try counts
  std::optional<Duration> elapsed;           // no attempt starts later than this after the call started
  std::optional<Duration> deadline;   // the call must be over by then: no attempt starts at or after it
  std::optional<Duration> timer_max;  // the longest wait that the platform's timer can hold
  std::optional<RetryAfterRule> retry_after;
  std::optional<Duration> retry_after_max;  // a policy never waits longer for a header
  std::optional<RetryAfterOver> retry_after_over;
  std::optional<RetryOn> retry_on;
  std::optional<bool> idempotent_only;  // a request that is not idempotent is never sent again
  std::optional<Budget> budget;
  std::optional<Breaker> breaker;
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
