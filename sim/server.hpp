// What a server does with requests: stages that a request passes in order. A stage sees only requests, the
// agenda and randomness; it never acts, it says what becomes of the request or asks the agenda to be woken.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "policies/base/config.hpp"
#include "policies/base/rng.hpp"
#include "policies/base/shelf.hpp"
#include "policies/policy.hpp"
#include "sim/lane.hpp"
#include "sim/order.hpp"

namespace retrygate {

class Agenda;
class Chain;

struct Request {
  std::uint32_t client = 0;
  std::uint32_t call = 0;
  std::int64_t attempt = 1;  // from 1, counted by whoever sends it
  // Names the request among the attempts of (client, call) through all layers: the third argument of its
  // draws.
  std::uint64_t lineage = 1;
  Instant at;                         // now; a stage moves it on to when it is done with the request
  Instant leaves = Instant::never();  // when its caller stops waiting
  Outcome outcome;                    // of an answer
  Duration work;                      // server time spent on it
  bool replayed = false;              // the answer was remembered, nothing was processed

  // The simulator's own: where the request is.
  Instant arrived;
  std::uint32_t slot = 0;
  std::uint32_t stage = 0;
  std::uint32_t parent = 0;
  bool stray = false;  // its caller had left before it came
  Chain* chain = nullptr;
};

// What becomes of a request that reached a stage.
enum class Step : std::uint8_t {
  pass,    // goes on to the next stage at request.at
  answer,  // request.outcome leaves the server at request.at
  hold     // the stage keeps it (Agenda::hold) and will release it
};

class Stage {
 public:
  virtual ~Stage() = default;
  // Requests come in the order of their time.
  virtual Step arrive(Request&, Agenda&) = 0;

  // The three things a stage may need; the simulator keeps no state for what nobody needs.
  virtual bool counts() const {
    return false;
  }  // to be told when a request that it let pass leaves the server
  virtual bool delays() const { return false; }  // to let a request pass later than now
  virtual bool holds() const { return false; }   // to hold requests

  // A request that it let pass leaves the server at request.at, now or later, with request.outcome. Told
  // once.
  virtual void leave(const Request&, Instant /*now*/) {}
  // It has refused a request at once, at `now`: until when will it do the same to every request, unchanged
  // itself?
  virtual Instant refuses_until(Instant now) const { return now; }
  // What it asked the agenda for.
  virtual void wake(std::uint32_t /*token*/, Agenda&) {}
  // A request of its own chain (see Chain::owner) leaves that chain at request.at, now or later.
  virtual void finished(Request&, Agenda&) {}
  // Is it a service of its own behind this one?
  virtual bool is_hop() const { return false; }
  // When the last of its fault windows ends, if it has such; the start of the run where chance made none.
  virtual std::optional<Instant> last_fault_end() const { return std::nullopt; }
};

// What a stage is made for: one run of one scenario.
struct World {
  Seed seed;
  Duration horizon;
  bool idempotent = true;
  const AnyPolicy* subject = nullptr;  // the policy under test
  bool subject_in_a_program = false;   // asking it changes what it remembers
  std::uint64_t policy_salt = 0;
  std::uint64_t number = 0;  // of the stage, different for every stage of the scenario

  // The stage's own draws: key(...).at(client, call, lineage).
  StreamKey key(Stream stream) const { return {seed, stream, number}; }
};

// A stage as data: what was written, and how to make it.
struct StageSpec {
  std::string kind;
  std::string text;      // its keys and values, in one form for one meaning
  std::string contents;  // what the files and policies that it names hold, in the same way
  bool random = false;   // does it draw?
  bool faults = false;   // are there fault windows?
  // The shortest mean time from one fault window to the next, and where it is written.
  Duration fault_gap = Duration::max();
  Where fault_gap_where = {};
  std::function<std::unique_ptr<Stage>(const World&)> make;
  bool operator==(const StageSpec& other) const {
    return std::tie(kind, text, contents) == std::tie(other.kind, other.text, other.contents);
  }
};

// A family of stages on the shelf servers/*.cpp. `read` takes the keys it knows out of the table, complains
// to the reader, and returns how to make the stage (`kind` and `text` are filled in by the caller).
struct ServerKind {
  std::string_view id;
  std::string_view models;
  StageSpec (*read)(Reader&);
};
const Shelf<ServerKind>& servers();

// `stages = [{kind = "..."}, ...]` of a table.
std::vector<StageSpec> read_stages(Reader& table);

// The stages of one service in one run.
class Chain {
 public:
  Chain(const std::vector<StageSpec>& specs, const World& world, Stage* owner = nullptr);

  // Takes the request on from stage `from`. An answer, or hold: then finished requests come out of the
  // agenda.
  Step go(Request& request, std::uint32_t from, Agenda& agenda);
  // The stage that held the request answers it.
  void answered(const Request& request, Instant now) { left(request, request.stage, now); }
  bool last(std::uint32_t stage) const { return stage + 1 == stages_.size(); }
  bool suspends() const { return suspends_; }  // can go() return hold?
  Stage* owner() const { return owner_; }      // the stage whose requests these are; none for the clients'
  // Of the first stage, if there is one.
  Instant refuses_until(Instant now) const {
    return stages_.empty() ? now : stages_.front()->refuses_until(now);
  }
  bool has_hops() const { return hops_; }  // calls on to services behind this one
  std::optional<Instant> last_fault_end() const;

 private:
  Step left(const Request& request, std::uint32_t passed, Instant now) {
    if (passed > first_counting_) tell_counting(request, passed, now);
    return Step::answer;
  }
  void tell_counting(const Request& request, std::uint32_t passed, Instant now);
  Step later(Request& request, Agenda& agenda);

  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::uint32_t> counting_;
  std::uint32_t first_counting_ = ~std::uint32_t{0};
  bool suspends_ = false, hops_ = false;
  Stage* owner_;
};

// The clock of the server side and what its stages have asked for.
class Agenda {
 public:
  Instant now() const { return now_; }

  // Calls stage.wake(token) at `at`; at equal times in its turn, and in the order of the requests that caused
  // it.
  void wake(Stage& stage, Turn turn, std::uint32_t token, Instant at, const Request& cause) {
    push({order(cause, turn, at), 0, &stage, token});
  }
  // Keeps a request; the ticket names it until it is released.
  std::uint32_t hold(const Request& request);
  Request& held(std::uint32_t ticket) { return held_[ticket]; }
  // The request goes on at request.at >= now as the stage that held it says: pass or answer. It reaches the
  // next stage in its turn.
  void release(std::uint32_t ticket, Step step);

  // The rest is the loop's.
  struct Event {
    Order order;
    std::uint64_t number;  // of events of one attempt: in the order in which they were asked for
    Stage* stage;          // none: the request of that ticket reaches the next stage
    std::uint32_t token;
    friend bool operator<(const Event& a, const Event& b) {
      return a.order != b.order ? a.order < b.order : a.number < b.number;
    }
  };
  void start();
  Order next() const { return events_.empty() ? Order{} : events_.front().order; }
  std::int64_t due() const { return due_; }
  void set_due(std::int64_t due) { due_ = due; }
  void set_now(Instant now) { now_ = now; }
  void handle_next();
  // The held request reaches the next stage at request.at.
  void go_on(std::uint32_t ticket) {
    const Request& request = held_[ticket];
    push({order(request, Turn::arrival, request.at), 0, nullptr, ticket});
  }
  // Requests that reached a service which calls no other one.
  void count_inner_request() { ++inner_requests_; }
  std::int64_t inner_requests() const { return inner_requests_; }
  // Server time behind a hop that was spent for nothing, whatever becomes of the request that caused it.
  void waste(Duration work) { wasted_ += work; }
  Duration wasted() const { return wasted_; }
  // A call under that policy, one of a hop, makes too many attempts; no name: the policy under test.
  void stand_still(const std::string& policy) { stuck_ = policy; }
  const std::optional<std::string>& stuck() const { return stuck_; }
  // A request left its chain at request.at.
  void finished(Request& request);
  std::vector<Request>& done() { return done_; }  // the clients' requests that were finished since last asked

 private:
  static Order order(const Request& request, Turn turn, Instant at) {
    return {at.since_start.ns(), turn, request.client, request.call, request.lineage};
  }
  void push(Event e) {
    e.number = ++pushed_;
    events_.push(e);
    due_ = std::min(due_, e.order.time);
  }

  Instant now_;
  std::int64_t due_ = never;  // nothing but the big queue has anything before this
  Lane<Event> events_;
  std::uint64_t pushed_ = 0;
  std::int64_t inner_requests_ = 0;
  Duration wasted_;
  std::optional<std::string> stuck_;
  std::vector<Request> held_;
  std::vector<std::uint32_t> free_;
  std::vector<Request> done_;
};

[[gnu::always_inline]] inline Step Chain::go(Request& request, std::uint32_t from, Agenda& agenda) {
  const Instant now = agenda.now();
  const std::unique_ptr<Stage>* const stages = stages_.data();
  const auto n = static_cast<std::uint32_t>(stages_.size());
  for (std::uint32_t i = from; i < n; ++i) {
    request.stage = i;
    const Step step = stages[i]->arrive(request, agenda);
    if (step == Step::answer) return left(request, i, now);
    if (step == Step::hold) return step;
    if (request.at > now && i + 1 < n) return later(request, agenda);
  }
  return left(request, n, now);
}

}  // namespace retrygate
