// A gRPC service config: retryPolicy of its methods, retryThrottling.
#include <fmt/format.h>

#include <algorithm>

#include "policies/attempt.hpp"
#include "policies/base/json.hpp"
#include "policies/importers/importer.hpp"

namespace retrygate {
namespace {

using importing::at;
using importing::seconds;

// Codes by name in any case, or by number.
std::vector<std::string> codes(Reader& table) {
  std::vector<std::string> words;
  const Value* list = table.any("retryableStatusCodes");
  const auto* items = list != nullptr ? std::get_if<Array>(&list->data) : nullptr;
  if (items == nullptr || items->empty()) {
    table.fail("retryableStatusCodes", "'retryableStatusCodes' must list at least one status code",
               "for example [\"UNAVAILABLE\"]");
    return words;
  }
  for (const Value& item : *items) {
    std::optional<Status> status;
    std::string meant;
    if (const auto* word = std::get_if<std::string>(&item.data)) {
      std::string upper = *word;
      std::transform(upper.begin(), upper.end(), upper.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      status = parse_status(upper);
      meant = did_you_mean(upper, status_words());
    } else if (const auto* code = std::get_if<std::int64_t>(&item.data);
               code != nullptr && *code >= 0 && *code <= 16) {
      status = Status::grpc(static_cast<int>(*code));
    }
    if (status && status->kind() == Status::Kind::grpc)
      words.push_back(to_string(*status));
    else
      table.fail(item.where, "this is no gRPC status code" + meant, "for example \"UNAVAILABLE\" or 14");
  }
  return words;
}

std::string name_of(const Value& method_config) {
  const Value* names = at(method_config, "name");
  const auto* items = names != nullptr ? std::get_if<Array>(&names->data) : nullptr;
  if (items == nullptr || items->empty()) return "default";
  std::string text;
  for (const char* part : {"service", "method"}) {
    const Value* word = at(items->front(), part);
    if (const auto* given = word != nullptr ? std::get_if<std::string>(&word->data) : nullptr)
      text += (text.empty() ? "" : "-") + *given;
  }
  return text.empty() ? "default" : text;
}

void read_policy_of(const Value& method_config, const Value& policy, const std::optional<Table>& budget,
                    Imported& into, Errors& complaints) {
  Reader table(policy, complaints);
  const auto attempts = table.integer("maxAttempts");
  if (!table.has("maxAttempts")) table.fail(table.where(), "'maxAttempts' is missing");
  if (attempts && *attempts < 2)
    table.fail("maxAttempts", fmt::format("'maxAttempts' must be at least 2, not {}", *attempts));
  const auto initial = seconds(table, "initialBackoff", true);
  const auto most = seconds(table, "maxBackoff", true);
  const auto factor = table.number("backoffMultiplier");
  if (!table.has("backoffMultiplier")) table.fail(table.where(), "'backoffMultiplier' is missing");
  if (factor && !(*factor > 0)) table.fail("backoffMultiplier", "'backoffMultiplier' must be above 0");
  const auto words = codes(table);
  if (table.any("perAttemptRecvTimeout") != nullptr)
    into.warnings.push_back({table.where("perAttemptRecvTimeout"),
                             "a time limit of one attempt is no part of a retry policy; it is left out",
                             "set it in the scenario: attempt_timeout"});
  table.finish();
  if (!attempts || !initial || !most || !factor || words.empty()) return;
  importing::Keys keys("proportional");
  keys.set("base", std::min(*initial, *most)).set("factor", *factor).set("cap", *most);
  keys.set("cap_kind", std::string("before_jitter")).set("ratio", 0.2);
  keys.set("retry_after", std::string("exact"));
  keys.set("max_attempts", std::min<std::int64_t>(*attempts, 5)).set("retry_on", words);
  if (*attempts > 5)
    into.warnings.push_back({table.where("maxAttempts"),
                             fmt::format("maxAttempts {}: clients treat more than 5 as 5", *attempts), ""});
  if (*initial > *most)
    into.warnings.push_back(
        {table.where("initialBackoff"), "initialBackoff is above maxBackoff, which cuts it", ""});
  Errors ignored;
  Reader outer(method_config, ignored);
  if (outer.has("timeout")) {
    if (const auto deadline = seconds(outer, "timeout", false)) keys.set("deadline", *deadline);
    for (Error& e : ignored) complaints.push_back(std::move(e));
  }
  if (budget) keys.set("budget", *budget);
  const Where where = policy.where;
  into.policies.push_back({importing::free_name(name_of(method_config), into.policies), where, keys.take()});
}

std::optional<Table> throttling(const Value& config, Imported& into, Errors& complaints) {
  const Value* given = at(config, "retryThrottling");
  if (given == nullptr) return std::nullopt;
  Reader table(*given, complaints);
  const auto most = table.number("maxTokens");
  const auto ratio = table.number("tokenRatio");
  if (!most || !(*most > 0 && *most <= 1000))
    table.fail("maxTokens", "'maxTokens' must lie above 0 and at most at 1000");
  if (!ratio || !(*ratio > 0)) table.fail("tokenRatio", "'tokenRatio' must be above 0");
  table.finish();
  if (!most || !ratio) return std::nullopt;
  into.warnings.push_back(
      {given->where, "the tokens of a server name are shared by all methods; here each policy has its own",
       ""});
  return importing::Keys("grpc-throttle").set("capacity", *most).set("ratio", *ratio).take();
}

void read_config(const Value& config, Imported& into, Errors& complaints) {
  const auto budget = throttling(config, into, complaints);
  const Value* methods = at(config, "methodConfig");
  const auto* items = methods != nullptr ? std::get_if<Array>(&methods->data) : nullptr;
  if (items == nullptr) {
    complaints.push_back(
        {config.where, "there is no 'methodConfig' list here", "is this a gRPC service config?"});
    return;
  }
  for (const Value& item : *items) {
    const Value* hedging = at(item, "hedgingPolicy");
    const Value* policy = at(item, "retryPolicy");
    if (hedging != nullptr && policy != nullptr)
      complaints.push_back(
          {hedging->where, "a method has a 'retryPolicy' or a 'hedgingPolicy', not both", ""});
    else if (hedging != nullptr)
      into.warnings.push_back({hedging->where, "hedging is no retry policy; it is left out", ""});
    if (policy != nullptr) read_policy_of(item, *policy, budget, into, complaints);
  }
}

Result<Imported> read_grpc(std::string_view text, const std::string& source) {
  const auto config = parse_json(text, source);
  if (!config) return tl::unexpected(config.error());
  Imported result;
  Errors complaints;
  // In a TXT record of the DNS it is a list of choices.
  if (const auto* choices = std::get_if<Array>(&config->data)) {
    for (const Value& choice : *choices) {
      const Value* chosen = at(choice, "serviceConfig");
      read_config(chosen != nullptr ? *chosen : choice, result, complaints);
    }
  } else {
    read_config(*config, result, complaints);
  }
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  if (result.policies.empty()) return failure(config->where, "no method has a 'retryPolicy'");
  const Where first = result.policies.front().where;
  result.warnings.push_back(
      {first,
       "a server's pushback (grpc-retry-pushback-ms) replaces the delay, as retry_after = \"exact\" does; a "
       "negative one ends the call, which a policy cannot say",
       ""});
  result.warnings.push_back({first, "the delay is +-20 % as of August 2024; older clients draw it from 0 on",
                             "theirs is kind = \"full-jitter\" with the same base, factor and cap"});
  return result;
}

}  // namespace

void add_grpc(Shelf<Importer>& shelf) {
  shelf.add({"grpc", "a gRPC service config (JSON): retryPolicy, retryThrottling",
             "grpc/proposal A6-client-retries.md at 1fd061ad; jitter of +-20 % since 2024-08", &read_grpc});
}

}  // namespace retrygate
