// Policies put together from parts: growth x jitter x cap x limits x Retry-After x budget x breaker. What
// users write in TOML, and what most presets are.
#pragma once

#include "policies/backoff.hpp"
#include "policies/guarded.hpp"
#include "policies/jitter.hpp"
#include "policies/retry_table.hpp"

namespace retrygate {

// The parts, as data. `contract()` is what a policy built of them promises.
struct Parts {
  Backoff backoff;
  Jitter jitter;
  Cap cap;
  Limits limits;
  Guards guards = {};
  Grid grid = {};
  bool operator==(const Parts&) const = default;
};
Contract contract_of(const Parts&);
// The part of it that does not speak of delays.
void promise_limits(const Limits&, const Guards&, Contract& into);
std::string to_string(
    const Parts&);  // "exponential base 100ms factor 2, full jitter, cap 5s hard, 12 attempts"

// Growth, jitter, cap and limits alone, where the delay follows from the attempt's number: no memory.
class Composed {
 public:
  using Client = Stateless;
  using Call = Stateless;
  explicit Composed(Parts parts);

  Decision after(Client&, Call&, const Attempt& attempt, Rng& rng) const {
    if (attempt.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (!table_.decides(attempt.number, attempt.outcome.status) || attempt.deadline != Instant::never())
        [[unlikely]]
      return in_full(attempt, rng);
    RetryTable::Memory none;
    return Decision::wait(table_.delay(attempt.number, none, rng));
  }
  const RetryTable& retry_table() const { return table_; }
  Contract contract() const { return contract_of(parts_); }
  bool operator==(const Composed& other) const { return parts_ == other.parts_; }
  friend std::string to_string(const Composed& p) { return to_string(p.parts_); }

 private:
  RetryTable::Range range_of(std::int64_t n) const;  // what retry n draws from
  Decision in_full(const Attempt&, Rng&) const;

  Parts parts_;
  RetryTable table_;
};

// delay = U[base, 3 * previous delay], previous = base at first. With cap kind clamp or hard the draw is
// clamped to the cap; before_jitter draws up to 3 * min(cap, previous).
// Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
class Decorrelated {
 public:
  using Client = Stateless;
  using Call = RetryTable::Memory;
  explicit Decorrelated(Parts parts);

  Decision after(Client&, Call& call, const Attempt& attempt, Rng& rng) const {
    if (const auto stop = last(parts_.limits, attempt)) return Decision::stop(*stop);
    return within_time(parts_.limits, attempt, table_.delay(attempt.number, call, rng));
  }
  const RetryTable& retry_table() const { return table_; }
  Contract contract() const { return contract_of(parts_); }
  bool operator==(const Decorrelated& other) const { return parts_ == other.parts_; }
  friend std::string to_string(const Decorrelated& p) { return to_string(p.parts_); }

 private:
  Parts parts_;
  RetryTable table_;
};

// Any parts as a law for `Guarded`.
struct PartsLaw {
  Parts parts;
  std::optional<Contract> documented = {};  // where a library's documentation says something else
  struct Memory {
    Duration previous;   // the delay before, 0 before the first retry (decorrelated)
    double reached = 0;  // f(n - 1 + U) of the retry before (decorrelated-v2)
  };
  Duration delay(Memory&, const Attempt&, Rng&) const;
  const Limits& limits() const { return parts.limits; }
  const Guards& guards() const { return parts.guards; }
  Contract contract() const { return documented ? *documented : contract_of(parts); }
  bool operator==(const PartsLaw&) const = default;
  friend std::string to_string(const PartsLaw& p) { return to_string(p.parts); }
};

// The cheapest policy that has these parts.
AnyPolicy compose(const Parts&);

// Reads a policy's keys (the contract's, `tick`, and `ratio` or `max` of a proportional or additive jitter)
// over `defaults`. Complaints go to the reader's list.
Parts read_parts(Reader&, const Parts& defaults);

}  // namespace retrygate
