// Failures that belong to a request itself: the first attempts of every call, or some at random.
#include "sim/servers.hpp"

namespace retrygate {
namespace {

class FailFirst : public Stage {
 public:
  FailFirst(std::int64_t attempts, const Refusal& refusal) : attempts_(attempts), refusal_(refusal) {}
  Step arrive(Request& request, Agenda&) override {
    return request.attempt <= attempts_ ? refusal_.answer(request) : Step::pass;
  }

 private:
  std::int64_t attempts_;
  Refusal refusal_;
};

class RandomFailure : public Stage {
 public:
  RandomFailure(double p, const Refusal& refusal, const World& world)
      : p_(p), refusal_(refusal), key_(world.key(Stream::faults)) {}
  Step arrive(Request& request, Agenda&) override {
    const bool fails = key_.at(request.client, request.call, request.lineage).unit() < p_;
    return fails ? refusal_.answer(request) : Step::pass;
  }

 private:
  double p_;
  Refusal refusal_;
  StreamKey key_;
};

}  // namespace

void add_faults(Shelf<ServerKind>& shelf) {
  shelf.add({"fail-first", "attempts 1 to `attempts` of every call get `answer` (503)", [](Reader& table) {
               const std::int64_t attempts = count(table, "attempts", 0);
               const Refusal refusal = read_refusal(table, 503);
               StageSpec spec;
               spec.make = [=](const World&) { return std::make_unique<FailFirst>(attempts, refusal); };
               return spec;
             }});
  shelf.add({"random-failure", "each request gets `answer` (503) with `probability`", [](Reader& table) {
               const double p = probability(table, "probability");
               const Refusal refusal = read_refusal(table, 503);
               StageSpec spec;
               spec.random = p > 0;
               spec.make = [=](const World& world) {
                 return std::make_unique<RandomFailure>(p, refusal, world);
               };
               return spec;
             }});
}

}  // namespace retrygate
