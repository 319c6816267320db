#include "sim/sweep.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace retrygate {

Result<SampleTable> sweep(const std::vector<NamedPolicy>& policies, const std::vector<Scenario>& scenarios,
                          const std::vector<std::uint64_t>& seeds, const std::vector<std::string>& metric_ids,
                          unsigned threads, std::uint64_t policy_salt) {
  std::vector<Metric> wanted;
  for (const std::string& id : metric_ids) {
    Result<Metric> metric = find_metric(id);
    if (!metric) return tl::unexpected(metric.error());
    wanted.push_back(*std::move(metric));
  }
  const Measures measures = measures_for(wanted);

  // Every worker writes only its own runs' places; the table is put together afterwards.
  const std::size_t runs = policies.size() * scenarios.size() * seeds.size();
  std::vector<Result<Totals>> done(runs);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    Runner runner;
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= runs) return;
      const std::size_t cell = i / seeds.size();
      const NamedPolicy& policy = policies[cell % policies.size()];
      done[i] = runner.run(policy.policy, scenarios[cell / policies.size()], Seed{seeds[i % seeds.size()]},
                           {.policy_salt = policy_salt, .name = policy.name, .measures = &measures});
      if (!done[i]) failed = true;
    }
  };
  {
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(work);
    work();
  }
  // Runs are taken in order, so everything before the first failure has been run whatever the threads.
  for (const Result<Totals>& one : done) {
    if (!one) return tl::unexpected(one.error());
  }

  SampleTable table{metric_ids, {}};
  std::size_t i = 0;
  for (const Scenario& scenario : scenarios) {
    for (const NamedPolicy& policy : policies) {
      Cell cell{policy.name, to_string(policy.policy), scenario.id, scenario.params, seeds, {}, {}, {}};
      cell.samples.resize(wanted.size());
      for (std::size_t s = 0; s < seeds.size(); ++s, ++i) {
        cell.digests.push_back(done[i]->digest);
        cell.drew.push_back(done[i]->policy_draws > 0);
        for (std::size_t m = 0; m < wanted.size(); ++m) cell.samples[m].push_back(wanted[m].read(*done[i]));
      }
      table.cells.push_back(std::move(cell));
    }
  }
  return table;
}

}  // namespace retrygate
