// A limit on the requests in process.
#include "sim/servers.hpp"

namespace retrygate {
namespace {

class ConcurrencyLimit : public Stage {
 public:
  ConcurrencyLimit(std::int64_t limit, const Refusal& refusal) : limit_(limit), refusal_(refusal) {}

  Step arrive(Request& request, Agenda&) override {
    // Who has left is looked for when there seems to be no room.
    if (inside_ >= limit_) {
      for (; !ends_.empty() && ends_.front() <= request.at; ends_.pop()) --inside_;
      if (inside_ >= limit_) return refusal_.answer(request);
    }
    ++inside_;
    return Step::pass;
  }
  bool counts() const override { return true; }
  void leave(const Request& request, Instant now) override {
    if (request.at <= now)
      --inside_;
    else
      ends_.push(request.at);
  }

 private:
  std::int64_t limit_, inside_ = 0;  // perhaps some that have left are still counted
  Lane<Instant> ends_;               // of those counted whose end is known
  Refusal refusal_;
};

}  // namespace

void add_concurrency_limit(Shelf<ServerKind>& shelf) {
  shelf.add({"concurrency-limit",
             "answers `answer` (503) above `limit` requests in process, this one counted", [](Reader& table) {
               const std::int64_t limit = count(table, "limit", 1);
               const Refusal refusal = read_refusal(table, 503);
               StageSpec spec;
               spec.make = [=](const World&) { return std::make_unique<ConcurrencyLimit>(limit, refusal); };
               return spec;
             }});
}

}  // namespace retrygate
