// A circuit breaker as the memory of a client: closed -> open -> half-open -> closed or open again.
#pragma once

#include "policies/contract.hpp"

namespace retrygate {

struct NoBreaker {
  static constexpr bool gates = false;
  struct Memory {};
  struct Permit {};
};

// What is counted: attempts, or calls by how they end. A result of something sent before the last change of
// state is not counted: it says nothing about the server of now.
struct CircuitBreaker {
  static constexpr bool gates = true;
  enum class State : std::uint8_t { closed, open, half_open };
  struct Memory {
    Instant opened;
    std::uint64_t failed_bits = 0;  // the newest results, one bit each (failure_ratio)
    std::int32_t in_a_row = 0;      // failures when closed, successes when half-open
    std::int32_t trials = 0;        // under way
    std::uint16_t epoch = 0;        // counts the changes of state
    std::uint8_t counted = 0;       // results in failed_bits, at most 64
    State state = State::closed;
  };
  struct Permit {  // of one attempt, or of one call
    std::uint16_t epoch = 0;
    bool trial = false;
  };
  enum class Result : std::uint8_t { success, failure, none };  // none: nothing was learnt (cancelled)

  // May something be sent now?
  static bool permits(const Breaker& b, const Memory& m, Instant now) {
    return !refuses(b, m, now) && (m.state != State::half_open || m.trials < b.trials);
  }
  // Takes the permit if so; an open breaker becomes half-open when its time is up.
  static bool permit(const Breaker&, Memory&, Permit&, Instant now);
  static void told(const Breaker&, Memory&, Permit&, Result, Instant now);
  // Would a send at `when` be refused, as things stand?
  static bool refuses(const Breaker& b, const Memory& m, Instant when) {
    return m.state == State::open && when < m.opened + b.open_for;
  }
};

}  // namespace retrygate
