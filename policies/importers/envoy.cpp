// Envoy's route retry policy, wherever it stands in a configuration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "policies/base/yaml.hpp"
#include "policies/importers/importer.hpp"

namespace retrygate {
namespace {

using importing::at;

// What a word of retry_on covers, as statuses of a contract.
const std::map<std::string_view, std::vector<std::string>>& conditions() {
  static const std::map<std::string_view, std::vector<std::string>> all = {
      {"5xx", {"5xx", "connect-refused", "connect-timeout", "connection-reset", "truncated", "timeout"}},
      {"gateway-error", {"502", "503", "504"}},
      {"reset", {"connection-reset", "truncated", "timeout"}},
      {"reset-before-request", {}},
      {"connect-failure", {"connect-refused", "connect-timeout"}},
      {"refused-stream", {}},
      {"retriable-4xx", {"409"}},
      {"retriable-status-codes", {}},
      {"envoy-ratelimited", {"429"}},
      {"cancelled", {"CANCELLED"}},
      {"deadline-exceeded", {"DEADLINE_EXCEEDED"}},
      {"internal", {"INTERNAL"}},
      {"resource-exhausted", {"RESOURCE_EXHAUSTED"}},
      {"unavailable", {"UNAVAILABLE"}},
  };
  return all;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + ",") {
    if (c == ',') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else if (c != ' ') {
      word += c;
    }
  }
  return words;
}

class EnvoyReader {
 public:
  // Every table with a `retry_policy`, named by what it stands in.
  void walk(const Value& value, const std::string& name) {
    if (const auto* items = std::get_if<Array>(&value.data)) {
      for (const Value& item : *items) walk(item, name);
      return;
    }
    const auto* members = std::get_if<Table>(&value.data);
    if (members == nullptr) return;
    std::string own = name;
    if (const Value* given = at(value, "name")) {
      if (const auto* text = std::get_if<std::string>(&given->data)) own = *text;
    }
    if (const Value* cluster = at(value, "cluster"); cluster != nullptr && own == name) {
      if (const auto* text = std::get_if<std::string>(&cluster->data)) own = *text;
    }
    for (const Member& m : *members) {
      if (m.key == "retry_policy" && std::holds_alternative<Table>(m.value.data))
        policy(m.value, own, at(value, "timeout"), at(value, "domains") != nullptr);
      else
        walk(m.value, own);
    }
    if (const Value* budget = at(value, "retry_budget"))
      warn(budget->where,
           "a retry budget in Envoy bounds retries that run at the same time; a policy cannot say so");
  }

  // A file may also be the retry policy itself.
  void policy(const Value& value, const std::string& name, const Value* route_timeout,
              bool of_virtual_host = false) {
    Reader table(value, complaints);
    importing::Keys keys("full-jitter");
    constexpr Duration least = Duration::ms(1);
    Duration base = Duration::ms(25);
    std::optional<Duration> most;
    if (auto back_off = table.table("retry_back_off")) {
      base = importing::seconds(*back_off, "base_interval", true).value_or(base);
      most = importing::seconds(*back_off, "max_interval", false);
      for (Duration* interval : {&base, most ? &*most : nullptr}) {
        if (interval == nullptr || *interval >= least || *interval <= Duration{}) continue;
        warn(back_off->where(), fmt::format("Envoy takes {} for 1ms", to_string(*interval)));
        *interval = least;
      }
      back_off->finish();
    }
    const Duration cap = most.value_or(base * 10);
    if (cap < base) table.fail("retry_back_off", "'max_interval' is below 'base_interval'");
    keys.set("base", base).set("cap", std::max(cap, base)).set("tick", Duration::ms(1));
    keys.set("max_attempts", importing::count(table, "num_retries").value_or(1) + 1);
    std::vector<std::string> on;
    const auto words = split(table.text("retry_on").value_or(""));
    for (const std::string& word : words) {
      const auto found = conditions().find(word);
      if (found == conditions().end()) {
        warn(table.where("retry_on"), fmt::format("retry_on '{}' is not known here; it is left out", word));
        continue;
      }
      if (found->second.empty() && word != "retriable-status-codes")
        warn(table.where("retry_on"),
             fmt::format("retry_on '{}' has no word in a contract; it is left out", word));
      on.insert(on.end(), found->second.begin(), found->second.end());
    }
    const bool by_code = std::find(words.begin(), words.end(), "retriable-status-codes") != words.end();
    for (const double code : table.numbers("retriable_status_codes")) {
      if (by_code) on.push_back(fmt::format("{}", code));
    }
    if (table.has("retriable_status_codes") && !by_code)
      warn(table.where("retriable_status_codes"),
           "'retriable_status_codes' does nothing: 'retry_on' lacks the word retriable-status-codes");
    if (table.any("rate_limited_retry_back_off") != nullptr)
      warn(table.where("rate_limited_retry_back_off"),
           "'rate_limited_retry_back_off' is left out: a policy adds no jitter to what a header asks for",
           "its nearest is retry_after = \"floor\" with retry_after_max");
    for (const char* limit : {"per_try_timeout", "per_try_idle_timeout"}) {
      if (table.any(limit) != nullptr)
        warn(table.where(limit),
             fmt::format("'{}', a time limit of one attempt, is no part of a policy; it is left out", limit),
             "set it in the scenario: attempt_timeout");
    }
    if (words.empty())
      warn(table.where(), "without 'retry_on' Envoy retries nothing unless the request's headers say so");
    std::sort(on.begin(), on.end());
    on.erase(std::unique(on.begin(), on.end()), on.end());
    // An empty list retries nothing; none at all would retry everything.
    keys.set("retry_on", on);
    if (const auto* text =
            route_timeout != nullptr ? std::get_if<std::string>(&route_timeout->data) : nullptr) {
      const auto limit = keep(parse_duration(*text, route_timeout->where), complaints);
      if (limit && *limit > Duration{}) keys.set("deadline", *limit);
    } else {
      keys.set("deadline", Duration::s(15));
      warn(table.where(),
           of_virtual_host ? "the 'timeout' of each route of this virtual host bounds all attempts together: "
                             "Envoy's 15s are taken"
                           : "the route has no 'timeout': Envoy's 15s bound all attempts together");
    }
    for (const char* other : {"retry_host_predicate", "retry_priority", "host_selection_retry_max_attempts",
                              "retriable_headers", "retriable_request_headers", "retry_options_predicates"}) {
      if (table.any(other) != nullptr)
        warn(table.where(other), fmt::format("'{}' is no part of a policy here; it is left out", other));
    }
    table.finish();
    result.policies.push_back({importing::free_name(name, result.policies), value.where, keys.take()});
  }

  void warn(Where where, std::string message, std::string hint = "") {
    result.warnings.push_back({std::move(where), std::move(message), std::move(hint)});
  }

  Imported result;
  Errors complaints;
};

Result<Imported> read_envoy(std::string_view text, const std::string& source) {
  const auto documents = parse_yaml(text, source);
  if (!documents) return tl::unexpected(documents.error());
  EnvoyReader reader;
  for (const Value& document : *documents) {
    if (at(document, "retry_on") != nullptr || at(document, "num_retries") != nullptr)
      reader.policy(document, "route", nullptr);
    else
      reader.walk(document, "route");
  }
  if (!reader.complaints.empty()) return tl::unexpected(std::move(reader.complaints));
  if (reader.result.policies.empty())
    return failure({source, 0, 0}, "there is no 'retry_policy' here", "is this an Envoy configuration?");
  reader.warn(
      reader.result.policies.front().where,
      "Envoy waits whole milliseconds, 0 to the ceiling less one; here the ceiling belongs to the law");
  return std::move(reader.result);
}

}  // namespace

void add_envoy(Shelf<Importer>& shelf) {
  shelf.add(
      {"envoy", "Envoy's retry_policy of a route or virtual host (YAML or JSON)",
       "envoyproxy/envoy: config.route.v3.RetryPolicy; backoff_strategy.cc (base * 2^(n-1), fully jittered)",
       &read_envoy});
}

}  // namespace retrygate
