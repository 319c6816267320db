#include "ci/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "ci/commands.hpp"
#include "ci/compare.hpp"
#include "ci/evidence.hpp"
#include "ci/json_io.hpp"
#include "ci/outside.hpp"
#include "ci/version.hpp"
#include "ci/waivers.hpp"
#include "properties/invariant.hpp"
#include "stats/until_decided.hpp"

namespace retrygate::ci {
namespace {

// The stored baseline, or nothing after `blocked` was told why there is none.
Result<std::optional<Baseline>> load_baseline(const std::string& path, std::vector<std::string>& blocked) {
  std::error_code fault;
  if (!std::filesystem::exists(path, fault)) {
    blocked.push_back(path + ": there is no such baseline file");
    return std::nullopt;
  }
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto baseline = parse_baseline(*text, path);
  if (!baseline) return tl::unexpected(std::move(baseline.error()));
  return std::move(*baseline);
}

// What is only estimated is no member of the family that Holm corrects for.
template <class Decide>
Result<std::vector<stats::Ruling>> rule(const std::vector<Asked>& asked, const Decide& decide) {
  std::vector<stats::Ruling> all(asked.size());
  for (const bool judged : {true, false}) {
    std::vector<stats::Question> questions;
    for (const Asked& one : asked) {
      if (one.judged == judged) questions.push_back(one.question);
    }
    auto rulings = decide(std::span<const stats::Question>(questions));
    if (!rulings) return tl::unexpected(std::move(rulings.error()));
    auto next = rulings->begin();
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].judged == judged) all[i] = std::move(*next++);
    }
  }
  return all;
}

// The questions of all comparisons, in order.
Result<std::vector<Asked>> ask_all(const std::vector<Comparison>& all) {
  std::vector<Asked> asked;
  for (std::size_t k = 0; k < all.size(); ++k) {
    auto some = ask(all[k]);
    if (!some) return some;
    for (Asked& one : *some) one.comparison = k;
    std::move(some->begin(), some->end(), std::back_inserter(asked));
  }
  return asked;
}

// The runs that are done, of those that there can be.
class Tally {
 public:
  Tally(const GateOptions& options, const std::vector<Comparison>& comparisons) : options_(options) {
    for (const Comparison& c : comparisons)
      all_ += c.policies.size() * c.task.scenarios.size() * options.budget.value_or(c.task.seeds.count());
  }
  void operator()(std::size_t more) {
    done_ += more;
    if (options_.progress) options_.progress(done_, all_, note);
  }
  std::string note;

 private:
  const GateOptions& options_;
  std::size_t done_ = 0, all_ = 0;
};

Result<std::vector<Asked>> at_once(std::vector<Comparison>& all, const GateOptions& options) {
  Tally tally(options, all);
  for (Comparison& one : all) {
    if (auto done = simulate(one, one.task.seeds.values(), options.threads, std::ref(tally)); !done)
      return tl::unexpected(std::move(done.error()));
  }
  auto asked = ask_all(all);
  if (!asked) return asked;
  const auto rulings = rule(*asked, [&](auto questions) {
    return stats::decide(questions, Seed{1}, {.threads = options.threads});
  });
  if (!rulings) return tl::unexpected(rulings.error());
  for (std::size_t i = 0; i < asked->size(); ++i) answer((*asked)[i], (*rulings)[i]);
  return asked;
}

// How far the looks have come, for who waits.
std::string so_far(std::uint64_t seeds, const std::vector<Asked>& asked,
                   const std::vector<std::optional<std::size_t>>& decided_at) {
  std::size_t judged = 0, decided = 0;
  const ComparisonRow* widest = nullptr;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const ComparisonRow& row = asked[i].row;
    judged += asked[i].judged ? 1 : 0;
    decided += decided_at[i] ? 1 : 0;
    if (!asked[i].judged || decided_at[i] || !row.low || !row.high || !row.relative) continue;
    if (widest == nullptr || *row.high - *row.low > *widest->high - *widest->low) widest = &row;
  }
  return fmt::format("{} seeds, {} of {} margins decided{}", seeds, decided, judged,
                     widest == nullptr ? "" : fmt::format(", widest interval {}", interval_text(*widest)));
}

// Seeds until every margin is decided or the budget is spent. What draws nothing is decided by its first
// seed; the sequence looks after that.
Result<std::vector<Asked>> one_by_one(std::vector<Comparison>& all, const GateOptions& options) {
  Tally tally(options, all);
  constexpr stats::Looks looks;
  std::vector<std::set<std::size_t>> open(all.size());
  std::vector<std::optional<std::size_t>> decided_at;
  Result<std::vector<Asked>> asked;
  std::uint64_t have = 0;
  for (std::uint64_t want = 1; want <= *options.budget; want = want == 1 ? looks.first : want + looks.every) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::uint64_t first = all[k].task.seeds.first;
      if (auto done = simulate(all[k], Seeds{first + have, first + want - 1}.values(), options.threads,
                               std::ref(tally), have == 0 ? nullptr : &open[k]);
          !done)
        return tl::unexpected(std::move(done.error()));
    }
    have = want;
    asked = ask_all(all);
    if (!asked) return asked;
    auto rulings = rule(*asked, [&](auto questions) { return stats::decide_so_far(questions, looks); });
    if (!rulings) return tl::unexpected(std::move(rulings.error()));
    decided_at.resize(asked->size());
    bool all_decided = true;
    for (auto& cells : open) cells.clear();
    for (std::size_t i = 0; i < asked->size(); ++i) {
      Asked& one = (*asked)[i];
      if (one.judged && !decided_at[i] && (*rulings)[i].answer != stats::Answer::inconclusive)
        decided_at[i] = one.row.seeds;
      if (one.judged && !decided_at[i]) {
        open[one.comparison].insert(one.cell);
        all_decided = false;
      }
      one.row.decided_at = decided_at[i];
      answer(one, (*rulings)[i]);
    }
    if (all_decided) break;
    tally.note = so_far(have, *asked, decided_at);
  }
  return asked;
}

// How the policies of a comparison grow, under its first seeds: shown beside the verdict, never a part of it.
Result<void> add_growth(const Comparison& c, unsigned threads, Report& report) {
  constexpr std::size_t seeds_max = 30;
  const CompareTask& task = c.task;
  std::vector<std::uint64_t> seeds = task.seeds.values();
  seeds.resize(std::min(seeds.size(), seeds_max));
  std::vector<std::string> metrics;
  for (const Margin& margin : task.margins) metrics.push_back(margin.metric);
  for (std::size_t s = 0; s < task.sizes.size(); ++s) {
    GrowthRequest request{task.baseline, task.candidates, {task.sizes[s]}, *task.over,
                          seeds,         metrics,         threads};
    // A stored policy is the baseline, and what the suite says of it now a candidate.
    if (const BaselineArm& arm = c.arms[s]; arm.stored && arm.policy) {
      request.baseline.name = arm.name;
      request.baseline.policy = *arm.policy;
      request.baseline.program = nullptr;
      if (arm.changed) request.candidates.insert(request.candidates.begin(), task.baseline);
    }
    const auto grown = grow(request);
    if (!grown) return tl::unexpected(grown.error());
    for (GrowthRow& row : growth_rows(*grown)) report.growth.push_back(std::move(row));
  }
  return {};
}

Result<void> compare_all(const Suite& suite, const GateOptions& options, GateRun& run) {
  Report& report = run.report;
  std::optional<Baseline> stored;
  if (!options.baseline.empty()) {
    auto loaded = load_baseline(options.baseline, report.blocked);
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    stored = std::move(*loaded);
  }
  std::vector<Comparison> comparisons;
  for (const CompareTask& task : suite.compare) {
    if (!options.baseline.empty() && !stored) break;
    if (options.budget && task.method != stats::Deciding::paired_mean)
      return failure(task.where,
                     "--until-decided decides by a confidence sequence, not by a method of the suite",
                     "leave out the method or --until-decided");
    auto one = begin(task, stored ? &*stored : nullptr, options.threads, report);
    if (!one) return tl::unexpected(std::move(one.error()));
    if (*one) comparisons.push_back(std::move(**one));
  }
  auto asked = options.budget ? one_by_one(comparisons, options) : at_once(comparisons, options);
  if (!asked) return tl::unexpected(std::move(asked.error()));
  report.one_by_one = options.budget.has_value();
  for (Asked& one : *asked) report.comparisons.push_back(std::move(one.row));
  for (const Comparison& one : comparisons) {
    if (auto done = add_growth(one, options.threads, report); !done) return done;
  }
  std::vector<CompareTask> tasks;
  for (Comparison& one : comparisons) {
    tasks.push_back(one.task);
    run.samples.push_back(samples(std::move(one)));
    add_evidence(tasks.back(), run.samples.back(), report);
  }
  if (auto done = add_storms(tasks, stored ? &*stored : nullptr, report); !done) return done;
  if (!report.blocked.empty()) {
    if (stored && !stored->suite.empty() && stored->suite != suite.name)
      report.notes.push_back(fmt::format(
          "{} was written for the suite '{}', and this is '{}': give the file of this suite. With "
          "--update-baseline this one would take the place of the other's samples.",
          options.baseline, stored->suite, suite.name));
    else
      report.notes.push_back(
          "To have a baseline that can be compared, go to the commit whose policy is the baseline (usually "
          "the main branch), run the same command there with --update-baseline, look at the file's diff and "
          "commit it.");
  }
  return {};
}

// By which methods, where their p and intervals come from, and what they assume: each once.
std::string how_decided(const Report& report) {
  std::vector<std::string> all;
  for (const ComparisonRow& row : report.comparisons) {
    if (row.law.empty()) continue;
    const bool free = row.assumes.empty() || row.assumes == "nothing";
    const std::string one =
        fmt::format("{} ({}){}", row.method, row.law, free ? "" : ", which assumes " + row.assumes);
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  return all.empty() ? ""
                     : fmt::format("{} by {}. All methods assume that seeds are independent of each other.",
                                   judges(report) ? "Decided" : "Estimated", fmt::join(all, "; by "));
}

// What the reader must know to believe the intervals.
std::string how_to_read(const Report& report, const GateOptions& options) {
  std::string text =
      "How to read this: every seed is one simulated storm that both policies meet alike, and they are "
      "compared seed by seed. The interval holds the true effect with 90 % confidence. ";
  if (!report.one_by_one)
    return text +
           fmt::format("The seeds ({}) are fixed: running it again adds no evidence.", report.run.seeds);
  return text + fmt::format(
                    "Seeds came one after another ({} at most of a budget of {}), until each margin was "
                    "decided. The intervals are those of a confidence sequence: they hold at every look, so "
                    "that looking often and stopping early makes no mistake likelier. The seeds are fixed: "
                    "running it again adds no evidence.",
                    report.run.seeds, *options.budget);
}

Result<void> check_all(const CheckTask& task, const GateOptions& options, Report& report) {
  CheckRequest request;
  request.only = task.invariants;
  request.inconclusive = options.inconclusive;
  auto checked = check_policies(task.subjects, request);
  if (!checked) return tl::unexpected(std::move(checked.error()));
  const auto programs = check_programs(task.programs, task.contract, request);
  if (!programs) return tl::unexpected(programs.error());
  append(*checked, *programs);
  for (const TraceFile& trace : task.traces) {
    auto recorded = check_recording(trace.path, task.contract, request);
    if (!recorded) return tl::unexpected(recorded.error());
    for (VerdictRow& row : recorded->verdicts) row.subject = trace.name;
    for (CoverageRow& row : recorded->coverage) row.subject = trace.name;
    append(*checked, *recorded);
  }
  for (VerdictRow& row : checked->verdicts) {
    if (const auto place = task.places.find(row.subject); place != task.places.end())
      row.where = place->second;
  }
  RG_ASSERT(task.waivers.empty() || options.today, "a suite with waivers is judged on a day");
  if (options.today) apply_waivers(task.waivers, *options.today, checked->verdicts);
  conclude(*checked, request);
  report.undecided = report.undecided || checked->undecided;
  append(report, *checked);
  return {};
}

// Every range of seeds that something was compared over, of those with the same first seed the longest.
std::string ranges_of_seeds(const Report& report) {
  std::vector<const ComparisonRow*> ranges;
  const auto first = [](const ComparisonRow& row) {
    return row.seed_range.substr(0, row.seed_range.find('.'));
  };
  for (const ComparisonRow& row : report.comparisons) {
    const auto same = std::find_if(ranges.begin(), ranges.end(),
                                   [&](const ComparisonRow* other) { return first(*other) == first(row); });
    if (same == ranges.end())
      ranges.push_back(&row);
    else if (row.seeds > (*same)->seeds)
      *same = &row;
  }
  std::string all;
  for (const ComparisonRow* row : ranges) all += (all.empty() ? "" : ", ") + row->seed_range;
  return all;
}

ExitCode code_of(const Report& report, Inconclusive inconclusive) {
  ExitCode code = report.code;
  const auto failed = [](const ComparisonRow& row) { return row.verdict == "fail"; };
  if (std::any_of(report.comparisons.begin(), report.comparisons.end(), failed))
    code = worst({code, ExitCode::violation});
  if (report.undecided && inconclusive == Inconclusive::fail) code = worst({code, ExitCode::inconclusive});
  if (!report.blocked.empty()) code = worst({code, ExitCode::inconclusive});
  return code;
}

// The comparisons that can be made without a subject.
void leave_out(const std::string& subject, bool stored, std::vector<CompareTask>& tasks) {
  for (CompareTask& task : tasks)
    std::erase_if(task.candidates, [&](const NamedPolicy& one) { return one.name == subject; });
  std::erase_if(tasks, [&](const CompareTask& task) {
    return task.baseline.name == subject || (task.candidates.empty() && !stored);
  });
}

// A program that breaks off ends no run but its own: it breaks its promise to survive, and everything else is
// compared without it.
Result<GateRun> compare_who_survives(Suite suite, const GateOptions& options, std::vector<RunFault>& faults) {
  for (;;) {
    try {
      GateRun run;
      if (auto done = compare_all(suite, options, run); !done) return tl::unexpected(std::move(done.error()));
      return run;
    } catch (const RunFault& fault) {
      faults.push_back(fault);
    }
    leave_out(faults.back().subject, !options.baseline.empty(), suite.compare);
  }
}

}  // namespace

void add_fault(const RunFault& fault, Report& report) {
  report.notes.push_back(fmt::format("{} {}: no comparison with it was made.", fault.subject,
                                     fault.started ? "broke off in a simulation" : "could not be started"));
  if (!fault.started) {
    report.unstarted.push_back(
        {fault.where, fmt::format("{} was not compared: {}", fault.subject, fault.what()), {}});
    report.code = worst({report.code, ExitCode::internal});
    return;
  }
  const Invariant& survives = *invariants().find("survives");
  const auto known = [&](const VerdictRow& row) {
    return row.subject == fault.subject && row.invariant == survives.id && row.verdict != "holds";
  };
  if (std::any_of(report.verdicts.begin(), report.verdicts.end(), known)) return;  // told, or waived, already
  report.code = worst({report.code, ExitCode::violation});
  report.verdicts.push_back({fault.subject,
                             std::string(survives.id),
                             std::string(to_string(survives.level)),
                             std::string(to_string(survives.evidence)),
                             std::string(to_string(Verdict::fails)),
                             std::string(survives.claim),
                             fault.what(),
                             {},
                             fault.where});
}

Result<GateRun> run_gate(const Suite& suite, const GateOptions& options) {
  std::vector<RunFault> faults;
  auto compared = compare_who_survives(suite, options, faults);
  if (!compared) return compared;
  GateRun run = std::move(*compared);
  Report& report = run.report;
  for (const CheckTask& task : suite.check) {
    if (auto done = check_all(task, options, report); !done) return tl::unexpected(std::move(done.error()));
  }
  for (const RunFault& fault : faults) add_fault(fault, report);
  if (report.verdicts.empty() && report.comparisons.empty() && report.blocked.empty() &&
      report.unstarted.empty())
    return failure({suite.path, 0, 0}, "nothing was compared and nothing was checked",
                   "give the suite a [[compare]] with metrics or a [[check]] with subjects");
  const auto undecided = [](const ComparisonRow& row) { return row.verdict == "inconclusive"; };
  if (options.inconclusive != Inconclusive::pass &&
      std::any_of(report.comparisons.begin(), report.comparisons.end(), undecided))
    report.undecided = true;
  report.code = code_of(report, options.inconclusive);
  report.run.version = version();
  report.provenance.commit = commit();
  report.provenance.random_streams = random_streams_version;
  report.run.suite = suite.name;
  report.run.summary = suite.summary;
  if (!report.comparisons.empty()) {
    report.run.seeds = ranges_of_seeds(report);
    report.notes.push_back(how_to_read(report, options));
    if (std::string methods = how_decided(report); !methods.empty())
      report.notes.push_back(std::move(methods));
  }
  return run;
}

Result<std::string> update_baseline(const Suite& suite, const GateOptions& options) {
  Baseline baseline{options.baseline, std::string(version())};
  baseline.suite = suite.name;
  for (const CompareTask& task : suite.compare) {
    std::vector<std::string> ids;
    for (const Margin& margin : task.margins) ids.push_back(margin.metric);
    const auto table = sweep({task.baseline}, task.scenarios, task.seeds.values(), ids, options.threads);
    if (!table) return tl::unexpected(table.error());
    store(task.baseline, task.scenarios, task.seeds, *table, baseline);
  }
  if (baseline.cells.empty())
    return failure({suite.path, 0, 0}, "this suite compares nothing, so it has no baseline to store",
                   "give it a [[compare]]");
  if (auto written = write_file(options.baseline, to_json(baseline)); !written)
    return tl::unexpected(std::move(written.error()));
  std::string told = fmt::format("wrote {}:\n", options.baseline);
  for (const StoredCell& cell : baseline.cells)
    told += fmt::format("  {} on {}, seeds {}, {} metrics\n", cell.policy, cell.scenario,
                        to_string(cell.seeds), cell.metrics.size());
  return told;
}

}  // namespace retrygate::ci
