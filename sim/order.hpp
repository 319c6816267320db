// What happens first: the one rule for everything that can happen at the same time. Results therefore depend
// neither on the order of scheduling nor on the kind of queue.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace retrygate {

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// The turns of one instant. A slot is free before anybody asks for it; an answer that comes at the last
// moment is in time; and who was answered or gave up sends again before the requests of that instant are
// taken.
enum class Turn : std::uint8_t {
  departure,  // a request leaves a worker, or a stage's own clock goes
  reply,      // an answer reaches its caller
  timeout,    // a caller stops waiting
  send,       // a policy is asked whether a request may leave, where that is an event of its own
  arrival     // a request reaches the server or one of its stages
};

// By time, then turn, then client, call and attempt.
struct Order {
  std::int64_t time = never;  // ns
  Turn turn = Turn::arrival;
  std::uint32_t client = 0, call = 0;
  std::uint64_t attempt = 0;  // or the lineage of a request inside the server
  friend constexpr auto operator<=>(const Order&, const Order&) = default;
};

}  // namespace retrygate
