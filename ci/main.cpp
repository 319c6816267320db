// The `retrygate` command: one function per subcommand lays out its options; CLI11 stays here. What the
// subcommands do is in ci/command/.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <system_error>

#include "ci/catalogue.hpp"
#include "ci/command/check.hpp"
#include "ci/command/explore.hpp"
#include "ci/command/init.hpp"
#include "ci/command/inspect.hpp"
#include "ci/command/judge.hpp"
#include "ci/command/simulate.hpp"
#include "ci/json_io.hpp"
#include "ci/manual.hpp"
#include "ci/reproduce.hpp"
#include "ci/version.hpp"
#include "policies/program_policy.hpp"
#include "properties/token.hpp"

namespace retrygate::ci {
namespace {

// What a user types to see it again. How it is shown and on how many threads it runs changes no result.
std::string repeat_command(int argc, char** argv) {
  constexpr std::string_view left_out[] = {"--out", "--format", "--color", "--threads", "--progress"};
  std::string text = "retrygate";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i], name = word.substr(0, word.find('='));
    if (std::find(std::begin(left_out), std::end(left_out), name) != std::end(left_out)) {
      if (name.size() == word.size()) ++i;
      continue;
    }
    text += ' ' + shell_word(word);
  }
  return text;
}

constexpr std::string_view overview =
    R"(retrygate proves what a retry policy promises, measures what it does to a fleet of
clients, and gates the change in CI.

  retrygate init                                    a first suite, and a pipeline
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

  retrygate list policies                           also scenarios, metrics ...
  retrygate explain cap-respected                   also verdicts and exit codes
  retrygate COMMAND --help                          every option
)";

// A command or an option that does not exist, with the one that was probably meant.
Errors unknown(const CLI::App& app, const std::vector<std::string>& words) {
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
  return errors;
}

// One run of the program.
struct Run {
  std::string repeat;  // the command that repeats it
  std::unique_ptr<Crew> crew;
  bool github = false;  // annotations are wanted
  ExitCode code = ExitCode::pass;
};

// Options that several subcommands have, worded once.

// A script whose variable is not set passes an empty name; that must not mean "no file".
const CLI::Validator& some_name() {
  static const CLI::Validator check(
      [](std::string& text) { return text.empty() ? std::string("the name is empty") : std::string(); }, "");
  return check;
}

// Where "-" (standard output) cannot be: `what` says what is meant instead.
CLI::Validator named_in_place(std::string_view what) {
  return CLI::Validator(
      [what](std::string& text) {
        if (text == standard_stream)
          return fmt::format("'-' would be standard output, but {} (./- is called so)", what);
        return some_name()(text);
      },
      "");
}

void out_file_option(CLI::App& command, std::string& into, std::string_view what) {
  command.add_option("--out", into, fmt::format("{}; - is standard output", what))->check(some_name());
}

void out_folder_option(CLI::App& command, std::string& into, std::string_view what) {
  command.add_option("--out", into, fmt::format("{} into this folder", what))
      ->check(named_in_place("this is a folder"));
}

void format_option(CLI::App& command, std::string& into) {
  command.add_option("--format", into, "text or json")->check(CLI::IsMember({"text", "json"}));
}

void shown_options(CLI::App& command, Shown& into) {
  const std::vector<std::string_view> ids = reporters().ids();
  const std::vector<std::string> formats(ids.begin(), ids.end());
  command.add_option("--format", into.format, fmt::format("{}", fmt::join(formats, ", ")))
      ->check(CLI::IsMember(formats));
  command.add_option("--color", into.color, "auto (a terminal without NO_COLOR), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command
      .add_option("--inconclusive", into.inconclusive,
                  "what is undecided: fail (exit 3), warn (exit 0, but the last line says so) or pass; " +
                      into.inconclusive + " by default")
      ->check(CLI::IsMember({"fail", "warn", "pass"}));
}

void threads_option(CLI::App& command, unsigned& into) {
  command.add_option("--threads", into, "0 is one per core; the results do not depend on it");
}

void progress_option(CLI::App& command, std::string& into) {
  command.add_option("--progress", into, "on stderr: auto is a terminal only")
      ->check(CLI::IsMember({"auto", "plain", "none"}));
}

void seeds_option(CLI::App& command, std::string& into) {
  command.add_option("--seeds", into, "a range such as 1..200, or one number");
}

CLI::Option& until_decided_options(CLI::App& command, bool& into, std::uint64_t& budget) {
  CLI::Option* sequential = command.add_flag(
      "--until-decided", into, "seeds one after another, from the first, until every margin is decided");
  command.add_option("--budget", budget, "so many seeds at most with --until-decided (2000)")
      ->needs(sequential)
      ->check(CLI::Range(50, 1'000'000));
  return *sequential;
}

// The subcommands. What an option is read into lives as long as the callback that uses it.

void add_show(CLI::App& app, Run& run) {
  const auto into = std::make_shared<ShowOptions>();
  CLI::App& command =
      *app.add_subcommand("show", "print the schedule of a policy: per retry lowest, mean, highest");
  command
      .add_option("P", into->policy,
                  "a built-in, FILE.toml#name, either with overrides: full-jitter:base=200ms,cap=10s")
      ->required();
  command
      .add_option("--attempts", into->attempts, "rows to show, counted as attempts with the first try (12)")
      ->check(CLI::Range(2, 1000));
  command.add_option("--deadline", into->deadline,
                     "say how the schedule fits this deadline, for example 10s");
  command.add_option("--outage", into->outage, "say how many calls outlive an outage of this length");
  command.add_option(
      "--outages", into->outages,
      "a log of outages, FILE.csv with a column length, or start and end; - is standard input");
  format_option(command, into->format);
  command.callback([into, &run] { run.code = show(*into); });
}

void add_list(CLI::App& app, Run& run) {
  struct Words {
    std::string kind, format = "text";
  };
  const auto into = std::make_shared<Words>();
  CLI::App& command = *app.add_subcommand("list", "list what can be named");
  command.add_option("KIND", into->kind, fmt::format("{}", fmt::join(list_kinds(), ", ")))
      ->required()
      ->check(CLI::IsMember(list_kinds()));
  format_option(command, into->format);
  command.callback([into, &run] { run.code = list(into->kind, into->format); });
}

void add_explain(CLI::App& app, Run& run) {
  const auto id = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand(
      "explain", "say what an invariant, a metric, a verdict, a method, a test or an exit code is");
  command.add_option("ID", *id, "nothing lists all that can be explained");
  command.callback([id, &run] { run.code = explain(*id); });
}

void add_check(CLI::App& app, Run& run) {
  const auto into = std::make_shared<CheckOptions>();
  CLI::App& command = *app.add_subcommand("check", "hold policies against what they promise");
  command.add_option("SUBJECT", into->subjects,
                     "policies, as for show, or exec:CMD, a program that speaks the protocol");
  command.add_option(
      "--contract", into->contract,
      "what exec:CMD or the recording promises: FILE.toml, FILE.json, FILE.toml#NAME, or JSON");
  command.add_option("--trace", into->trace, "a recording of a real client: FILE.csv, - is standard input")
      ->check(some_name());
  command.add_option("--seed", into->request.seed, "of the generated cases (1)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--cases", into->request.cases, "generated cases per invariant (200)")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--only", into->request.only, "these invariants alone")->delimiter(',');
  command.add_flag("--strict", into->request.strict, "a failed SHOULD counts too");
  command
      .add_option("--replay", into->request.replay,
                  "the token of one failure: that case of the same SUBJECT alone")
      ->excludes("--seed", "--cases", "--only", "--trace");
  command.add_flag("--no-save", into->no_save,
                   "neither try nor keep cases that failed, in .retrygate/cases.json of this folder");
  shown_options(command, into->shown);
  command.callback([into, &run] { run.code = check(*into, run.repeat); });
}

void add_init(CLI::App& app, Run& run) {
  const auto into = std::make_shared<InitCommand>();
  StarterRequest& request = into->request;
  CLI::App& command = *app.add_subcommand(
      "init", "write a first suite, and a pipeline; asks on a terminal for what no option says");
  const CLI::Option* file = command.add_option("FILE", request.file, "the suite; retry/suite.toml");
  const CLI::Option* policy =
      command.add_option("--policy", request.policy, "the policy to be gated, as for show (full-jitter)");
  command.add_option("--baseline", request.baseline,
                     "compare it with this policy; without it, with itself as it is now");
  const CLI::Option* scenario = command.add_option("--scenario", request.scenarios,
                                                   "a shipped scenario (outage-then-limit); may be repeated");
  command.add_option("--metric", request.metrics,
                     "id:margin such as peak_1s:10%, completion_s:200ms; may be repeated");
  command.add_option("--set", request.set,
                     "key=value of the scenarios, for example clients=2000; may be repeated");
  const CLI::Option* pipeline =
      command.add_option("--workflow", request.pipeline, "also write what this pipeline needs (none)")
          ->check(CLI::IsMember(pipelines()));
  command.add_flag("--force", into->force, "replace files that are there");
  command.callback([into, &run, file, policy, scenario, pipeline] {
    into->ask_file = file->empty();
    into->ask_policy = policy->empty();
    into->ask_scenario = scenario->empty();
    into->ask_pipeline = pipeline->empty();
    run.code = init(*into);
  });
}

void add_import(CLI::App& app, Run& run) {
  const auto into = std::make_shared<ImportOptions>();
  CLI::App& command =
      *app.add_subcommand("import", "turn retry settings of another tool into policies, and check them");
  command.add_option("KIND", into->kind, "grpc, envoy, step-functions or gateway")->required();
  command
      .add_option("FILE", into->file,
                  "the configuration (JSON, or YAML for envoy and gateway); - is standard input")
      ->required();
  out_file_option(command, into->out, "write the policies to this TOML file instead");
  command.add_flag("--force", into->force, "replace that file if it is there");
  command.callback([into, &run] { run.code = import_settings(*into); });
}

void add_sim(CLI::App& app, Run& run) {
  const auto into = std::make_shared<SimOptions>();
  CLI::App& command = *app.add_subcommand("sim", "run a fleet of clients with a policy through a scenario");
  command.add_option("--policy", into->policies, "as for show; may be repeated")->required();
  command.add_option("--scenario", into->scenario, "a shipped scenario, or FILE.toml#name")->required();
  seeds_option(command, into->seeds);
  command.add_option("--metric", into->metrics, "these metrics alone; may be repeated");
  command.add_option("--set", into->set,
                     "key=value of the scenario, for example clients=2000; may be repeated");
  threads_option(command, into->threads);
  out_file_option(command, into->out, "write to this file instead");
  command.add_option("--format", into->format, "text (means), or every seed: json, jsonl or csv")
      ->check(CLI::IsMember({"text", "json", "jsonl", "csv"}));
  command.add_option("--shard", into->shard,
                     "part i of n of the seeds, for example 2/4; `merge` joins the parts");
  command
      .add_option("--trace", into->trace,
                  "write every attempt of one policy and one seed to this CSV file: when it was sent, "
                  "reached the server and ended, and how; `check --trace` reads it; - is standard output")
      ->check(some_name());
  progress_option(command, into->progress);
  command.callback([into, &run] { run.code = simulate(*into, *run.crew); });
}

void add_merge(CLI::App& app, Run& run) {
  const auto into = std::make_shared<MergeOptions>();
  CLI::App& command = *app.add_subcommand("merge", "join the sample files of all parts of a sim --shard");
  command
      .add_option("FILE", into->files,
                  "files of sim --format json --shard i/n, in any order; - is standard input")
      ->required();
  out_file_option(command, into->out, "write to this file instead");
  command.callback([into, &run] { run.code = merge(*into); });
}

void add_reproduce(CLI::App& app, Run& run) {
  struct Words {
    std::string name = "all", seeds = "1..200", format = "text";
  };
  const auto into = std::make_shared<Words>();
  CLI::App& command = *app.add_subcommand(
      "reproduce", "run the published experiments: published figure, ours, verdict and why");
  command.add_option("NAME", into->name,
                     fmt::format("all (default) or one of: {}", fmt::join(experiments(), ", ")));
  command.add_option("--seeds", into->seeds, "a range such as 1..200");
  format_option(command, into->format);
  command.callback([into, &run] { run.code = reproduce_experiments(into->name, into->seeds, into->format); });
}

void add_gate(CLI::App& app, Run& run) {
  const auto into = std::make_shared<GateCommand>();
  CLI::App& command = *app.add_subcommand(
      "gate", "decide whether a change of policy may be merged: exit 0 pass, 1 fail, 3 inconclusive");
  command.add_option("SUITE", into->suite, "a suite file, or a shipped one: default, jitter-removed");
  CLI::Option* baseline =
      command.add_option("--baseline", into->baseline, "compare with the samples that this file stores")
          ->check(named_in_place("a baseline is a file that is kept"));
  command.add_flag("--update-baseline", into->update, "write that file anew and decide nothing")
      ->needs(baseline);
  until_decided_options(command, into->until_decided, into->budget).excludes(baseline);
  out_folder_option(command, into->out, "write all reports and the samples");
  threads_option(command, into->threads);
  progress_option(command, into->progress);
  shown_options(command, into->shown);
  command.callback([into, &run] { run.code = gate(*into, run.repeat); });
}

void add_compare(CLI::App& app, Run& run) {
  const auto into = std::make_shared<CompareCommand>();
  CLI::App& command = *app.add_subcommand(
      "compare", "estimate what changes from one policy to others; with margins, judge it as gate does");
  command.add_option("--baseline", into->baseline, "a policy, as for show")->required();
  command.add_option("--candidate", into->candidates, "as for show; may be repeated")->required();
  command.add_option("--scenario", into->scenarios, "as for sim; may be repeated")->required();
  seeds_option(command, into->seeds);
  command.add_option("--metric", into->metrics,
                     "an id of `list metrics`, or id:margin such as peak_1s:10%, completion_s:200ms, "
                     "gave_up:0.5; may be repeated");
  command.add_option("--set", into->set,
                     "key=value of the scenarios, for example clients=2000; may be repeated");
  CLI::Option* over = command.add_option(
      "--over", into->over, "at several sizes, for example clients=200..100000: how do the policies grow?");
  command
      .add_option("--question", into->question,
                  "not-worse (by more than the margin), better (by at least the margin) or equivalent")
      ->check(CLI::IsMember({"not-worse", "better", "equivalent"}))
      ->excludes(over);
  CLI::Option* method = command
                            .add_option("--method", into->method,
                                        "an id of `list methods` that decides; paired-mean by default")
                            ->excludes(over);
  until_decided_options(command, into->until_decided, into->budget).excludes(over)->excludes(method);
  out_folder_option(command, into->out, "write all reports and the samples");
  threads_option(command, into->threads);
  progress_option(command, into->progress);
  shown_options(command, into->shown);
  command.callback([into, &run] { run.code = compare(*into, run.repeat); });
}

void add_sensitivity(CLI::App& app, Run& run) {
  const auto into = std::make_shared<SensitivityCommand>();
  SensitivityRequest& request = into->request;
  request.where = {"P", 1, 1};
  CLI::App& command = *app.add_subcommand(
      "sensitivity",
      "find out which settings of a policy matter: a designed experiment over two levels each");
  command.add_option("P", request.policy, "a policy, as for show")->required();
  command.add_option("--scenario", request.scenario, "as for sim")->required();
  command.add_option("--seeds", into->seeds, "a range such as 1..50, or one number");
  command.add_option("--metric", request.metrics, "an id of `list metrics`; may be repeated");
  command.add_option("--vary", request.vary,
                     "key=low..high, for example base=50ms..200ms; may be repeated; without it "
                     "base, factor, cap and max_attempts, each about halved and doubled");
  command.add_option("--runs", request.runs,
                     "settings tried together, a power of 2: fewer than all make a fraction");
  command.add_option("--set", request.overrides, "key=value of the scenario; may be repeated");
  threads_option(command, request.threads);
  out_folder_option(command, into->out, "write text and JSON");
  format_option(command, into->format);
  command.callback([into, &run] { run.code = explore(*into); });
}

void add_stats(CLI::App& app, Run& run) {
  const auto into = std::make_shared<StatsCommand>();
  CLI::App& command = *app.add_subcommand("stats", "run a statistical procedure on samples");
  CLI::Option* cases = command.add_option("--cases", into->cases,
                                          "a JSON array of cases, all of them run; - is standard input");
  command.add_option("TEST", into->request.test, "`retrygate list tests` shows all")->excludes(cases);
  command
      .add_option("FILE", into->request.files,
                  "CSV: every column of numbers is a sample; - is standard input")
      ->excludes(cases);
  command
      .add_option("--set", into->request.set,
                  "key=value of the procedure, for example conf_level=0.9; may be repeated")
      ->excludes(cases);
  format_option(command, into->format);
  command.callback([into, &run] { run.code = statistics(*into); });
}

std::vector<OptionEntry> entries(const CLI::App& app) {
  std::vector<OptionEntry> all;
  for (const CLI::Option* option : app.get_options()) {
    OptionEntry entry;
    entry.text = option->get_description();
    entry.positional = option->get_positional();
    entry.takes_value = option->get_items_expected_max() > 0;
    entry.required = option->get_required();
    entry.repeats = option->get_items_expected_max() > 1;
    if (entry.positional) entry.names.push_back(option->get_name(true));
    for (const std::string& name : option->get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) entry.names.push_back("--" + name);
    // IsMember writes its words as "TEXT:{a,b}", and tells them in no other way.
    const std::string type = option->get_type_name();
    const std::size_t open = type.find('{');
    if (open != std::string::npos)
      entry.words = CLI::detail::split(type.substr(open + 1, type.find('}') - open - 1), ',');
    all.push_back(std::move(entry));
  }
  return all;
}

Manual manual_of(const CLI::App& app) {
  Manual manual{app.get_description(), std::string(overview), entries(app), {}};
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty())
      manual.commands.push_back({command->get_name(), command->get_description(), entries(*command)});
  }
  return manual;
}

void add_completion(CLI::App& app, Run&) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("completion", "print the completion script of a shell");
  command.add_option("SHELL", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command.callback([shell, &app] {
    fmt::print("{}", *shell == "bash" ? bash_completion(manual_of(app)) : zsh_completion(manual_of(app)));
  });
}

// For the build: the man page that is installed.
void add_man(CLI::App& app, Run&) {
  CLI::App& command = *app.add_subcommand("man", "print the man page")->group("");
  command.callback([&app] { fmt::print("{}", man_page(manual_of(app))); });
}

// In the order of `--help`.
constexpr void (*subcommands[])(CLI::App&, Run&) = {
    add_init,      add_show, add_list,    add_explain,     add_check, add_import,     add_sim, add_merge,
    add_reproduce, add_gate, add_compare, add_sensitivity, add_stats, add_completion, add_man};

// What CLI11 complains about, in our form.
Errors malformed(const CLI::App& app, const CLI::ParseError& fault) {
  std::string command = "retrygate";
  for (const CLI::App* used : app.get_subcommands()) command += " " + used->get_name();
  return {{{command, 0, 0}, fault.what(), fmt::format("`{} --help` shows every option", command)}};
}

// Where the options cannot be read, the words still say who reads the output.
bool for_github(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i], next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--format=github" || (word == "--format" && next == "github")) return true;
  }
  return false;
}

// A command line that cannot be read. The other ranks may read theirs and then wait for this one's part.
ExitCode refused(Run& run, Errors errors) {
  Crew& crew = *run.crew;
  if (run.github && crew.rank() == 0) print(refusal(errors, "", run.repeat), Shown{"github", "auto", {}});
  fmt::print(stderr, "{}", gather_parts(crew, tl::unexpected(std::move(errors))).errors);
  return static_cast<ExitCode>(crew.agree(static_cast<int>(ExitCode::usage)));
}

// A full disk, or a pipe that nobody reads. fmt::print throws what it meets.
ExitCode unwritable(const std::string& why) {
  fmt::print(stderr, "retrygate: error: the output could not be written: {}\n", why);
  return ExitCode::internal;
}

// What is still in a buffer may not get out either.
int ended(ExitCode code) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) code = unwritable(std::strerror(errno));
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  CLI::App app("Proves what a retry policy promises, measures what it does to a fleet, gates the change.",
               "retrygate");
  app.set_version_flag("--version", fmt::format("retrygate {} ({})", version(), commit()));
  if (argc < 2) {
    fmt::print("{}", overview);
    return ended(ExitCode::usage);
  }
  app.require_subcommand(1);
  Run run{repeat_command(argc, argv), enlist(), for_github(argc, argv)};
  for (const auto add : subcommands) add(app, run);

  try {
    if (run.crew->size() > 1 && argv[1] != std::string_view("sim"))
      return static_cast<int>(
          refused(run, {{{"retrygate-mpi", 0, 0},
                         fmt::format("{} ranks share the work of `sim` alone", run.crew->size()),
                         "`retrygate` does everything else"}}));
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    return static_cast<int>(refused(run, unknown(app, app.remaining(true))));
  } catch (const CLI::RequiredError& fault) {
    // An unknown command is reported as a missing one.
    if (!app.remaining(false).empty())
      return static_cast<int>(refused(run, unknown(app, app.remaining(false))));
    return static_cast<int>(refused(run, malformed(app, fault)));
  } catch (const CLI::Success& asked_for) {
    if (run.crew->rank() == 0) app.exit(asked_for);  // --help, --version
  } catch (const CLI::ParseError& fault) {
    return static_cast<int>(refused(run, malformed(app, fault)));
  } catch (const ProgramFault& fault) {
    fmt::print(stderr, "retrygate: error: {}\n  hint: `retrygate check` finds the least case\n",
               inert(fault.what()));
    return static_cast<int>(fault.started ? ExitCode::violation : ExitCode::internal);
  } catch (const std::filesystem::filesystem_error&) {
    throw;  // no output of ours
  } catch (const std::system_error& fault) {
    return static_cast<int>(unwritable(fault.code().message()));
  }
  return ended(run.code);
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
