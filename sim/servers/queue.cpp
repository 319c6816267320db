// Workers behind a queue. They know nothing of their callers: a request whose caller has left is worked on
// all the same, unless skip_abandoned says otherwise.
#include "sim/servers.hpp"

namespace retrygate {
namespace {

struct QueueConfig {
  std::int64_t workers = 1;
  std::int64_t capacity = many;  // requests that wait, beside those in service
  bool skip_abandoned = false;
  Law service;
  Refusal full;

  // Nobody waits any more when a worker takes it up: no work, and the answer does not matter.
  bool drops(const Request& request, Instant begin) const { return skip_abandoned && begin > request.leaves; }
};

// First come, first served: when a request begins and ends is known when it comes, so no event is needed.
class Fifo : public Stage {
 public:
  Fifo(const QueueConfig& config, const World& world)
      : c_(config),
        key_(world.key(Stream::service)),
        service_(config.service),
        horizon_(world.horizon),
        limited_(config.capacity < many),
        free_at_(static_cast<std::size_t>(config.workers), Instant{}) {}

  Step arrive(Request& request, Agenda&) override {
    if (limited_) {
      while (!begins_.empty() && begins_.front() <= request.at) begins_.pop();
      if (static_cast<std::int64_t>(begins_.size()) >= c_.capacity && free_at_.top() > request.at)
        return c_.full.answer(request);
    }
    const Instant begin = std::max(request.at, free_at_.top());
    if (limited_ && begin > request.at) begins_.push(begin);
    request.at = begin;
    if (c_.drops(request, begin)) return c_.full.answer(request);
    Rng rng = key_.at(request.client, request.call, request.lineage);
    const Duration time = service_.draw(rng);
    request.work += done_in(horizon_, begin, time);
    request.at = begin + time;
    free_at_.replace(request.at);
    return Step::pass;
  }
  bool delays() const override { return true; }

 private:
  QueueConfig c_;
  StreamKey key_;
  Sampler service_;
  Duration horizon_;
  bool limited_;               // may the queue be full?
  QuadHeap<Instant> free_at_;  // of every worker
  Ring<Instant> begins_;       // of those who wait, if it may: they begin in the order in which they came
};

// Last come, first served, without interrupting anybody.
class Lifo : public Stage {
 public:
  Lifo(const QueueConfig& config, const World& world)
      : c_(config), key_(world.key(Stream::service)), horizon_(world.horizon) {}

  Step arrive(Request& request, Agenda& agenda) override {
    if (busy_ < c_.workers) {
      if (c_.drops(request, request.at)) return c_.full.answer(request);
      ++busy_;
      begin(request, agenda);
      return Step::pass;
    }
    if (static_cast<std::int64_t>(waiting_.size()) >= c_.capacity) return c_.full.answer(request);
    waiting_.push_back(agenda.hold(request));
    return Step::hold;
  }
  void wake(std::uint32_t, Agenda& agenda) override {
    while (!waiting_.empty()) {
      const std::uint32_t ticket = waiting_.back();
      waiting_.pop_back();
      Request& request = agenda.held(ticket);
      request.at = agenda.now();
      if (c_.drops(request, request.at)) {
        c_.full.answer(request);
        agenda.release(ticket, Step::answer);
        continue;
      }
      begin(request, agenda);
      return agenda.release(ticket, Step::pass);
    }
    --busy_;
  }
  bool delays() const override { return true; }
  bool holds() const override { return true; }

 private:
  void begin(Request& request, Agenda& agenda) {
    Rng rng = key_.at(request.client, request.call, request.lineage);
    const Duration time = c_.service.draw(rng);
    request.work += done_in(horizon_, request.at, time);
    request.at = request.at + time;
    agenda.wake(*this, Turn::departure, 0, request.at, request);
  }

  QueueConfig c_;
  StreamKey key_;
  Duration horizon_;
  std::int64_t busy_ = 0;
  std::vector<std::uint32_t> waiting_;  // tickets, the latest at the end
};

}  // namespace

void add_queue(Shelf<ServerKind>& shelf) {
  shelf.add({"queue",
             "`workers` (1) that take `service`, a law, each; `capacity` requests may wait, in `order` fifo "
             "or lifo; "
             "above it `answer` (503); `skip_abandoned = true` drops requests whose caller has left",
             [](Reader& table) {
               QueueConfig c;
               c.workers = count(table, "workers", 1, 1);
               c.capacity = count(table, "capacity", 0, many);
               c.skip_abandoned = table.flag("skip_abandoned").value_or(false);
               c.service = law(table, "service");
               c.full = read_refusal(table, 503);
               const bool lifo = table.word("order", {"fifo", "lifo"}) == 1;
               StageSpec spec;
               spec.random = c.service.random();
               spec.make = [=](const World& world) -> std::unique_ptr<Stage> {
                 if (lifo) return std::make_unique<Lifo>(c, world);
                 return std::make_unique<Fifo>(c, world);
               };
               return spec;
             }});
}

}  // namespace retrygate
