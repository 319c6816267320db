// Servers that get slow: for a while (brownout), or under load (congestion).
#include <cmath>

#include "sim/servers.hpp"

namespace retrygate {
namespace {

class Brownout : public Stage {
 public:
  Brownout(Instant start, Instant end, const Law& extra, double failure, const Refusal& refusal,
           const World& world)
      : start_(start),
        end_(end),
        extra_(extra),
        failure_(failure),
        refusal_(refusal),
        delay_key_(world.key(Stream::service)),
        failure_key_(world.key(Stream::faults)),
        horizon_(world.horizon) {}

  Step arrive(Request& request, Agenda&) override {
    if (request.at < start_ || request.at >= end_) return Step::pass;
    Rng rng = delay_key_.at(request.client, request.call, request.lineage);
    const Duration extra = extra_.draw(rng);
    request.work += done_in(horizon_, request.at, extra);
    request.at = request.at + extra;
    if (failure_ > 0 && failure_key_.at(request.client, request.call, request.lineage).unit() < failure_)
      return refusal_.answer(request);
    return Step::pass;
  }
  bool delays() const override { return true; }
  std::optional<Instant> last_fault_end() const override { return end_; }

 private:
  Instant start_, end_;
  Law extra_;
  double failure_;
  Refusal refusal_;
  StreamKey delay_key_, failure_key_;
  Duration horizon_;
};

class Congestion : public Stage {
 public:
  Congestion(const Law& time, std::int64_t half_speed_at, const World& world)
      : time_(time),
        half_speed_at_(static_cast<double>(half_speed_at)),
        key_(world.key(Stream::service)),
        horizon_(world.horizon) {}

  Step arrive(Request& request, Agenda&) override {
    while (!ends_.empty() && ends_.front() <= request.at) ends_.pop();
    Rng rng = key_.at(request.client, request.call, request.lineage);
    const Duration time = time_.draw(rng).scaled(1 + static_cast<double>(ends_.size()) / half_speed_at_);
    request.work += done_in(horizon_, request.at, time);
    request.at = request.at + time;
    ends_.push(request.at);
    return Step::pass;
  }
  bool delays() const override { return true; }

 private:
  Law time_;
  double half_speed_at_;
  StreamKey key_;
  Duration horizon_;
  Lane<Instant> ends_;
};

}  // namespace

void add_degradation(Shelf<ServerKind>& shelf) {
  shelf.add({"brownout",
             "from `start` for `length` every request takes `extra`, a law, longer, and then fails with "
             "`probability` and "
             "`answer` (503)",
             [](Reader& table) {
               const Instant start{table.duration("start").value_or(Duration{})};
               const Instant end = start + table.duration("length").value_or(Duration::max());
               const Law extra = law(table, "extra", Law{});
               const double p = probability(table, "probability", 0);
               if (!table.has("extra") && !table.has("probability"))
                 table.fail("extra", "a brownout needs 'extra' or 'probability'",
                            "how much slower requests are, how many of them fail");
               const Refusal refusal = read_refusal(table, 503);
               StageSpec spec;
               spec.random = extra.random() || p > 0;
               spec.faults = true;
               spec.make = [=](const World& world) {
                 return std::make_unique<Brownout>(start, end, extra, p, refusal, world);
               };
               return spec;
             }});
  shelf.add({"congestion",
             "takes `time`, a law, times 1 + load / `half_speed_at`, where load is the number of requests in "
             "this stage",
             [](Reader& table) {
               const Law time = law(table, "time");
               const std::int64_t half = count(table, "half_speed_at", 1);
               StageSpec spec;
               spec.random = time.random();
               spec.make = [=](const World& world) {
                 return std::make_unique<Congestion>(time, half, world);
               };
               return spec;
             }});
}

}  // namespace retrygate
