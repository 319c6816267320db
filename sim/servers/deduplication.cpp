// One processing per idempotency key: all attempts of a call carry the same one.
#include <unordered_map>

#include "sim/servers.hpp"

namespace retrygate {
namespace {

class Deduplication : public Stage {
 public:
  explicit Deduplication(Duration remember) : remember_(remember) {}

  Step arrive(Request& request, Agenda&) override {
    const auto [known, first] = seen_.try_emplace(key(request));
    if (first) return Step::pass;
    const Processing& p = known->second;
    const bool ended = request.at >= p.end;
    if (ended && (p.failed || request.at - p.end > remember_)) {
      known->second = {};
      return Step::pass;
    }
    request.replayed = true;
    // As draft-ietf-httpapi-idempotency-key-header says: 409 while the first one is being processed, whether
    // or not the stages behind know already how that will end.
    request.outcome = {Status::http(ended ? 200 : 409), {}, {}};
    return Step::answer;
  }
  bool counts() const override { return true; }
  void leave(const Request& request, Instant) override {
    seen_[key(request)] = {request.at, !request.outcome.status.succeeded()};
  }

 private:
  struct Processing {
    Instant end = Instant::never();  // never while that is not known
    bool failed = false;             // then it may be tried again from its end on
  };
  static std::uint64_t key(const Request& request) {
    return std::uint64_t{request.client} << 32 | request.call;
  }

  Duration remember_;
  std::unordered_map<std::uint64_t, Processing> seen_;
};

}  // namespace

void add_deduplication(Shelf<ServerKind>& shelf) {
  shelf.add({"deduplication",
             "answers repeats of a call that was processed with the first answer, for `remember` (no limit); "
             "409 while it "
             "is being processed",
             [](Reader& table) {
               const Duration remember = table.duration("remember").value_or(Duration::max());
               StageSpec spec;
               spec.make = [=](const World&) { return std::make_unique<Deduplication>(remember); };
               return spec;
             }});
}

}  // namespace retrygate
