// Retry budgets: what limits the retries, or the sends, of all calls of one client together. Each kind is a
// type with the memory of a client, what one call owes (`Charge`), and
//   told      an attempt ended; `counts` says whether it is a failure that the policy would retry
//   withdraw  may this call be sent again? Then it is paid for
//   ask       may this attempt be sent now? (only of kinds with `gates`)
// Zeroed memory is a full budget.
#pragma once

#include <array>
#include <cmath>

#include "policies/base/rng.hpp"
#include "policies/classify.hpp"
#include "policies/contract.hpp"

namespace retrygate {

struct Ended {  // one attempt
  Status status;
  std::int64_t number;
  bool counts;  // a failure worth another try
  Instant now;
};

struct NoBudget {
  static constexpr bool gates = false;
  struct Memory {};
  struct Charge {};
  static void told(const Budget&, Memory&, Charge&, const Ended&) {}
  static bool withdraw(const Budget&, Memory&, Charge&, const Ended&) { return true; }
};

// `capacity` tokens, refilled at `refill_per_s`; a retry costs `cost`.
struct TokenBucket {
  static constexpr bool gates = false;
  struct Memory {
    double missing = 0;  // tokens below capacity
    Instant counted;     // when
  };
  struct Charge {};
  static void told(const Budget&, Memory&, Charge&, const Ended&) {}
  static bool withdraw(const Budget&, Memory&, Charge&, const Ended&);
};

// Retries in any `window` <= ratio * calls in it + reserve_per_s * window. The window is cut into ten; a part
// that reaches beyond it counts among the retries and not among the calls, so the bound holds for every
// window whatever its start.
// Source: Finagle, RetryBudget.scala (ttl 10 s, 10 retries per second, 20 %); Linkerd and Tower likewise.
struct RatioBudget {
  static constexpr bool gates = false;
  static constexpr std::int64_t parts = 10;
  struct Memory {
    std::int64_t part = 0;  // number of the newest part
    std::array<std::uint32_t, parts + 1> calls{}, retries{};
  };
  struct Charge {};
  static void told(const Budget&, Memory&, Charge&, const Ended&);
  static bool withdraw(const Budget&, Memory&, Charge&, const Ended&);
};

// Tokens start at `capacity`; a failure worth a retry costs 1, a success gives `ratio`; retries only while
// tokens > capacity / 2. In thousandths: the specification keeps three decimals of the ratio.
// Source: gRPC proposal A6, "Throttling Retry Attempts and Hedged RPCs".
struct GrpcThrottle {
  static constexpr bool gates = false;
  struct Memory {
    std::int64_t missing = 0;  // thousandths of a token
  };
  struct Charge {};
  static void told(const Budget&, Memory&, Charge&, const Ended&);
  static bool withdraw(const Budget&, Memory&, Charge&, const Ended&);
};

// `capacity` tokens without refill by time; a retry costs `cost`, after a timeout `timeout_cost`; a success
// gives back what the last retry of its call cost, or 1 if there was none.
// Source: botocore, retries/quota.py and standard.py.
struct AwsQuota {
  static constexpr bool gates = false;
  struct Memory {
    double missing = 0;
  };
  struct Charge {
    double paid = 0;  // for the last retry
  };
  static void told(const Budget&, Memory&, Charge&, const Ended&);
  static bool withdraw(const Budget&, Memory&, Charge&, const Ended&);
};

// A token bucket in front of every send, whose rate follows the CUBIC law of TCP: on throttling the rate is
// beta * min(rate, measured), later cubic_scale * (t - k)^3 + w, w the rate when throttled, t the time since,
// k = cbrt(w (1 - beta) / cubic_scale); never above twice the measured rate. Before the first throttling
// answer everything passes.
// Source: botocore, retries/adaptive.py, throttling.py, bucket.py.
struct AwsAdaptive {
  static constexpr bool gates = true;
  struct Memory {
    AwsQuota::Memory quota;
    double sends = 0;  // answers since the last measurement
    double measured_per_s = 0;
    Instant measured_until;  // end of the last measurement
    double tokens = 0, tokens_max = 1;
    double rate_per_s = 1;  // refill
    Instant refilled;
    double throttled_per_s = 0;  // w
    Instant throttled_at;
    bool throttling = false;  // since the first throttling answer
  };
  struct Charge {
    AwsQuota::Charge quota;
  };
  static double zero_point_s(const Budget&, double rate_per_s);  // k
  static void told(const Budget&, Memory&, Charge&, const Ended&);
  static bool withdraw(const Budget&, Memory&, Charge&, const Ended&);
  // The wait until the send has its token; 0 takes it.
  static std::optional<Duration> ask(const Budget&, Memory&, Instant now, Rng&);
};

// A send fails at once with probability max(0, (requests - k * accepts) / (requests + 1)), counted over
// `window`; what was refused here counts among the requests.
// Source: Beyer et al., "Site Reliability Engineering", chapter 21, equation 21-1.
struct SreThrottle {
  static constexpr bool gates = true;
  static constexpr std::int64_t parts = 10;
  struct Memory {
    std::int64_t part = 0;
    std::array<std::uint32_t, parts> requests{}, accepts{};
  };
  struct Charge {};
  static void told(const Budget&, Memory&, Charge&, const Ended&);
  static bool withdraw(const Budget&, Memory&, Charge&, const Ended&) { return true; }
  static std::optional<Duration> ask(const Budget&, Memory&, Instant now, Rng&);  // nothing: refused
};

}  // namespace retrygate
