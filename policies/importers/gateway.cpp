// `retry` of a rule of the Kubernetes Gateway API's HTTPRoute.
#include <fmt/format.h>

#include <cmath>

#include "policies/base/yaml.hpp"
#include "policies/importers/importer.hpp"

namespace retrygate {
namespace {

using importing::at;

// GEP-2257: one to four of numbers with h, m, s or ms: "1h30m", "500ms".
std::optional<Duration> gateway_duration(Reader& table, std::string_view key) {
  const auto text = table.text(key);
  if (!text) return std::nullopt;
  Duration sum;
  std::size_t begin = 0;
  while (begin < text->size()) {
    std::size_t end = begin;
    while (end < text->size() && std::isdigit(static_cast<unsigned char>((*text)[end]))) ++end;
    while (end < text->size() && !std::isdigit(static_cast<unsigned char>((*text)[end]))) ++end;
    const auto part = parse_duration(text->substr(begin, end - begin), table.where(key));
    if (!part) {
      table.fail(key, fmt::format("'{}' is no duration of the Gateway API", *text),
                 "for example \"1m30s\" or \"500ms\"");
      return std::nullopt;
    }
    sum += *part;
    begin = end;
  }
  return sum;
}

std::string text_at(const Value& value, std::string_view key, std::string otherwise) {
  const Value* given = at(value, key);
  const auto* text = given != nullptr ? std::get_if<std::string>(&given->data) : nullptr;
  return text != nullptr ? *text : std::move(otherwise);
}

void read_rule(const Value& rule, const std::string& name, Imported& into, Errors& complaints) {
  const Value* given = at(rule, "retry");
  if (given == nullptr) return;
  Reader table(*given, complaints);
  const auto backoff = gateway_duration(table, "backoff");
  const auto attempts = importing::count(table, "attempts");
  importing::Keys keys(backoff ? "fixed" : "immediate");
  if (backoff) keys.set("base", *backoff).set("cap", *backoff);
  const auto warn = [&](Where where, std::string message) {
    into.warnings.push_back({std::move(where), std::move(message), ""});
  };
  if (attempts) {
    keys.set("max_attempts", *attempts + 1);
  } else {
    warn(table.where(),
         "without 'attempts' the number of retries is up to the gateway: 2 attempts are taken");
    keys.set("max_attempts", std::int64_t{2});
  }
  std::vector<std::string> codes;
  for (const double code : table.numbers("codes")) {
    codes.push_back(fmt::format("{}", code));
    if (!(code >= 400 && code <= 599 && code == std::floor(code)))
      table.fail("codes", fmt::format("{} in 'codes' is no HTTP status from 400 to 599", code));
  }
  if (codes.empty())
    warn(table.where(), "without 'codes' what is retried is up to the gateway; connection errors should be");
  else
    keys.set("retry_on", codes);
  if (backoff)
    warn(table.where("backoff"),
         "'backoff' is the least delay; growth, jitter and cap are up to the gateway");
  else
    warn(table.where(), "without 'backoff' the delay is up to the gateway: none is taken");
  table.finish();
  if (const Value* timeouts = at(rule, "timeouts")) {
    Reader limits(*timeouts, complaints);
    if (const auto request = gateway_duration(limits, "request"); request && *request > Duration{})
      keys.set("deadline", *request);
    limits.ignore_rest();
  }
  into.policies.push_back({importing::free_name(name, into.policies), given->where, keys.take()});
}

Result<Imported> read_gateway(std::string_view text, const std::string& source) {
  const auto documents = parse_yaml(text, source);
  if (!documents) return tl::unexpected(documents.error());
  Imported result;
  Errors complaints;
  for (const Value& document : *documents) {
    if (text_at(document, "kind", "") != "HTTPRoute") continue;
    const Value* metadata = at(document, "metadata");
    const std::string name = metadata != nullptr ? text_at(*metadata, "name", "route") : "route";
    const Value* spec = at(document, "spec");
    const Value* rules = spec != nullptr ? at(*spec, "rules") : nullptr;
    const auto* items = rules != nullptr ? std::get_if<Array>(&rules->data) : nullptr;
    if (items == nullptr) continue;
    for (const Value& rule : *items) read_rule(rule, text_at(rule, "name", name), result, complaints);
  }
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  if (result.policies.empty())
    return failure({source, 0, 0}, "no rule of an HTTPRoute has a 'retry' here",
                   "is this a Gateway API HTTPRoute?");
  return result;
}

}  // namespace

void add_gateway(Shelf<Importer>& shelf) {
  shelf.add({"gateway", "retry of a Kubernetes Gateway API HTTPRoute (YAML or JSON)",
             "kubernetes-sigs/gateway-api GEP-1731 (HTTPRouteRetry), GEP-2257 (durations)", &read_gateway});
}

}  // namespace retrygate
