// Calls whose attempts hold virtual time still, and how a run learns early that it has some.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include "policies/policy.hpp"

namespace retrygate {

// A call that makes so many attempts (or is put off so often) within a second of virtual time stops the run:
// with delays of a nanosecond it would take for ever.
inline constexpr std::int64_t most_attempts_a_second = 100'000;

// Where many calls are under way they take turns, so that none of them comes to that number within minutes.
// But all of them together show it: Haste is told of every attempt of a call that has made a few, and looks
// from time to time how far the clock went. Calls that come to that number within a second, one with another,
// are suspected; whether they would go on so is then asked of the policy.
class Haste {
 public:
  static constexpr std::int64_t few = 32;  // attempts of a call that nobody counts

  // One more such attempt, when at most that many calls were under way. The mean time between the attempts of
  // one call if that is suspicious.
  std::optional<Duration> suspected(Instant now, std::size_t calls) {
    if (told_++ % between_looks != 0) return std::nullopt;
    const Duration took = now - last_look_;
    last_look_ = now;
    if (told_ == 1) return std::nullopt;
    // At least the truth: not all of the calls make such attempts all the time.
    const double pace = static_cast<double>(took.ns()) * static_cast<double>(calls) / between_looks;
    if (pace > suspicious_ns) return std::nullopt;
    return Duration::ns(static_cast<std::int64_t>(pace));
  }

 private:
  static constexpr std::int64_t between_looks = 1 << 24;  // half a second of work or so
  static constexpr double suspicious_ns = 1e9 / most_attempts_a_second;

  std::int64_t told_ = 0;
  Instant last_look_;
};

// A call that is about to send, and the world that it will meet.
struct Foreseen {
  Sending next;
  bool idempotent;
  Outcome failure;                 // with which its attempts end
  Duration pace;                   // from one attempt to the next at most, the wait included
  Instant until;                   // so long they fail
  const std::byte *client, *call;  // its memory
  Rng rng;                         // of no other use
};

// Does it make too many attempts before a second is over? Nothing is changed; what the policy remembers is
// copied. A gate's waits count, as they do in a run.
inline bool goes_on_for_ever(const AnyPolicy& policy, Foreseen f) {
  alignas(std::max_align_t) std::array<std::byte, client_slot_bytes> client;
  alignas(std::max_align_t) std::array<std::byte, call_slot_bytes> call;
  if (policy.client_bytes() > 0) std::memcpy(client.data(), f.client, policy.client_bytes());
  if (policy.call_bytes() > 0) std::memcpy(call.data(), f.call, policy.call_bytes());
  Sending& next = f.next;
  const Instant until = std::min(f.until, next.now + Duration::s(1));
  // An attempt itself takes what its first waits leave of the pace.
  constexpr std::int64_t first_waits = 64;
  Duration waited;
  for (std::int64_t steps = 0; steps < most_attempts_a_second; ++steps) {
    if (steps == first_waits) f.pace = std::max(Duration{}, f.pace - waited / first_waits);
    Decision decision =
        policy.gates() ? policy.before(client.data(), call.data(), next, f.rng) : Decision::wait(Duration{});
    if (decision.stops()) return false;
    if (decision.delay() <= Duration{}) {
      next.now = next.now + f.pace;
      decision = policy.after(
          client.data(), call.data(),
          {next.attempt, f.failure, f.idempotent, next.call_started, next.now, next.deadline}, f.rng);
      if (decision.stops()) return false;
      ++next.attempt;
    }
    const Duration wait = std::max(Duration{}, decision.delay());
    next.now = next.now + wait;
    if (steps < first_waits) waited = waited + wait;
    if (next.now >= until) return false;
  }
  return true;
}

}  // namespace retrygate
