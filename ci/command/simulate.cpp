#include "ci/command/simulate.hpp"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "ci/command/progress.hpp"
#include "ci/command/shared.hpp"
#include "ci/json_io.hpp"
#include "ci/merge.hpp"
#include "ci/samples.hpp"
#include "ci/suite.hpp"
#include "sim/trace.hpp"

namespace retrygate::ci {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so that a signal handler may set it

// While it lives, Ctrl-C asks for an early end instead of killing the program; the second one kills.
class StopsOnInterrupt {
 public:
  StopsOnInterrupt() {
    interrupted = false;
    before_ = std::signal(SIGINT, [](int) {
      interrupted = true;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~StopsOnInterrupt() { std::signal(SIGINT, before_); }
  StopsOnInterrupt(const StopsOnInterrupt&) = delete;
  StopsOnInterrupt& operator=(const StopsOnInterrupt&) = delete;

 private:
  void (*before_)(int);
};

ExitCode write_or_print(const std::string& text, const std::string& out) {
  if (out.empty()) {
    fmt::print("{}", text);
  } else if (const auto done = write_file(out, text); !done) {
    return refuse(done.error());
  }
  return ExitCode::pass;
}

// The attempts of one run, for `check --trace` and for eyes.
Result<void> write_trace(const std::vector<NamedPolicy>& policies, const Scenario& scenario,
                         const std::vector<std::uint64_t>& seeds, const std::string& file) {
  if (policies.size() != 1 || seeds.size() != 1)
    return failure(
        {"--trace", 1, 1},
        fmt::format("a trace is of one policy and one seed, not {} and {}", policies.size(), seeds.size()),
        "for example --seeds 1");
  std::vector<TraceRow> rows;
  const Measures nothing;
  const RunOptions options{.name = policies[0].name, .measures = &nothing, .trace = &rows};
  if (auto fits = fits_memory(policies[0], scenario, options); !fits) return fits;
  Runner runner;
  const auto totals = run_named(runner, policies[0], scenario, Seed{seeds[0]}, options);
  if (!totals) return tl::unexpected(totals.error());
  return write_file(file, trace_csv(rows));
}

// What was simulated of a run, and which part of it that is.
struct SampledPart {
  SampleTable table;
  PartOfRun part;
};

// What the options ask for.
struct Plan {
  std::vector<NamedPolicy> policies;
  Scenario scenario;
  std::vector<std::uint64_t> seeds;  // of this shard, for all ranks
  Shard shard;
  std::vector<std::string> metrics;
};

// Everything that can be wrong before anything is simulated.
Result<Plan> understood(const SimOptions& options, const Crew& crew) {
  Errors errors;
  auto policies = find_policies(options.policies, "--policy", errors);
  auto scenario = keep(find_scenario(options.scenario, {"--scenario", 1, 1}, options.set), errors);
  const auto seeds = keep(parse_seeds(options.seeds, {"--seeds", 1, 1}), errors);
  const auto shard = keep(parse_shard(options.shard, {"--shard", 1, 1}), errors);
  std::vector<std::string> ids = options.metrics;
  for (const std::string& id : ids) keep(find_metric(id, {"--metric", 1, 1}), errors);
  if (ids.empty()) {
    for (const Metric& metric : metrics()) ids.emplace_back(metric.id);
  }
  const bool both =
      options.trace == standard_stream && (options.out.empty() || options.out == standard_stream);
  if (both)
    errors.push_back({{"--trace", 1, 1},
                      "the trace and the results cannot both be standard output",
                      "--out FILE takes the results, for example --out /dev/null"});
  if (crew.rank() == 0) {  // which writes
    for (const std::string* file : {&options.out, &options.trace}) {
      if (file->empty()) continue;
      if (const auto place = has_place(*file); !place)
        errors.insert(errors.end(), place.error().begin(), place.error().end());
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return Plan{std::move(policies), std::move(*scenario), seeds_of(seeds->values(), *shard), *shard,
              std::move(ids)};
}

// The part of this rank. Its trace is written, and that it was interrupted is said, on the way.
Result<SampledPart> own_part(const Plan& plan, const SimOptions& options, const Crew& crew) {
  if (!options.trace.empty() && crew.rank() == 0) {
    if (auto traced = write_trace(plan.policies, plan.scenario, plan.seeds, options.trace); !traced)
      return tl::unexpected(std::move(traced.error()));
  }
  const std::vector<std::uint64_t> own = seeds_of(plan.seeds, {crew.rank() + 1, crew.size()});
  SweepOptions sweeping{options.threads, 0, {}, &interrupted};
  Result<SampleTable> table;
  {
    const StopsOnInterrupt stops;
    Progress progress(options.progress);
    if (progress.wanted() && crew.rank() == 0)  // as far as rank 0 is the others are, too
      sweeping.progress = [&](std::size_t done, std::size_t all) { progress(done, all); };
    table = sweep(plan.policies, {plan.scenario}, own, plan.metrics, sweeping);
  }
  if (!table) return tl::unexpected(std::move(table.error()));
  const std::size_t kept = table->cells.empty() ? 0 : table->cells[0].seeds.size();
  if (kept < own.size())
    fmt::print(stderr, "interrupted: {} of {} seeds are finished and kept\n", kept, own.size());
  return SampledPart{std::move(*table), {plan.shard, kept == own.size()}};
}

std::string written(const SampledPart& sampled, std::string_view format) {
  const SampleTable& table = sampled.table;
  if (format == "json") return samples_json({table}, sampled.part);
  if (format == "jsonl") return samples_json_lines(table);
  if (format == "csv") return samples_csv(table);
  return samples_text(table);
}

}  // namespace

ExitCode simulate(const SimOptions& options, Crew& crew) {
  const Result<Plan> plan = understood(options, crew);
  const auto finish = [&](const SampledPart& sampled) {
    return worst({write_or_print(written(sampled, options.format), options.out),
                  sampled.part.complete ? ExitCode::pass : ExitCode::inconclusive});
  };
  if (crew.size() == 1) {
    const auto own = plan.and_then([&](const Plan& p) { return own_part(p, options, crew); });
    return own ? finish(*own) : refuse(own.error());
  }

  // Nobody begins what another rank already knows to be in vain.
  const auto all_well = [&](const Gathered& all) {
    fmt::print(stderr, "{}", all.errors);
    return crew.agree(static_cast<int>(all.errors.empty() ? ExitCode::pass : ExitCode::usage)) == 0;
  };
  if (!all_well(gather_parts(crew, plan.map([](const Plan&) { return std::string(); }))))
    return ExitCode::usage;
  const Result<SampledPart> own = own_part(*plan, options, crew);
  // Parts of a rank are whole in themselves; only rank 0 knows of the shard.
  const Gathered all = gather_parts(crew, own.map([](const SampledPart& one) {
    return samples_json({one.table}, {{}, one.part.complete});
  }));
  if (!all_well(all)) return ExitCode::usage;
  ExitCode code = ExitCode::pass;
  if (crew.rank() == 0) {
    auto table = merge_samples(all.parts);
    code = table ? finish({std::move(*table), {own->part.shard, true}}) : refuse(table.error());
  }
  return static_cast<ExitCode>(crew.agree(static_cast<int>(code)));
}

ExitCode merge(const MergeOptions& options) {
  std::vector<SampleText> parts;
  Errors errors;
  for (const std::string& path : options.files) {
    if (auto text = keep(read_input(path), errors)) parts.push_back({path, std::move(*text)});
  }
  std::error_code missing;
  for (const std::string& path : options.files) {
    if (options.out != standard_stream && std::filesystem::equivalent(path, options.out, missing))
      errors.push_back({{"--out", 1, 1},
                        fmt::format("'{}' is one of the files to merge", options.out),
                        "another name: the part would be lost"});
  }
  if (!errors.empty()) return refuse(errors);
  const auto merged = merge_samples(parts);
  if (!merged) return refuse(merged.error());
  return write_or_print(samples_json({*merged}), options.out);
}

}  // namespace retrygate::ci
