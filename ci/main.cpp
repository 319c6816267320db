// The `retrygate` command: one function per subcommand; parsing lives here and nowhere else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "ci/exit_code.hpp"
#include "ci/json_io.hpp"
#include "ci/show.hpp"

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
  if (parsed) return *parsed;
  errors.insert(errors.end(), parsed.error().begin(), parsed.error().end());
  return std::nullopt;
}

struct ShowOptions {
  std::string policy, deadline, outage, format = "text";
  std::int64_t attempts = 12;
};

ExitCode show(const ShowOptions& options) {
  Errors errors;
  const auto named = find_policy(options.policy, {"P", 1, 1});
  if (!named) errors = named.error();
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

ExitCode list(const std::string& format) {
  std::vector<ListRow> rows;
  for (const Preset& preset : presets()) {
    rows.push_back({std::string(preset.id),
                    {{"summary", std::string(preset.summary)}, {"source", std::string(preset.source)}}});
  }
  if (format == "json") {
    fmt::print("{}", list_json(rows));
    return ExitCode::pass;
  }
  for (const ListRow& row : rows) fmt::print("{:<16} {}\n", row.id, row.columns.front().second);
  return ExitCode::pass;
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
  CLI::App* list_command = app.add_subcommand("list", "list what can be named: policies");
  list_command->add_option("KIND", kind, "policies")->required()->check(CLI::IsMember({"policies"}));
  format(list_command, list_format);
  list_command->callback([&] { code = list(list_format); });

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
