#include "policies/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

constexpr std::array<std::string_view, 4> growth_names = {"none", "constant", "linear", "exponential"};
constexpr std::array<std::string_view, 6> jitter_names = {"none",         "full",     "equal",
                                                          "proportional", "additive", "decorrelated"};
constexpr std::array<std::string_view, 3> cap_names = {"hard", "clamp", "before_jitter"};

template <std::size_t N>
std::vector<std::string_view> words(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

bool needs_argument(JitterKind kind) {
  return kind == JitterKind::proportional || kind == JitterKind::additive;
}

// jitter = "full", or { kind = "proportional", ratio = 0.1 }, or { kind = "additive", max = "100ms" }.
std::optional<Jitter> read_jitter(Reader& table) {
  const Value* value = table.any("jitter");
  if (value == nullptr) return std::nullopt;
  if (std::holds_alternative<std::string>(value->data)) {
    const auto index = table.word("jitter", words(jitter_names));
    if (!index) return std::nullopt;
    const auto kind = static_cast<JitterKind>(*index);
    if (needs_argument(kind)) {
      table.fail("jitter", fmt::format("jitter '{}' needs its width", to_string(kind)),
                 kind == JitterKind::additive ? "write { kind = \"additive\", max = \"100ms\" }"
                                              : "write { kind = \"proportional\", ratio = 0.1 }");
      return std::nullopt;
    }
    return Jitter{kind, 0, {}};
  }
  auto inner = table.table("jitter");
  if (!inner) return std::nullopt;
  const auto index = inner->word("kind", words(jitter_names));
  if (!inner->has("kind"))
    inner->fail(inner->where(), "this jitter lacks its 'kind'",
                fmt::format("known: {}", fmt::join(jitter_names, ", ")));
  Jitter jitter{index ? static_cast<JitterKind>(*index) : JitterKind::none, 0, {}};
  if (jitter.kind == JitterKind::proportional) {
    jitter.ratio = inner->number("ratio").value_or(0);
    if (!inner->has("ratio"))
      inner->fail(inner->where(), "proportional jitter needs 'ratio'", "for example ratio = 0.1 for +-10 %");
    else if (!(jitter.ratio > 0 && jitter.ratio <= 1))
      inner->fail("ratio", "'ratio' must lie above 0 and at most at 1", "0.1 is +-10 %");
  } else if (jitter.kind == JitterKind::additive) {
    jitter.most = inner->duration("max").value_or(Duration{});
    if (!inner->has("max"))
      inner->fail(inner->where(), "additive jitter needs 'max'", "for example max = \"100ms\"");
    else if (jitter.most <= Duration{})
      inner->fail("max", "'max' must be above 0", "for no jitter write jitter = \"none\"");
  }
  inner->finish();
  if (!index) return std::nullopt;
  return jitter;
}

std::optional<RetryOn> read_retry_on(Reader& table) {
  const Value* value = table.any("retry_on");
  if (value == nullptr) return std::nullopt;
  const auto* items = std::get_if<Array>(&value->data);
  if (items == nullptr) {
    table.fail("retry_on", "'retry_on' must be a list",
               "for example retry_on = [429, 503, \"5xx\", \"UNAVAILABLE\", \"timeout\"]");
    return std::nullopt;
  }
  RetryOn set;
  for (const Value& item : *items) {
    std::string text;
    if (const auto* code = std::get_if<std::int64_t>(&item.data)) text = std::to_string(*code);
    if (const auto* word = std::get_if<std::string>(&item.data)) text = *word;
    if (text.size() == 3 && text[0] >= '1' && text[0] <= '5' && text.substr(1) == "xx")
      set.classes.push_back(text[0] - '0');
    else if (const auto status = parse_status(text))
      set.statuses.push_back(*status);
    else
      table.fail(item.where,
                 fmt::format("'{}' is no HTTP status, class, gRPC code or transport error{}", text,
                             did_you_mean(text, status_words())),
                 "for example 503, \"5xx\", \"UNAVAILABLE\", \"timeout\"");
  }
  return set;
}

}  // namespace

std::string_view to_string(GrowthKind kind) { return growth_names.at(static_cast<std::size_t>(kind)); }
std::string_view to_string(JitterKind kind) { return jitter_names.at(static_cast<std::size_t>(kind)); }
std::string_view to_string(CapKind kind) { return cap_names.at(static_cast<std::size_t>(kind)); }

std::string to_string(const Jitter& jitter) {
  if (jitter.kind == JitterKind::proportional) return fmt::format("proportional +-{}", jitter.ratio);
  if (jitter.kind == JitterKind::additive) return fmt::format("additive up to {}", to_string(jitter.most));
  return std::string(to_string(jitter.kind));
}

bool RetryOn::contains(Status status) const {
  if (std::find(statuses.begin(), statuses.end(), status) != statuses.end()) return true;
  return status.kind() == Status::Kind::http &&
         std::find(classes.begin(), classes.end(), status.code() / 100) != classes.end();
}

bool RetryOn::speaks_about(Status::Kind kind) const {
  if (kind == Status::Kind::http && !classes.empty()) return true;
  return std::any_of(statuses.begin(), statuses.end(), [&](Status s) { return s.kind() == kind; });
}

std::string to_string(const RetryOn& set) {
  std::vector<std::string> all;
  for (const Status status : set.statuses) all.push_back(to_string(status));
  for (const int c : set.classes) all.push_back(fmt::format("{}xx", c));
  return fmt::format("{}", fmt::join(all, " "));
}

void read_contract_keys(Reader& table, Contract& into) {
  const auto take = [](auto& field, auto value) {
    if (value) field = *value;
  };
  if (const auto index = table.word("growth", words(growth_names)))
    into.growth = static_cast<GrowthKind>(*index);
  take(into.base, table.duration("base"));
  take(into.factor, table.number("factor"));
  take(into.cap, table.duration("cap"));
  if (const auto index = table.word("cap_kind", words(cap_names)))
    into.cap_kind = static_cast<CapKind>(*index);
  take(into.jitter, read_jitter(table));
  take(into.max_attempts, table.integer("max_attempts"));
  take(into.elapsed, table.duration("elapsed"));
  take(into.deadline, table.duration("deadline"));
  take(into.retry_on, read_retry_on(table));
  take(into.idempotent_only, table.flag("idempotent_only"));
}

void judge(Reader& table, const Contract& c) {
  const bool decorrelated = c.jitter && c.jitter->kind == JitterKind::decorrelated;
  if (c.cap && c.base && *c.cap < *c.base) {
    const bool own = table.has("cap");
    table.fail(own ? "cap" : "base",
               fmt::format("cap ({}{}) is below base ({})", to_string(*c.cap), own ? "" : " by default",
                           to_string(*c.base)),
               own ? "raise cap or lower base" : "give a cap of at least that much");
  }
  if (c.cap && *c.cap <= Duration{}) table.fail("cap", "'cap' must be above 0", "leave it out for no cap");
  if (c.factor && !(*c.factor > 0))
    table.fail("factor", fmt::format("'factor' must be above 0, not {}", *c.factor));
  if (table.has("factor") && c.growth && *c.growth != GrowthKind::exponential) {
    table.fail("factor", fmt::format("'factor' does not apply to {} growth", to_string(*c.growth)),
               "use growth = \"exponential\" or leave it out");
  }
  if (table.has("base") && c.growth == GrowthKind::none && !decorrelated)
    table.fail("base", "'base' does not apply without growth", "use growth = \"constant\" or leave it out");
  if (decorrelated && table.has("factor"))
    table.fail("factor", "'factor' does not apply to decorrelated jitter",
               "its growth is 3 times the previous delay");
  if (decorrelated && table.has("growth"))
    table.fail("growth", "'growth' does not apply to decorrelated jitter",
               "its growth is 3 times the previous delay");
  if (table.has("cap_kind") && !c.cap) table.fail("cap_kind", "'cap_kind' needs a 'cap'");
  if (c.tick < Duration::ns(1)) table.fail("tick", "'tick' must be at least 1ns");
  if (c.max_attempts && *c.max_attempts < 1)
    table.fail("max_attempts", fmt::format("'max_attempts' must be at least 1, not {}: the first try counts",
                                           *c.max_attempts));
  if (c.elapsed && *c.elapsed <= Duration{}) table.fail("elapsed", "'elapsed' must be above 0");
  if (c.deadline && *c.deadline <= Duration{}) table.fail("deadline", "'deadline' must be above 0");
}

Contract read_contract(Reader& table) {
  Contract contract;
  contract.name = table.text("name").value_or("");
  contract.tick = table.duration("tick").value_or(contract.tick);
  read_contract_keys(table, contract);
  judge(table, contract);
  return contract;
}

std::vector<std::string> describe(const Contract& c) {
  std::vector<std::string> lines;
  const auto say = [&]<class... Args>(fmt::format_string<Args...> text, Args&&... args) {
    lines.push_back(fmt::format(text, std::forward<Args>(args)...));
  };
  if (c.growth)
    say("growth {}{}{}", to_string(*c.growth), c.base ? " from " + to_string(*c.base) : "",
        c.factor && *c.growth == GrowthKind::exponential ? fmt::format(", factor {}", *c.factor) : "");
  else if (c.base)
    say("base {}", to_string(*c.base));
  if (c.jitter) say("jitter {}", to_string(*c.jitter));
  if (c.cap) say("cap {} ({})", to_string(*c.cap), to_string(c.cap_kind));
  if (c.tick != Duration::ns(1)) say("delays in steps of {}", to_string(c.tick));
  if (c.max_attempts) say("at most {} attempts, the first included", *c.max_attempts);
  if (c.elapsed) say("no attempt later than {} after the call started", to_string(*c.elapsed));
  if (c.deadline) say("no attempt at or after {}", to_string(*c.deadline));
  if (c.retry_on) say("retries on {}", to_string(*c.retry_on));
  if (c.idempotent_only && *c.idempotent_only) say("never repeats a request that is not idempotent");
  return lines;
}

}  // namespace retrygate
