#include "policies/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

constexpr std::array<std::string_view, 7> growth_names = {"none",      "constant",   "linear", "exponential",
                                                          "fibonacci", "polynomial", "table"};
constexpr std::array<std::string_view, 7> jitter_names = {
    "none", "full", "equal", "proportional", "additive", "decorrelated", "decorrelated-v2"};
constexpr std::array<std::string_view, 3> cap_names = {"hard", "clamp", "before_jitter"};
constexpr std::array<std::string_view, 5> retry_after_names = {"floor", "exact", "max", "exact_or_stop",
                                                               "ignore"};
constexpr std::array<std::string_view, 2> over_names = {"stop", "clip"};
constexpr std::array<std::string_view, 6> budget_names = {"token-bucket", "ratio",        "grpc-throttle",
                                                          "aws-quota",    "aws-adaptive", "sre-throttle"};
constexpr std::array<std::string_view, 2> unit_names = {"attempt", "call"};

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

// table = ["1s", "2s", "5s"]
std::optional<std::vector<Duration>> read_delays(Reader& table) {
  if (!table.has("table")) return std::nullopt;
  std::vector<Duration> all;
  const Value* value = table.any("table");
  const auto* items = std::get_if<Array>(&value->data);
  if (items == nullptr || items->empty()) {
    table.fail("table", "'table' must be a list of durations",
               "for example table = [\"1s\", \"2s\", \"5s\"]");
    return std::nullopt;
  }
  for (const Value& item : *items) {
    const auto* text = std::get_if<std::string>(&item.data);
    if (text == nullptr) {
      table.fail(item.where, "a delay in 'table' must be a duration", "for example \"5s\"");
    } else if (auto delay = keep(parse_duration(*text, item.where), table.complaints())) {
      if (*delay < Duration{}) table.fail(item.where, "a delay in 'table' must not be negative");
      all.push_back(*delay);
    }
  }
  return all;
}

// A number within [least, most]; `must` says that it has to be given.
double bounded(Reader& table, std::string_view key, double least, double most, bool must, double otherwise) {
  const auto value = table.number(key);
  if (!value) {
    if (must && !table.has(key)) table.fail(table.where(), fmt::format("this lacks '{}'", key));
    return otherwise;
  }
  if (!(*value >= least && *value <= most))
    table.fail(key, fmt::format("'{}' must lie in [{}, {}], not {}", key, least, most, *value));
  return *value;
}

// budget = { kind = "token-bucket", capacity = 500, cost = 5, refill_per_s = 1 }
std::optional<Budget> read_budget(Reader& outer) {
  auto table = outer.table("budget");
  if (!table) return std::nullopt;
  Budget b;
  const auto kind = table->word("kind", words(budget_names));
  if (!table->has("kind"))
    table->fail(table->where(), "this budget lacks its 'kind'",
                fmt::format("known: {}", fmt::join(budget_names, ", ")));
  if (!kind) {
    table->ignore_rest();
    return std::nullopt;
  }
  b.kind = static_cast<BudgetKind>(*kind);
  using enum BudgetKind;
  constexpr double many = 1e9;
  if (b.kind == token_bucket || b.kind == grpc_throttle || b.kind == aws_quota)
    b.capacity = bounded(*table, "capacity", 1, many, true, 1);
  if (b.kind == token_bucket || b.kind == aws_quota) b.cost = bounded(*table, "cost", 1e-3, many, false, 1);
  if (b.kind == aws_quota) b.timeout_cost = bounded(*table, "timeout_cost", 1e-3, many, false, b.cost);
  if (b.kind == token_bucket) b.refill_per_s = bounded(*table, "refill_per_s", 0, many, true, 0);
  if (b.kind == ratio || b.kind == grpc_throttle) b.ratio = bounded(*table, "ratio", 1e-3, 1e3, true, 1);
  if (b.kind == ratio) b.reserve_per_s = bounded(*table, "reserve_per_s", 0, many, false, 0);
  if (b.kind == aws_adaptive) {
    // Defaults: botocore 1.35, retries/throttling.py, adaptive.py and bucket.py; the quota is off.
    b.beta = bounded(*table, "beta", 1e-3, 1, false, 0.7);
    b.cubic_scale = bounded(*table, "cubic_scale", 1e-3, many, false, 0.4);
    b.rate_per_s_min = bounded(*table, "rate_per_s_min", 1e-3, many, false, 0.5);
    b.smoothing = bounded(*table, "smoothing", 1e-3, 1, false, 0.8);
    b.capacity = bounded(*table, "capacity", 0, many, false, 0);
    b.cost = bounded(*table, "cost", 1e-3, many, false, 5);
    b.timeout_cost = bounded(*table, "timeout_cost", 1e-3, many, false, 10);
    b.window = table->duration("window").value_or(Duration::ms(500));
    if (b.window <= Duration{}) table->fail("window", "'window' must be above 0");
  }
  if (b.kind == sre_throttle) b.k = bounded(*table, "k", 1, 1e3, false, 2);
  if (b.kind == ratio || b.kind == sre_throttle) {
    b.window = table->duration("window").value_or(b.kind == ratio ? Duration::s(10) : Duration::s(120));
    if (b.window <= Duration{}) table->fail("window", "'window' must be above 0");
  }
  const bool costs =
      b.kind == token_bucket || b.kind == aws_quota || (b.kind == aws_adaptive && b.capacity > 0);
  for (const auto& [key, cost] : {std::pair{"cost", b.cost}, std::pair{"timeout_cost", b.timeout_cost}}) {
    if (costs && cost > b.capacity)
      table->fail(table->has(key) ? key : "capacity",
                  fmt::format("a retry costs more ({} {}) than the budget holds ({})", key, cost, b.capacity),
                  "no retry would ever be paid for");
  }
  table->finish();
  return b;
}

// breaker = { failures = 5, open_for = "30s" }, or with failure_ratio and window_calls
std::optional<Breaker> read_breaker(Reader& outer) {
  auto table = outer.table("breaker");
  if (!table) return std::nullopt;
  Breaker b;
  const auto count = [&](std::string_view key, std::int64_t& into, std::int64_t most) {
    const auto value = table->integer(key);
    if (!value) return;
    into = *value;
    if (into < 1 || into > most)
      table->fail(key, fmt::format("'{}' must lie in 1..{}, not {}", key, most, into));
  };
  if (const auto unit = table->word("unit", words(unit_names))) b.unit = static_cast<BreakerUnit>(*unit);
  count("failures", b.failures, 1'000'000);
  if (table->has("failure_ratio")) b.failure_ratio = bounded(*table, "failure_ratio", 1e-3, 1, true, 1);
  count("window_calls", b.window_calls, 64);
  b.open_for = table->duration("open_for").value_or(Duration{});
  count("trials", b.trials, 1'000);
  count("successes", b.successes, 1'000);
  if (table->has("failures") == table->has("failure_ratio"))
    table->fail(table->where(),
                "a breaker opens by 'failures' in a row or by 'failure_ratio', by one of them");
  if (table->has("failure_ratio") != table->has("window_calls"))
    table->fail(table->where(), "'failure_ratio' and 'window_calls' go together");
  if (!table->has("open_for"))
    table->fail(table->where(), "this breaker lacks 'open_for'", "for example open_for = \"30s\"");
  else if (b.open_for <= Duration{})
    table->fail("open_for", "'open_for' must be above 0");
  table->finish();
  return b;
}

}  // namespace

std::string_view to_string(GrowthKind kind) { return growth_names.at(static_cast<std::size_t>(kind)); }
std::string_view to_string(JitterKind kind) { return jitter_names.at(static_cast<std::size_t>(kind)); }
std::string_view to_string(CapKind kind) { return cap_names.at(static_cast<std::size_t>(kind)); }

std::string_view to_string(RetryAfterRule rule) {
  return retry_after_names.at(static_cast<std::size_t>(rule));
}
std::string_view to_string(RetryAfterOver over) { return over_names.at(static_cast<std::size_t>(over)); }
std::string_view to_string(BudgetKind kind) { return budget_names.at(static_cast<std::size_t>(kind)); }

std::string to_string(const Budget& b) {
  switch (b.kind) {
    case BudgetKind::token_bucket:
      return fmt::format("{} tokens, +{}/s, a retry costs {}", b.capacity, b.refill_per_s, b.cost);
    case BudgetKind::ratio:
      return fmt::format("{} retries per call in {}, and {}/s", b.ratio, to_string(b.window),
                         b.reserve_per_s);
    case BudgetKind::grpc_throttle:
      return fmt::format("{} tokens, a failure costs 1, a success gives {}, retries above half", b.capacity,
                         b.ratio);
    case BudgetKind::aws_quota:
      return fmt::format("{} tokens, a retry costs {} ({} after a timeout)", b.capacity, b.cost,
                         b.timeout_cost);
    case BudgetKind::aws_adaptive:
      return fmt::format("adaptive send rate (CUBIC), at least {}/s{}", b.rate_per_s_min,
                         b.capacity > 0 ? fmt::format("; {} tokens, a retry costs {} ({} after a timeout)",
                                                      b.capacity, b.cost, b.timeout_cost)
                                        : "");
    case BudgetKind::sre_throttle:
      return fmt::format("client-side throttling, k {} over {}", b.k, to_string(b.window));
  }
  return "";
}

std::string to_string(const Breaker& b) {
  const std::string opens =
      b.failures > 0
          ? fmt::format("{} failed {}s in a row", b.failures, unit_names.at(static_cast<std::size_t>(b.unit)))
          : fmt::format("{} of {} {}s failed", b.failure_ratio, b.window_calls,
                        unit_names.at(static_cast<std::size_t>(b.unit)));
  return fmt::format("opens after {} for {}, then {} at a time, closes after {}", opens,
                     to_string(b.open_for), b.trials, b.successes);
}

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
  if (all.empty()) return "nothing";
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
  take(into.exponent, table.number("exponent"));
  take(into.table, read_delays(table));
  take(into.cap, table.duration("cap"));
  if (const auto index = table.word("cap_kind", words(cap_names)))
    into.cap_kind = static_cast<CapKind>(*index);
  take(into.jitter, read_jitter(table));
  take(into.max_attempts, table.integer("max_attempts"));
  take(into.elapsed, table.duration("elapsed"));
  take(into.deadline, table.duration("deadline"));
  take(into.timer_max, table.duration("timer_max"));
  if (const auto index = table.word("retry_after", words(retry_after_names)))
    into.retry_after = static_cast<RetryAfterRule>(*index);
  take(into.retry_after_max, table.duration("retry_after_max"));
  if (const auto index = table.word("retry_after_over", words(over_names)))
    into.retry_after_over = static_cast<RetryAfterOver>(*index);
  take(into.retry_on, read_retry_on(table));
  take(into.idempotent_only, table.flag("idempotent_only"));
  take(into.budget, read_budget(table));
  take(into.breaker, read_breaker(table));
}

void judge(Reader& table, const Contract& c) {
  const bool decorrelated = c.jitter && replaces_growth(c.jitter->kind);
  if (c.cap && c.base && *c.cap < *c.base) {
    const bool own = table.has("cap");
    table.fail(own ? "cap" : "base",
               fmt::format("cap ({}{}) is below base ({})", to_string(*c.cap), own ? "" : " by default",
                           to_string(*c.base)),
               own ? "raise cap or lower base" : "give a cap of at least that much");
  }
  if (c.cap && *c.cap <= Duration{}) table.fail("cap", "'cap' must be above 0", "leave it out for no cap");
  if (c.tick > Duration::ns(1)) {
    // Delays are whole ticks: what is finer becomes 0.
    const auto finer = [&](std::string_view key, Duration d) {
      if (d > Duration{} && d < c.tick)
        table.fail(table.has("tick") ? "tick" : key,
                   fmt::format("'tick' ({}) is above {} ({}): such a delay would be 0", to_string(c.tick),
                               key, to_string(d)),
                   "lower tick");
    };
    if (c.base) finer("base", *c.base);
    if (c.cap) finer("cap", *c.cap);
    for (const Duration d : c.table.value_or(std::vector<Duration>{})) finer("table", d);
  }
  if (c.cap && c.table && !c.table->empty() && c.growth == GrowthKind::table && !table.has("cap")) {
    const Duration longest = *std::max_element(c.table->begin(), c.table->end());
    if (longest > *c.cap)
      table.fail("table",
                 fmt::format("a delay of the table ({}) is above the cap ({} by default)", to_string(longest),
                             to_string(*c.cap)),
                 "give a cap of at least that much");
  }
  if (c.growth == GrowthKind::exponential && !c.factor)
    table.fail("growth", "exponential growth needs its 'factor'", "for example factor = 2");
  if (c.factor && !(*c.factor > 0))
    table.fail("factor", fmt::format("'factor' must be above 0, not {}", *c.factor));
  if (table.has("factor") && c.growth && *c.growth != GrowthKind::exponential) {
    table.fail("factor", fmt::format("'factor' does not apply to {} growth", to_string(*c.growth)),
               "use growth = \"exponential\" or leave it out");
  }
  if (table.has("base") && c.growth == GrowthKind::none && !decorrelated)
    table.fail("base", "'base' does not apply without growth", "use growth = \"constant\" or leave it out");
  for (const std::string_view key : {"factor", "growth"}) {
    if (decorrelated && table.has(key))
      table.fail(key, fmt::format("'{}' does not apply to {} jitter", key, to_string(c.jitter->kind)),
                 c.jitter->kind == JitterKind::decorrelated ? "its growth is 3 times the previous delay"
                                                            : "its growth is part of its law");
  }
  if (table.has("exponent") && c.growth != GrowthKind::polynomial)
    table.fail("exponent", "'exponent' needs growth = \"polynomial\"");
  if (c.growth == GrowthKind::polynomial && !c.exponent)
    table.fail("growth", "polynomial growth needs its 'exponent'", "for example exponent = 2");
  if (c.exponent && !(*c.exponent > 0 && *c.exponent <= 64))
    table.fail("exponent", fmt::format("'exponent' must lie above 0 and at most at 64, not {}", *c.exponent));
  if (table.has("table") && c.growth != GrowthKind::table)
    table.fail("table", "'table' needs growth = \"table\"");
  if (c.growth == GrowthKind::table && !c.table)
    table.fail("growth", "growth by table needs its 'table'", "for example table = [\"1s\", \"2s\", \"5s\"]");
  if (c.timer_max && *c.timer_max <= Duration{}) table.fail("timer_max", "'timer_max' must be above 0");
  const bool heeds = c.retry_after && *c.retry_after != RetryAfterRule::ignore;
  if (table.has("retry_after_max") && !heeds)
    table.fail("retry_after_max", "'retry_after_max' needs a 'retry_after' that is not \"ignore\"");
  if (table.has("retry_after_over") && !c.retry_after_max)
    table.fail("retry_after_over", "'retry_after_over' needs a 'retry_after_max'");
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
        c.factor && *c.growth == GrowthKind::exponential    ? fmt::format(", factor {}", *c.factor)
        : c.exponent && *c.growth == GrowthKind::polynomial ? fmt::format(", exponent {}", *c.exponent)
                                                            : "");
  else if (c.base)
    say("base {}", to_string(*c.base));
  if (c.jitter) say("jitter {}", to_string(*c.jitter));
  if (c.cap) say("cap {} ({})", to_string(*c.cap), to_string(c.cap_kind));
  if (c.tick != Duration::ns(1)) say("delays in steps of {}", to_string(c.tick));
  if (c.max_attempts) say("at most {} attempts, the first included", *c.max_attempts);
  if (c.elapsed) say("no attempt later than {} after the call started", to_string(*c.elapsed));
  if (c.deadline) say("no attempt at or after {}", to_string(*c.deadline));
  if (c.timer_max) say("no wait longer than the timer's {}", to_string(*c.timer_max));
  if (c.retry_after)
    say("Retry-After: {}{}{}", to_string(*c.retry_after),
        c.retry_after_max ? fmt::format(", at most {}", to_string(*c.retry_after_max)) : "",
        c.retry_after_over ? fmt::format(", above it {}", to_string(*c.retry_after_over)) : "");
  if (c.budget) say("retry budget: {}", to_string(*c.budget));
  if (c.breaker) say("circuit breaker: {}", to_string(*c.breaker));
  if (c.retry_on) say("retries on {}", to_string(*c.retry_on));
  if (c.idempotent_only && *c.idempotent_only) say("never repeats a request that is not idempotent");
  return lines;
}

}  // namespace retrygate
