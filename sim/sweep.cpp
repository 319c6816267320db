#include "sim/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "sim/memory.hpp"

namespace retrygate {
namespace {

constexpr std::string_view less_memory =
    "fewer clients, fewer threads, or fewer metrics (latencies and peaks keep a number per request)";

}  // namespace

Result<void> fits_memory(const NamedPolicy& policy, const Scenario& scenario, const RunOptions& options,
                         std::size_t at_once) {
  const double limit = memory_limit_bytes();
  const double bytes = estimated_bytes(policy.policy, scenario, options) * static_cast<double>(at_once);
  if (bytes <= limit) return {};
  return failure(
      {},
      fmt::format("policy '{}' in scenario '{}' needs about {:.1f} GB in {} threads; there are {:.1f} GB",
                  policy.name, scenario.id, bytes / 1e9, at_once, limit / 1e9),
      std::string(less_memory));
}

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

Result<Totals> run_named(Runner& runner, const NamedPolicy& named, const Scenario& scenario, Seed seed,
                         const RunOptions& options) {
  if (!named.program) return runner.run(named.policy, scenario, seed, options);
  try {
    const auto running = started(named, seed, Repeats::needed, options.policy_salt);
    if (!running) return tl::unexpected(running.error());
    RunOptions asking = options;
    asking.in_a_program = true;
    return runner.run(running->policy, scenario, seed, asking);
  } catch (const ProgramFault& fault) {
    throw RunFault(fmt::format("in '{}', seed {}: {}", scenario.id, seed.value, fault.what()), fault.started,
                   named);
  }
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

  // Seed by seed, so that what is done when somebody interrupts can be compared in pairs. Every worker writes
  // only its own runs' places; the table is put together afterwards.
  const std::size_t cells = policies.size() * scenarios.size();
  const std::size_t runs = cells * seeds.size();
  const std::size_t wished = options.threads > 0 ? options.threads : std::thread::hardware_concurrency();
  const std::size_t threads = std::clamp<std::size_t>(wished, 1, std::max<std::size_t>(1, runs));
  for (const Scenario& scenario : scenarios) {  // before hours are spent on it
    for (const NamedPolicy& policy : policies) {
      const auto fits = fits_memory(policy, scenario, {.measures = &measures}, threads);
      if (!fits) return tl::unexpected(fits.error());
    }
  }
  std::vector<std::optional<Result<Totals>>> done(runs);
  std::atomic<std::size_t> next = 0, finished = 0;
  std::atomic<bool> failed = false;
  std::mutex thrown_by;
  std::vector<std::pair<std::size_t, std::exception_ptr>> thrown;  // by a policy or by us
  const auto stopped = [&] {
    return failed.load(std::memory_order_relaxed) ||
           (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed));
  };
  const auto run = [&](std::optional<Runner>& runner, std::size_t i) -> std::optional<Result<Totals>> {
    const std::size_t cell = i % cells;
    const NamedPolicy& policy = policies[cell % policies.size()];
    const Scenario& scenario = scenarios[cell / policies.size()];
    try {
      if (!runner) runner.emplace();
      return run_named(*runner, policy, scenario, Seed{seeds[i / cells]},
                       {.policy_salt = options.policy_salt, .name = policy.name, .measures = &measures});
    } catch (const std::bad_alloc&) {
      return failure({},
                     fmt::format("policy '{}' in scenario '{}': no memory is left for {} threads",
                                 policy.name, scenario.id, threads),
                     std::string(less_memory));
    } catch (...) {
      const std::lock_guard lock(thrown_by);
      thrown.emplace_back(i, std::current_exception());
      return std::nullopt;
    }
  };
  const auto work = [&](bool reports) {
    std::optional<Runner> runner;
    while (!stopped()) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= runs) return;
      done[i] = run(runner, i);
      if (!done[i] || !*done[i]) failed = true;
      const std::size_t n = finished.fetch_add(1, std::memory_order_relaxed) + 1;
      if (reports && options.progress) options.progress(n, runs);
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, false);
    } catch (const std::system_error&) {
      // The system has no more threads; those that started do the same work.
    }
    work(true);
  }
  if (!thrown.empty()) {
    const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::rethrow_exception(std::min_element(thrown.begin(), thrown.end(), earlier)->second);
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
        cell.unfinished.push_back(totals.unfinished);
        for (std::size_t m = 0; m < wanted.size(); ++m) cell.samples[m].push_back(wanted[m].read(totals));
      }
      table.cells.push_back(std::move(cell));
      ++number;
    }
  }
  return table;
}

}  // namespace retrygate
