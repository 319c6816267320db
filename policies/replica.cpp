#include "policies/replica.hpp"

#include <fmt/format.h>

namespace retrygate {

std::string to_string(const ReplicaLaw& p) {
  std::string text = p.name;
  if (p.limit.max_attempts != std::numeric_limits<std::int64_t>::max())
    text += fmt::format(", {} attempts", p.limit.max_attempts);
  if (p.limit.elapsed != Duration::max()) text += fmt::format(", elapsed {}", to_string(p.limit.elapsed));
  if (p.limit.deadline != Duration::max()) text += fmt::format(", deadline {}", to_string(p.limit.deadline));
  if (p.limit.retry_on) text += fmt::format(", on {}", to_string(*p.limit.retry_on));
  if (p.limit.idempotent_only) text += ", idempotent only";
  return text + to_string(p.guard);
}

Duration Recipe::duration(std::string_view key, Duration otherwise) {
  const Duration value = reader_.duration(key).value_or(otherwise);
  shown_ += fmt::format(" {} {}", key, to_string(value));
  return value;
}

double Recipe::number(std::string_view key, double otherwise, double least, double most) {
  const double value = reader_.number(key).value_or(otherwise);
  if (!(value >= least && value <= most))
    reader_.fail(key, fmt::format("'{}' must lie in [{}, {}], not {}", key, least, most, value));
  shown_ += fmt::format(" {} {}", key, value);
  return value;
}

bool Recipe::flag(std::string_view key, bool otherwise) {
  const bool value = reader_.flag(key).value_or(otherwise);
  shown_ += fmt::format(" {} {}", key, value);
  return value;
}

const Limits& Recipe::limits() {
  if (const auto most = reader_.integer("max_attempts")) {
    parts.limits.max_attempts = *most;
    if (*most < 1)
      reader_.fail("max_attempts",
                   fmt::format("'max_attempts' must be at least 1, not {}: the first try counts", *most));
  }
  if (const auto deadline = reader_.duration("deadline")) {
    parts.limits.deadline = *deadline;
    if (*deadline <= Duration{}) reader_.fail("deadline", "'deadline' must be above 0");
  }
  return parts.limits;
}

AnyPolicy Recipe::compose() {
  limits();
  if (!documented) return retrygate::compose(parts);
  Contract promise = contract_of(parts);
  documented(promise);
  return guard(PartsLaw{parts, std::move(promise)});
}

AnyPolicy Recipe::draw(std::string_view name, const Numbers& numbers, DrawDelay law, Contract promise) {
  limits();
  promise.tick = parts.grid.tick;
  promise_limits(parts.limits, parts.guards, promise);
  if (documented) documented(promise);
  return guard(
      ReplicaLaw{std::string(name) + shown_, numbers, law, parts.limits, parts.guards, std::move(promise)});
}

Parts exponential(Duration base, double factor, Jitter jitter, Duration cap, CapKind kind) {
  Parts parts;
  parts.backoff = {GrowthKind::exponential, base, factor};
  parts.jitter = jitter;
  parts.cap = {cap, kind};
  return parts;
}

Parts no_delay() {
  Parts parts;
  parts.backoff.kind = GrowthKind::none;
  return parts;
}

Contract exponential_promise(Duration base, double factor, Jitter jitter, Duration cap, CapKind kind) {
  return contract_of(exponential(base, factor, jitter, cap, kind));
}

Contract cap_promise(Duration cap, CapKind kind) {
  Contract c;
  if (cap != Duration::max()) c.cap = cap;
  c.cap_kind = kind;
  return c;
}

Limits attempts(std::int64_t n, std::optional<RetryOn> retry_on) {
  Limits limits = without_limit(std::move(retry_on));
  limits.max_attempts = n;
  return limits;
}

Limits without_limit(std::optional<RetryOn> retry_on) {
  Limits limits;
  limits.retry_on = std::move(retry_on);
  return limits;
}

RetryOn on(std::string_view words) {
  RetryOn set;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    if (word == "connection") {
      for (const char* error :
           {"dns", "connect-refused", "connect-timeout", "tls", "timeout", "connection-reset", "truncated"})
        set.statuses.push_back(*parse_status(error));
    } else if (word.ends_with("xx")) {
      set.classes.push_back(word[0] - '0');
    } else {
      const auto status = parse_status(word);
      RG_ASSERT(status, std::string(word));
      set.statuses.push_back(*status);
    }
  }
  return set;
}

Budget aws_quota(double capacity, double cost, double timeout_cost) {
  Budget b;
  b.kind = BudgetKind::aws_quota;
  b.capacity = capacity;
  b.cost = cost;
  b.timeout_cost = timeout_cost;
  return b;
}

Budget ratio_budget(double ratio, double reserve_per_s, Duration window) {
  Budget b;
  b.kind = BudgetKind::ratio;
  b.ratio = ratio;
  b.reserve_per_s = reserve_per_s;
  b.window = window;
  return b;
}

Duration capped_ceiling(const Numbers& p, std::int64_t n) {
  return std::min(p.cap, ceiling({GrowthKind::exponential, p.base, p.factor}, n));
}

Duration evenly(Duration lo, Duration hi, Rng& rng, Duration tick) {
  return on_grid({lo, std::max(lo, hi)}, {tick, true}, rng);
}

Duration evenly_closed(Duration lo, Duration hi, Rng& rng, Duration tick) {
  return on_grid({lo, std::max(lo, hi)}, {tick, false}, rng);
}

Duration cut(Duration d, Duration tick) { return Duration::ns(d.ns() / tick.ns() * tick.ns()); }

}  // namespace retrygate
