// A limit on the rate of requests: a token bucket.
#include <cmath>

#include "sim/servers.hpp"

namespace retrygate {
namespace {

// In the form of a virtual schedule (ITU-T I.371, "generic cell rate algorithm"): full_at_ is when the bucket
// will be full again; a request costs one interval, and the bucket may owe at most `burst` of them.
class RateLimit : public Stage {
 public:
  RateLimit(Duration interval, std::int64_t burst, bool tells_wait, const Refusal& refusal)
      : interval_(interval), slack_(interval * (burst - 1)), tells_wait_(tells_wait), refusal_(refusal) {}

  Step arrive(Request& request, Agenda&) override {
    const Instant full = std::max(full_at_, request.at);
    const Duration too_early = full - request.at - slack_;
    if (too_early <= Duration{}) {
      full_at_ = full + interval_;
      return Step::pass;
    }
    refusal_.answer(request);
    // The header knows whole seconds only; rounded up, so that who obeys it finds a token.
    if (tells_wait_)
      request.outcome.retry_after = Duration::s((too_early + Duration::ns(999'999'999)).ns() / 1'000'000'000);
    return Step::answer;
  }

 private:
  Duration interval_, slack_;
  bool tells_wait_;
  Refusal refusal_;
  Instant full_at_;
};

}  // namespace

void add_rate_limit(Shelf<ServerKind>& shelf) {
  shelf.add({"rate-limit",
             "a token bucket of `burst` (1), `rate_per_s` tokens; above it `answer` (429) with "
             "`retry_after`, or the wait "
             "for the next token with `tell_wait = true`",
             [](Reader& table) {
               const double rate = table.number("rate_per_s").value_or(0);
               if (!(rate > 0 && rate <= 1e9))
                 table.fail("rate_per_s", "'rate_per_s' must lie above 0", "tokens per second, at most 1e9");
               const std::int64_t burst = count(table, "burst", 1, 1);
               const bool tells = table.flag("tell_wait").value_or(false);
               const Refusal refusal = read_refusal(table, 429);
               StageSpec spec;
               spec.make = [=](const World&) {
                 return std::make_unique<RateLimit>(Duration::seconds(1 / rate), burst, tells, refusal);
               };
               return spec;
             }});
}

}  // namespace retrygate
