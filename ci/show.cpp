#include "ci/show.hpp"

#include <fmt/format.h>

namespace retrygate::ci {
namespace {

std::string seconds(Duration d) {
  return d == Duration::max() ? "no limit" : fmt::format("{:.3f} s", d.seconds());
}

}  // namespace

std::string show_text(const NamedPolicy& named, const Schedule& schedule, const ShowRequest& request) {
  std::string out = fmt::format("{}: {}\n", named.name, to_string(named.policy));
  if (schedule.rows.empty()) return out + "It never retries a call that fails with 503.\n";
  out += fmt::format("\n{:>5}  {:>12} {:>12} {:>12}   {:>12} {:>12} {:>12}\n", "retry", "lowest", "mean",
                     "highest", "sum lowest", "sum mean", "sum highest");
  for (const ScheduleRow& r : schedule.rows) {
    out += fmt::format("{:>5}  {:>12} {:>12} {:>12}   {:>12} {:>12} {:>12}\n", r.n, seconds(r.lo),
                       seconds(r.mean), seconds(r.hi), seconds(r.lo_so_far), seconds(r.mean_so_far),
                       seconds(r.hi_so_far));
  }
  const ScheduleRow& end = schedule.rows.back();
  out += fmt::format("\nretry n is attempt n+1; waits only, the time of the attempts comes on top.\n");
  if (!schedule.exact)
    out += fmt::format("lowest and highest were observed in {} calls (seed 1).\n", calls_drawn);
  if (!schedule.mean_exact)
    out += fmt::format("the mean was estimated from {} calls (seed 1).\n", calls_drawn);
  out += schedule.ends ? fmt::format("After retry {} it gives up.\n", end.n)
                       : fmt::format("It goes on after retry {}.\n", end.n);
  if (request.deadline) {
    const Duration limit = *request.deadline;
    if (end.lo_so_far >= limit)
      out += fmt::format("Deadline {}: always reached before the last of these retries.\n", to_string(limit));
    else if (end.hi_so_far < limit)
      out += fmt::format("Deadline {}: all of these retries start before it.\n", to_string(limit));
    else
      out += fmt::format("Deadline {}: some calls reach it before the last of these retries.\n",
                         to_string(limit));
  }
  if (request.outage) {
    const double share = share_outliving(named.policy, *request.outage);
    out += fmt::format("Outage of {}: {:.1f} % of calls still send an attempt after it ({} calls, seed 1).\n",
                       to_string(*request.outage), 100 * share, calls_drawn);
  }
  return out;
}

}  // namespace retrygate::ci
