#include "policies/composed.hpp"

#include <fmt/format.h>

namespace retrygate {
namespace {

constexpr std::int64_t no_attempt_limit = std::numeric_limits<std::int64_t>::max();

// The other way round from contract_of: which parts keep these promises.
Parts parts_of(const Contract& c) {
  Parts parts;
  parts.backoff = {c.growth.value_or(GrowthKind::exponential), c.base.value_or(Duration{}),
                   c.factor.value_or(2), c.exponent.value_or(1), c.table.value_or(std::vector<Duration>{})};
  parts.jitter = c.jitter.value_or(Jitter{});
  parts.cap = {c.cap.value_or(Duration::max()), c.cap_kind};
  parts.limits = {c.max_attempts.value_or(no_attempt_limit), c.elapsed.value_or(Duration::max()),
                  c.deadline.value_or(Duration::max()), c.retry_on, c.idempotent_only.value_or(false)};
  parts.guards.retry_after = {
      c.retry_after.value_or(RetryAfterRule::ignore), c.retry_after_max.value_or(Duration::max()),
      c.retry_after_over == RetryAfterOver::clip ? AboveLimit::clip : AboveLimit::stop};
  parts.guards.budget = c.budget;
  parts.guards.breaker = c.breaker;
  parts.guards.timer_max = c.timer_max.value_or(Duration::max());
  parts.grid.tick = c.tick;
  return parts;
}

// `ratio` and `max` beside the other keys set the width of a jitter that the policy has by default: the way
// to do so on the command line, where no table can be written.
void read_width(Reader& table, Contract& c) {
  if (!c.jitter) return;
  if (c.jitter->kind == JitterKind::proportional) {
    if (const auto ratio = table.number("ratio")) {
      c.jitter->ratio = *ratio;
      if (!(*ratio > 0 && *ratio <= 1))
        table.fail("ratio", "'ratio' must lie above 0 and at most at 1", "0.1 is +-10 %");
    }
  }
  if (c.jitter->kind == JitterKind::additive) {
    if (const auto most = table.duration("max")) {
      c.jitter->most = *most;
      if (*most <= Duration{})
        table.fail("max", "'max' must be above 0", "for no jitter write jitter = \"none\"");
    }
  }
}

// How many retries, whose number alone matters, are surely made.
std::uint64_t plain_retries(const Limits& limits) {
  if (limits.retry_on || limits.idempotent_only || limits.elapsed != Duration::max() ||
      limits.deadline != Duration::max())
    return 0;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, limits.max_attempts) - 1);
}

}  // namespace

void promise_limits(const Limits& limits, const Guards& guards, Contract& c) {
  if (limits.max_attempts != no_attempt_limit) c.max_attempts = limits.max_attempts;
  if (limits.elapsed != Duration::max()) c.elapsed = limits.elapsed;
  if (limits.deadline != Duration::max()) c.deadline = limits.deadline;
  c.retry_on = limits.retry_on;
  if (limits.idempotent_only) c.idempotent_only = true;
  if (guards.retry_after.rule != RetryAfterRule::ignore) c.retry_after = guards.retry_after.rule;
  if (guards.retry_after.limit != Duration::max()) {
    c.retry_after_max = guards.retry_after.limit;
    if (guards.retry_after.above == AboveLimit::stop) c.retry_after_over = RetryAfterOver::stop;
    if (guards.retry_after.above == AboveLimit::clip) c.retry_after_over = RetryAfterOver::clip;
  }
  c.budget = guards.budget;
  c.breaker = guards.breaker;
  if (guards.timer_max != Duration::max()) c.timer_max = guards.timer_max;
}

Contract contract_of(const Parts& parts) {
  Contract c;
  const bool decorrelated = replaces_growth(parts.jitter.kind);
  if (!decorrelated) c.growth = parts.backoff.kind;
  if (parts.backoff.kind != GrowthKind::none || decorrelated) c.base = parts.backoff.base;
  if (!decorrelated && parts.backoff.kind == GrowthKind::exponential) c.factor = parts.backoff.factor;
  if (!decorrelated && parts.backoff.kind == GrowthKind::polynomial) c.exponent = parts.backoff.exponent;
  if (!decorrelated && parts.backoff.kind == GrowthKind::table) {
    c.table = parts.backoff.table;
    c.base.reset();
  }
  if (parts.cap.limit != Duration::max()) {
    c.cap = parts.cap.limit;
    c.cap_kind = parts.cap.kind;
  }
  c.jitter = parts.jitter;
  c.tick = parts.grid.tick;
  promise_limits(parts.limits, parts.guards, c);
  return c;
}

std::string to_string(const Guards& g) {
  std::string text;
  if (g.retry_after.rule != RetryAfterRule::ignore)
    text += fmt::format(", Retry-After {}{}", to_string(g.retry_after.rule),
                        g.retry_after.limit == Duration::max()
                            ? ""
                            : fmt::format(" up to {}", to_string(g.retry_after.limit)));
  if (g.budget) text += fmt::format(", budget: {}", to_string(*g.budget));
  if (g.breaker) text += fmt::format(", breaker: {}", to_string(*g.breaker));
  if (g.timer_max != Duration::max()) text += fmt::format(", timer up to {}", to_string(g.timer_max));
  return text;
}

std::string to_string(const Parts& p) {
  const bool decorrelated = replaces_growth(p.jitter.kind);
  std::string text;
  if (decorrelated)
    text = fmt::format("{} jitter, base {}", to_string(p.jitter.kind), to_string(p.backoff.base));
  else if (p.backoff.kind == GrowthKind::table)
    text = fmt::format("table of {} delays", p.backoff.table.size());
  else if (p.backoff.kind == GrowthKind::none)
    text = "no delay";
  else
    text = fmt::format("{} {}", to_string(p.backoff.kind), to_string(p.backoff.base));
  if (!decorrelated && p.backoff.kind == GrowthKind::exponential)
    text += fmt::format(" x{}", p.backoff.factor);
  if (!decorrelated && p.backoff.kind == GrowthKind::polynomial)
    text += fmt::format(" n^{}", p.backoff.exponent);
  if (!decorrelated && p.jitter.kind != JitterKind::none)
    text += fmt::format(", jitter {}", to_string(p.jitter));
  if (p.cap.limit != Duration::max() && (decorrelated || p.backoff.kind != GrowthKind::none)) {
    text += fmt::format(", cap {}{}", to_string(p.cap.limit),
                        p.cap.kind == CapKind::hard ? "" : fmt::format(" ({})", to_string(p.cap.kind)));
  }
  if (p.limits.max_attempts != no_attempt_limit) text += fmt::format(", {} attempts", p.limits.max_attempts);
  if (p.limits.elapsed != Duration::max()) text += fmt::format(", elapsed {}", to_string(p.limits.elapsed));
  if (p.limits.deadline != Duration::max())
    text += fmt::format(", deadline {}", to_string(p.limits.deadline));
  if (p.limits.retry_on) text += fmt::format(", on {}", to_string(*p.limits.retry_on));
  if (p.limits.idempotent_only) text += ", idempotent only";
  return text + to_string(p.guards);
}

Composed::Composed(Parts parts) : parts_(std::move(parts)) {
  for (std::size_t i = 0; i < table_.ranges.size(); ++i)
    table_.ranges[i] = range_of(static_cast<std::int64_t>(i) + 1);
  if (parts_.cap.kind == CapKind::clamp) table_.clamp = parts_.cap.limit;
  table_.size = std::min<std::uint64_t>(plain_retries(parts_.limits), table_.ranges.size());
}

Decorrelated::Decorrelated(Parts parts) : parts_(std::move(parts)) {
  table_.follows = true;
  table_.base = parts_.backoff.base;
  (parts_.cap.kind == CapKind::before_jitter ? table_.most_before : table_.clamp) = parts_.cap.limit;
  table_.size = plain_retries(parts_.limits);
}

Decision Composed::in_full(const Attempt& attempt, Rng& rng) const {
  if (const auto stop = last(parts_.limits, attempt)) return Decision::stop(*stop);
  const std::uint64_t before = static_cast<std::uint64_t>(attempt.number) - 1;
  const auto range = before < table_.ranges.size() ? table_.ranges[before] : range_of(attempt.number);
  return within_time(parts_.limits, attempt, std::min(table_.clamp, range.draw(rng)));
}

RetryTable::Range Composed::range_of(std::int64_t n) const {
  const Span drawn = drawn_from(parts_.jitter, parts_.cap, ceiling(parts_.backoff, n));
  return {drawn.lo, drawn.hi};
}

Duration PartsLaw::delay(Memory& memory, const Attempt& attempt, Rng& rng) const {
  const Jitter& jitter = parts.jitter;
  const Cap& cap = parts.cap;
  const Duration base = parts.backoff.base;
  Duration drawn;
  if (jitter.kind == JitterKind::decorrelated_v2) {
    const Duration d = std::min(cap.limit, decorrelated_v2(base, attempt.number, memory.reached, rng));
    drawn = on_grid({d, d}, parts.grid, rng);
  } else if (jitter.kind == JitterKind::decorrelated) {
    const Duration before = memory.previous == Duration{} ? base : memory.previous;
    const Duration from = cap.kind == CapKind::before_jitter ? std::min(before, cap.limit) : before;
    drawn = on_grid({base, std::max(base, from * 3)}, parts.grid, rng);
    if (cap.kind != CapKind::before_jitter) drawn = std::min(drawn, cap.limit);
  } else {
    drawn = on_grid(drawn_from(jitter, cap, ceiling(parts.backoff, attempt.number)), parts.grid, rng);
    if (cap.kind == CapKind::clamp) drawn = std::min(drawn, cap.limit);
  }
  return memory.previous = drawn;
}

AnyPolicy compose(const Parts& parts) {
  const bool plain = !has_guards(parts.guards) && parts.grid == Grid{};
  if (plain && parts.jitter.kind == JitterKind::decorrelated) return Decorrelated{parts};
  if (plain && parts.jitter.kind != JitterKind::decorrelated_v2) return Composed{parts};
  return guard(PartsLaw{parts});
}

Parts read_parts(Reader& table, const Parts& defaults) {
  Contract c = contract_of(defaults);
  read_contract_keys(table, c);
  if (const auto tick = table.duration("tick")) c.tick = *tick;
  read_width(table, c);
  if (c.growth == GrowthKind::exponential && !c.factor) c.factor = defaults.backoff.factor;
  // Without growth there is nothing for a cap to hold back; the default one must not contradict the rest.
  if (c.growth == GrowthKind::none && !table.has("cap")) c.cap.reset();
  if (c.jitter && replaces_growth(c.jitter->kind) && !table.has("growth")) c.growth.reset();
  judge(table, c);
  return parts_of(c);
}

}  // namespace retrygate
