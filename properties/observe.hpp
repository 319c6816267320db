// Runs whole retry loops on a clock and a transport of ours, and writes down what they do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/loop.hpp"
#include "properties/walk.hpp"

namespace retrygate {

// What happens around a loop.
struct Surroundings {
  // How attempt n, from 1, ends when it starts then.
  std::function<Scripted(std::int64_t attempt, Instant started)> answer;
  bool idempotent = true;
  std::optional<Duration> deadline = {};  // of the caller, from the start of the call
  std::size_t cancelled_sleep = 0;        // the call is cancelled during that sleep, from 1; 0: never
  std::int64_t permille = 0;              // how much of it is over by then
  std::size_t jump_at_sleep = 0;          // the wall clock is set in the middle of that sleep; 0: never
  Duration jump = {};
  Duration wall = Duration::s(1'000'000);  // ahead of the monotonic clock, at first
};

struct Sent {
  Instant started, ended;
  Outcome outcome;
};
struct Slept {
  Instant started, ended;
  std::size_t attempts = 0;  // that were made before
};

// What a call was seen to do.
struct Observed {
  std::vector<Sent> sent;
  std::vector<Slept> slept;
  std::optional<Instant> cancelled;  // when
  std::optional<Outcome> result;     // what its caller sees; nothing when it raised, or never ended
  std::optional<std::string> raised;
  bool endless = false;  // was ended by us
  Instant returned;
};

// One call of a client. The texts of its outcomes live as long as `surroundings`' answers keep them.
Observed observe(AnyLoop::Client&, const Case&, const Surroundings&);
// Of a fresh client: of the subject's loop, or of our own around its policy.
Observed observe(const Subject&, const Case&, const Surroundings&);
AnyLoop loop_of(const Subject&);

}  // namespace retrygate
