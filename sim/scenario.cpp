#include "sim/scenario.hpp"

#include <fmt/format.h>

#include <limits>

#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

// The table that the reference names and the scenario's id.
Result<std::pair<std::string, Value>> find_table(std::string_view reference, const Where& where) {
  for (const EmbeddedFile& file : scenario_files()) {
    if (file.id != reference) continue;
    Result<Value> table = parse_toml(file.text, std::string(file.path));
    if (!table) return tl::unexpected(table.error());
    return std::pair{std::string(reference), *std::move(table)};
  }
  const std::size_t hash = reference.find('#');
  const std::string path(reference.substr(0, hash));
  if (!path.ends_with(".toml")) {
    std::vector<std::string_view> ids;
    for (const EmbeddedFile& file : scenario_files()) ids.push_back(file.id);
    return failure(where, fmt::format("no scenario '{}'{}", reference, did_you_mean(reference, ids)),
                   fmt::format("a TOML file or one of: {}", fmt::join(ids, " ")));
  }
  Result<Value> file = load_toml(path);
  if (!file) return tl::unexpected(file.error());
  if (hash == std::string_view::npos) {
    const std::size_t slash = path.rfind('/');
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    return std::pair{path.substr(begin, path.size() - begin - 5), *std::move(file)};
  }
  const std::string_view name = reference.substr(hash + 1);
  for (const Member& group : std::get<Table>(file->data)) {
    if (group.key != "scenario" || !std::holds_alternative<Table>(group.value.data)) continue;
    for (const Member& member : std::get<Table>(group.value.data)) {
      if (member.key == name) return std::pair{std::string(name), member.value};
    }
  }
  return failure(where, fmt::format("{} has no table [scenario.{}]", path, name));
}

}  // namespace

Result<Scenario> read_scenario(std::string id, const Value& table) {
  Errors complaints;
  Reader reader(table, complaints);
  Scenario s;
  s.id = std::move(id);
  const auto length = [&](std::string_view key, Duration& to) { to = reader.duration(key).value_or(to); };
  const auto count = [&](std::string_view key, std::int64_t& to, std::int64_t least, std::int64_t most) {
    to = reader.integer(key).value_or(to);
    if (to < least || to > most) reader.fail(key, fmt::format("{} must be {}..{}", key, least, most));
  };
  constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();

  s.summary = reader.text("summary").value_or("");
  length("horizon", s.horizon);
  count("clients", s.clients, 1, many);
  length("interval", s.interval);
  length("outage_start", s.outage_start);
  length("outage", s.outage);
  count("concurrency_limit", s.concurrency_limit, 0, many);
  count("fail_first", s.fail_first, 0, many);
  std::int64_t status = s.fail_first_status;
  count("fail_first_status", status, 300, 599);
  s.fail_first_status = static_cast<int>(status);
  s.random_failure = reader.number("random_failure").value_or(0);
  if (!(s.random_failure >= 0 && s.random_failure <= 1))
    reader.fail("random_failure", "random_failure must be a probability, 0..1");
  length("outage_gap", s.outage_gap);
  length("outage_min", s.outage_min);
  length("outage_max", s.outage_max);
  if (s.outage_min > s.outage_max) reader.fail("outage_max", "outage_max is below outage_min");
  length("service_time", s.service_time);
  length("front_service", s.front_service);
  length("reply_latency", s.reply_latency);
  reader.finish();
  if (!complaints.empty()) return tl::unexpected(complaints);
  return s;
}

Result<Scenario> find_scenario(std::string_view id_or_toml_path, Where where,
                               const std::vector<std::string>& overrides) {
  auto found = find_table(id_or_toml_path, where);
  if (!found) return tl::unexpected(found.error());
  auto& [id, table] = *found;
  for (const std::string& text : overrides) {
    const Result<Value> over = parse_overrides(text, {"--set", 1, 1});
    if (!over) return tl::unexpected(over.error());
    table = overlaid(std::move(table), *over);
  }
  Result<Scenario> scenario = read_scenario(std::move(id), table);
  if (scenario) scenario->params = overrides;
  return scenario;
}

}  // namespace retrygate
