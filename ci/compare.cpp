#include "ci/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/samples.hpp"
#include "ci/version.hpp"
#include "stats/sample.hpp"

namespace retrygate::ci {
namespace {

bool drew(const Cell& cell) { return std::find(cell.drew.begin(), cell.drew.end(), true) != cell.drew.end(); }

std::vector<std::string> lines_of(const std::string& definition, const std::vector<std::string>& contract) {
  std::vector<std::string> lines = {definition};
  for (const std::string& line : contract) lines.push_back("promises " + line);
  return lines;
}

// Lines of `from` that `other` lacks.
std::vector<std::string> without(const std::vector<std::string>& from,
                                 const std::vector<std::string>& other) {
  std::vector<std::string> all;
  for (const std::string& line : from) {
    if (std::find(other.begin(), other.end(), line) == other.end()) all.push_back(line);
  }
  return all;
}

PolicyChange change(const std::string& stored, const std::vector<std::string>& before, const NamedPolicy& now,
                    bool in_file) {
  const auto after = lines_of(to_string(now.policy), describe(now.policy.contract()));
  return {stored, now.name, without(before, after), without(after, before), in_file};
}

void add_change(Report& report, PolicyChange change) {
  if (std::find(report.changes.begin(), report.changes.end(), change) == report.changes.end())
    report.changes.push_back(std::move(change));
}

// The first run that is not the stored one: nothing if all events and all samples are the same.
std::optional<std::string> first_difference(const Cell& stored, const Cell& now,
                                            const std::vector<std::string>& metrics) {
  const auto show = [](std::optional<double> x) { return x ? fmt::format("{}", *x) : std::string("none"); };
  for (std::size_t i = 0; i < now.digests.size(); ++i) {
    if (stored.digests[i] != now.digests[i])
      return fmt::format("digest of {} under seed {}: stored {:016x}, now {:016x}", now.policy, now.seeds[i],
                         stored.digests[i], now.digests[i]);
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      if (stored.samples[m][i] != now.samples[m][i])
        return fmt::format("{} of {} under seed {}: stored {}, now {}", metrics[m], now.policy, now.seeds[i],
                           show(stored.samples[m][i]), show(now.samples[m][i]));
    }
  }
  return std::nullopt;
}

// The stored side of one scenario, or what forbids its use.
std::optional<BaselineArm> stored_arm(const CompareTask& task, const Baseline& file, const Scenario& scenario,
                                      unsigned threads, Report& report) {
  const auto block = [&](const std::string& why) {
    const std::string line = file.path + ": " + why;
    const bool told = std::find(report.blocked.begin(), report.blocked.end(), line) != report.blocked.end();
    if (!told) report.blocked.push_back(line);
  };
  const StoredCell* cell = find_cell(file, scenario, task.baseline.name, task.seeds);
  if (cell == nullptr) {
    block(fmt::format("no samples of {} on {} are stored", task.baseline.name, scenario.id));
    return std::nullopt;
  }
  const auto other = differences(file, *cell, scenario, task.seeds, task.margins);
  for (const std::string& difference : other) block(difference);
  if (!other.empty()) return std::nullopt;

  std::vector<std::string> ids;
  for (const Margin& margin : task.margins) ids.push_back(margin.metric);
  const auto made = stored_policy(*cell);
  // Numbers in a file are believed only as far as this program reproduces them.
  if (!made) {
    block(fmt::format("it was written by retrygate {}, and {} cannot make the policy {} again: {}",
                      file.engine, version(), cell->policy, made.error().front().message));
    return std::nullopt;
  }
  if (made->program) {
    // The program behind the same command may be another one by now: it cannot be run again as it was.
    if (file.engine != version()) {
      block(fmt::format("it was written by retrygate {}, and {} cannot run {} again as it was then",
                        file.engine, version(), cell->policy));
      return std::nullopt;
    }
    report.notes.push_back(fmt::format(
        "{} on {} is a program: its stored samples are compared as they are, it was not run again.",
        cell->policy, scenario.id));
    return BaselineArm{cell->policy + " (stored)", std::nullopt, stored_samples(*cell, ids), true};
  }
  BaselineArm arm{cell->policy + " (stored)", made->policy, stored_samples(*cell, ids),
                  !(made->policy == task.baseline.policy)};
  auto again = sweep({*made}, {scenario}, task.seeds.values(), ids, threads);
  if (!again) {
    block(fmt::format("{} cannot be simulated: {}", cell->policy, again.error().front().message));
    return std::nullopt;
  }
  const bool same_engine = file.engine == version();
  // What a reader of the file sees of the policy must be the policy.
  if (same_engine && lines_of(cell->definition, cell->contract) !=
                         lines_of(to_string(made->policy), describe(made->policy.contract()))) {
    block(
        fmt::format("the policy {} was edited by hand: its 'definition' and 'contract' are not those of its "
                    "'table'",
                    cell->policy));
    return std::nullopt;
  }
  const auto difference = first_difference(*arm.stored, again->cells[0], ids);
  if (same_engine && difference) {
    block(*difference);
    return std::nullopt;
  }
  if (!same_engine)
    report.notes.push_back(fmt::format(
        "{} was written by retrygate {}: its policy {} was simulated again by {}{}.", file.path, file.engine,
        cell->policy, version(), difference ? ", with another course of events" : ", event by event alike"));
  arm.stored = std::move(again->cells[0]);
  if (!arm.changed)
    report.notes.push_back(
        fmt::format("{} on {} is the policy of {}, simulated again with the same "
                    "result.",
                    task.baseline.name, scenario.id, file.path));
  std::vector<NamedPolicy> now = {task.baseline};
  now.insert(now.end(), task.candidates.begin(), task.candidates.end());
  for (const NamedPolicy& policy : now) {
    if (!(policy.policy == made->policy))
      add_change(report, change(cell->policy, lines_of(cell->definition, cell->contract), policy, true));
  }
  return arm;
}

// "10%", "5 points".
std::string margin_words(const ComparisonRow& row) {
  return yes_no(row.unit) ? fmt::format("{:.6g} points", 100 * row.margin_amount.value_or(0)) : row.margin;
}

// Where sampling theory speaks, it can be wrong in 5 % of the cases; exact answers and counts of seeds say in
// their note how sure they are.
bool by_theory(const stats::Ruling& ruling) { return ruling.p.has_value(); }

// "asked: .."; what it was asked, and the answer.
std::string judged(const ComparisonRow& row, const Asked& asked, const stats::Ruling& ruling) {
  using enum stats::Asking;
  const stats::Asking asking = asked.question.asking;
  const bool none = asked.question.margin == 0;
  const std::string p = row.p_adjusted ? fmt::format(" (adjusted {})", p_text(*row.p_adjusted)) : "";
  const std::string margin = margin_words(row);
  const std::string question =
      asking == not_worse ? (none ? "not worse" : fmt::format("not worse by more than {}", margin))
      : asking == better  ? (none ? "better" : fmt::format("better by at least {}", margin))
                          : fmt::format("the same within {}", margin);
  std::string answer;
  const std::string holds = by_theory(ruling) ? "that holds with 95 % confidence" : "that holds";
  if (row.verdict == "inconclusive") {
    answer = "these seeds do not decide it";
    if (row.seeds_needed && row.method == "constant difference")
      answer += fmt::format("; {} that agree would", *row.seeds_needed);
    else if (row.seeds_needed)
      answer +=
          fmt::format("; about {} would{}", *row.seeds_needed, by_theory(ruling) ? ", 4 times in 5" : "");
  } else if (asking == not_worse || asking == better)
    answer = row.verdict == "pass" ? holds : "that does not hold" + p;
  else
    answer = row.verdict == "pass" ? holds
             : changed(row)        ? fmt::format("changed, it is better by more than {}{}", margin, p)
                                   : fmt::format("it is worse by more than {}{}", margin, p);
  return fmt::format("; asked: {}: {}.", question, answer);
}

// "-6.0 points" for shares, where tables have no room for the word.
std::string effect_words(const ComparisonRow& row, std::optional<double> effect) {
  return effect && yes_no(row.unit) ? fmt::format("{:+.1f} points", 100 * *effect) : effect_text(row, effect);
}

// "yes in 12 of 200 seeds, with the baseline in 3: "
std::string in_seeds(const ComparisonRow& row) {
  const auto seeds = [&](std::optional<double> share) {
    return std::llround(share.value_or(0) * static_cast<double>(row.seeds));
  };
  return fmt::format("yes in {} of {} seeds, with the baseline in {}: ", seeds(row.candidate_mean), row.seeds,
                     seeds(row.baseline_mean));
}

// What of an end that did not come before the horizon? A difference beyond it is not seen.
std::string not_reached(const Asked& asked) {
  const std::size_t candidate = asked.unreached, baseline = asked.baseline_unreached, all = asked.row.seeds;
  const std::string horizon = to_string(asked.horizon);
  if (candidate == 0 && baseline == 0) return "";
  if (candidate == all && baseline == all)
    return fmt::format(
        " Neither got there within {0} in any of {1} seeds; those count as {0}, and what comes "
        "later is not seen.",
        horizon, all);
  const std::string both =
      baseline == 0    ? fmt::format("The candidate did not get there within {} in {}", horizon, candidate)
      : candidate == 0 ? fmt::format("The baseline did not get there within {} in {}", horizon, baseline)
                       : fmt::format("The candidate did not get there within {} in {} and the baseline in {}",
                                     horizon, candidate, baseline);
  return fmt::format(" {} of {} seeds; those count as {}.", both, all, horizon);
}

// A call that the horizon cuts off has neither succeeded nor given up: where few gave up, many may hang.
std::string cut_off(const Asked& asked) {
  if (asked.row.metric != "gave_up" || asked.cut_off + asked.baseline_cut_off == 0) return "";
  return fmt::format(
      " At the end ({}) calls were still going on, with the candidate in {} and with the baseline in {} of "
      "{} seeds: those did not give up, and did not succeed.",
      to_string(asked.horizon), asked.cut_off, asked.baseline_cut_off, asked.row.seeds);
}

std::string headline(const Asked& asked, const stats::Ruling& ruling) {
  const ComparisonRow& row = asked.row;
  const bool worse = row.effect && (*row.effect > 0) == (row.better == "lower");
  std::string text = !row.effect || *row.effect == 0
                         ? "no difference"
                         : fmt::format("{} than the baseline by {}", worse ? "worse" : "better",
                                       effect_words(row, row.effect).substr(1));
  if (yes_no(row.unit)) text = in_seeds(row) + text;
  if (row.low && row.high && *row.low != *row.high)
    text += fmt::format(" (90 % interval {} to {})", effect_words(row, row.low), effect_words(row, row.high));
  text += row.verdict.empty() ? "; no margin was given, so nothing is decided." : judged(row, asked, ruling);
  if (row.decided_at)
    text += fmt::format(" It took {} {}.", *row.decided_at, *row.decided_at == 1 ? "seed" : "seeds");
  if (!ruling.note.empty()) text += " " + ruling.note + ".";
  for (const SensitivityRow& test : row.sensitivity) {
    if (test.verdict != row.verdict)
      text += fmt::format(" The {} test disagrees: by it this would be {} ({}); {} decides.", test.method,
                          test.verdict, p_text(test.verdict == "pass" ? test.p_within : test.p_adjusted),
                          row.method);
  }
  return text + not_reached(asked) + cut_off(asked);
}

void add(Cell& to, Cell more) {
  if (to.seeds.empty()) {
    to = std::move(more);
    return;
  }
  const auto append = [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); };
  append(to.seeds, more.seeds);
  append(to.digests, more.digests);
  append(to.drew, more.drew);
  append(to.unfinished, more.unfinished);
  for (std::size_t m = 0; m < to.samples.size(); ++m) append(to.samples[m], more.samples[m]);
}

Asked question(const Comparison& c, const BaselineArm& arm, std::size_t scenario, std::size_t policy,
               std::size_t margin, std::vector<double> b, std::vector<double> x) {
  const Margin& wanted = c.task.margins[margin];
  const Metric metric = *find_metric(wanted.metric);
  const Scenario& world = c.task.scenarios[scenario];
  Asked one;
  one.cell = scenario * c.policies.size() + policy;
  const Cell& candidate = c.table.cells[one.cell];
  const Cell& baseline = arm.stored ? *arm.stored : c.table.cells[scenario * c.policies.size()];
  one.row = {world.id,       arm.name,      candidate.policy,
             wanted.metric,  metric.unit,   metric.better == Better::lower ? "lower" : "higher",
             stats::mean(b), stats::mean(x)};
  const auto missing = [&](const Cell& cell) {
    const auto& all = cell.samples[margin];
    return static_cast<std::size_t>(
        std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(b.size()), std::nullopt));
  };
  one.unreached = missing(candidate);
  one.baseline_unreached = missing(baseline);
  one.horizon = world.horizon;
  const auto going_on = [&](const Cell& cell) {
    const auto end =
        cell.unfinished.begin() + static_cast<std::ptrdiff_t>(std::min(b.size(), cell.unfinished.size()));
    return static_cast<std::size_t>(
        std::count_if(cell.unfinished.begin(), end, [](std::int64_t calls) { return calls > 0; }));
  };
  one.cut_off = going_on(candidate);
  one.baseline_cut_off = going_on(baseline);
  one.row.relative = wanted.relative;
  one.row.margin = wanted.text;
  one.row.margin_amount = wanted.amount;
  one.row.question = std::string(to_string(c.task.asking));
  one.row.where = c.policies[policy].where;
  one.row.params = world.params;
  one.row.seeds = b.size();
  one.row.seed_range = to_string(Seeds{candidate.seeds.front(), candidate.seeds.back()});
  one.judged = wanted.amount.has_value();
  one.question = {{std::move(b), std::move(x), wanted.relative},
                  metric.better == Better::lower,
                  wanted.amount.value_or(0),
                  !world.draws() && !drew(baseline) && !drew(candidate),
                  arm.policy && *arm.policy == c.policies[policy].policy,
                  wanted.where,
                  c.task.asking,
                  yes_no(metric.unit) ? stats::Deciding::paired_shares : c.task.method,
                  counted(metric.unit) ? 1.0 : 0.0};
  return one;
}

}  // namespace

Result<std::optional<Comparison>> begin(const CompareTask& task, const Baseline* stored, unsigned threads,
                                        Report& report) {
  if (stored == nullptr && task.candidates.empty())
    return failure(task.where, "this comparison has no candidate",
                   "give it candidates = [..], or compare with a stored baseline: --baseline FILE");
  Comparison c{task, {}, {task.baseline}, {}};
  c.policies.insert(c.policies.end(), task.candidates.begin(), task.candidates.end());
  for (const Margin& margin : task.margins) c.table.metrics.push_back(margin.metric);
  for (const Scenario& scenario : task.scenarios) {
    if (stored == nullptr)
      c.arms.push_back({task.baseline.name, task.baseline.policy, {}, false});
    else if (auto arm = stored_arm(task, *stored, scenario, threads, report))
      c.arms.push_back(std::move(*arm));
  }
  if (c.arms.size() < task.scenarios.size()) return std::optional<Comparison>();
  if (stored == nullptr) {
    const AnyPolicy& baseline = task.baseline.policy;
    const auto before = lines_of(to_string(baseline), describe(baseline.contract()));
    for (const NamedPolicy& candidate : task.candidates) {
      if (!(candidate.policy == baseline))
        add_change(report, change(task.baseline.name, before, candidate, false));
    }
  }
  return std::optional(std::move(c));
}

Result<void> simulate(Comparison& c, const std::vector<std::uint64_t>& seeds, unsigned threads,
                      const std::function<void(std::size_t)>& ran, const std::set<std::size_t>* open) {
  c.table.cells.resize(c.task.scenarios.size() * c.policies.size());
  for (std::size_t s = 0; s < c.task.scenarios.size(); ++s) {
    std::vector<std::size_t> cells;
    std::vector<NamedPolicy> policies;
    for (std::size_t p = 0; p < c.policies.size(); ++p) {
      const std::size_t cell = s * c.policies.size() + p;
      if (open != nullptr && p > 0 && !open->contains(cell)) continue;
      cells.push_back(cell);
      policies.push_back(c.policies[p]);
    }
    // Nobody waits for the baseline alone.
    if (open != nullptr && cells.size() == 1) continue;
    std::size_t told = 0;
    SweepOptions sweeping{threads};
    sweeping.progress = [&](std::size_t done, std::size_t) {
      ran(done - told);
      told = done;
    };
    auto table = sweep(policies, {c.task.scenarios[s]}, seeds, c.table.metrics, sweeping);
    if (!table) return tl::unexpected(std::move(table.error()));
    for (std::size_t i = 0; i < cells.size(); ++i) add(c.table.cells[cells[i]], std::move(table->cells[i]));
  }
  return {};
}

Result<std::vector<Asked>> ask(const Comparison& c) {
  Errors errors;
  std::vector<Asked> asked;
  const std::size_t width = c.policies.size();
  for (std::size_t s = 0; s < c.task.scenarios.size(); ++s) {
    const BaselineArm& arm = c.arms[s];
    const Cell& baseline = arm.stored ? *arm.stored : c.table.cells[s * width];
    // The task's own baseline is news only if it is not the stored one, or if there is nothing else to say.
    const bool own = arm.stored && (arm.changed || c.task.candidates.empty());
    for (std::size_t p = own ? 0 : 1; p < width; ++p) {
      const Cell& candidate = c.table.cells[s * width + p];
      for (std::size_t m = 0; m < c.task.margins.size(); ++m) {
        const Margin& margin = c.task.margins[m];
        const Metric metric = *find_metric(margin.metric);
        const Scenario& scenario = c.task.scenarios[s];
        auto b = keep(comparable(baseline.samples[m], metric, scenario, margin.where), errors);
        auto x = keep(comparable(candidate.samples[m], metric, scenario, margin.where), errors);
        if (!b || !x) continue;
        // One that was decided early has fewer seeds than what it is compared with.
        b->resize(std::min(b->size(), x->size()));
        asked.push_back(question(c, arm, s, p, m, std::move(*b), std::move(*x)));
      }
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return asked;
}

SampleTable samples(Comparison c) {
  for (BaselineArm& arm : c.arms) {
    if (arm.stored) c.table.cells.push_back(std::move(*arm.stored));
  }
  return std::move(c.table);
}

void answer(Asked& asked, const stats::Ruling& ruling) {
  ComparisonRow& row = asked.row;
  row.effect = ruling.effect;
  row.low = ruling.low;
  row.high = ruling.high;
  row.method = std::string(ruling.method);
  row.law = ruling.law;
  row.assumes = std::string(ruling.assumes);
  if (asked.judged) {
    row.p = ruling.p;
    row.p_adjusted = ruling.p_adjusted;
    row.seeds_needed = ruling.seeds_needed;
    row.verdict = std::string(to_string(ruling.answer));
    for (const stats::Opinion& opinion : ruling.opinions)
      row.sensitivity.push_back({std::string(opinion.method), std::string(to_string(opinion.answer)),
                                 opinion.p, opinion.p_adjusted, opinion.p_kept, opinion.low, opinion.high});
  }
  row.pairing_gain = ruling.pairing_gain;
  row.headline = headline(asked, ruling);
}

}  // namespace retrygate::ci
