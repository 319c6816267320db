#include "properties/observe.hpp"

#include <algorithm>
#include <exception>

namespace retrygate {
namespace {

// Ends a loop that does not end by itself. No std::exception: user code catches those.
struct EndOfTest {};

constexpr std::size_t sleeps_at_most = 100'000;
constexpr std::size_t sends_after_the_end = 3;

class World final : public Clock, public Transport {
 public:
  World(const Case& c, const Surroundings& around, Observed& trace)
      : around_(around), trace_(trace), now_{c.started}, wall_ahead_(around.wall) {
    if (around.deadline) deadline_ = now_ + *around.deadline;
  }

  Instant now() const override { return now_; }
  Instant wall() const override { return now_ + wall_ahead_; }
  Instant deadline() const override { return deadline_; }
  bool cancelled() const override { return trace_.cancelled && now_ >= *trace_.cancelled; }
  bool idempotent() const override { return around_.idempotent; }

  void sleep(Duration d) override { pass(d, false); }
  bool sleep_unless_cancelled(Duration d) override {
    pass(d, true);
    return !cancelled();
  }

  Outcome send() override {
    if (over_ && ++trailing_ > sends_after_the_end) end();
    const Instant started = now_;
    const Scripted scripted = around_.answer(static_cast<std::int64_t>(trace_.sent.size()) + 1, started);
    now_ = now_ + scripted.lasts;
    trace_.sent.push_back({started, now_, scripted.outcome});
    over_ = over_ || scripted.outcome.status.succeeded();
    return scripted.outcome;
  }

 private:
  [[noreturn]] void end() {
    trace_.endless = true;
    throw EndOfTest{};
  }

  void pass(Duration d, bool wakes) {
    d = std::max(Duration{}, d);
    const Instant started = now_;
    Instant until = now_ + d;
    const std::size_t number = trace_.slept.size() + 1;
    if (number > sleeps_at_most) end();
    if (number == around_.cancelled_sleep)
      trace_.cancelled = started + d.scaled(static_cast<double>(around_.permille) / 1000);
    if (number == around_.jump_at_sleep) wall_ahead_ = wall_ahead_ + around_.jump;
    if (wakes && trace_.cancelled) until = std::min(until, std::max(started, *trace_.cancelled));
    now_ = until;
    trace_.slept.push_back({started, now_, trace_.sent.size()});
  }

  const Surroundings& around_;
  Observed& trace_;
  Instant now_;
  Duration wall_ahead_;
  Instant deadline_ = Instant::never();
  bool over_ = false;
  std::size_t trailing_ = 0;
};

}  // namespace

Observed observe(AnyLoop::Client& client, const Case& c, const Surroundings& around) {
  Observed trace;
  World world(c, around, trace);
  Rng rng = StreamKey(Seed{c.seed}, Stream::policy).at(c.client, c.call);
  try {
    trace.result = client.run(world, world, rng);
  } catch (const EndOfTest&) {
    trace.endless = true;
  } catch (const std::exception& e) {
    trace.raised = e.what();
  } catch (...) {
    trace.raised = "something that is no std::exception";
  }
  trace.returned = world.now();
  return trace;
}

Observed observe(const Subject& subject, const Case& c, const Surroundings& around) {
  return observe(*loop_of(subject).client(), c, around);
}

AnyLoop loop_of(const Subject& subject) {
  return subject.loop ? *subject.loop : AnyLoop(PolicyLoop(subject.policy));
}

}  // namespace retrygate
