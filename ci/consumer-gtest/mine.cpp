// A policy and a retry loop of a user's own, held against everything that they promise.
#include "properties/gtest.hpp"

namespace mine {

using namespace retrygate;

// 200 ms, 400 ms ... at most 5 s, eight attempts.
struct Doubling {
  Duration base = Duration::ms(200);
  Duration cap = Duration::s(5);
  using Client = Stateless;
  using Call = Stateless;

  Decision after(Client&, Call&, const Attempt& attempt, Rng&) const {
    if (attempt.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (attempt.number >= 8) return Decision::stop(Stop::attempts);
    Duration delay = base;
    for (std::int64_t n = 1; n < attempt.number; ++n) delay = delay * 2;
#ifdef FORGETS_ITS_CAP
    return Decision::wait(delay);
#else
    return Decision::wait(std::min(cap, delay));
#endif
  }
  Contract contract() const {
    Contract c;
    c.name = "doubling";
    c.growth = GrowthKind::exponential;
    c.base = base;
    c.factor = 2;
    c.cap = cap;
    c.jitter = Jitter{};
    c.max_attempts = 8;
    return c;
  }
  bool operator==(const Doubling&) const = default;
  friend std::string to_string(const Doubling&) { return "doubling"; }
};

// A whole loop: it may be cancelled while it sleeps, and its last error is the one that its caller sees.
class Sender {
 public:
  Outcome run(Clock& clock, Transport& transport) {
    for (int attempt = 1;; ++attempt) {
      const Outcome outcome = transport.send();
      if (outcome.status.succeeded() || attempt == 4) return outcome;
      if (!clock.sleep_unless_cancelled(Duration::s(1))) return outcome;
    }
  }
  Contract contract() const {
    Contract c;
    c.growth = GrowthKind::constant;
    c.base = Duration::s(1);
    c.jitter = Jitter{};
    c.max_attempts = 4;
    return c;
  }
  friend std::string to_string(const Sender&) { return "sender"; }
};

}  // namespace mine

RETRYGATE_CHECK(Doubling, mine::Doubling{})
RETRYGATE_CHECK(Sender, mine::Sender{})
