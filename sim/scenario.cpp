#include "sim/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "policies/base/hash.hpp"
#include "policies/base/json.hpp"
#include "policies/base/shelf.hpp"
#include "policies/csv.hpp"
#include "sim/servers.hpp"

namespace retrygate {
namespace {

constexpr std::int64_t most_fault_windows = 1'000'000;

// The tables [scenario.NAME] of a file.
std::vector<Member> scenarios_in(const Value& file) {
  for (const Member& group : std::get<Table>(file.data)) {
    if (group.key == "scenario" && std::holds_alternative<Table>(group.value.data))
      return std::get<Table>(group.value.data);
  }
  return {};
}

// The table that the reference names and the scenario's id. A file without `stages` of its own may hold the
// scenario as [scenario.NAME]; only of several one has to be named.
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
  const std::vector<Member> inside = scenarios_in(*file);
  std::vector<std::string_view> names;
  for (const Member& member : inside) names.emplace_back(member.key);
  const auto refuse = [&](const std::string& message) {
    return failure(where, message,
                   names.empty()
                       ? ""
                       : fmt::format("one of: {0}#{1}", path, fmt::join(names, fmt::format(" {}#", path))));
  };
  if (hash == std::string_view::npos) {
    const auto& own = std::get<Table>(file->data);
    if (!inside.empty() &&
        std::none_of(own.begin(), own.end(), [](const Member& m) { return m.key == "stages"; })) {
      if (inside.size() == 1) return std::pair{inside[0].key, inside[0].value};
      return refuse(fmt::format("{} holds {} scenarios", path, inside.size()));
    }
    const std::size_t slash = path.rfind('/');
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    return std::pair{path.substr(begin, path.size() - begin - 5), *std::move(file)};
  }
  const std::string_view name = reference.substr(hash + 1);
  for (const Member& member : inside) {
    if (member.key == name) return std::pair{std::string(name), member.value};
  }
  return refuse(fmt::format("{} has no table [scenario.{}]{}", path, name, did_you_mean(name, names)));
}

// Puts the table's own values in the place of "$name"; `used` gathers the names.
void substitute(Value& value, const Table& parameters, std::vector<std::string>& used, Errors& complaints) {
  if (auto* items = std::get_if<Array>(&value.data)) {
    for (Value& item : *items) substitute(item, parameters, used, complaints);
  } else if (auto* table = std::get_if<Table>(&value.data)) {
    for (Member& member : *table) substitute(member.value, parameters, used, complaints);
  } else if (const auto* text = std::get_if<std::string>(&value.data);
             text != nullptr && text->starts_with('$')) {
    const std::string name = text->substr(1);
    const auto at =
        std::find_if(parameters.begin(), parameters.end(), [&](const Member& m) { return m.key == name; });
    if (at == parameters.end() || name == "stages") {
      complaints.push_back(
          {value.where, fmt::format("'${0}' stands for the key '{0}', which is missing", name), ""});
      return;
    }
    used.push_back(name);
    value = at->value;
  }
}

// A trace file's starts: CSV with the columns client, call, start (as in a recording, policies/trace.hpp) and
// perhaps others; where there is a column attempt, only first attempts count.
std::vector<Arrivals::Start> read_starts(Reader& table, const std::string& path) {
  std::vector<Arrivals::Start> starts;
  const auto text = keep(read_file(path), table.complaints());
  if (!text) return starts;
  Csv csv(*text, path, table.complaints());
  const auto client = csv.must("client"), call = csv.must("call"), attempt = csv.column("attempt");
  const auto start = csv.times("start");
  if (!client || !call || !start) return starts;
  const auto whole = [&](const Csv::Cell& cell) {
    const auto n = Csv::number<std::uint32_t>(cell.text);
    if (!n) csv.fail(cell.where, fmt::format("'{}' must be a whole number, 0..4294967295", cell.text));
    return n;
  };
  std::unordered_map<std::uint64_t, int> lines;  // of the calls so far
  for (Csv::Row row; csv.next(row);) {
    if (attempt && row[*attempt].text != "1") continue;
    const auto c = whole(row[*client]), k = whole(row[*call]);
    const auto time = csv.read(row, *start);
    if (!c || !k || !time) continue;
    if (*time < Duration{}) csv.fail(row[start->index].where, "a call cannot start before 0");
    const auto [earlier, fresh] = lines.try_emplace(std::uint64_t{*c} << 32 | *k, row[*call].where.line);
    if (!fresh)
      csv.fail(row[*call].where,
               fmt::format("call {} of client {} starts in line {} already", *k, *c, earlier->second));
    starts.push_back({*time, *c, *k});
  }
  if (starts.empty() && lines.empty())
    csv.fail({path, 1, 1}, "no call starts in this trace", "every call has a line with attempt 1");
  const auto order = [](const Arrivals::Start& one) { return std::tuple(one.time, one.client, one.call); };
  std::sort(starts.begin(), starts.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return starts;
}

void read_arrivals(Reader& reader, Scenario& s) {
  using Kind = Arrivals::Kind;
  Arrivals& a = s.arrivals;
  const auto word = reader.word("arrivals", {"burst", "interval", "poisson", "trace", "closed"});
  const bool closed = word == 4;
  a.interval = reader.duration("interval").value_or(Duration{});
  if (word && !closed)
    a.kind = static_cast<Kind>(*word);
  else if (!word && a.interval > Duration{})
    a.kind = Kind::interval;
  a.ramp = reader.duration("ramp").value_or(Duration{});
  a.think = law(reader, "think_time", Law{});
  if (reader.has("rate_per_s")) a.rate_per_s = reader.number("rate_per_s").value_or(1);
  const auto belongs = [&](std::string_view key, bool fits, std::string_view to) {
    if (reader.has(key) && !fits) reader.fail(key, fmt::format("'{}' belongs to arrivals = \"{}\"", key, to));
  };
  belongs("interval", a.kind == Kind::interval || a.interval == Duration{}, "interval");
  belongs("ramp", a.kind == Kind::burst, "burst");
  belongs("think_time", a.kind == Kind::burst, "closed");
  belongs("rate_per_s", a.kind == Kind::poisson, "poisson");
  if (a.kind == Kind::interval && a.interval == Duration{})
    reader.fail("interval", "arrivals = \"interval\" needs an 'interval' above 0");
  if (a.kind == Kind::poisson && !(a.rate_per_s > 0 && a.rate_per_s <= 1e9))
    reader.fail("rate_per_s", "arrivals = \"poisson\" needs a 'rate_per_s' above 0",
                "calls per second, at most 1e9");
  const auto path = reader.text("trace");
  belongs("trace", a.kind == Kind::trace, "trace");
  if (a.kind == Kind::trace) {
    if (!path)
      reader.fail("trace", "arrivals = \"trace\" needs a 'trace'",
                  "a CSV file with the columns client, call, start");
    else
      a.starts = read_starts(reader, path_beside(reader.where("trace"), *path));
    for (const char* key : {"clients", "calls"}) {
      if (reader.has(key))
        reader.fail(key, fmt::format("a trace brings its own '{}'", key), "delete this key");
    }
    std::int64_t last = 0;
    for (const Arrivals::Start& start : a.starts) last = std::max(last, std::int64_t{start.client});
    s.clients = last + 1;
  }
}

// What decides about a run: everything but the summary, and what the files and policies that it names hold.
std::string canonical(Value table, const Scenario& s) {
  Table& members = std::get<Table>(table.data);
  std::erase_if(members, [](const Member& m) { return m.key == "summary"; });
  if (!s.arrivals.starts.empty()) {
    std::uint64_t hash = fnv1a("starts");
    for (const Arrivals::Start& start : s.arrivals.starts)
      hash = fnv1a(fmt::format("{} {} {},", start.time.ns(), start.client, start.call), hash);
    members.push_back(member("trace_hash", fmt::format("{:016x}", hash)));
  }
  Array contents;
  for (const StageSpec& stage : s.stages) {
    if (!stage.contents.empty())
      contents.push_back(to_value(fmt::format("{}: {}", stage.kind, stage.contents)));
  }
  if (!contents.empty()) members.push_back(member("stages_contents", std::move(contents)));
  return write_json(sorted(std::move(table)), Layout::compact);
}

}  // namespace

bool Scenario::has_faults() const {
  return std::any_of(stages.begin(), stages.end(), [](const StageSpec& stage) { return stage.faults; });
}

bool Scenario::draws() const {
  return arrivals.kind == Arrivals::Kind::poisson || arrivals.think.random() || network.request.random() ||
         network.reply.random() || network.loss > 0 ||
         std::any_of(stages.begin(), stages.end(), [](const StageSpec& stage) { return stage.random; });
}

Result<Scenario> read_scenario(std::string id, const Value& written) {
  Errors complaints;
  Value table = written;
  std::vector<std::string> parameters;
  if (auto* members = std::get_if<Table>(&table.data)) {
    const Table all = *members;
    for (Member& member : *members) {
      if (member.key == "stages") substitute(member.value, all, parameters, complaints);
    }
  }
  Reader reader(table, complaints);
  for (const std::string& name : parameters) reader.any(name);

  Scenario s;
  s.id = std::move(id);
  s.summary = reader.text("summary").value_or("");
  s.horizon = reader.duration("horizon").value_or(s.horizon);
  // So that a time within the horizon plus a delay cut to it always fits 64 bits.
  if (s.horizon > Duration::s(50LL * 365 * 86400) || s.horizon == Duration{})
    reader.fail("horizon", "'horizon' must lie above 0 and within 50 years");
  s.clients = count(reader, "clients", 1, s.clients);
  s.calls = count(reader, "calls", 1, s.calls);
  read_arrivals(reader, s);
  s.network.request = law(reader, "request_latency", Law{});
  s.network.reply = law(reader, "reply_latency", Law{});
  s.network.front = reader.duration("front_service").value_or(Duration{});
  s.network.loss = probability(reader, "loss", 0);
  s.attempt_timeout = reader.duration("attempt_timeout").value_or(s.attempt_timeout);
  s.call_deadline = reader.duration("call_deadline").value_or(s.call_deadline);
  s.idempotent = reader.flag("idempotent").value_or(s.idempotent);
  if (s.attempt_timeout == Duration{}) reader.fail("attempt_timeout", "'attempt_timeout' must be above 0");
  if (s.call_deadline == Duration{}) reader.fail("call_deadline", "'call_deadline' must be above 0");
  if (s.network.loss > 0 && s.attempt_timeout == Duration::max() && s.call_deadline == Duration::max())
    reader.fail("loss", "a lost request needs an end", "set 'attempt_timeout'");
  s.stages = read_stages(reader);
  for (const StageSpec& stage : s.stages) {
    if (s.horizon / most_fault_windows > stage.fault_gap)
      reader.fail(stage.fault_gap_where,
                  fmt::format("more than {} outages within the horizon of {}", most_fault_windows,
                              to_string(s.horizon)),
                  "a longer time between them, or a shorter 'horizon'");
  }
  reader.finish();
  if (!complaints.empty()) return tl::unexpected(complaints);
  s.definition = canonical(written, s);
  return s;
}

Result<Scenario> read_scenario(std::string id, Value table, const std::vector<std::string>& overrides,
                               const Where& where) {
  for (const std::string& text : overrides) {
    const Result<Value> over = parse_overrides(text, where);
    if (!over) return tl::unexpected(over.error());
    table = overlaid(std::move(table), *over);
  }
  Result<Scenario> scenario = read_scenario(std::move(id), table);
  if (scenario) scenario->params = overrides;
  return scenario;
}

Result<Scenario> find_scenario(std::string_view id_or_toml_path, Where where,
                               const std::vector<std::string>& overrides) {
  auto found = find_table(id_or_toml_path, where);
  if (!found) return tl::unexpected(found.error());
  return read_scenario(std::move(found->first), std::move(found->second), overrides, {"--set", 1, 1});
}

}  // namespace retrygate
