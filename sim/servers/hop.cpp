// Layered services: this one calls another service for every request, with a retry policy of its own. All its
// calls share one client's memory, as in one process.
#include <cstring>

#include "policies/named.hpp"
#include "sim/haste.hpp"
#include "sim/servers.hpp"

namespace retrygate {
namespace {

struct HopConfig {
  std::optional<AnyPolicy> policy;  // none: the policy under test
  std::string name;                 // of that policy, as it is written
  Duration attempt_timeout = Duration::max();
  bool propagate_deadline = false;
  std::vector<StageSpec> stages;
};

class Hop : public Stage {
 public:
  Hop(const HopConfig& config, const World& world)
      : c_(config),
        policy_(config.policy ? *config.policy : *world.subject),
        in_a_program_(!config.policy && world.subject_in_a_program),
        idempotent_(world.idempotent),
        key_(world.seed, Stream::policy, salt(world, 1)),
        gate_key_(world.seed, Stream::policy, salt(world, 2)),
        inner_(config.stages, world, this) {
    policy_.start_client(client_);
  }

  Step arrive(Request& request, Agenda& agenda) override {
    const std::uint32_t id = new_call();
    Call& call = calls_[id];
    call.ticket = agenda.hold(request);
    call.started = call.watched = agenda.now();
    policy_.start_call(call.memory);
    schedule(agenda, id, Turn::arrival, agenda.now(), {});
    return Step::hold;
  }

  void wake(std::uint32_t token, Agenda& agenda) override {
    const Event e = events_[token];
    free_events_.push_back(token);
    const Call& call = calls_[e.call];
    // The call may have ended meanwhile, or gone on to its next attempt: then a timeout means nothing.
    if (call.ticket == none || call.generation != e.generation || call.attempt != e.attempt) return;
    if (e.turn == Turn::arrival) return send(e.call, agenda);
    if (call.awaits) judge(e.call, e.outcome, agenda);
  }

  // The inner service has answered, or will at request.at. Its work for an answer that fails, or that nobody
  // waits for, is wasted; the rest is as useful as the outer answer.
  void finished(Request& request, Agenda& agenda) override {
    const std::uint32_t id = request.parent;
    const Call& call = calls_[id];
    const bool awaited =
        call.ticket != none && call.generation == request.slot && call.attempt == request.attempt;
    const bool in_time = awaited && request.at <= request.leaves && request.at != Instant::never();
    if (in_time && request.outcome.status.succeeded())
      agenda.held(call.ticket).work += request.work;
    else
      agenda.waste(request.work);
    if (in_time) schedule(agenda, id, Turn::reply, request.at, request.outcome);
  }
  bool holds() const override { return true; }
  bool is_hop() const override { return true; }
  std::optional<Instant> last_fault_end() const override { return inner_.last_fault_end(); }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Call {
    std::uint32_t ticket = none;  // of the outer request; none: this place is free
    std::uint32_t generation = 0;
    std::int64_t attempt = 1;
    std::uint64_t asked = 0;
    bool awaits = false;
    Instant started;
    // Attempts and times that one was put off, and when their number was last a multiple of the limit.
    std::int64_t steps = 0;
    Instant watched;
    alignas(std::max_align_t) std::byte memory[call_slot_bytes];
  };
  struct Event {
    std::uint32_t call, generation;
    std::int64_t attempt;
    Turn turn;        // arrival: this attempt is sent; else it ends
    Outcome outcome;  // with which it ends
  };

  // The policy streams of the layers differ from the clients' and from each other.
  static std::uint64_t salt(const World& world, std::uint64_t use) {
    return detail::mix(world.policy_salt + world.number * detail::golden, use);
  }

  std::uint32_t new_call() {
    std::uint32_t id = none;
    if (free_calls_.empty()) {
      id = static_cast<std::uint32_t>(calls_.size());
      calls_.emplace_back();
    } else {
      id = free_calls_.back();
      free_calls_.pop_back();
    }
    calls_[id].attempt = 1;
    calls_[id].asked = 0;
    calls_[id].awaits = false;
    calls_[id].steps = 0;
    return id;
  }

  void schedule(Agenda& agenda, std::uint32_t id, Turn turn, Instant at, const Outcome& outcome) {
    const Event e{id, calls_[id].generation, calls_[id].attempt, turn, outcome};
    std::uint32_t token = static_cast<std::uint32_t>(events_.size());
    if (free_events_.empty()) {
      events_.push_back(e);
    } else {
      token = free_events_.back();
      free_events_.pop_back();
      events_[token] = e;
    }
    agenda.wake(*this, turn, token, at, agenda.held(calls_[id].ticket));
  }

  void send(std::uint32_t id, Agenda& agenda) {
    Call& call = calls_[id];
    if (++call.steps % most_attempts_a_second == 0) {
      if (agenda.now() - call.watched < Duration::s(1)) return agenda.stand_still(c_.name);
      call.watched = agenda.now();
    }
    const Request outer = agenda.held(call.ticket);
    if (call.steps >= Haste::few && will_hold_time_still(call, outer, agenda.now()))
      return agenda.stand_still(c_.name);
    // Names this attempt among all that the outer one causes.
    const std::uint64_t lineage = outer.lineage * 0x100000001b3 + static_cast<std::uint64_t>(call.attempt);
    if (policy_.gates()) {
      Rng rng = gate_key_.at(outer.client, outer.call, lineage + (call.asked++ << 40));
      const Sending sending{call.attempt, agenda.now(), call.started,
                            c_.propagate_deadline ? outer.leaves : Instant::never()};
      const Decision decision = policy_.before(client_, call.memory, sending, rng);
      if (decision.stops()) return end(id, {Status::http(503), {}, {}}, agenda);
      if (decision.delay() > Duration{})
        return schedule(agenda, id, Turn::arrival, agenda.now() + decision.delay(), {});
    }
    call.asked = 0;
    call.awaits = true;
    Request inner;
    inner.client = outer.client;
    inner.call = outer.call;
    inner.attempt = call.attempt;
    inner.lineage = lineage;
    inner.at = inner.arrived = agenda.now();
    inner.leaves = agenda.now() + c_.attempt_timeout;
    inner.parent = id;
    inner.slot = call.generation;
    inner.chain = &inner_;
    if (inner.leaves != Instant::never())
      schedule(agenda, id, Turn::timeout, inner.leaves, {Status::transport(TransportError::timeout), {}, {}});
    if (!inner_.has_hops()) agenda.count_inner_request();
    if (inner_.go(inner, 0, agenda) == Step::answer) finished(inner, agenda);
  }

  bool will_hold_time_still(const Call& call, const Request& outer, Instant now) {
    if (in_a_program_) return false;
    const auto pace = haste_.suspected(now, calls_.size());
    const Instant deadline = c_.propagate_deadline ? outer.leaves : Instant::never();
    return pace && goes_on_for_ever(policy_, {{call.attempt, now, call.started, deadline},
                                              idempotent_,
                                              failure_,
                                              *pace,
                                              deadline,
                                              client_,
                                              call.memory,
                                              key_.at(outer.client, outer.call, outer.lineage)});
  }

  void judge(std::uint32_t id, const Outcome& outcome, Agenda& agenda) {
    Call& call = calls_[id];
    call.awaits = false;
    const Request& outer = agenda.held(call.ticket);
    const Attempt attempt{call.attempt, outcome,
                          idempotent_,  call.started,
                          agenda.now(), c_.propagate_deadline ? outer.leaves : Instant::never()};
    Rng rng = key_.at(outer.client, outer.call,
                      outer.lineage * 0x100000001b3 + static_cast<std::uint64_t>(call.attempt));
    const Decision decision = policy_.after(client_, call.memory, attempt, rng);
    if (outcome.status.succeeded() || decision.stops()) return end(id, outcome, agenda);
    failure_ = {outcome.status, outcome.retry_after, {}};
    ++call.attempt;
    schedule(agenda, id, Turn::arrival, agenda.now() + std::max(Duration{}, decision.delay()), {});
  }

  void end(std::uint32_t id, const Outcome& outcome, Agenda& agenda) {
    Call& call = calls_[id];
    const std::uint32_t ticket = call.ticket;
    call.ticket = none;
    ++call.generation;
    free_calls_.push_back(id);
    Request& outer = agenda.held(ticket);
    outer.at = agenda.now();
    outer.outcome = outcome;
    agenda.release(ticket, outcome.status.succeeded() ? Step::pass : Step::answer);
  }

  HopConfig c_;
  AnyPolicy policy_;
  bool in_a_program_, idempotent_;
  Haste haste_;
  Outcome failure_;  // with which an attempt ended last
  StreamKey key_, gate_key_;
  Chain inner_;
  alignas(std::max_align_t) std::byte client_[client_slot_bytes];
  std::vector<Call> calls_;
  std::vector<std::uint32_t> free_calls_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> free_events_;
};

}  // namespace

void add_hop(Shelf<ServerKind>& shelf) {
  shelf.add({"hop",
             "calls another service, its `stages`, with a `policy` of its own (\"subject\": the one under "
             "test) and an "
             "`attempt_timeout`; `propagate_deadline = true` tells the policy when the caller leaves",
             [](Reader& table) {
               HopConfig c;
               const auto policy = table.text("policy");
               if (!policy)
                 table.fail("policy", "a hop needs a 'policy'",
                            "a policy's name, or \"subject\" for the one under test");
               else if (*policy != "subject") {
                 if (auto found =
                         keep(find_policy(*policy, table.where("policy"), folder_of(table.where("policy"))),
                              table.complaints())) {
                   if (found->program)
                     table.fail("policy", "a hop's policy cannot be a program",
                                "the one under test can: --policy exec:CMD, and here \"subject\"");
                   c.policy = found->policy;
                 }
                 c.name = *policy;
               }
               c.attempt_timeout = table.duration("attempt_timeout").value_or(c.attempt_timeout);
               c.propagate_deadline = table.flag("propagate_deadline").value_or(false);
               c.stages = read_stages(table);
               StageSpec spec;
               // Its policy's own draws count as the world's, unless it is the one under test.
               spec.random = c.policy.has_value();
               if (c.policy) spec.contents = to_string(*c.policy);
               for (const StageSpec& stage : c.stages) {
                 spec.random = spec.random || stage.random;
                 spec.faults = spec.faults || stage.faults;
                 if (!stage.contents.empty())
                   spec.contents += fmt::format("; {}: {}", stage.kind, stage.contents);
                 if (stage.fault_gap >= spec.fault_gap) continue;
                 spec.fault_gap = stage.fault_gap;
                 spec.fault_gap_where = stage.fault_gap_where;
               }
               spec.make = [c](const World& world) { return std::make_unique<Hop>(c, world); };
               return spec;
             }});
}

}  // namespace retrygate
