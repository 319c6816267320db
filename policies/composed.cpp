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
  return parts;
}

// `ratio` and `max` beside the other keys: the way to set a jitter's width on the command line.
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

}  // namespace

Contract contract_of(const Parts& parts) {
  Contract c;
  const bool decorrelated = parts.jitter.kind == JitterKind::decorrelated;
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
  if (parts.limits.max_attempts != no_attempt_limit) c.max_attempts = parts.limits.max_attempts;
  if (parts.limits.elapsed != Duration::max()) c.elapsed = parts.limits.elapsed;
  if (parts.limits.deadline != Duration::max()) c.deadline = parts.limits.deadline;
  c.retry_on = parts.limits.retry_on;
  if (parts.limits.idempotent_only) c.idempotent_only = true;
  return c;
}

std::string to_string(const Parts& p) {
  const bool decorrelated = p.jitter.kind == JitterKind::decorrelated;
  std::string text;
  if (decorrelated)
    text = fmt::format("decorrelated jitter, base {}", to_string(p.backoff.base));
  else if (p.backoff.kind == GrowthKind::none)
    text = "no delay";
  else
    text = fmt::format("{} {}", to_string(p.backoff.kind), to_string(p.backoff.base));
  if (!decorrelated && p.backoff.kind == GrowthKind::exponential)
    text += fmt::format(" x{}", p.backoff.factor);
  if (!decorrelated && p.jitter.kind != JitterKind::none)
    text += fmt::format(", jitter {}", to_string(p.jitter));
  if (p.cap.limit != Duration::max() && p.backoff.kind != GrowthKind::none) {
    text += fmt::format(", cap {}{}", to_string(p.cap.limit),
                        p.cap.kind == CapKind::hard ? "" : fmt::format(" ({})", to_string(p.cap.kind)));
  }
  if (p.limits.max_attempts != no_attempt_limit) text += fmt::format(", {} attempts", p.limits.max_attempts);
  if (p.limits.elapsed != Duration::max()) text += fmt::format(", elapsed {}", to_string(p.limits.elapsed));
  if (p.limits.deadline != Duration::max())
    text += fmt::format(", deadline {}", to_string(p.limits.deadline));
  if (p.limits.retry_on) text += fmt::format(", on {}", to_string(*p.limits.retry_on));
  if (p.limits.idempotent_only) text += ", idempotent only";
  return text;
}

Decision Decorrelated::after(Client&, Call& call, const Attempt& attempt, Rng& rng) const {
  if (const auto stop = last(parts.limits, attempt)) return Decision::stop(*stop);
  const Duration base = parts.backoff.base;
  Duration previous = call.previous == Duration{} ? base : call.previous;
  if (parts.cap.kind == CapKind::before_jitter) previous = std::min(previous, parts.cap.limit);
  Duration drawn = rng.between(base, std::max(base, previous * 3));
  if (parts.cap.kind != CapKind::before_jitter) drawn = std::min(drawn, parts.cap.limit);
  call.previous = drawn;
  return within_time(parts.limits, attempt, drawn);
}

AnyPolicy compose(const Parts& parts) {
  if (parts.jitter.kind == JitterKind::decorrelated) return Decorrelated{parts};
  return Composed{parts};
}

Parts read_parts(Reader& table, const Parts& defaults) {
  Contract c = contract_of(defaults);
  read_contract_keys(table, c);
  read_width(table, c);
  // Without growth there is nothing for a cap to hold back; the default one must not contradict the rest.
  if (c.growth == GrowthKind::none && !table.has("cap")) c.cap.reset();
  if (c.jitter && c.jitter->kind == JitterKind::decorrelated && !table.has("growth")) c.growth.reset();
  judge(table, c);
  const auto refuse = [&](bool given, std::string_view key) {
    if (given) table.fail(key, fmt::format("no composed policy keeps this '{}' yet", key), "leave it out");
  };
  refuse(c.jitter && c.jitter->kind == JitterKind::decorrelated_v2, "jitter");
  refuse(c.retry_after.has_value(), "retry_after");
  refuse(c.budget.has_value(), "budget");
  refuse(c.breaker.has_value(), "breaker");
  refuse(c.timer_max.has_value(), "timer_max");
  return parts_of(c);
}

}  // namespace retrygate
