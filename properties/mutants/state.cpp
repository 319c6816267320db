// Faults of what is remembered, and of what is forgotten too early.
#include <algorithm>
#include <cmath>
#include <memory>

#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

Duration grown(const Contract& c, std::int64_t n) {
  const Duration d = c.base->scaled(std::exp2(static_cast<double>(std::min<std::int64_t>(n, 80) - 1)));
  return c.cap ? std::min(*c.cap, d) : d;
}

// The field of the connection is never set back.
Decision never_reset(const Contract& c, Notes& client, Notes&, const Attempt&, Rng&) {
  return Decision::wait(grown(c, ++client.count));
}

// A connection that was made counts as a success, however soon it is lost.
Decision reset_on_accept(const Contract& c, Notes&, Notes& call, const Attempt& a, Rng&) {
  using enum TransportError;
  const Status s = a.outcome.status;
  if (s == Status::transport(connection_reset) || s == Status::transport(truncated))
    call.count = a.number - 1;
  return Decision::wait(grown(c, a.number - call.count));
}

// The handshake resets the backoff; sessions of 40 minutes end in a failure all the same.
Decision reset_on_handshake(const Contract& c, Notes&, Notes& call, const Attempt& a, Rng&) {
  if (a.finished - call.at >= Duration::s(2400) && a.number > 1) call.count = a.number - 1;
  const Duration delay = grown(c, a.number - call.count);
  call.at = a.finished + delay;
  return Decision::wait(delay);
}

// The attempt counter lies in an object that every user of the policy holds.
struct SharedCounter {
  Duration base;
  double factor;
  std::shared_ptr<std::int64_t> count = std::make_shared<std::int64_t>(0);
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    // Each call starts it anew, and so for all the others.
    *count = a.number == 1 ? 1 : *count + 1;
    return Decision::wait(base.scaled(std::pow(factor, static_cast<double>(*count - 1))));
  }
  Contract contract() const { return exponential(base, factor, Duration::max(), JitterKind::none); }
  bool operator==(const SharedCounter&) const = default;
  friend std::string to_string(const SharedCounter&) { return "shared counter"; }
};

}  // namespace

void add_state(Shelf<Mutant>& shelf) {
  const auto law = [](Duration base, Duration cap) { return exponential(base, 2, cap, JitterKind::none); };
  shelf.add({"never-reset",
             "not_reset_after_success",
             "reset-after-success",
             "pusher/pusher-websocket-dotnet#97",
             Misjudges{law(Duration::s(1), Duration::s(10)), &never_reset},
             {"calls-isolated"},
             "what is shared by all is shared by the calls of one client too"});
  shelf.add({"blips-wait-240s",
             "not_reset_after_success",
             "reset-after-success",
             "TheSpaghettiDetective/OctoPrint-Obico#9",
             Misjudges{law(Duration::s(1), Duration::s(240)), &never_reset},
             {"calls-isolated"},
             "what is shared by all is shared by the calls of one client too"});
  shelf.add(
      {"reset-on-accept",
       "reset_too_early",
       "reset-not-early",
       "FreeTAKTeam/LXMF-rs#493",
       Misjudges{law(Duration::ms(500), Duration::s(60)), &reset_on_accept},
       {"delay-in-bounds"},
       "a connection that is reset is a failure like others: no reason for a delay below the interval"});
  shelf.add({"reset-on-handshake",
             "reset_too_early",
             "reset-not-early",
             "vitorpamplona/amethyst#3219",
             Misjudges{law(Duration::s(1), Duration::s(300)), &reset_on_handshake},
             {"delay-in-bounds"},
             "attempts of 40 minutes are no reason for a delay below the interval"});
  shelf.add(
      {"counter-shared-by-all",
       "thread_safety_shared_state",
       "instances-isolated",
       "jpillora/backoff#6",
       SharedCounter{Duration::ms(100), 2, std::make_shared<std::int64_t>(0)},
       {"calls-isolated", "delay-in-bounds", "growth-law"},
       "such a delay lies outside the interval; without jitter the law is one delay; what is shared by all "
       "is shared by the calls of one client too; attempts that skip numbers are counted one by one"});
  shelf.add(
      {"controller-shared",
       "thread_safety_shared_state",
       "instances-isolated",
       "lestrrat-go/backoff#1",
       SharedCounter{Duration::ms(500), 1.5, std::make_shared<std::int64_t>(0)},
       {"calls-isolated", "delay-in-bounds", "growth-law"},
       "such a delay lies outside the interval; without jitter the law is one delay; what is shared by all "
       "is shared by the calls of one client too; attempts that skip numbers are counted one by one"});
}

}  // namespace retrygate
