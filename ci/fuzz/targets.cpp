#include "ci/fuzz/targets.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "ci/baseline.hpp"
#include "ci/growth.hpp"
#include "ci/json_io.hpp"
#include "ci/merge.hpp"
#include "ci/saved_cases.hpp"
#include "ci/sensitivity.hpp"
#include "ci/stats_command.hpp"
#include "ci/suite.hpp"
#include "policies/base/json.hpp"
#include "policies/contract.hpp"
#include "policies/external.hpp"
#include "policies/find_contract.hpp"
#include "policies/importers/importer.hpp"
#include "policies/named.hpp"
#include "policies/retry_after.hpp"
#include "policies/trace.hpp"
#include "properties/token.hpp"
#include "sim/law.hpp"
#include "sim/metrics.hpp"
#include "sim/scenario.hpp"
#include "stats/procedure.hpp"

namespace retrygate::ci {
namespace {

const Table* table_at(const Value& value, std::string_view key) {
  const auto* members = std::get_if<Table>(&value.data);
  if (members == nullptr) return nullptr;
  for (const Member& member : *members) {
    if (member.key == key) return std::get_if<Table>(&member.value.data);
  }
  return nullptr;
}

// The path of a file in memory that holds these bytes: for readers of files. The next one takes its place.
std::string in_a_file(std::string_view bytes) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  RG_ASSERT(file >= 0 && ::ftruncate(file, 0) == 0 &&
                ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "a file in memory");
  return "/proc/self/fd/" + std::to_string(file);
}

// Every kind of table that a TOML file of a user may hold.
void toml(std::string_view bytes) {
  const auto file = parse_toml(bytes, "fuzz.toml");
  if (!file) return;
  if (const Table* policies = table_at(*file, "policy")) {
    for (const Member& one : *policies) {
      if (std::holds_alternative<Table>(one.value.data)) (void)read_policy(one.key, one.value);
    }
  }
  if (const Table* contracts = table_at(*file, "contract")) {
    for (const Member& one : *contracts) {
      Errors complaints;
      Reader reader(one.value, complaints);
      (void)read_contract(reader);
    }
  }
  if (const Table* scenarios = table_at(*file, "scenario")) {
    for (const Member& one : *scenarios) {
      if (std::holds_alternative<Table>(one.value.data)) (void)read_scenario(one.key, one.value);
    }
  }
}

void suite(std::string_view bytes) {
  const auto file = parse_toml(bytes, "fuzz.toml");
  if (file) (void)read_suite(*file, "fuzz.toml");
}

void contract(std::string_view bytes) {
  const auto document = parse_json(bytes, "fuzz.json");
  if (!document) return;
  Errors complaints;
  Reader reader(*document, complaints);
  (void)read_contract(reader);
  // What was read is written as JSON that reads back to the same.
  const std::string text = write_json(*document);
  const auto again = parse_json(text, "fuzz.json");
  RG_ASSERT(again && write_json(*again) == text, text);
}

void protocol(std::string_view bytes) {
  const std::string line(bytes);
  (void)read_answer(line, 1, false);
  (void)read_answer(line, 1, true);
  (void)read_greeting(line);
}

void trace(std::string_view bytes) { (void)parse_trace(bytes, "fuzz.csv", Duration::seconds(60)); }

void outages(std::string_view bytes) { (void)parse_outages(bytes, "fuzz.csv"); }

// The calls of `arrivals = "trace"`.
void arrivals(std::string_view bytes) {
  const Value scenario =
      to_value(Table{member("horizon", std::string("60s")), member("arrivals", std::string("trace")),
                     member("trace", in_a_file(bytes))});
  (void)read_scenario("fuzz", scenario);
}

// The columns of `stats TEST FILE.csv`.
void columns(std::string_view bytes) { (void)stats_of_files({"descriptive", {in_a_file(bytes)}, {}}, true); }

void cases(std::string_view bytes) {
  const auto saved = SavedCases::read(in_a_file(bytes));
  if (saved) (void)saved->of("full-jitter");
}

void token(std::string_view bytes) {
  (void)read_token(bytes, "full-jitter", {});
  const auto read = parse_token(bytes);
  if (read) RG_ASSERT(parse_token(to_string(*read)) == read, to_string(*read));
}

// How policies, scenarios, contracts and suites are named. What names a file is left out: it would be one of
// this machine's. Naming a program runs nothing.
void reference(std::string_view bytes) {
  const std::string text(bytes);
  if (text.starts_with(program_prefix)) (void)find_policy(text, {"--policy", 1, 1});
  if (bytes.find_first_of("/#.") != std::string_view::npos) return;
  (void)find_policy(text, {"--policy", 1, 1});
  (void)find_scenario(text, {"--scenario", 1, 1});
  if (text.starts_with('{')) (void)find_contract(text, {"--contract", 1, 1});
}

void import(std::string_view bytes) {
  for (const Importer& importer : importers()) {
    const auto imported = importer.read(bytes, "fuzz");
    // What an importer writes is TOML.
    if (imported) RG_ASSERT(parse_toml(to_toml(*imported), "imported.toml"), to_toml(*imported));
  }
}

void baseline(std::string_view bytes) {
  const auto read = parse_baseline(bytes, "fuzz.json");
  if (!read) return;
  for (const StoredCell& cell : read->cells) (void)stored_policy(cell);
  const std::string text = to_json(*read);
  const auto again = parse_baseline(text, "fuzz.json");
  RG_ASSERT(again && to_json(*again) == text, text);
}

void stats_case(std::string_view bytes) {
  const auto cases = parse_json(bytes, "fuzz.json");
  const auto* all = cases ? std::get_if<Array>(&cases->data) : nullptr;
  if (all == nullptr) return;
  for (const Value& one : *all) {
    if (!std::holds_alternative<Table>(one.data)) continue;
    Errors complaints;
    Reader reader(one, complaints);
    const auto test = reader.text("test");
    if (!test) continue;
    if (const stats::Procedure* procedure = stats::procedures().find(*test))
      (void)stats::run(*procedure, one);
  }
}

void retry_after(std::string_view bytes) {
  const auto wait = parse_retry_after(bytes, Instant{Duration::seconds(100)});
  RG_ASSERT(!wait || *wait >= Duration{}, std::string(bytes));
}

void duration(std::string_view bytes) {
  const auto read = parse_duration(bytes);
  // What is printed reads back to the same; the largest is printed as "no limit".
  if (read && *read != Duration::max())
    RG_ASSERT(parse_duration(to_string(*read)) == *read, to_string(*read));
}

void law(std::string_view bytes) {
  const auto read = parse_law(bytes);
  if (!read) return;
  const auto again = parse_law(to_string(*read));
  RG_ASSERT(again && to_string(*again) == to_string(*read), to_string(*read));
  Rng rng(Seed{1});
  RG_ASSERT(read->draw(rng) >= Duration{}, to_string(*read));
}

// "key=value,.." of the command line, and what comes of it as the settings of a policy.
void overrides(std::string_view bytes) {
  if (const auto read = parse_overrides(bytes, {})) {
    Table table = {member("kind", std::string("full-jitter"))};
    for (const Member& one : std::get<Table>(read->data)) table.push_back(one);
    (void)read_policy("fuzz", to_value(std::move(table)));
  }
  (void)find_scenario("outage-then-limit", {}, {std::string(bytes)});
}

// The other small texts of the command line and of a suite.
void words(std::string_view bytes) {
  if (const auto seeds = parse_seeds(bytes, {})) RG_ASSERT(seeds->count() >= 1, std::string(bytes));
  if (const auto over = parse_over(bytes, {})) RG_ASSERT(over->sizes.size() >= 2, std::string(bytes));
  if (const auto vary = parse_setting(bytes)) RG_ASSERT(!vary->key.empty(), std::string(bytes));
  if (const auto shard = parse_shard(bytes, {})) RG_ASSERT(shard->index <= shard->count, std::string(bytes));
  for (const char* metric : {"completion_s", "gave_up"}) {
    if (const auto margin = parse_margin(metric, bytes, {}))
      RG_ASSERT(*margin->amount >= 0, std::string(bytes));
  }
  (void)find_metric(bytes);
  (void)parse_status(bytes);
  if (const auto day = parse_day(bytes)) {
    const std::chrono::year_month_day date(*day);
    RG_ASSERT(date.ok(), std::string(bytes));
  }
}

void samples(std::string_view bytes) {
  const std::string text(bytes);
  const auto merged = merge_samples({{"fuzz.json", text}});
  if (!merged) return;
  const std::string once_more = samples_json({*merged});
  const auto again = merge_samples({{"fuzz.json", once_more}});
  RG_ASSERT(again && samples_json({*again}) == once_more, once_more);
}

constexpr FuzzTarget targets[] = {
    {"arrivals", &arrivals},
    {"baseline", &baseline},
    {"cases", &cases},
    {"columns", &columns},
    {"contract", &contract},
    {"duration", &duration},
    {"import", &import},
    {"law", &law},
    {"outages", &outages},
    {"overrides", &overrides},
    {"protocol", &protocol},
    {"reference", &reference},
    {"retry-after", &retry_after},
    {"samples", &samples},
    {"stats-case", &stats_case},
    {"suite", &suite},
    {"token", &token},
    {"toml", &toml},
    {"trace", &trace},
    {"words", &words},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return targets; }

}  // namespace retrygate::ci
