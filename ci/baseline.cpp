#include "ci/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "policies/base/hash.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

constexpr std::string_view schema = "retrygate.baseline/1";

std::string hash_of(const Value& table) { return hex(fnv1a(write_json(table, Layout::compact))); }

Value definition_of(const Scenario& scenario) {
  return sorted(*parse_json(scenario.definition, scenario.id));
}

std::string better_of(const Metric& metric) { return metric.better == Better::lower ? "lower" : "higher"; }

Value text(std::string_view t) { return {{}, std::string(t)}; }

Value to_value(const StoredMetric& metric) {
  Array samples;
  for (const std::optional<double>& sample : metric.samples) samples.push_back(retrygate::to_value(sample));
  return {{},
          Table{{"better", {}, text(metric.better)},
                {"meaning", {}, text(metric.meaning)},
                {"samples", {}, {{}, samples}},
                {"unit", {}, text(metric.unit)}}};
}

Value to_value(const StoredCell& cell) {
  Array contract, digests;
  for (const std::string& line : cell.contract) contract.push_back(text(line));
  for (const std::uint64_t digest : cell.digests) digests.push_back(text(hex(digest)));
  Table metrics;
  for (const StoredMetric& metric : cell.metrics) metrics.push_back({metric.id, {}, to_value(metric)});
  const Table scenario = {{"definition", {}, cell.scenario_table},
                          {"hash", {}, text(hash_of(cell.scenario_table))},
                          {"id", {}, text(cell.scenario)}};
  const Table policy = {{"contract", {}, {{}, contract}},
                        {"definition", {}, text(cell.definition)},
                        {"name", {}, text(cell.policy)},
                        {"table", {}, cell.policy_table}};
  return {{},
          Table{{"digests", {}, {{}, digests}},
                {"drew", {}, {{}, cell.drew}},
                {"metrics", {}, {{}, metrics}},
                {"policy", {}, {{}, policy}},
                {"scenario", {}, {{}, scenario}},
                {"seeds", {}, text(to_string(cell.seeds))}}};
}

// A text that must be there.
std::string required(Reader& table, std::string_view key) {
  const auto found = table.text(key);
  if (!found && !table.has(key)) table.fail(table.where(), fmt::format("'{}' is missing", key));
  return found.value_or("");
}

std::optional<Reader> required_table(Reader& table, std::string_view key) {
  auto found = table.table(key);
  if (!found && !table.has(key)) table.fail(table.where(), fmt::format("'{}' is missing", key));
  return found;
}

std::vector<std::optional<double>> read_samples(Reader& table, std::uint64_t seeds) {
  std::vector<std::optional<double>> all;
  const Value* value = table.any("samples");
  const Array* items = value != nullptr ? std::get_if<Array>(&value->data) : nullptr;
  if (items == nullptr || items->size() != seeds) {
    table.fail("samples", fmt::format("'samples' must be a list of {} numbers, one per seed", seeds));
    return all;
  }
  for (const Value& item : *items) {
    if (std::holds_alternative<std::nullptr_t>(item.data))
      all.push_back(std::nullopt);
    else if (const auto* number = std::get_if<double>(&item.data))
      all.push_back(*number);
    else if (const auto* integer = std::get_if<std::int64_t>(&item.data))
      all.push_back(static_cast<double>(*integer));
    else
      table.fail(item.where, "a sample must be a number, or null where it was not reached");
  }
  return all;
}

std::vector<std::uint64_t> read_digests(Reader& table, std::uint64_t seeds) {
  std::vector<std::uint64_t> all;
  for (const std::string& text : table.texts("digests")) {
    std::uint64_t digest = 0;
    const char* end = text.data() + text.size();
    const auto [at, fault] = std::from_chars(text.data(), end, digest, 16);
    if (fault != std::errc{} || at != end || text.size() != 16)
      table.fail("digests", fmt::format("'{}' is no digest of 16 hexadecimal digits", text));
    all.push_back(digest);
  }
  if (all.size() != seeds)
    table.fail("digests", fmt::format("'digests' must be a list of {} texts, one per seed", seeds));
  return all;
}

StoredCell read_cell(Reader& table) {
  StoredCell cell;
  const std::string seeds = required(table, "seeds");
  if (table.has("seeds"))
    cell.seeds = keep(parse_seeds(seeds, table.where("seeds")), table.complaints()).value_or(Seeds{});
  const std::uint64_t count = cell.seeds.count();
  cell.drew = table.flag("drew").value_or(false);
  if (!table.has("drew")) table.fail(table.where(), "'drew' is missing");
  cell.digests = read_digests(table, count);
  if (auto scenario = required_table(table, "scenario")) {
    cell.scenario = required(*scenario, "id");
    const std::string hash = required(*scenario, "hash");
    if (const Value* definition = scenario->any("definition"); definition != nullptr) {
      cell.scenario_table = sorted(*definition);
      if (hash != hash_of(cell.scenario_table))
        scenario->fail("hash", "this scenario was edited by hand: its hash does not fit",
                       "write the file with --update-baseline");
    }
    required_table(*scenario, "definition");
    scenario->finish();
  }
  if (auto policy = required_table(table, "policy")) {
    cell.policy = required(*policy, "name");
    cell.definition = required(*policy, "definition");
    cell.contract = policy->texts("contract");
    required_table(*policy, "table");
    if (const Value* source = policy->any("table"); source != nullptr) cell.policy_table = *source;
    policy->finish();
  }
  required_table(table, "metrics");
  for (auto& [id, metric] : table.members("metrics")) {
    StoredMetric stored{
        id, required(metric, "unit"), required(metric, "better"), required(metric, "meaning"), {}};
    stored.samples = read_samples(metric, count);
    metric.finish();
    cell.metrics.push_back(std::move(stored));
  }
  table.finish();
  return cell;
}

const StoredMetric* find(const StoredCell& cell, std::string_view id) {
  for (const StoredMetric& metric : cell.metrics) {
    if (metric.id == id) return &metric;
  }
  return nullptr;
}

// Key by key what differs between two tables; "clients: stored 200, now 400".
void compare_tables(const std::string& what, const Value& stored, const Value& now,
                    std::vector<std::string>& out) {
  static const Table none;
  const auto members = [](const Value& value) -> const Table& {
    const auto* table = std::get_if<Table>(&value.data);
    return table != nullptr ? *table : none;
  };
  const auto value_of = [&](const Value& table, const std::string& key) -> std::string {
    for (const Member& m : members(table)) {
      if (m.key == key) return write_json(m.value, Layout::compact);
    }
    return "not given";
  };
  std::vector<std::string> keys;
  for (const Value* side : {&stored, &now}) {
    for (const Member& m : members(*side)) keys.push_back(m.key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::string& key : keys) {
    const std::string before = value_of(stored, key), after = value_of(now, key);
    if (before != after) out.push_back(fmt::format("{}, {}: stored {}, now {}", what, key, before, after));
  }
}

}  // namespace

void store(const NamedPolicy& policy, const std::vector<Scenario>& scenarios, const Seeds& seeds,
           const SampleTable& table, Baseline& into) {
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    const Cell& cell = table.cells[s];
    StoredCell stored;
    stored.scenario = cell.scenario;
    stored.scenario_table = definition_of(scenarios[s]);
    stored.policy = policy.name;
    stored.definition = cell.definition;
    stored.contract = describe(policy.policy.contract());
    stored.policy_table = sorted(policy.source);
    stored.seeds = seeds;
    stored.drew = std::find(cell.drew.begin(), cell.drew.end(), true) != cell.drew.end();
    stored.digests = cell.digests;
    const auto same = std::find_if(into.cells.begin(), into.cells.end(), [&](const StoredCell& other) {
      return other.scenario == stored.scenario && other.policy == stored.policy &&
             to_string(other.seeds) == to_string(stored.seeds) && other.digests == stored.digests &&
             hash_of(other.scenario_table) == hash_of(stored.scenario_table);
    });
    StoredCell& target = same != into.cells.end() ? *same : into.cells.emplace_back(std::move(stored));
    for (std::size_t m = 0; m < table.metrics.size(); ++m) {
      const Metric metric = *find_metric(table.metrics[m]);
      if (find(target, metric.id) == nullptr)
        target.metrics.push_back(
            {metric.id, metric.unit, better_of(metric), metric.meaning, cell.samples[m]});
    }
    std::sort(target.metrics.begin(), target.metrics.end(),
              [](const StoredMetric& a, const StoredMetric& b) { return a.id < b.id; });
  }
}

std::string to_json(const Baseline& baseline) {
  Array cells;
  for (const StoredCell& cell : baseline.cells) cells.push_back(to_value(cell));
  const Value all{{},
                  Table{{"cells", {}, {{}, std::move(cells)}},
                        {"engine", {}, text(baseline.engine)},
                        {"random_streams_version", {}, {{}, baseline.random_streams}},
                        {"schema", {}, text(schema)},
                        {"suite", {}, text(baseline.suite)}}};
  return write_json(all) + "\n";
}

Result<Baseline> parse_baseline(std::string_view text, const std::string& path) {
  const auto document = parse_json(text, path);
  if (!document) return tl::unexpected(document.error());
  Errors errors;
  Reader root(*document, errors);
  Baseline baseline;
  baseline.path = path;
  const std::string found = required(root, "schema");
  if (root.has("schema") && found != schema)
    root.fail("schema", fmt::format("this file's schema is '{}', not '{}'", found, schema),
              "write the file with --update-baseline");
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  baseline.engine = required(root, "engine");
  baseline.random_streams = root.integer("random_streams_version").value_or(0);
  if (!root.has("random_streams_version")) root.fail(root.where(), "'random_streams_version' is missing");
  baseline.suite = root.text("suite").value_or("");
  if (!root.has("cells")) root.fail(root.where(), "'cells' is missing");
  for (Reader& table : root.tables("cells")) baseline.cells.push_back(read_cell(table));
  root.finish();
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return baseline;
}

const StoredCell* find_cell(const Baseline& baseline, const Scenario& scenario, std::string_view policy,
                            const Seeds& seeds) {
  std::vector<const StoredCell*> on_scenario, in_same_world;
  const std::string world = hash_of(definition_of(scenario));
  for (const StoredCell& cell : baseline.cells) {
    if (cell.scenario != scenario.id) continue;
    on_scenario.push_back(&cell);
    if (hash_of(cell.scenario_table) == world) in_same_world.push_back(&cell);
  }
  // Without one of this definition, any other will do to tell what differs.
  const auto& cells = in_same_world.empty() ? on_scenario : in_same_world;
  const StoredCell* named = nullptr;
  for (const StoredCell* cell : cells) {
    if (cell->policy != policy) continue;
    if (to_string(cell->seeds) == to_string(seeds)) return cell;
    if (named == nullptr) named = cell;
  }
  if (named != nullptr) return named;
  return cells.size() == 1 ? cells.front() : nullptr;
}

std::vector<std::string> differences(const Baseline& baseline, const StoredCell& cell,
                                     const Scenario& scenario, const Seeds& seeds,
                                     const std::vector<Margin>& margins) {
  std::vector<std::string> out;
  if (baseline.random_streams != random_streams_version)
    out.push_back(fmt::format("random streams: stored version {}, now {}", baseline.random_streams,
                              random_streams_version));
  compare_tables("scenario " + scenario.id, cell.scenario_table, definition_of(scenario), out);
  if (const std::string before = to_string(cell.seeds), after = to_string(seeds); before != after)
    out.push_back(fmt::format("seeds on {}: stored {}, now {}", scenario.id, before, after));
  for (const Margin& margin : margins) {
    const Metric metric = *find_metric(margin.metric);
    const StoredMetric* stored = find(cell, margin.metric);
    if (stored == nullptr) {
      out.push_back(fmt::format("metric {} on {}: not stored, now asked for", margin.metric, scenario.id));
      continue;
    }
    if (stored->unit != metric.unit)
      out.push_back(
          fmt::format("unit of metric {}: stored '{}', now '{}'", metric.id, stored->unit, metric.unit));
    if (stored->meaning != metric.meaning)
      out.push_back(fmt::format("meaning of metric {}: stored '{}', now '{}'", metric.id, stored->meaning,
                                metric.meaning));
    if (stored->better != better_of(metric))
      out.push_back(fmt::format("direction of metric {}: stored '{}' is better, now '{}'", metric.id,
                                stored->better, better_of(metric)));
  }
  return out;
}

Result<NamedPolicy> stored_policy(const StoredCell& cell) {
  return read_policy(cell.policy, cell.policy_table);
}

Cell stored_samples(const StoredCell& stored, const std::vector<std::string>& metrics) {
  Cell cell{stored.policy,
            stored.definition,
            stored.scenario,
            {},
            stored.seeds.values(),
            stored.digests,
            std::vector<bool>(stored.digests.size(), stored.drew),
            {}};
  for (const std::string& id : metrics) {
    const StoredMetric* metric = find(stored, id);
    RG_ASSERT(metric != nullptr, id);
    cell.samples.push_back(metric->samples);
  }
  return cell;
}

}  // namespace retrygate::ci
