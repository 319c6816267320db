// One row under optimistic concurrency control, and the clients' way back to it.
#include "sim/servers.hpp"

namespace retrygate {
namespace {

// A request reads the row's version as it arrives. Its caller gets the version, and writes with it
// `round_trip` later: that succeeds if nobody else has written in between. Model: M. Brooker, "Exponential
// Backoff And Jitter", AWS Architecture Blog, 2015 (aws-samples/aws-arch-backoff-simulator).
class OptimisticRow : public Stage {
 public:
  OptimisticRow(const Law& round_trip, const Refusal& refusal, const World& world)
      : round_trip_(round_trip), refusal_(refusal), key_(world.key(Stream::service)) {}

  Step arrive(Request& request, Agenda& agenda) override {
    Rng rng = key_.at(request.client, request.call, request.lineage);
    const std::uint32_t ticket = agenda.hold(request);
    if (read_.size() <= ticket) read_.resize(ticket + 1);
    read_[ticket] = version_;
    agenda.wake(*this, Turn::departure, ticket, request.at + round_trip_.draw(rng), request);
    return Step::hold;
  }
  void wake(std::uint32_t ticket, Agenda& agenda) override {
    Request& request = agenda.held(ticket);
    request.at = agenda.now();
    if (read_[ticket] == version_) {
      ++version_;
      agenda.release(ticket, Step::pass);
    } else {
      agenda.release(ticket, refusal_.answer(request));
    }
  }
  bool holds() const override { return true; }

 private:
  Law round_trip_;
  Refusal refusal_;
  StreamKey key_;
  std::int64_t version_ = 0;
  std::vector<std::int64_t> read_;  // by ticket: the version that its caller has read
};

}  // namespace

void add_optimistic_row(Shelf<ServerKind>& shelf) {
  shelf.add(
      {"optimistic-row",
       "reads a version, writes `round_trip` later, answers `answer` (409) if another write came between",
       [](Reader& table) {
         const Law round_trip = law(table, "round_trip");
         const Refusal refusal = read_refusal(table, 409);
         StageSpec spec;
         spec.random = round_trip.random();
         spec.make = [=](const World& world) {
           return std::make_unique<OptimisticRow>(round_trip, refusal, world);
         };
         return spec;
       }});
}

}  // namespace retrygate
