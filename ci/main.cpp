// The `retrygate` command: one function per subcommand; parsing lives here and nowhere else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "ci/catalogue.hpp"
#include "ci/commands.hpp"
#include "ci/compare.hpp"
#include "ci/exit_code.hpp"
#include "ci/gate.hpp"
#include "ci/growth.hpp"
#include "ci/json_io.hpp"
#include "ci/outside.hpp"
#include "ci/reproduce.hpp"
#include "ci/sensitivity.hpp"
#include "ci/show.hpp"
#include "ci/stats_command.hpp"
#include "ci/suite.hpp"
#include "ci/terminal.hpp"
#include "ci/version.hpp"

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

ExitCode list(const std::string& kind, const std::string& format) {
  const std::vector<ListRow> rows = list_of(kind);
  if (format == "json") {
    fmt::print("{}", list_json(rows));
    return ExitCode::pass;
  }
  for (const ListRow& row : rows) {
    std::string line = fmt::format("{:<26} {}", row.id, row.columns.front().second);
    fmt::print("{}\n", line);
  }
  return ExitCode::pass;
}

ExitCode explain(const std::string& id) {
  if (id.empty()) {
    for (const std::string_view known : explained()) fmt::print("{}\n", known);
    return ExitCode::pass;
  }
  const auto text = explanation(id);
  if (!text) return refuse(text.error());
  fmt::print("{}", *text);
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

// How a report is shown, common to check, gate and compare.
struct Shown {
  std::string format = "text", color = "auto", inconclusive;
};

Inconclusive inconclusive(const Shown& shown) {
  return shown.inconclusive == "fail"   ? Inconclusive::fail
         : shown.inconclusive == "warn" ? Inconclusive::warn
                                        : Inconclusive::pass;
}

void print(const Report& report, const Shown& shown) {
  const std::string text = reporters().find(shown.format)->render(report);
  fmt::print("{}", shown.format == "text" && wants_colour(shown.color) ? coloured(text) : text);
}

struct CheckOptions {
  std::vector<std::string> subjects;
  std::string contract, trace;
  CheckRequest request;
  Shown shown{"text", "auto", "warn"};
};

ExitCode check(CheckOptions options, const std::string& command) {
  Errors errors;
  std::vector<std::string> programs, others;
  for (const std::string& subject : options.subjects)
    (is_program(subject) ? programs : others).push_back(subject);
  const auto subjects = find_policies(others, "SUBJECT", errors);
  std::optional<NamedContract> contract;
  if (!options.contract.empty())
    contract = keep(find_contract(options.contract, {"--contract", 1, 1}), errors);
  if (options.subjects.empty() && options.trace.empty())
    errors.push_back(
        {{"check", 0, 0}, "nothing to check", "name a SUBJECT, or a recording with --trace FILE.csv"});
  if (contract && !others.empty())
    errors.push_back({{"--contract", 1, 1},
                      fmt::format("'{}' states a contract of its own", others.front()),
                      "--contract is for exec:CMD and --trace"});
  if (!errors.empty()) return refuse(errors);
  options.request.inconclusive = inconclusive(options.shown);
  auto report = check_policies(subjects, options.request);
  if (!report) return refuse(report.error());
  append(*report, check_programs(programs, contract, options.request));
  if (!options.trace.empty()) {
    const auto recorded = check_recording(options.trace, contract, options.request);
    if (!recorded) return refuse(recorded.error());
    append(*report, *recorded);
  }
  conclude(*report, options.request);
  report->run.suite = "check";
  report->run.command = command;
  if (options.shown.format == "json")
    fmt::print("{}", verdicts_json(*report));
  else
    print(*report, options.shown);
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
  for (const Reporter& reporter : reporters()) {
    if (!reporter.file.empty()) write(reporter.file, reporter.render(result.report));
  }
  write("samples.json", samples_json(result.samples));
  return errors;
}

// A suite's run as a report: on the terminal, and as files where asked.
ExitCode report_on(const Suite& suite, const GateOptions& options, const Shown& shown, const std::string& out,
                   const std::string& command) {
  auto result = run_gate(suite, options);
  if (!result) return refuse(result.error());
  result->report.run.command = command;
  print(result->report, shown);
  if (!out.empty()) {
    if (const Errors errors = write_reports(*result, out); !errors.empty()) return refuse(errors);
  }
  return result->report.code;
}

std::vector<std::string_view> metric_ids() {
  std::vector<std::string_view> ids;
  for (const Metric& metric : metrics()) ids.push_back(metric.id);
  return ids;
}

struct GateCommand {
  std::string suite, baseline, out;
  bool update = false;
  Shown shown{"text", "auto", "fail"};
  unsigned threads = 0;
};

ExitCode gate(const GateCommand& options, const std::string& command) {
  const auto suite = find_suite(options.suite, metric_ids());
  if (!suite) return refuse(suite.error());
  const GateOptions gate{inconclusive(options.shown), options.threads, options.baseline};
  if (!options.update) return report_on(*suite, gate, options.shown, options.out, command);
  const auto told = update_baseline(*suite, gate);
  if (!told) return refuse(told.error());
  fmt::print("{}", *told);
  return ExitCode::pass;
}

struct CompareCommand {
  std::string baseline, seeds = "1..200", out, over;
  std::vector<std::string> candidates, scenarios, metrics, set;
  Shown shown{"text", "auto", "fail"};
  unsigned threads = 0;
};

// "peak_1s" is estimated, "peak_1s:10%" is judged.
std::optional<Margin> read_metric(const std::string& text, Errors& errors) {
  const Where where{"--metric", 1, 1};
  const std::size_t colon = text.find(':');
  const std::string id = text.substr(0, colon);
  if (!keep(find_metric(id, where), errors)) return std::nullopt;
  if (colon == std::string::npos) return Margin{id, {}, false, {}, where};
  return keep(parse_margin(id, std::string_view(text).substr(colon + 1),
                           {"--metric", 1, static_cast<int>(colon) + 2}),
              errors);
}

// Both forms of a result that is no report; with a folder they are written there too.
ExitCode show_result(const std::string& text, const std::string& json, const std::string& format,
                     const std::string& folder, const std::string& name) {
  if (!folder.empty()) {
    std::error_code ignored;  // the writer tells what is wrong with the folder
    std::filesystem::create_directories(folder, ignored);
    Errors errors;
    const std::string path = (std::filesystem::path(folder) / name).string();
    for (const auto& [suffix, content] : {std::pair(".txt", &text), std::pair(".json", &json)}) {
      if (auto written = write_file(path + suffix, *content); !written)
        errors.insert(errors.end(), written.error().begin(), written.error().end());
    }
    if (!errors.empty()) return refuse(errors);
  }
  fmt::print("{}", format == "json" ? json : text);
  return ExitCode::pass;
}

// The same comparison at several sizes: how the policies grow, nothing to pass or to fail.
ExitCode compare_growth(const CompareCommand& options, GrowthRequest request,
                        const std::vector<Margin>& margins) {
  Errors errors;
  if (auto over = keep(parse_over(options.over, {"--over", 1, 1}), errors)) request.over = std::move(*over);
  for (const Margin& margin : margins) {
    request.metrics.push_back(margin.metric);
    if (margin.amount)
      errors.push_back({margin.where, fmt::format("a margin ({}) is judged at one size only", margin.text),
                        "leave it out with --over"});
  }
  if (options.shown.format != "text" && options.shown.format != "json")
    errors.push_back({{"--format", 1, 1}, "--over is shown as text or json", ""});
  if (!errors.empty()) return refuse(errors);
  const auto report = grow(request);
  if (!report) return refuse(report.error());
  return show_result(growth_text(*report), growth_json(*report), options.shown.format, options.out, "growth");
}

// A comparison is a suite with one task.
ExitCode compare(const CompareCommand& options, const std::string& command) {
  Errors errors;
  const auto baseline = keep(find_policy(options.baseline, {"--baseline", 1, 1}), errors);
  auto candidates = find_policies(options.candidates, "--candidate", errors);
  const auto seeds = keep(parse_seeds(options.seeds, {"--seeds", 1, 1}), errors);
  std::vector<std::string> wanted = options.metrics;
  if (wanted.empty()) wanted = {"peak_100ms", "peak_1s", "completion_s", "requests", "gave_up"};
  std::vector<Margin> margins;
  for (const std::string& text : wanted) {
    if (auto margin = read_metric(text, errors)) margins.push_back(std::move(*margin));
  }
  for (const std::string& scenario : options.scenarios)
    keep(find_scenario(scenario, {"--scenario", 1, 1}, options.set), errors);
  if (!errors.empty()) return refuse(errors);
  if (!options.over.empty())
    return compare_growth(
        options,
        {*baseline, candidates, options.scenarios, options.set, {}, seeds->values(), {}, options.threads},
        margins);
  Suite suite;
  suite.name = "compare";
  suite.compare.push_back({*baseline,
                           std::move(candidates),
                           options.scenarios,
                           options.set,
                           *seeds,
                           std::move(margins),
                           {"--scenario", 1, 1}});
  return report_on(suite, {inconclusive(options.shown), options.threads}, options.shown, options.out,
                   command);
}

struct SensitivityCommand {
  SensitivityRequest request;
  std::string seeds = "1..50", format = "text", out;
};

ExitCode explore(SensitivityCommand command) {
  Errors errors;
  if (auto seeds = keep(parse_seeds(command.seeds, {"--seeds", 1, 1}), errors))
    command.request.seeds = seeds->values();
  if (command.request.metrics.empty())
    command.request.metrics = {"peak_1s", "completion_s", "requests", "gave_up"};
  if (!errors.empty()) return refuse(errors);
  const auto report = sensitivity(command.request);
  if (!report) return refuse(report.error());
  return show_result(sensitivity_text(*report), sensitivity_json(*report), command.format, command.out,
                     "sensitivity");
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

// What a user types to see it again. How it is shown and on how many threads it runs changes no result.
std::string repeat_command(int argc, char** argv) {
  constexpr std::string_view left_out[] = {"--out", "--format", "--color", "--threads"};
  std::string text = "retrygate";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i], name = word.substr(0, word.find('='));
    if (std::find(std::begin(left_out), std::end(left_out), name) != std::end(left_out)) {
      if (name.size() == word.size()) ++i;
      continue;
    }
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,%+@";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
      text += ' ' + std::string(word);
      continue;
    }
    text += " '";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += "'";
  }
  return text;
}

constexpr std::string_view overview =
    R"(retrygate proves what a retry policy promises, measures what it does to a fleet of
clients, and gates the change in CI.

  retrygate check full-jitter                       does it keep its promises?
  retrygate show full-jitter:base=200ms,cap=10s     its schedule, retry by retry
  retrygate sim --policy full-jitter --scenario outage-then-limit
                                                    what it does to a fleet
  retrygate compare --baseline full-jitter --candidate equal-jitter \
      --scenario outage-then-limit --metric completion_s:10%
                                                    is another one worse?
  retrygate compare .. --over clients=200..20000    how do they grow?
  retrygate sensitivity full-jitter --scenario outage-then-limit
                                                    which settings matter?
  retrygate gate suite.toml                         may this change be merged?

  retrygate list policies|scenarios|invariants|metrics|tests|reporters|suites
  retrygate explain cap-respected                   also verdicts and exit codes
  retrygate COMMAND --help                          every option
)";

// A command or an option that does not exist, with the one that was probably meant.
ExitCode unknown(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const CLI::App* used : app.get_subcommands({})) {
    if (used->parsed()) command = used;
  }
  Errors errors;
  for (const std::string& word : words) {
    const bool option = word.starts_with("-");
    std::vector<std::string> names;
    if (option) {
      for (const CLI::Option* one : command->get_options()) {
        for (const std::string& name : one->get_lnames()) names.push_back("--" + name);
      }
    } else if (command == &app) {
      for (const CLI::App* one : app.get_subcommands({})) names.push_back(one->get_name());
    }
    const std::string written = word.substr(0, word.find('='));
    errors.push_back({{command == &app ? "retrygate" : "retrygate " + command->get_name(), 0, 0},
                      fmt::format("{} '{}'{}",
                                  option            ? "unknown option"
                                  : command == &app ? "unknown command"
                                                    : "nothing to do with",
                                  written, did_you_mean(written, {names.begin(), names.end()})),
                      option ? "`--help` shows all" : "`retrygate` alone shows what there is"});
  }
  return refuse(errors);
}

int run(int argc, char** argv) {
  CLI::App app("Proves what a retry policy promises, measures what it does to a fleet, gates the change.",
               "retrygate");
  app.set_version_flag("--version", fmt::format("retrygate {} ({})", version(), commit()));
  if (argc < 2) {
    fmt::print("{}", overview);
    return static_cast<int>(ExitCode::usage);
  }
  app.require_subcommand(1);
  const std::string repeat = repeat_command(argc, argv);
  ExitCode code = ExitCode::pass;
  const std::vector<std::string_view> report_ids = reporters().ids();
  const std::vector<std::string> formats(report_ids.begin(), report_ids.end());
  const auto shown = [&formats](CLI::App* command, Shown& into) {
    command->add_option("--format", into.format, fmt::format("{}", fmt::join(formats, ", ")))
        ->check(CLI::IsMember(formats));
    command->add_option("--color", into.color, "auto (a terminal without NO_COLOR), always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    command
        ->add_option("--inconclusive", into.inconclusive,
                     "what is undecided: fail (exit 3), warn (exit 0, but the last line says so) or pass; " +
                         into.inconclusive + " by default")
        ->check(CLI::IsMember({"fail", "warn", "pass"}));
  };
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
  list_command->add_option("KIND", kind, fmt::format("{}", fmt::join(list_kinds(), ", ")))
      ->required()
      ->check(CLI::IsMember(list_kinds()));
  format(list_command, list_format);
  list_command->callback([&] { code = list(kind, list_format); });

  std::string id;
  CLI::App* explain_command = app.add_subcommand(
      "explain", "say what an invariant, a metric, a verdict, a method or an exit code is");
  explain_command->add_option("ID", id, "nothing lists all that can be explained");
  explain_command->callback([&] { code = explain(id); });

  CheckOptions check_options;
  CLI::App* check_command = app.add_subcommand("check", "hold policies against what they promise");
  check_command->add_option("SUBJECT", check_options.subjects,
                            "policies, as for show, or exec:CMD, a program that speaks the protocol");
  check_command->add_option("--contract", check_options.contract,
                            "what exec:CMD or the recording promises: FILE.toml, FILE.json, FILE.toml#NAME");
  check_command->add_option("--trace", check_options.trace, "a recording of a real client: FILE.csv");
  check_command->add_option("--seed", check_options.request.seed, "of the generated cases (1)");
  check_command->add_option("--cases", check_options.request.cases, "generated cases per invariant (200)")
      ->check(CLI::Range(1, 1'000'000));
  check_command->add_option("--only", check_options.request.only, "these invariants alone")->delimiter(',');
  check_command->add_flag("--strict", check_options.request.strict, "a failed SHOULD counts too");
  shown(check_command, check_options.shown);
  check_command->callback([&] { code = check(check_options, repeat); });

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
  CLI::Option* baseline_option = gate_sub->add_option("--baseline", gate_command.baseline,
                                                      "compare with the samples that this file stores");
  gate_sub->add_flag("--update-baseline", gate_command.update, "write that file anew and decide nothing")
      ->needs(baseline_option);
  gate_sub->add_option("--out", gate_command.out, "write all reports and the samples into this folder");
  gate_sub->add_option("--threads", gate_command.threads,
                       "0 is one per core; the results do not depend on it");
  shown(gate_sub, gate_command.shown);
  gate_sub->callback([&] { code = gate(gate_command, repeat); });

  CompareCommand compare_command;
  CLI::App* compare_sub = app.add_subcommand(
      "compare", "estimate what changes from one policy to others; with margins, judge it as gate does");
  compare_sub->add_option("--baseline", compare_command.baseline, "a policy, as for show")->required();
  compare_sub->add_option("--candidate", compare_command.candidates, "as for show; may be repeated")
      ->required();
  compare_sub->add_option("--scenario", compare_command.scenarios, "as for sim; may be repeated")->required();
  compare_sub->add_option("--seeds", compare_command.seeds, "a range such as 1..200, or one number");
  compare_sub->add_option("--metric", compare_command.metrics,
                          "an id of `list metrics`, or id:margin such as peak_1s:10%, completion_s:200ms, "
                          "gave_up:0.5; may be repeated");
  compare_sub->add_option("--set", compare_command.set,
                          "key=value of the scenarios, for example clients=2000; may be repeated");
  compare_sub->add_option("--over", compare_command.over,
                          "at several sizes, for example clients=200..100000: how do the policies grow?");
  compare_sub->add_option("--out", compare_command.out, "write all reports and the samples into this folder");
  compare_sub->add_option("--threads", compare_command.threads,
                          "0 is one per core; the results do not depend on it");
  shown(compare_sub, compare_command.shown);
  compare_sub->callback([&] { code = compare(compare_command, repeat); });

  SensitivityCommand sensitivity_options;
  sensitivity_options.request.where = {"P", 1, 1};
  CLI::App* sensitivity_command = app.add_subcommand(
      "sensitivity",
      "find out which settings of a policy matter: a designed experiment over two levels each");
  sensitivity_command->add_option("P", sensitivity_options.request.policy, "a policy, as for show")
      ->required();
  sensitivity_command->add_option("--scenario", sensitivity_options.request.scenario, "as for sim")
      ->required();
  sensitivity_command->add_option("--seeds", sensitivity_options.seeds,
                                  "a range such as 1..50, or one number");
  sensitivity_command->add_option("--metric", sensitivity_options.request.metrics,
                                  "an id of `list metrics`; may be repeated");
  sensitivity_command->add_option("--vary", sensitivity_options.request.vary,
                                  "key=low..high, for example base=50ms..200ms; may be repeated; without it "
                                  "base, factor, cap and max_attempts, each about halved and doubled");
  sensitivity_command->add_option("--runs", sensitivity_options.request.runs,
                                  "settings tried together, a power of 2: fewer than all make a fraction");
  sensitivity_command->add_option("--set", sensitivity_options.request.overrides,
                                  "key=value of the scenario; may be repeated");
  sensitivity_command->add_option("--threads", sensitivity_options.request.threads,
                                  "0 is one per core; the results do not depend on it");
  sensitivity_command->add_option("--out", sensitivity_options.out, "write text and JSON into this folder");
  format(sensitivity_command, sensitivity_options.format);
  sensitivity_command->callback([&] { code = explore(sensitivity_options); });

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
  } catch (const CLI::ExtrasError&) {
    return static_cast<int>(unknown(app, app.remaining(true)));
  } catch (const CLI::RequiredError& fault) {
    // An unknown command is reported as a missing one.
    if (!app.remaining(false).empty()) return static_cast<int>(unknown(app, app.remaining(false)));
    return app.exit(fault), static_cast<int>(ExitCode::usage);
  } catch (const CLI::ParseError& fault) {
    return app.exit(fault) == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "retrygate: error: the output could not be written\n");
    code = ExitCode::internal;
  }
  return static_cast<int>(code);
}

}  // namespace
}  // namespace retrygate::ci

int main(int argc, char** argv) {
  const auto internal = static_cast<int>(retrygate::ci::ExitCode::internal);
  retrygate::on_failed_assertion = [] { std::_Exit(static_cast<int>(retrygate::ci::ExitCode::internal)); };
  try {
    return retrygate::ci::run(argc, argv);
  } catch (const std::exception& fault) {
    std::fputs("retrygate: internal error: ", stderr);
    std::fputs(fault.what(), stderr);
    std::fputs("\n", stderr);
    return internal;
  }
}
