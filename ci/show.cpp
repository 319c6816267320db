#include "ci/show.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace retrygate::ci {
namespace {

std::string seconds(Duration d) {
  return d == Duration::max() ? "no limit" : fmt::format("{:.3f} s", d.seconds());
}

// The question "is the outage longer than your retries?", asked of a log.
std::string outages_text(const NamedPolicy& named, const ShowRequest& request, std::int64_t calls) {
  std::vector<Duration> lengths = request.outages;
  std::sort(lengths.begin(), lengths.end());
  const std::vector<double> shares = shares_outliving(named, lengths);
  const std::size_t n = lengths.size();
  double sum = 0;
  for (const double share : shares) sum += share;
  const auto by_all = std::count(shares.begin(), shares.end(), 1.0);
  const auto by_none = std::count(shares.begin(), shares.end(), 0.0);
  std::string out =
      fmt::format("{} outages of {}: calls that still send an attempt after it ({} calls, seed 1)\n", n,
                  request.log, calls);
  const std::pair<const char*, std::size_t> marks[] = {
      {"shortest", 0}, {"median", (n - 1) / 2}, {"90 %", (n * 9 + 9) / 10 - 1}, {"longest", n - 1}};
  for (const auto& [name, i] : marks)
    out += fmt::format("  {:<9} {:>12}  {:>5.1f} %\n", name, to_string(lengths[i]), 100 * shares[i]);
  return out + fmt::format("  over all  {:>12}  {:>5.1f} %   outlived by every call: {}, by none: {}\n", "",
                           100 * sum / static_cast<double>(n), by_all, by_none);
}

}  // namespace

std::string show_text(const NamedPolicy& named, const Schedule& schedule, const ShowRequest& request) {
  std::string out = fmt::format("{}: {}\n", named.name, to_string(named.policy));
  out += fmt::format("source: {}\n", named.preset->source);
  for (const Deviation& d : named.preset->deviations)
    out += fmt::format("deviates from {}: {} ({})\n", d.invariant, d.why, d.source);
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
    out += fmt::format("lowest and highest were observed in {} calls (seed 1).\n", schedule.calls);
  if (!schedule.mean_exact)
    out += fmt::format("the mean was estimated from {} calls (seed 1).\n", schedule.calls);
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
    const double share = share_outliving(named, *request.outage);
    out += fmt::format("Outage of {}: {:.1f} % of calls still send an attempt after it ({} calls, seed 1).\n",
                       to_string(*request.outage), 100 * share, schedule.calls);
  }
  if (!request.outages.empty()) out += outages_text(named, request, schedule.calls);
  return out;
}

}  // namespace retrygate::ci
