#include "policies/breaker.hpp"

#include <algorithm>
#include <bit>

namespace retrygate {
namespace {

using Memory = CircuitBreaker::Memory;
using State = CircuitBreaker::State;

void change(Memory& m, State state) {
  m.state = state;
  m.in_a_row = 0;
  m.trials = 0;
  m.failed_bits = 0;
  m.counted = 0;
  ++m.epoch;
}

bool tripped(const Breaker& b, Memory& m, bool failed) {
  if (b.failures > 0) {
    m.in_a_row = failed ? m.in_a_row + 1 : 0;
    return m.in_a_row >= b.failures;
  }
  const auto window = static_cast<int>(b.window_calls);
  const std::uint64_t kept = window >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << window) - 1;
  m.failed_bits = (m.failed_bits << 1 | (failed ? 1U : 0U)) & kept;
  m.counted = static_cast<std::uint8_t>(std::min(window, m.counted + 1));
  // 0.3 of 10 is 3: the product in doubles may come out a rounding higher.
  return m.counted == window && std::popcount(m.failed_bits) >= b.failure_ratio * window - 1e-9;
}

}  // namespace

bool CircuitBreaker::permit(const Breaker& b, Memory& m, Permit& permit, Instant now) {
  if (!permits(b, m, now)) return false;
  if (m.state == State::open) change(m, State::half_open);
  permit = {m.epoch, m.state == State::half_open};
  if (permit.trial) ++m.trials;
  return true;
}

void CircuitBreaker::told(const Breaker& b, Memory& m, Permit& permit, Result result, Instant now) {
  if (permit.epoch != m.epoch) return;
  if (permit.trial) --m.trials;
  permit.trial = false;
  if (result == Result::none) return;
  const bool failed = result == Result::failure;
  if (m.state == State::half_open) {
    if (failed) {
      change(m, State::open);
      m.opened = now;
    } else if (++m.in_a_row >= b.successes) {
      change(m, State::closed);
    }
  } else if (m.state == State::closed && tripped(b, m, failed)) {
    change(m, State::open);
    m.opened = now;
  }
}

}  // namespace retrygate
