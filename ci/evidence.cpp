#include "ci/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ci/compare.hpp"
#include "policies/base/hash.hpp"
#include "policies/schedule.hpp"

namespace retrygate::ci {
namespace {

// A storm of more calls is not recorded: every attempt of it would be held in memory.
constexpr std::int64_t most_calls = 200'000;
constexpr std::int64_t most_bins = 2000;

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
  Storm storm{scenario.id, seed, bin_width(last.since_start), {}, scenario.params};
  for (const Recorded& arm : recorded) {
    StormArm counts{arm.policy, {}, {}};
    for (const TraceRow& row : arm.rows) {
      const auto bin = static_cast<std::size_t>(row.start.since_start.ns() / storm.bin.ns());
      if (bin >= counts.sent.size()) {
        counts.sent.resize(bin + 1);
        counts.failed.resize(bin + 1);
      }
      ++counts.sent[bin];
      counts.failed[bin] += row.end && !row.outcome.status.succeeded() ? 1 : 0;
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
    if (policy && !policy->program && !(policy->policy == task.baseline.policy)) {
      policy->name = cell->policy + " (stored)";
      all.push_back(std::move(*policy));
    }
  }
  all.push_back(task.baseline);
  all.insert(all.end(), task.candidates.begin(), task.candidates.end());
  return all;
}

// One scenario under one seed, and everybody who meets it.
struct Meeting {
  const Scenario* scenario;
  std::uint64_t seed;
  std::vector<NamedPolicy> policies = {};
};

std::vector<Meeting> meetings(const std::vector<CompareTask>& tasks, const Baseline* stored) {
  std::vector<Meeting> all;
  for (const CompareTask& task : tasks) {
    for (const Scenario& scenario : task.scenarios) {
      auto at = std::find_if(all.begin(), all.end(), [&](const Meeting& m) {
        return m.scenario->id == scenario.id && m.scenario->definition == scenario.definition &&
               m.seed == task.seeds.first;
      });
      if (at == all.end()) at = all.insert(all.end(), {&scenario, task.seeds.first});
      for (NamedPolicy& policy : policies_on(scenario, task, stored)) {
        const auto known = [&](const NamedPolicy& other) { return other.name == policy.name; };
        if (std::none_of(at->policies.begin(), at->policies.end(), known))
          at->policies.push_back(std::move(policy));
      }
    }
  }
  return all;
}

template <class Row>
void add_once(std::vector<Row>& rows, Row row) {
  if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(std::move(row));
}

}  // namespace

void add_evidence(const CompareTask& task, const SampleTable& table, Report& report) {
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
    const std::string seeds = to_string(Seeds{cell.seeds.front(), cell.seeds.back()});
    add_once(from.runs, {cell.scenario, name, cell.definition, seeds, digest_of(cell), cell.params});
    for (std::size_t m = 0; m < table.metrics.size(); ++m) {
      const auto same = [&](const SampleRow& row) {
        return std::tie(row.scenario, row.params, row.policy, row.metric, row.seed_range) ==
               std::tie(cell.scenario, cell.params, name, table.metrics[m], seeds);
      };
      if (std::none_of(report.samples.begin(), report.samples.end(), same))
        report.samples.push_back(
            {cell.scenario, name, table.metrics[m], cell.samples[m], cell.params, seeds});
    }
  }
  if (table.cells.empty()) return;  // the comparison was blocked
  for (const Scenario& scenario : task.scenarios)
    add_once(from.scenarios,
             {scenario.id, scenario.summary, hex(fnv1a(scenario.definition)), scenario.params});
}

Result<void> add_storms(const std::vector<CompareTask>& tasks, const Baseline* stored, Report& report) {
  Runner runner;
  const Measures none;
  for (const Meeting& meeting : meetings(tasks, stored)) {
    const Scenario& scenario = *meeting.scenario;
    if (scenario.clients * scenario.calls > most_calls) {
      report.notes.push_back(fmt::format("The storm on {} is not drawn: it has more than {} calls.",
                                         world_of(scenario.id, scenario.params), most_calls));
      continue;
    }
    std::vector<Recorded> recorded;
    for (const NamedPolicy& named : meeting.policies) {
      Recorded& arm = recorded.emplace_back(named.name);
      const auto totals =
          run_named(runner, named, scenario, Seed{meeting.seed}, {0, named.name, &none, &arm.rows});
      if (!totals) return tl::unexpected(totals.error());
    }
    report.storms.push_back(binned(scenario, meeting.seed, recorded));
  }
  return {};
}

Envelope envelope_of(const NamedPolicy& named) {
  constexpr std::int64_t retries = 24, calls = 16;
  const Schedule law = schedule(named, retries);
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
