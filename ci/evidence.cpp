#include "ci/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/compare.hpp"
#include "policies/base/hash.hpp"
#include "policies/schedule.hpp"

namespace retrygate::ci {
namespace {

// A storm of more calls is not recorded: every attempt of it would be held in memory.
constexpr std::int64_t most_calls = 200'000;
constexpr std::int64_t most_bins = 2000;

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string digest_of(const Cell& cell) {
  std::uint64_t all = fnv1a("");
  for (const std::uint64_t digest : cell.digests) all = fnv1a(hex(digest), all);
  return hex(all);
}

// The least of 10 ms, 20 ms, 50 ms, 100 ms ... that cuts `length` into at most `most_bins`.
Duration bin_width(Duration length) {
  for (Duration unit = Duration::ms(10);; unit = unit * 10) {
    for (const std::int64_t step : {1, 2, 5}) {
      if (length.ns() / (unit * step).ns() < most_bins) return unit * step;
    }
  }
}

struct Recorded {
  std::string policy;
  std::vector<TraceRow> rows;
};

Storm binned(const Scenario& scenario, std::uint64_t seed, const std::vector<Recorded>& recorded) {
  Instant last;
  for (const Recorded& arm : recorded) {
    if (!arm.rows.empty()) last = std::max(last, arm.rows.back().start);  // rows are sorted by their start
  }
  Storm storm{scenario.id, seed, bin_width(last.since_start), {}};
  for (const Recorded& arm : recorded) {
    StormArm counts{arm.policy, {}, {}};
    for (const TraceRow& row : arm.rows) {
      const auto bin = static_cast<std::size_t>(row.start.since_start.ns() / storm.bin.ns());
      if (bin >= counts.sent.size()) {
        counts.sent.resize(bin + 1);
        counts.failed.resize(bin + 1);
      }
      ++counts.sent[bin];
      counts.failed[bin] += row.outcome.status.succeeded() ? 0 : 1;
    }
    storm.arms.push_back(std::move(counts));
  }
  return storm;
}

// The policies that meet one scenario: the stored baseline, if it is another one, before those of the task.
std::vector<NamedPolicy> policies_on(const Scenario& scenario, const CompareTask& task,
                                     const Baseline* stored) {
  std::vector<NamedPolicy> all;
  const StoredCell* cell = stored ? find_cell(*stored, scenario, task.baseline.name, task.seeds) : nullptr;
  if (cell != nullptr) {
    auto policy = stored_policy(*cell);
    if (policy && !(policy->policy == task.baseline.policy)) {
      policy->name = cell->policy + " (stored)";
      all.push_back(std::move(*policy));
    }
  }
  all.push_back(task.baseline);
  all.insert(all.end(), task.candidates.begin(), task.candidates.end());
  return all;
}

Result<void> add_storm(const Scenario& scenario, const CompareTask& task, const Baseline* stored,
                       Report& report) {
  if (scenario.clients * scenario.calls > most_calls) {
    report.notes.push_back(
        fmt::format("The storm on {} is not drawn: it has more than {} calls.", scenario.id, most_calls));
    return {};
  }
  Runner runner;
  const Measures none;
  std::vector<Recorded> recorded;
  for (const NamedPolicy& named : policies_on(scenario, task, stored)) {
    Recorded& arm = recorded.emplace_back(named.name);
    const auto totals =
        runner.run(named.policy, scenario, Seed{task.seeds.first}, {0, named.name, &none, &arm.rows});
    if (!totals) return tl::unexpected(totals.error());
  }
  report.storms.push_back(binned(scenario, task.seeds.first, recorded));
  return {};
}

}  // namespace

Result<void> add_evidence(const CompareTask& task, const Baseline* stored, const SampleTable& table,
                          Report& report) {
  Provenance& from = report.provenance;
  for (const std::string& id : table.metrics) {
    const auto known = [&](const MetricMeaning& metric) { return metric.id == id; };
    if (std::none_of(report.metrics.begin(), report.metrics.end(), known))
      report.metrics.push_back({id, find_metric(id)->meaning});
  }
  // Beside those of the task stand, at the end, the cells of a stored baseline.
  const std::size_t own = task.scenarios.size() * (1 + task.candidates.size());
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    const Cell& cell = table.cells[i];
    const std::string name = cell.policy + (i < own ? "" : " (stored)");
    from.runs.push_back({cell.scenario, name, cell.definition,
                         to_string(Seeds{cell.seeds.front(), cell.seeds.back()}), digest_of(cell)});
    for (std::size_t m = 0; m < table.metrics.size(); ++m)
      report.samples.push_back({cell.scenario, name, table.metrics[m], cell.samples[m]});
  }
  if (table.cells.empty()) return {};  // the comparison was blocked
  for (const Scenario& scenario : task.scenarios) {
    from.scenarios.push_back(
        {scenario.id, scenario.summary, hex(fnv1a(scenario.definition)), scenario.params});
    if (auto done = add_storm(scenario, task, stored, report); !done) return done;
  }
  return {};
}

Envelope envelope_of(const NamedPolicy& named) {
  constexpr std::int64_t retries = 24, calls = 16;
  const Schedule law = schedule(named.policy, retries);
  const auto observed = observed_delays(named.policy, retries, calls);
  Envelope envelope{named.name, law.exact, {}};
  for (std::size_t i = 0; i < law.rows.size(); ++i) {
    const ScheduleRow& row = law.rows[i];
    envelope.retries.push_back(
        {row.lo, row.mean, row.hi, i < observed.size() ? observed[i] : std::vector<Duration>{}});
  }
  return envelope;
}

}  // namespace retrygate::ci
