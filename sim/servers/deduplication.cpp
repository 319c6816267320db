// One processing per idempotency key: all attempts of a call carry the same one.
#include <unordered_map>

#include "sim/servers.hpp"

namespace retrygate {
namespace {

class Deduplication : public Stage {
 public:
  explicit Deduplication(Duration remember) : remember_(remember) {}

  Step arrive(Request& request, Agenda&) override {
    const auto [known, first] = seen_.try_emplace(key(request), Instant::never());
    if (first) return Step::pass;
    const Instant done = known->second;
    if (done != Instant::never() && request.at - done > remember_) {
      known->second = Instant::never();
      return Step::pass;
    }
    request.replayed = true;
    // As draft-ietf-httpapi-idempotency-key-header says: 409 while the first one is being processed with no
    // known end.
    request.outcome = {Status::http(done == Instant::never() ? 409 : 200), {}, {}};
    if (done != Instant::never()) request.at = std::max(request.at, done);
    return Step::answer;
  }
  bool counts() const override { return true; }
  void leave(const Request& request, Instant) override {
    if (request.outcome.status.succeeded())
      seen_[key(request)] = request.at;
    else
      seen_.erase(key(request));  // what failed may be tried again
  }

 private:
  static std::uint64_t key(const Request& request) {
    return std::uint64_t{request.client} << 32 | request.call;
  }

  Duration remember_;
  std::unordered_map<std::uint64_t, Instant> seen_;  // when it was processed; never while that is not known
};

}  // namespace

void add_deduplication(Shelf<ServerKind>& shelf) {
  shelf.add({"deduplication",
             "answers repeats of a call that was processed with the first answer, for `remember` (no limit); "
             "409 while its "
             "end is open",
             [](Reader& table) {
               const Duration remember = table.duration("remember").value_or(Duration::max());
               StageSpec spec;
               spec.make = [=](const World&) { return std::make_unique<Deduplication>(remember); };
               return spec;
             }});
}

}  // namespace retrygate
