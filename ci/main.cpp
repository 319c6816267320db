// The `retrygate` command: one function per subcommand; parsing lives here and nowhere else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "ci/commands.hpp"
#include "ci/exit_code.hpp"
#include "ci/gate.hpp"
#include "ci/json_io.hpp"
#include "ci/reproduce.hpp"
#include "ci/show.hpp"
#include "ci/stats_command.hpp"
#include "ci/suite.hpp"
#include "properties/invariant.hpp"
#include "stats/procedure.hpp"

namespace retrygate::ci {
namespace {

ExitCode refuse(const Errors& errors) {
  fmt::print(stderr, "{}", to_string(errors));
  return ExitCode::usage;
}

// A duration given as an option; complaints go to `errors`.
std::optional<Duration> read_duration(const std::string& text, const std::string& option, Errors& errors) {
  if (text.empty()) return std::nullopt;
  auto parsed = parse_duration(text, {option, 1, 1});
  if (parsed && *parsed < Duration{}) parsed = failure({option, 1, 1}, "a duration must not be negative");
  return keep(std::move(parsed), errors);
}

struct ShowOptions {
  std::string policy, deadline, outage, format = "text";
  std::int64_t attempts = 12;
};

ExitCode show(const ShowOptions& options) {
  Errors errors;
  const auto named = keep(find_policy(options.policy, {"P", 1, 1}), errors);
  ShowRequest request;
  request.retries = options.attempts - 1;
  request.deadline = read_duration(options.deadline, "--deadline", errors);
  request.outage = read_duration(options.outage, "--outage", errors);
  if (!errors.empty()) return refuse(errors);
  const Schedule rows = schedule(named->policy, request.retries);
  fmt::print("{}",
             options.format == "json" ? schedule_json(named->name, rows) : show_text(*named, rows, request));
  return ExitCode::pass;
}

std::vector<ListRow> catalogue(const std::string& kind) {
  std::vector<ListRow> rows;
  const auto add = [&](std::string_view id, std::string_view first, std::string_view text,
                       std::string_view second = {}, std::string_view more = {}) {
    rows.push_back({std::string(id), {{std::string(first), std::string(text)}}});
    if (!second.empty()) rows.back().columns.emplace_back(second, more);
  };
  if (kind == "policies") {
    for (const Preset& preset : presets()) add(preset.id, "summary", preset.summary, "source", preset.source);
  } else if (kind == "scenarios") {
    for (const EmbeddedFile& file : scenario_files()) {
      if (const auto scenario = find_scenario(file.id, {})) add(file.id, "summary", scenario->summary);
    }
  } else if (kind == "metrics") {
    for (const Metric& metric : metrics())
      add(metric.id, "unit", metric.unit, "better", metric.better == Better::lower ? "lower" : "higher");
  } else if (kind == "invariants") {
    for (const Invariant& invariant : invariants())
      add(invariant.id, "claim", invariant.claim, "why", invariant.why);
  } else if (kind == "tests") {
    for (const stats::Procedure& test : stats::procedures())
      add(test.id, "summary", test.summary, "source", test.source);
  } else {
    for (const Reporter& reporter : reporters())
      add(reporter.id, "summary", reporter.summary, "file", reporter.file);
  }
  return rows;
}

ExitCode list(const std::string& kind, const std::string& format) {
  const std::vector<ListRow> rows = catalogue(kind);
  if (format == "json") {
    fmt::print("{}", list_json(rows));
    return ExitCode::pass;
  }
  for (const ListRow& row : rows) fmt::print("{:<26} {}\n", row.id, row.columns.front().second);
  return ExitCode::pass;
}

ExitCode explain(const std::string& id) {
  const Invariant* invariant = invariants().find(id);
  if (invariant == nullptr) {
    return refuse({{{"ID", 1, 1},
                    fmt::format("nothing is called '{}'{}", id, did_you_mean(id, invariants().ids())),
                    "`retrygate list invariants` shows all"}});
  }
  fmt::print("{} ({}, {})\n\nClaim:  {}\nWhy:    {}\nSource: {}\n", invariant->id,
             to_string(invariant->level), to_string(invariant->evidence), invariant->claim, invariant->why,
             invariant->source);
  return ExitCode::pass;
}

std::vector<NamedPolicy> find_policies(const std::vector<std::string>& references, const std::string& option,
                                       Errors& errors) {
  std::vector<NamedPolicy> all;
  for (const std::string& reference : references) {
    if (auto found = keep(find_policy(reference, {option, 1, 1}), errors)) all.push_back(std::move(*found));
  }
  return all;
}

struct CheckOptions {
  std::vector<std::string> subjects;
  CheckRequest request;
  std::string format = "text";
};

ExitCode check(const CheckOptions& options) {
  Errors errors;
  const auto subjects = find_policies(options.subjects, "SUBJECT", errors);
  if (!errors.empty()) return refuse(errors);
  auto report = check_policies(subjects, options.request);
  if (!report) return refuse(report.error());
  report->run.version = RETRYGATE_VERSION;
  report->run.suite = "check";
  if (options.format == "json")
    fmt::print("{}", verdicts_json(*report));
  else
    fmt::print("{}", reporters().find(options.format)->render(*report));
  return report->code;
}

struct SimOptions {
  std::vector<std::string> policies, metrics, set;
  std::string scenario, seeds = "1..200", format = "text", out;
  unsigned threads = 0;
};

ExitCode simulate(const SimOptions& options) {
  Errors errors;
  const auto policies = find_policies(options.policies, "--policy", errors);
  const auto scenario = keep(find_scenario(options.scenario, {"--scenario", 1, 1}, options.set), errors);
  const auto seeds = keep(parse_seeds(options.seeds, {"--seeds", 1, 1}), errors);
  std::vector<std::string> ids = options.metrics;
  for (const std::string& id : ids) keep(find_metric(id, {"--metric", 1, 1}), errors);
  if (ids.empty()) {
    for (const Metric& metric : metrics()) ids.emplace_back(metric.id);
  }
  if (!errors.empty()) return refuse(errors);
  const auto table = sweep(policies, {*scenario}, seeds->values(), ids, options.threads);
  if (!table) return refuse(table.error());
  const std::string text = options.format == "json" ? samples_json({*table}) : samples_text(*table);
  if (options.out.empty()) {
    fmt::print("{}", text);
  } else if (const auto done = write_file(options.out, text); !done) {
    return refuse(done.error());
  }
  return ExitCode::pass;
}

struct GateCommand {
  std::string suite, out, format = "text", inconclusive = "fail";
  unsigned threads = 0;
};

// Every reporter's file and the samples, whatever --format says.
Errors write_reports(const GateRun& result, const std::string& folder) {
  Errors errors;
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault) return {{{folder, 0, 0}, "cannot make this folder: " + fault.message(), "nothing was written"}};
  const auto write = [&](std::string_view name, const std::string& text) {
    if (const auto done = write_file((std::filesystem::path(folder) / name).string(), text); !done)
      errors.push_back(done.error().front());
  };
  for (const Reporter& reporter : reporters()) write(reporter.file, reporter.render(result.report));
  write("samples.json", samples_json(result.samples));
  return errors;
}

ExitCode gate(const GateCommand& command) {
  std::vector<std::string_view> ids;
  for (const Metric& metric : metrics()) ids.push_back(metric.id);
  const auto suite = find_suite(command.suite, ids);
  if (!suite) return refuse(suite.error());
  const GateOptions options{command.inconclusive == "fail"   ? Inconclusive::fail
                            : command.inconclusive == "warn" ? Inconclusive::warn
                                                             : Inconclusive::pass,
                            command.threads};
  auto result = run_gate(*suite, options);
  if (!result) return refuse(result.error());
  result->report.run.version = RETRYGATE_VERSION;
  result->report.run.command =
      command.suite.empty() ? "retrygate gate" : fmt::format("retrygate gate '{}'", command.suite);
  fmt::print("{}", reporters().find(command.format)->render(result->report));
  if (!command.out.empty()) {
    if (const Errors errors = write_reports(*result, command.out); !errors.empty()) return refuse(errors);
  }
  return result->report.code;
}

ExitCode reproduce_experiments(const std::string& name, const std::string& seeds_text,
                               const std::string& format) {
  const auto seeds = parse_seeds(seeds_text, {"--seeds", 1, 1});
  if (!seeds) return refuse(seeds.error());
  const auto rows = reproduce(name, *seeds);
  if (!rows) return refuse(rows.error());
  fmt::print("{}", format == "json" ? claims_json(*rows) : claims_text(*rows));
  return ExitCode::pass;
}

struct StatsCommand {
  StatsRequest request;
  std::string cases, format = "text";
};

ExitCode statistics(const StatsCommand& command) {
  const bool json = command.format == "json";
  const auto out =
      command.cases.empty() ? stats_of_files(command.request, json) : stats_of_cases(command.cases, json);
  if (!out) return refuse(out.error());
  fmt::print("{}", out->text);
  return out->code;
}

int run(int argc, char** argv) {
  CLI::App app("Proves what a retry policy promises, measures what it does to a fleet, gates the change.",
               "retrygate");
  app.set_version_flag("--version", "retrygate " RETRYGATE_VERSION);
  app.require_subcommand(1);
  ExitCode code = ExitCode::pass;
  const auto format = [](CLI::App* command, std::string& into) {
    command->add_option("--format", into, "text or json")->check(CLI::IsMember({"text", "json"}));
  };

  ShowOptions show_options;
  CLI::App* show_command =
      app.add_subcommand("show", "print the schedule of a policy: per retry lowest, mean, highest");
  show_command
      ->add_option("P", show_options.policy,
                   "a built-in, FILE.toml#name, either with overrides: full-jitter:base=200ms,cap=10s")
      ->required();
  show_command
      ->add_option("--attempts", show_options.attempts,
                   "rows to show, counted as attempts with the first try (12)")
      ->check(CLI::Range(2, 1000));
  show_command->add_option("--deadline", show_options.deadline,
                           "say how the schedule fits this deadline, for example 10s");
  show_command->add_option("--outage", show_options.outage,
                           "say how many calls outlive an outage of this length");
  format(show_command, show_options.format);
  show_command->callback([&] { code = show(show_options); });

  std::string kind, list_format = "text";
  CLI::App* list_command = app.add_subcommand("list", "list what can be named");
  list_command->add_option("KIND", kind, "policies, scenarios, metrics, invariants, tests or reporters")
      ->required()
      ->check(CLI::IsMember({"policies", "scenarios", "metrics", "invariants", "tests", "reporters"}));
  format(list_command, list_format);
  list_command->callback([&] { code = list(kind, list_format); });

  std::string id;
  CLI::App* explain_command =
      app.add_subcommand("explain", "say what an invariant claims, why, and who was bitten");
  explain_command->add_option("ID", id, "an invariant's id")->required();
  explain_command->callback([&] { code = explain(id); });

  CheckOptions check_options;
  CLI::App* check_command = app.add_subcommand("check", "hold policies against what they promise");
  check_command->add_option("SUBJECT", check_options.subjects, "policies, as for show")->required();
  check_command->add_option("--seed", check_options.request.seed, "of the generated cases (1)");
  check_command->add_option("--cases", check_options.request.cases, "generated cases per invariant (200)")
      ->check(CLI::Range(1, 1'000'000));
  check_command->add_option("--only", check_options.request.only, "these invariants alone")->delimiter(',');
  check_command->add_flag("--strict", check_options.request.strict, "a failed SHOULD counts too");
  check_command->add_option("--format", check_options.format, "text, markdown or json")
      ->check(CLI::IsMember({"text", "markdown", "json"}));
  check_command->callback([&] { code = check(check_options); });

  SimOptions sim_options;
  CLI::App* sim_command =
      app.add_subcommand("sim", "run a fleet of clients with a policy through a scenario");
  sim_command->add_option("--policy", sim_options.policies, "as for show; may be repeated")->required();
  sim_command->add_option("--scenario", sim_options.scenario, "a shipped scenario, or FILE.toml#name")
      ->required();
  sim_command->add_option("--seeds", sim_options.seeds, "a range such as 1..200, or one number");
  sim_command->add_option("--metric", sim_options.metrics, "these metrics alone; may be repeated");
  sim_command->add_option("--set", sim_options.set,
                          "key=value of the scenario, for example clients=2000; may be repeated");
  sim_command->add_option("--threads", sim_options.threads,
                          "0 is one per core; the results do not depend on it");
  sim_command->add_option("--out", sim_options.out, "write to this file instead");
  format(sim_command, sim_options.format);
  sim_command->callback([&] { code = simulate(sim_options); });

  std::string experiment = "all", experiment_seeds = "1..200", experiment_format = "text";
  CLI::App* reproduce_command = app.add_subcommand(
      "reproduce", "run the published experiments: published figure, ours, verdict and why");
  reproduce_command->add_option("NAME", experiment,
                                fmt::format("all (default) or one of: {}", fmt::join(experiments(), ", ")));
  reproduce_command->add_option("--seeds", experiment_seeds, "a range such as 1..200");
  format(reproduce_command, experiment_format);
  reproduce_command->callback(
      [&] { code = reproduce_experiments(experiment, experiment_seeds, experiment_format); });

  GateCommand gate_command;
  CLI::App* gate_sub = app.add_subcommand(
      "gate", "decide whether a change of policy may be merged: exit 0 pass, 1 fail, 3 inconclusive");
  gate_sub->add_option("SUITE", gate_command.suite,
                       "a suite file, or a shipped one: default, jitter-removed");
  gate_sub->add_option("--out", gate_command.out, "write all reports and the samples into this folder");
  gate_sub->add_option("--format", gate_command.format, "text, markdown or json")
      ->check(CLI::IsMember({"text", "markdown", "json"}));
  gate_sub
      ->add_option("--inconclusive", gate_command.inconclusive,
                   "what an undecided metric does: fail (exit 3), warn or pass")
      ->check(CLI::IsMember({"fail", "warn", "pass"}));
  gate_sub->add_option("--threads", gate_command.threads,
                       "0 is one per core; the results do not depend on it");
  gate_sub->callback([&] { code = gate(gate_command); });

  StatsCommand stats_options;
  CLI::App* stats_command = app.add_subcommand("stats", "run a statistical procedure on samples");
  CLI::Option* cases_option =
      stats_command->add_option("--cases", stats_options.cases, "a JSON array of cases, all of them run");
  stats_command->add_option("TEST", stats_options.request.test, "`retrygate list tests` shows all")
      ->excludes(cases_option);
  stats_command->add_option("FILE", stats_options.request.files, "CSV: every column of numbers is a sample")
      ->excludes(cases_option);
  stats_command
      ->add_option("--set", stats_options.request.set,
                   "key=value of the procedure, for example conf_level=0.9; may be repeated")
      ->excludes(cases_option);
  format(stats_command, stats_options.format);
  stats_command->callback([&] { code = statistics(stats_options); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    return app.exit(fault) == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  return static_cast<int>(code);
}

}  // namespace
}  // namespace retrygate::ci

int main(int argc, char** argv) {
  retrygate::on_failed_assertion = [] { std::_Exit(static_cast<int>(retrygate::ci::ExitCode::internal)); };
  return retrygate::ci::run(argc, argv);
}
