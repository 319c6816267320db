#include "ci/command/inspect.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "ci/catalogue.hpp"
#include "ci/command/shared.hpp"
#include "ci/import.hpp"
#include "ci/json_io.hpp"
#include "ci/reproduce.hpp"
#include "ci/show.hpp"
#include "policies/trace.hpp"

namespace retrygate::ci {

ExitCode show(const ShowOptions& options) {
  Errors errors;
  const auto named = keep(find_policy(options.policy, {"P", 1, 1}), errors);
  ShowRequest request;
  request.retries = options.attempts - 1;
  request.deadline = read_duration(options.deadline, "--deadline", errors);
  request.outage = read_duration(options.outage, "--outage", errors);
  if (!options.outages.empty()) {
    request.log = options.outages;
    if (const auto text = keep(read_input(options.outages), errors)) {
      for (const LoggedOutage& one :
           keep(parse_outages(*text, options.outages), errors).value_or(std::vector<LoggedOutage>{}))
        request.outages.push_back(one.length);
    }
  }
  if (!errors.empty()) return refuse(errors);
  const auto running = started(*named, Seed{1}, Repeats::never_mind);
  if (!running) return refuse(running.error());
  const Schedule rows = schedule(*running, request.retries);
  fmt::print(
      "{}", options.format == "json" ? schedule_json(named->name, rows) : show_text(*running, rows, request));
  return ExitCode::pass;
}

ExitCode import_settings(const ImportOptions& options) {
  const auto imported = import_policies(options.kind, options.file);
  if (!imported) return refuse(imported.error());
  if (options.out.empty()) {
    fmt::print("{}", imported->toml);
  } else if (!options.force && options.out != standard_stream && std::filesystem::exists(options.out)) {
    return refuse({{{options.out, 0, 0}, "there is such a file already", "--force replaces it"}});
  } else if (const auto done = write_file(options.out, imported->toml); !done) {
    return refuse(done.error());
  }
  fmt::print(stderr, "{}", imported->told);
  return imported->code;
}

ExitCode list(const std::string& kind, const std::string& format) {
  const std::vector<ListRow> rows = list_of(kind);
  if (format == "json") {
    fmt::print("{}", list_json(rows));
    return ExitCode::pass;
  }
  std::string family;
  for (const ListRow& row : rows) {
    for (const auto& [key, value] : row.columns) {
      if (key != "family" || value == family) continue;
      fmt::print("{}{}\n", family.empty() ? "" : "\n", value);
      family = value;
    }
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

ExitCode reproduce_experiments(const std::string& name, const std::string& seeds_text,
                               const std::string& format) {
  const auto seeds = parse_seeds(seeds_text, {"--seeds", 1, 1});
  if (!seeds) return refuse(seeds.error());
  const auto rows = reproduce(name, *seeds);
  if (!rows) return refuse(rows.error());
  fmt::print("{}", format == "json" ? claims_json(*rows) : claims_text(*rows));
  return ExitCode::pass;
}

ExitCode statistics(const StatsCommand& command) {
  const bool json = command.format == "json";
  const auto out =
      command.cases.empty() ? stats_of_files(command.request, json) : stats_of_cases(command.cases, json);
  if (!out) return refuse(out.error());
  fmt::print("{}", out->text);
  return out->code;
}

}  // namespace retrygate::ci
