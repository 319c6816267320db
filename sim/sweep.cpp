#include "sim/sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <thread>

namespace retrygate {
namespace {

// Refuses what would need more memory than this machine has, before hours are spent on it.
Result<void> fits_memory(const std::vector<NamedPolicy>& policies, const std::vector<Scenario>& scenarios,
                         const Measures& measures, std::size_t at_once) {
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  for (const Scenario& scenario : scenarios) {
    for (const NamedPolicy& policy : policies) {
      const double bytes = estimated_bytes(policy.policy, scenario, measures) * static_cast<double>(at_once);
      if (bytes > machine)
        return failure(
            {},
            fmt::format("policy '{}' in scenario '{}' needs about {:.1f} GB in {} threads; this machine has "
                        "{:.1f} GB",
                        policy.name, scenario.id, bytes / 1e9, at_once, machine / 1e9),
            "fewer clients, fewer threads, or fewer metrics (latencies and peaks keep a number per request)");
    }
  }
  return {};
}

}  // namespace

Result<Shard> parse_shard(std::string_view text, Where where) {
  Shard shard{0, 0};
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto whole = [](std::string_view digits, std::size_t& n) {
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return fault == std::errc{} && end == digits.data() + digits.size();
  };
  const bool read = slash < text.size() && whole(text.substr(0, slash), shard.index) &&
                    whole(text.substr(slash + 1), shard.count);
  if (!read || shard.index < 1 || shard.index > shard.count)
    return failure(std::move(where), fmt::format("'{}' is no part of a whole", text), "write 1/4 .. 4/4");
  return shard;
}

std::vector<std::uint64_t> seeds_of(const std::vector<std::uint64_t>& seeds, const Shard& shard) {
  const auto bound = [&](std::size_t i) {
    return seeds.begin() + static_cast<std::ptrdiff_t>(seeds.size() * i / shard.count);
  };
  return {bound(shard.index - 1), bound(shard.index)};
}

Result<SampleTable> sweep(const std::vector<NamedPolicy>& policies, const std::vector<Scenario>& scenarios,
                          const std::vector<std::uint64_t>& seeds, const std::vector<std::string>& metric_ids,
                          unsigned threads, std::uint64_t policy_salt) {
  return sweep(policies, scenarios, seeds, metric_ids, SweepOptions{threads, policy_salt, {}, nullptr});
}

Result<SampleTable> sweep(const std::vector<NamedPolicy>& policies, const std::vector<Scenario>& scenarios,
                          const std::vector<std::uint64_t>& seeds, const std::vector<std::string>& metric_ids,
                          const SweepOptions& options) {
  std::vector<Metric> wanted;
  for (const std::string& id : metric_ids) {
    Result<Metric> metric = find_metric(id);
    if (!metric) return tl::unexpected(metric.error());
    wanted.push_back(*std::move(metric));
  }
  const Measures measures = measures_for(wanted);

  const unsigned threads =
      options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  const auto fits = fits_memory(policies, scenarios, measures, std::min<std::size_t>(threads, seeds.size()));
  if (!fits) return tl::unexpected(fits.error());

  // Seed by seed, so that what is done when somebody interrupts can be compared in pairs. Every worker writes
  // only its own runs' places; the table is put together afterwards.
  const std::size_t cells = policies.size() * scenarios.size();
  const std::size_t runs = cells * seeds.size();
  std::vector<std::optional<Result<Totals>>> done(runs);
  std::atomic<std::size_t> next = 0, finished = 0;
  std::atomic<bool> failed = false;
  const auto stopped = [&] {
    return failed.load(std::memory_order_relaxed) ||
           (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed));
  };
  const auto work = [&](bool reports) {
    Runner runner;
    while (!stopped()) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= runs) return;
      const std::size_t cell = i % cells;
      const NamedPolicy& policy = policies[cell % policies.size()];
      done[i] = runner.run(policy.policy, scenarios[cell / policies.size()], Seed{seeds[i / cells]},
                           {.policy_salt = options.policy_salt, .name = policy.name, .measures = &measures});
      if (!*done[i]) failed = true;
      const std::size_t n = finished.fetch_add(1, std::memory_order_relaxed) + 1;
      if (reports && options.progress) options.progress(n, runs);
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(work, false);
    work(true);
  }
  // Runs are taken in order, so everything before the first failure has been run whatever the threads.
  std::size_t complete = 0;  // seeds that all cells have finished, without a gap
  for (std::size_t i = 0; i < runs && done[i]; ++i) {
    if (!*done[i]) return tl::unexpected(done[i]->error());
    if ((i + 1) % cells == 0) ++complete;
  }
  const std::vector<std::uint64_t> kept(seeds.begin(), seeds.begin() + static_cast<std::ptrdiff_t>(complete));

  SampleTable table{metric_ids, {}};
  std::size_t number = 0;
  for (const Scenario& scenario : scenarios) {
    for (const NamedPolicy& policy : policies) {
      Cell cell{policy.name, to_string(policy.policy), scenario.id, scenario.params, kept, {}, {}, {}};
      cell.samples.resize(wanted.size());
      for (std::size_t s = 0; s < complete; ++s) {
        const Totals& totals = **done[s * cells + number];
        cell.digests.push_back(totals.digest);
        cell.drew.push_back(totals.policy_draws > 0);
        for (std::size_t m = 0; m < wanted.size(); ++m) cell.samples[m].push_back(wanted[m].read(totals));
      }
      table.cells.push_back(std::move(cell));
      ++number;
    }
  }
  return table;
}

}  // namespace retrygate
