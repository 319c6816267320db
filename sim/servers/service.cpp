// Service without a queue: every request takes its time, however many there are.
#include "sim/servers.hpp"

namespace retrygate {
namespace {

class Service : public Stage {
 public:
  Service(const Law& time, const World& world)
      : time_(time), key_(world.key(Stream::service)), horizon_(world.horizon) {}
  Step arrive(Request& request, Agenda&) override {
    const Duration time = time_.random() ? drawn(request) : time_.a;
    request.work += done_in(horizon_, request.at, time);
    request.at = request.at + time;
    return Step::pass;
  }
  bool delays() const override { return true; }

 private:
  Duration drawn(const Request& request) const {
    Rng rng = key_.at(request.client, request.call, request.lineage);
    return time_.draw(rng);
  }

  Law time_;
  StreamKey key_;
  Duration horizon_;
};

}  // namespace

void add_service(Shelf<ServerKind>& shelf) {
  shelf.add({"service", "takes `time`, a law, without a queue", [](Reader& table) {
               const Law time = law(table, "time");
               StageSpec spec;
               spec.random = time.random();
               spec.make = [=](const World& world) { return std::make_unique<Service>(time, world); };
               return spec;
             }});
}

}  // namespace retrygate
