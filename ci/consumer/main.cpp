// A policy of a user's own, and a named one, through the installed headers.
#include <cstdio>
#include <vector>

#include "policies/named.hpp"
#include "policies/policy.hpp"

namespace mine {

using namespace retrygate;

// Waits one more second after every failure of the call, three times.
struct Staircase {
  Duration step = Duration::s(1);
  using Client = Stateless;
  struct Call {
    std::int64_t failures;
  };

  Decision after(Client&, Call& call, const Attempt& attempt, Rng&) const {
    if (attempt.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (++call.failures > 3) return Decision::stop(Stop::attempts);
    return Decision::wait(step * call.failures);
  }
  Contract contract() const {
    Contract c;
    c.name = "staircase";
    c.max_attempts = 4;
    return c;
  }
  bool operator==(const Staircase&) const = default;
  friend std::string to_string(const Staircase& p) { return "staircase of " + to_string(p.step); }
};
static_assert(Policy<Staircase>);

}  // namespace mine

int main() {
  using namespace retrygate;
  const AnyPolicy policy = mine::Staircase{};
  alignas(std::max_align_t) std::byte call[call_slot_bytes];
  policy.start_call(call);
  Rng rng(Seed{1});
  std::string said;
  for (std::int64_t n = 1; n <= 4; ++n) {
    Attempt attempt;
    attempt.number = n;
    attempt.outcome.status = Status::http(503);
    said += to_string(policy.after(nullptr, call, attempt, rng)) + "; ";
  }
  if (said != "wait 1s; wait 2s; wait 3s; stop: attempts; ") {
    std::printf("the staircase said: %s\n", said.c_str());
    return 1;
  }
  // The catalogue came along, though nothing refers to its parts by name.
  const auto named = find_policy("full-jitter:cap=1s", {"here", 0, 1});
  if (!named || named->policy.contract().cap != Duration::s(1)) {
    std::printf("full-jitter:cap=1s: %s\n", named ? "wrong cap" : to_string(named.error()).c_str());
    return 1;
  }
  std::printf("%s, %s\n", to_string(policy).c_str(), to_string(named->policy).c_str());
  return 0;
}
