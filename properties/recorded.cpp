#include "properties/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "properties/bounds.hpp"
#include "properties/excuses.hpp"
#include "properties/header.hpp"
#include "properties/spread.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace detail {

// One attempt whose follow-up is known, with what it takes to judge it.
struct Seen {
  const TracedCall* call;
  const TracedAttempt* attempt;
  bool stopped = false;
  Duration wait;
  std::optional<Stop> why;
  std::optional<Duration> asked;     // by the header
  bool header_unclear = false;       // a date in a log: nobody knows its time 0
  std::optional<Duration> previous;  // own delay of the retry before
  bool slow = false;                 // we let attempts take time, to come near a limit
  // Of its client so far, where the recording holds all that the client did.
  std::int64_t failures = 0, retries = 0, failed_calls = 0;
  bool repeated_without_header = false;  // this kind of failure, by whichever client
  // What whole seconds hide of the time: who reckons with the protocol's `date` waits longer by so much.
  Duration hidden = {};
};

}  // namespace detail
namespace {

using detail::Seen;

using Complaint = std::optional<std::string>;

// What a judge of single attempts is given.
struct Rules {
  const Contract& contract;
  bool ours;
  bool cut_short = false;
};

bool succeeded(const Seen& s) { return s.attempt->status.succeeded(); }
std::int64_t number(const Seen& s) { return s.attempt->number; }

// The wait is the policy's own delay: no header has a say in it.
bool own(const Seen& s, const Contract& c) {
  if (s.stopped || succeeded(s)) return false;
  if (!s.attempt->has_header) return true;
  return !s.header_unclear && (!s.asked || c.retry_after == RetryAfterRule::ignore);
}

// Where the delay lies without a header, as far as the contract and what is known of the call say.
std::optional<Support> own_support(const Seen& s, const Contract& c) {
  if (chained(c) && number(s) > 1 && !s.previous) return std::nullopt;
  return support_of(c, number(s), s.previous);
}

// When the attempts of one client failed, its retries were decided and its calls failed; each in order.
struct Story {
  std::vector<Instant> failures, retries, failed_calls;
};

std::int64_t by_then(const std::vector<Instant>& times, Instant now) {
  return std::upper_bound(times.begin(), times.end(), now) - times.begin();
}

void tell_stories(std::vector<Seen>& all) {
  std::map<std::string_view, Story> clients;
  for (const Seen& s : all) {
    Story& story = clients[s.call->client];
    if (!succeeded(s)) story.failures.push_back(s.attempt->ended);
    if (!s.stopped) story.retries.push_back(s.attempt->ended);
    if (s.stopped && !succeeded(s)) story.failed_calls.push_back(s.attempt->ended + s.wait);
  }
  for (auto& [client, story] : clients) {
    for (auto* times : {&story.failures, &story.retries, &story.failed_calls})
      std::sort(times->begin(), times->end());
  }
  std::vector<Status> repeated;
  for (const Seen& s : all) {
    if (s.stopped || s.attempt->has_header) continue;
    if (std::find(repeated.begin(), repeated.end(), s.attempt->status) == repeated.end())
      repeated.push_back(s.attempt->status);
  }
  for (Seen& s : all) {
    s.repeated_without_header =
        std::find(repeated.begin(), repeated.end(), s.attempt->status) != repeated.end();
    const Story& story = clients[s.call->client];
    const Instant now = s.attempt->ended + (s.stopped ? s.wait : Duration{});
    s.failures = by_then(story.failures, now);
    s.retries = by_then(story.retries, now) - (s.stopped ? 0 : 1);
    s.failed_calls = by_then(story.failed_calls, now) - (s.stopped && !succeeded(s) ? 1 : 0);
  }
}

// The longest that anything but the rule itself may add: what is not known of the policy's own delay.
Support own_or_anything(const Seen& s, const Contract& c) {
  return own_support(s, c).value_or(Support{0, without_end, 0});
}
bool beyond_the_timer(const Seen& s, const Contract& c) {
  return c.timer_max && s.asked && *s.asked > *c.timer_max;
}

std::vector<Seen> seen_in(const Trace& trace, const Contract& c, bool ours) {
  std::vector<Seen> all;
  for (const TracedCall& call : trace.calls) {
    std::optional<Duration> previous;
    std::int64_t last = 0;
    bool slow = false;
    for (const TracedAttempt& a : call.attempts) {
      if (!a.followed) continue;
      if (a.number != std::exchange(last, a.number) + 1) previous.reset();
      Seen s{&call, &a, a.followed->stopped, a.followed->wait, a.followed->why, {}, false, previous};
      slow = slow || (ours && a.ended > a.started);
      s.slow = slow;
      if (a.has_header) {
        s.asked = wait_asked(a.header, a.ended);
        const bool is_date = s.asked && a.header.find(' ') != std::string::npos;
        s.header_unclear = !ours && is_date;
        if (is_date) s.hidden = Duration::ns(a.ended.since_start.ns() % 1'000'000'000);
      }
      previous = own(s, c) ? std::optional(s.wait) : std::nullopt;
      all.push_back(std::move(s));
    }
  }
  if (ours) tell_stories(all);
  return all;
}

std::string place(const Seen& s) {
  std::string text = s.attempt->where.file.empty() ? "" : to_string(s.attempt->where) + ": ";
  text += fmt::format("client {}, call {}, attempt {} ended with {}", s.call->client, s.call->call, number(s),
                      to_string(s.attempt->status));
  if (s.attempt->has_header) text += fmt::format(", Retry-After '{}'", s.attempt->header);
  if (s.attempt->ended != s.call->attempts.front().started)
    text += fmt::format(", {} into the call", to_string(s.attempt->ended - s.call->attempts.front().started));
  // What else may have to do with it.
  if (s.attempt->ended != s.attempt->started)
    text += fmt::format(", of which it took {}", to_string(s.attempt->ended - s.attempt->started));
  std::string_view header;
  std::vector<std::int64_t> at;  // attempts in a row that had the same one
  const auto tell = [&] {
    if (!at.empty())
      text += fmt::format(", after Retry-After '{}' at {} {}", header,
                          at.size() == 1 ? "attempt" : "attempts", ranges(at, 6));
    at.clear();
  };
  for (const TracedAttempt& before : s.call->attempts) {
    if (before.number >= number(s)) break;
    if (before.has_header && !at.empty() && before.header == header && before.number == at.back() + 1) {
      at.push_back(before.number);
      continue;
    }
    tell();
    header = before.header;
    if (before.has_header) at.push_back(before.number);
  }
  tell();
  return text;
}

Finding found(std::string first, std::string least) {
  return {Verdict::fails, {}, {std::move(first), std::move(least), {}, {}, {}, {}}};
}

Finding unsure(std::string why) { return {Verdict::unsure, std::move(why), {}}; }

// Judges every attempt for itself. The least case is the one with the lowest attempt number. `of_interest`
// says whether an attempt can show the fault at all: a log without one decides nothing, while we have asked
// for what there is.
Finding each(const std::vector<Seen>& all, const Rules& k,
             const std::function<bool(const Seen&)>& of_interest,
             const std::function<Complaint(const Seen&)>& complaint) {
  std::optional<std::string> first, least;
  const Seen* least_seen = nullptr;
  std::set<std::int64_t> wrong_numbers;
  std::size_t wrong = 0, tried = 0;
  for (const Seen& s : all) {
    if (!of_interest(s)) continue;
    ++tried;
    const Complaint why = complaint(s);
    if (!why) continue;
    ++wrong;
    wrong_numbers.insert(number(s));
    if (first && number(s) >= number(*least_seen)) continue;
    least = fmt::format("{}: {}", place(s), *why);
    least_seen = &s;
    if (!first) first = least;
  }
  if (!first) {
    if (tried > 0 || (k.ours && !k.cut_short)) return {};
    return unsure(k.ours ? "the program failed before it was asked" : "nothing in the recording shows it");
  }
  Finding finding = found(*first, *least);
  finding.counterexample.elsewhere =
      fmt::format("{} of {} attempts of this kind fail, with the numbers {}", wrong, tried,
                  ranges({wrong_numbers.begin(), wrong_numbers.end()}, 6));
  if (k.ours)
    finding.counterexample.place =
        fmt::format("{}.{}.{}", least_seen->call->client, least_seen->call->call, number(*least_seen));
  return finding;
}

// ---- single delays

std::optional<Finding> survives(const std::vector<Seen>& all, const Rules& k) {
  return each(all, k, succeeded, [](const Seen& s) -> Complaint {
    if (s.stopped) return {};
    return "a call that succeeded is sent again";
  });
}

bool bounded(const Contract& c) {
  return c.cap || (c.growth && (*c.growth == GrowthKind::none || *c.growth == GrowthKind::constant));
}

auto own_delays(const Contract& c) {
  return [&c](const Seen& s) { return own(s, c); };
}
bool waits(const Seen& s) { return !s.stopped && !succeeded(s); }

std::optional<Finding> finite(const std::vector<Seen>& all, const Rules& k) {
  if (!bounded(k.contract)) return std::nullopt;
  return each(all, k, own_delays(k.contract), [](const Seen& s) -> Complaint {
    if (s.wait != Duration::max()) return {};
    return "the delay is without end";
  });
}

std::optional<Finding> non_negative(const std::vector<Seen>& all, const Rules& k) {
  return each(all, k, waits, [](const Seen& s) -> Complaint {
    if (s.wait >= Duration{}) return {};
    return fmt::format("the delay is {}", to_string(s.wait));
  });
}

std::optional<Finding> capped(const std::vector<Seen>& all, const Rules& k) {
  const auto cap = cap_of(k.contract);
  if (!cap) return std::nullopt;
  return each(all, k, own_delays(k.contract), [&](const Seen& s) -> Complaint {
    if (in_ns(s.wait) <= cap->hi + cap->slack) return {};
    return fmt::format("the delay is {}, above the cap's {}", to_string(s.wait),
                       to_string(Duration::ns(static_cast<std::int64_t>(cap->hi))));
  });
}

std::optional<Finding> in_bounds(const std::vector<Seen>& all, const Rules& k) {
  if (!support_of(k.contract, 1, std::nullopt)) return std::nullopt;
  return each(all, k, own_delays(k.contract), [&](const Seen& s) -> Complaint {
    const auto support = own_support(s, k.contract);
    if (!support || support->holds(s.wait)) return {};
    return fmt::format("the delay is {}, {}", to_string(s.wait), outside(*support));
  });
}

bool without_jitter(const Contract& c) { return c.jitter && c.jitter->kind == JitterKind::none; }

std::optional<Finding> grows(const std::vector<Seen>& all, const Rules& k) {
  if (!without_jitter(k.contract) || !ceiling_of(k.contract, 1)) return std::nullopt;
  return each(all, k, own_delays(k.contract), [&](const Seen& s) -> Complaint {
    const auto law = support_of(k.contract, number(s), std::nullopt);  // one point
    if (!law || law->holds(s.wait)) return {};
    return fmt::format("the delay is {}, the law says {}", to_string(s.wait),
                       to_string(Duration::ns(static_cast<std::int64_t>(law->hi))));
  });
}

// One delay of 0 may be chance where the law begins at 0; of that many, all 0, a fair law of two or more
// points gives none with a probability above 2^-64.
constexpr std::size_t delays_asked = 64;

std::optional<Finding> not_zero(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  const auto own1 = support_of(c, 1, std::nullopt);
  if (!own1 || own1->hi < 1) return std::nullopt;
  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> zeros;  // retry -> how many of how many
  for (const Seen& s : all) {
    const auto support = own_support(s, c);
    if (!own(s, c) || !support || support->hi < 1) continue;
    auto& [zero, of] = zeros[number(s)];
    zero += s.wait == Duration{} ? 1 : 0;
    ++of;
  }
  return each(all, k, own_delays(c), [&](const Seen& s) -> Complaint {
    const auto support = own_support(s, c);
    if (s.wait != Duration{} || !support || support->hi < 1) return {};
    if (support->lo >= in_ns(c.tick))
      return fmt::format("the delay is 0, where {} is configured", to_string(*support));
    const auto& [zero, of] = zeros.at(number(s));
    if (of < delays_asked || zero < of) return {};
    return fmt::format("all {} delays of this retry are 0, where {} is configured", of, to_string(*support));
  });
}

std::optional<Finding> fits_timer(const std::vector<Seen>& all, const Rules& k) {
  if (!k.contract.timer_max) return std::nullopt;
  return each(all, k, waits, [&](const Seen& s) -> Complaint {
    if (s.wait <= *k.contract.timer_max) return {};
    return fmt::format("the delay is {}, the timer holds {}", to_string(s.wait),
                       to_string(*k.contract.timer_max));
  });
}

// From the first retry at the cap on: the call goes on, and its delays stay up there.
std::optional<Finding> cap_goes_on(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  if (!c.cap || chained(c) || !support_of(c, 1, std::nullopt)) return std::nullopt;
  std::int64_t first = 1;
  while (first <= 2000) {
    const auto ceiling = ceiling_of(c, first);
    if (!ceiling) return std::nullopt;
    if (ceiling->lo >= in_ns(*c.cap)) break;
    ++first;
  }
  if (first > 2000 || (c.max_attempts && first >= *c.max_attempts)) return std::nullopt;
  return each(
      all, k, [&](const Seen& s) { return number(s) >= first && !succeeded(s); },
      [&](const Seen& s) -> Complaint {
        if (s.stopped) {
          if (s.why != Stop::attempts || (c.max_attempts && number(s) >= *c.max_attempts)) return {};
          return fmt::format("the cap is reached at retry {}, and the call ends", first);
        }
        const auto support = support_of(c, number(s), std::nullopt);
        if (!own(s, c) || s.wait < Duration{} || in_ns(s.wait) >= support->lo - support->slack) return {};
        return fmt::format("the cap is reached at retry {}, and the delay is {} again", first,
                           to_string(s.wait));
      });
}

// ---- limits

// Would the next attempt start within every limit, however the delay falls and were the longest attempt so
// far made once more?
bool has_time(const Seen& s, const Contract& c) {
  const auto own = own_support(s, c);
  if (!own || s.header_unclear) return false;
  Duration longest;
  for (const TracedAttempt& a : s.call->attempts) {
    if (a.number > number(s)) break;
    longest = std::max(longest, a.ended - a.started);
  }
  const Instant start = s.call->attempts.front().started;
  const Duration limit = std::min({c.elapsed.value_or(Duration::max()), c.deadline.value_or(Duration::max()),
                                   s.attempt->deadline - start});
  const long double wait = std::max(own->hi + own->slack + own->above, s.asked ? in_ns(*s.asked) : 0);
  return in_ns(s.attempt->ended - start) + wait + in_ns(longest) + in_ns(c.tick) < in_ns(limit);
}

// Had the call a reason to end that has nothing to do with its outcome? A log does not say why it ended, nor
// what its client did before: then every reason that the contract has is one, if time allows it.
bool has_excuse(const Seen& s, const Rules& k) {
  const Contract& c = k.contract;
  const bool unsafe = c.idempotent_only.value_or(false) && s.attempt->idempotent != true;
  if (s.header_unclear || unsafe) return true;
  const Instant start = s.call->attempts.front().started;
  Circumstances now{s.attempt->ended - start, longest_wait(c, number(s), s.previous), s.failures, s.retries,
                    s.failed_calls};
  if (s.attempt->deadline != Instant::never()) now.deadline = s.attempt->deadline - start;
  if (s.asked) {
    const Heeded rule = heeded(c, *s.asked, own_or_anything(s, c));
    if (rule.may_stop || beyond_the_timer(s, c)) return true;
    now.longest_wait = std::max(now.longest_wait, rule.wait.hi);
  }
  if (s.why) return excused(c, *s.why, now);
  if (!k.ours) {
    // It may also know better than to begin an attempt that would be cut off.
    for (const TracedAttempt& a : s.call->attempts)
      now.longest_wait =
          std::max(now.longest_wait, longest_wait(c, number(s), s.previous) + in_ns(a.ended - a.started));
  }
  return excuse(c, now).has_value() || (!k.ours && (c.budget || c.breaker));
}

// Is a failure of this kind surely one that is retried?
bool retried(const Seen& s, const Rules& k) {
  if (k.contract.retry_on) return k.contract.retry_on->contains(s.attempt->status);
  return k.ours && s.attempt->status == retryable(k.contract);
}

std::optional<Finding> attempts_exact(const std::vector<Seen>& all, const Rules& k) {
  if (!k.contract.max_attempts) return std::nullopt;
  const std::int64_t most = *k.contract.max_attempts;
  const bool repeats = std::any_of(all.begin(), all.end(), waits);
  const bool refuses =
      std::any_of(all.begin(), all.end(), [](const Seen& s) { return s.why == Stop::not_retryable; });
  if (most > 1 && !repeats && refuses && !k.contract.retry_on)
    return unsure("it repeats no failure that was tried: 'retry_on' in the contract says which ones it does");
  return each(
      all, k, [](const Seen& s) { return !succeeded(s); },
      [&](const Seen& s) -> Complaint {
        if (!s.stopped) {
          if (number(s) < most) return {};
          return fmt::format("is not the last, although {} are promised in all", most);
        }
        if (number(s) >= most || has_excuse(s, k)) return {};
        if (s.why == Stop::not_retryable) return {};  // that is for all-retryable to say
        if (s.why == Stop::attempts || retried(s, k))
          return fmt::format("is the last of {}{}", most,
                             s.why ? fmt::format(" ({})", to_string(*s.why)) : "");
        return {};
      });
}

std::optional<Finding> deadline_respected(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  if (!c.elapsed && !c.deadline) return std::nullopt;
  const auto limited = [](const Seen& s) { return waits(s) || s.why == Stop::deadline; };
  return each(all, k, limited, [&](const Seen& s) -> Complaint {
    const Duration limit =
        std::min(c.elapsed.value_or(Duration::max()), c.deadline.value_or(Duration::max()));
    if (s.stopped) {
      if (!has_time(s, c)) return {};
      return fmt::format("is given up for lack of time, and the limit is {}", to_string(limit));
    }
    const Duration next = s.attempt->ended - s.call->attempts.front().started + s.wait;
    const Duration slack = c.tick > Duration::ns(1) ? c.tick : Duration{};
    const bool late = (c.elapsed && next > *c.elapsed + slack) || (c.deadline && next >= *c.deadline + slack);
    if (!late) return {};
    return fmt::format("followed by a wait of {}: beyond the limit of {}", to_string(s.wait),
                       to_string(limit));
  });
}

// ---- which outcomes

bool spoken_about(const Seen& s, const Contract& c) {
  return !succeeded(s) && c.retry_on->speaks_about(s.attempt->status.kind());
}

std::optional<Finding> only_retryable(const std::vector<Seen>& all, const Rules& k) {
  if (!k.contract.retry_on) return std::nullopt;
  return each(
      all, k,
      [&](const Seen& s) {
        return spoken_about(s, k.contract) && !k.contract.retry_on->contains(s.attempt->status);
      },
      [](const Seen& s) -> Complaint {
        if (s.stopped) return {};
        return fmt::format("which is not to be retried, and is after {}", to_string(s.wait));
      });
}

std::optional<Finding> all_retryable(const std::vector<Seen>& all, const Rules& k) {
  if (!k.contract.retry_on) return std::nullopt;
  const auto last = [&](const Seen& s) {
    return k.contract.max_attempts && number(s) >= *k.contract.max_attempts;
  };
  return each(
      all, k,
      [&](const Seen& s) {
        return !succeeded(s) && k.contract.retry_on->contains(s.attempt->status) && !last(s) &&
               !has_excuse(s, k) && (k.ours || k.contract.max_attempts);
      },
      [](const Seen& s) -> Complaint {
        if (!s.stopped) return {};
        return fmt::format("which is to be retried, and the call ends{}",
                           s.why ? fmt::format(" ({})", to_string(*s.why)) : "");
      });
}

std::optional<Finding> no_unsafe_repeat(const std::vector<Seen>& all, const Rules& k) {
  if (!k.contract.idempotent_only.value_or(false)) return std::nullopt;
  return each(
      all, k,
      [](const Seen& s) {
        return s.attempt->idempotent == false && !succeeded(s) && !never_arrived(s.attempt->status);
      },
      [](const Seen& s) -> Complaint {
        if (s.stopped) return {};
        return fmt::format("the request is not idempotent, and is sent again after {}", to_string(s.wait));
      });
}

// ---- Retry-After

bool heeds(const Contract& c) { return c.retry_after && *c.retry_after != RetryAfterRule::ignore; }

// The call ended, and only its header can be the reason. A limit of attempts that nobody promised is another,
// and so is a kind of failure that is never repeated, where the contract does not say which ones are.
bool ended_by_header(const Seen& s, const Rules& k) {
  if (!s.stopped || !retried(s, k) || has_excuse(s, k)) return false;
  if (!k.contract.retry_on && s.why == Stop::not_retryable && !s.repeated_without_header) return false;
  const auto most = k.contract.max_attempts;
  return most ? number(s) < *most : k.ours && s.why != Stop::attempts;
}
bool was_hinted(const Seen& s) { return s.asked && !s.header_unclear && !succeeded(s); }

std::optional<Finding> not_early(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  if (!heeds(c) || *c.retry_after == RetryAfterRule::max) return std::nullopt;
  return each(
      all, k, [&](const Seen& s) { return was_hinted(s) && !s.stopped && !beyond_the_timer(s, c); },
      [&](const Seen& s) -> Complaint {
        const Heeded rule = heeded(c, *s.asked, Support{0, without_end, 0});
        if (in_ns(s.wait) >= rule.wait.lo - in_ns(c.tick)) return {};
        return fmt::format("the delay is {}, earlier than the server asked; {}", to_string(s.wait),
                           allowance(c, s.asked, own_or_anything(s, c)));
      });
}

std::optional<Finding> after_bounded(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  if (!heeds(c)) return std::nullopt;
  return each(all, k, was_hinted, [&](const Seen& s) -> Complaint {
    const Support mine = own_or_anything(s, c);
    const Heeded rule = heeded(c, *s.asked, mine);
    if (s.stopped) {
      if (!ended_by_header(s, k)) return {};
      return "the call ends; " + allowance(c, s.asked, mine);
    }
    if (!rule.may_wait)
      return fmt::format("the delay is {}; {}", to_string(s.wait), allowance(c, s.asked, mine));
    if (in_ns(s.wait) <= rule.wait.hi + mine.slack + mine.above + in_ns(c.tick) + in_ns(s.hidden)) return {};
    return fmt::format("the delay is {}, longer than the rule allows; {}", to_string(s.wait),
                       allowance(c, s.asked, mine));
  });
}

std::optional<Finding> parsed(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  if (!heeds(c)) return std::nullopt;
  return each(
      all, k,
      [&](const Seen& s) {
        if (!s.attempt->has_header || s.header_unclear || succeeded(s)) return false;
        return s.stopped ? ended_by_header(s, k) : !beyond_the_timer(s, c) && (s.asked || own_support(s, c));
      },
      [&](const Seen& s) -> Complaint {
        const Support mine = own_or_anything(s, c);
        if (s.stopped) return "the call ends; " + allowance(c, s.asked, mine);
        const Heeded rule = s.asked ? heeded(c, *s.asked, mine) : Heeded{mine};
        const long double slack = mine.slack + mine.above + in_ns(c.tick);
        if (in_ns(s.wait) >= rule.wait.lo - slack && in_ns(s.wait) <= rule.wait.hi + slack + in_ns(s.hidden))
          return {};
        return fmt::format("the delay is {}; {}", to_string(s.wait), allowance(c, s.asked, mine));
      });
}

std::optional<Finding> zero(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  const auto own1 = support_of(c, 1, std::nullopt);
  if (!heeds(c) || *c.retry_after == RetryAfterRule::max || !own1 || own1->lo <= own1->slack)
    return std::nullopt;
  return each(
      all, k, [](const Seen& s) { return was_hinted(s) && !s.stopped && *s.asked == Duration{}; },
      [&](const Seen& s) -> Complaint {
        const auto mine = own_support(s, c);
        if (!mine || in_ns(s.wait) >= mine->lo - mine->slack) return {};
        return fmt::format("the delay is {}, sooner than without a header ({})", to_string(s.wait),
                           to_string(*mine));
      });
}

// ---- between calls and clients

// Without jitter every retry n waits the same, whoever it is. An earlier delay of the same call that was
// forced by a header is no reason for another one.
std::optional<Finding> synchronised(const std::vector<Seen>& all, const Rules& k) {
  if (!without_jitter(k.contract)) return std::nullopt;
  std::map<std::int64_t, const Seen*> first;
  bool compared = false;
  for (const Seen& s : all) {
    if (!own(s, k.contract)) continue;
    const auto [place_of_first, fresh] = first.try_emplace(number(s), &s);
    if (fresh) continue;
    compared = true;
    const Seen& other = *place_of_first->second;
    const Duration apart = s.wait > other.wait ? s.wait - other.wait : other.wait - s.wait;
    if (apart <= (k.contract.tick > Duration::ns(1) ? k.contract.tick : Duration{})) continue;
    const std::string text =
        fmt::format("{}: the delay is {}; client {}, call {} waits {} at the same retry", place(s),
                    to_string(s.wait), other.call->client, other.call->call, to_string(other.wait));
    return found(text, text);
  }
  return compared ? Finding{} : unsure("no retry was seen twice");
}

// Retries at which a client's first call already breaks its law: there a later call shows nothing new.
std::set<std::int64_t> wrong_from_the_start(const std::vector<Seen>& all, const Contract& c) {
  std::map<std::string_view, std::string_view> first_call;
  std::set<std::int64_t> wrong;
  for (const Seen& s : all) {
    const auto first = first_call.try_emplace(s.call->client, s.call->call).first;
    const auto support = own(s, c) && first->second == s.call->call ? own_support(s, c) : std::nullopt;
    if (support && !support->holds(s.wait)) wrong.insert(number(s));
  }
  return wrong;
}

// A client's later calls keep the law of a fresh one.
std::optional<Finding> isolated(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  if (!support_of(c, 1, std::nullopt)) return std::nullopt;
  std::map<std::string_view, std::string_view> first_call;
  for (const Seen& s : all) first_call.try_emplace(s.call->client, s.call->call);
  const auto wrong = wrong_from_the_start(all, c);
  return each(
      all, k, [&](const Seen& s) { return own(s, c) && first_call.at(s.call->client) != s.call->call; },
      [&](const Seen& s) -> Complaint {
        const auto support = own_support(s, c);
        if (!support || support->holds(s.wait) || wrong.contains(number(s))) return {};
        return fmt::format("beside or after another call of the client the delay is {}, {}",
                           to_string(s.wait), outside(*support));
      });
}

// The first attempts after a success: as if nothing had happened.
std::optional<Finding> reset(const std::vector<Seen>& all, const Rules& k) {
  const Contract& c = k.contract;
  if (!support_of(c, 1, std::nullopt)) return std::nullopt;
  std::map<std::string_view, const TracedCall*> succeeded_call;
  std::map<const TracedCall*, bool> after_success;
  for (const Seen& s : all) {
    if (const auto before = succeeded_call.find(s.call->client);
        before != succeeded_call.end() && before->second != s.call)
      after_success[s.call] = true;
    if (succeeded(s)) succeeded_call[s.call->client] = s.call;
  }
  const auto wrong = wrong_from_the_start(all, c);
  return each(
      all, k, [&](const Seen& s) { return own(s, c) && after_success.contains(s.call); },
      [&](const Seen& s) -> Complaint {
        const auto support = own_support(s, c);
        if (!support || support->holds(s.wait) || wrong.contains(number(s))) return {};
        return fmt::format("after a call of the client that succeeded the delay is {}, {}", to_string(s.wait),
                           outside(*support));
      });
}

std::optional<Finding> amplification(const std::vector<Seen>& all, const Rules& k) {
  if (!k.contract.max_attempts) return std::nullopt;
  return each(
      all, k, [](const Seen& s) { return !succeeded(s); },
      [&](const Seen& s) -> Complaint {
        if (s.stopped || number(s) < *k.contract.max_attempts) return {};
        return fmt::format("one call becomes more than {} requests", *k.contract.max_attempts);
      });
}

// ---- statistics

bool jittered(const Contract& c) {
  return c.jitter && c.jitter->kind != JitterKind::none && support_of(c, 1, std::nullopt) &&
         (!c.max_attempts || *c.max_attempts > 1);
}

// The own delays of each retry. None where some calls ended for lack of time: the delays that are left are
// then the short ones.
std::map<std::int64_t, std::vector<const Seen*>> by_retry(const std::vector<Seen>& all, const Contract& c) {
  std::map<std::int64_t, std::vector<const Seen*>> retries;
  std::set<std::int64_t> cut;
  for (const Seen& s : all) {
    if (succeeded(s) || s.slow) continue;
    const bool out_of_time = s.stopped && s.why.value_or(Stop::deadline) == Stop::deadline;
    if (out_of_time && (c.elapsed || c.deadline)) cut.insert(number(s));
    if (own(s, c)) retries[number(s)].push_back(&s);
  }
  for (const std::int64_t retry : cut) retries.erase(retry);
  return retries;
}

std::vector<long double> delays_of(const std::vector<Seen>& all, const Contract& c, std::int64_t retry) {
  std::vector<long double> delays;
  const auto seen = by_retry(all, c);
  if (const auto there = seen.find(retry); there != seen.end()) {
    for (const Seen* s : there->second) delays.push_back(in_ns(s->wait));
  }
  return delays;
}

Finding wrong_at(std::int64_t retry, std::size_t n, const std::string& why) {
  const std::string text = fmt::format("retry {}, {} delays: {}", retry, n, why);
  return found(text, text);
}

// With as many draws as it takes to see something, nothing wrong means that it holds.
Finding seen_enough(std::size_t most) {
  if (most >= draws_wanted) return {};
  return unsure(most == 0 ? "no delay has a law that can be tested"
                          : fmt::format("{} of the {} delays of one retry that are needed were seen", most,
                                        draws_wanted));
}

std::optional<Finding> jitter_law(const std::vector<Seen>& all, const Rules& k, double alpha) {
  const Contract& c = k.contract;
  if (!jittered(c)) return std::nullopt;
  // As for a value of ours, see fleet.cpp; far into a call there are fewer draws, which show less.
  const double share = share_of_a_law(alpha);
  std::size_t most = 0;
  AfterCap after_cap;
  for (const Seen& s : all) {
    if (!s.slow && own(s, c)) after_cap.add(c, s.previous, s.wait);
  }
  if (const auto why = after_cap.far_from_law(share); why && !c.elapsed && !c.deadline)
    return found(*why, *why);
  auto seen = by_retry(all, c);
  for (const std::int64_t retry : retries_with_a_law()) {
    std::vector<Drawn> draws;
    Positions positions(c, retry);
    const auto one_law = chained(c) ? std::nullopt : law_of(c, retry, std::nullopt);
    for (const Seen* s : seen[retry]) {
      if (chained(c) && retry > 1 && !s->previous) continue;
      const auto law = one_law ? one_law : law_of(c, retry, s->previous);
      if (law) draws.push_back({in_ns(s->wait), *law});
      if (s->previous) positions.add(*s->previous, s->wait);
    }
    most = std::max(most, draws.size());
    if (const auto why = far_from_law(draws, share)) return wrong_at(retry, draws.size(), *why);
    if (const auto why = positions.dependent(share))
      return wrong_at(retry, draws.size(),
                      fmt::format("with retry {} of the same call: {}", retry - 1, *why));
  }
  return seen_enough(most);
}

std::optional<Finding> fleet_spreads(const std::vector<Seen>& all, const Rules& k, double alpha) {
  const Contract& c = k.contract;
  if (!jittered(c)) return std::nullopt;
  const auto numbers = retries_of_one_law(c);
  std::size_t most = 0;
  bool narrow = false;
  for (const std::int64_t retry : numbers) {
    const auto law = law_of(c, retry, std::nullopt);
    const auto delays = delays_of(all, c, retry);
    narrow = narrow || (law && !delays.empty() && !can_spread(*law));
    if (!law || !can_spread(*law)) continue;
    most = std::max(most, delays.size());
    if (delays.empty()) continue;
    if (const auto why = herds(delays, *law, alpha / static_cast<double>(numbers.size())))
      return wrong_at(retry, delays.size(), *why);
  }
  if (most == 0 && narrow) return Finding{Verdict::not_promised, std::string(too_narrow), {}};
  return seen_enough(most);
}

// However a hard cap is kept, no single delay may collect a tenth of the retries at the cap.
std::optional<Finding> alive_at_cap(const std::vector<Seen>& all, const Rules& k, double alpha) {
  const Contract& c = k.contract;
  if (!jittered(c) || chained(c) || !c.cap || c.cap_kind == CapKind::clamp) return std::nullopt;
  if (c.timer_max && cap_of(c)->hi > in_ns(*c.timer_max)) return std::nullopt;  // it cuts there
  std::vector<long double> delays;
  std::optional<Support> support;
  for (const Seen& s : all) {
    const auto ceiling = ceiling_of(c, number(s));
    if (!own(s, c) || !ceiling || ceiling->lo < in_ns(*c.cap)) continue;
    delays.push_back(in_ns(s.wait));
    support = support_of(c, number(s), std::nullopt);
  }
  if (!support) return std::nullopt;
  const long double tick = std::max(1.0L, in_ns(c.tick));
  const auto share = static_cast<double>(std::max(0.01L, 30 * tick / (support->hi - support->lo + tick)));
  std::sort(delays.begin(), delays.end());
  int most = 0, run = 0;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    run = i > 0 && delays[i] == delays[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  if (share <= 0.03 && collects(most, static_cast<int>(delays.size()), share) < alpha) {
    const std::string text =
        fmt::format("{} of {} delays at the cap are exactly the same", most, delays.size());
    return found(text, text);
  }
  if (share > 0.03) return unsure("the jitter is no wider than a few ticks");
  if (!finds_an_atom(static_cast<int>(delays.size()), share, alpha))
    return unsure(fmt::format("too few delays at the cap were seen to find a tenth of them in one point: {}",
                              delays.size()));
  return Finding{};
}

// Pairs for the first retries, tested one retry at a time.
Finding independent(const Contract& c, double alpha, std::string_view whose,
                    const std::function<Pairs(std::int64_t retry)>& draw) {
  auto numbers = retries_of_one_law(c);
  numbers.resize(std::min<std::size_t>(2, numbers.size()));
  std::size_t most = 0;
  for (const std::int64_t retry : numbers) {
    const auto law = law_of(c, retry, std::nullopt);
    if (!law || law->drawn.hi - law->drawn.lo < 2 * law->tick) continue;
    const Pairs pairs = draw(retry);
    most = std::max(most, pairs.first.size());
    if (const auto why = dependence(pairs, *law, alpha / static_cast<double>(numbers.size()))) {
      const std::string text = fmt::format("retry {}: {}: {}", retry, whose, *why);
      return found(text, text);
    }
  }
  constexpr std::size_t wanted = draws_wanted / 2;
  if (most >= wanted) return {};
  return unsure(fmt::format("{} pairs were seen, {} are needed", most, wanted));
}

// What clients wait in their first calls, retry by retry: of as many retries as a thousand clients came to.
// Of a log nobody knows whether it holds a line twice.
std::vector<std::vector<long double>> sequences_of(const std::vector<Seen>& all, const Rules& k) {
  std::map<std::string_view, const TracedCall*> first_calls;
  std::map<const TracedCall*, std::vector<long double>> sequences;
  for (const Seen& s : all) {
    if (first_calls.try_emplace(s.call->client, s.call).first->second != s.call || s.slow) continue;
    auto& delays = sequences[s.call];
    const bool next = number(s) == static_cast<std::int64_t>(delays.size()) + 1;
    if (next && own(s, k.contract)) delays.push_back(in_ns(s.wait));
  }
  std::size_t length = k.ours ? 8 : 0;
  const auto come = [&](const auto& one) { return one.second.size() >= length; };
  while (length > 0 &&
         static_cast<std::size_t>(std::count_if(sequences.begin(), sequences.end(), come)) < draws_wanted / 2)
    --length;
  std::vector<std::vector<long double>> some;
  if (length == 0) return some;
  for (const auto& one : sequences) {
    if (come(one))
      some.emplace_back(one.second.begin(), one.second.begin() + static_cast<std::ptrdiff_t>(length));
  }
  return some;
}

// Clients whose attempts failed at the same instant, two by two; and all, each by all that it waits.
std::optional<Finding> instances_independent(const std::vector<Seen>& all, const Rules& k, double alpha) {
  const Contract& c = k.contract;
  if (!jittered(c)) return std::nullopt;
  if (const auto few = few_sequences(sequences_of(all, k), c, alpha / 2)) return found(*few, *few);
  return independent(c, alpha / 2, "two clients that fail at the same time", [&](std::int64_t retry) {
    std::map<Instant, const Seen*> waiting;
    Pairs pairs;
    for (const Seen& s : all) {
      if (number(s) != retry || !own(s, c)) continue;
      const auto [partner, fresh] = waiting.try_emplace(s.attempt->ended, &s);
      if (fresh || partner->second->call->client == s.call->client) continue;
      pairs.first.push_back(in_ns(partner->second->wait));
      pairs.second.push_back(in_ns(s.wait));
      waiting.erase(partner);
    }
    return pairs;
  });
}

// What a fresh process was seen to do.
struct Process {
  Seed seed;
  std::vector<Seen> seen;
};

// The same client number in two fresh processes: every second process with the one after it, all together;
// and every couple of them for itself, because seeds out of a few show in some couples alone.
std::optional<Finding> processes_independent(const std::vector<Process>& processes, const Contract& c,
                                             double alpha) {
  if (!jittered(c)) return std::nullopt;
  Finding together = independent(c, alpha / 2, "the same client of two processes", [&](std::int64_t retry) {
    Pairs pairs;
    for (std::size_t p = 0; p + 1 < processes.size(); p += 2) {
      const auto a = delays_of(processes[p].seen, c, retry), b = delays_of(processes[p + 1].seen, c, retry);
      const auto n = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
      pairs.first.insert(pairs.first.end(), a.begin(), a.begin() + n);
      pairs.second.insert(pairs.second.end(), b.begin(), b.begin() + n);
    }
    return pairs;
  });
  const auto retry = retry_to_compare(c);
  if (together.verdict == Verdict::fails || !retry) return together;
  std::vector<std::vector<long double>> delays;
  for (const Process& one : processes) delays.push_back(delays_of(one.seen, c, *retry));
  const auto alike = two_alike(delays, *law_of(c, *retry, std::nullopt), alpha / 2);
  if (!alike) return together;
  const std::string text =
      fmt::format("retry {}: the same clients of two processes, with the seeds {} and {}: {}", *retry,
                  processes[alike->one].seed.value, processes[alike->other].seed.value, alike->why);
  return found(text, text);
}

using JudgeEach = std::optional<Finding> (*)(const std::vector<Seen>&, const Rules&);
using JudgeAll = std::optional<Finding> (*)(const std::vector<Seen>&, const Rules&, double);

const std::map<std::string_view, JudgeEach>& exact() {
  static const std::map<std::string_view, JudgeEach> all = {
      {"survives", &survives},
      {"delay-finite", &finite},
      {"delay-non-negative", &non_negative},
      {"cap-respected", &capped},
      {"delay-in-bounds", &in_bounds},
      {"growth-law", &grows},
      {"delay-not-zero", &not_zero},
      {"fits-timer", &fits_timer},
      {"cap-goes-on", &cap_goes_on},
      {"attempts-exact", &attempts_exact},
      {"deadline-respected", &deadline_respected},
      {"only-retryable", &only_retryable},
      {"all-retryable", &all_retryable},
      {"no-unsafe-repeat", &no_unsafe_repeat},
      {"retry-after-parsed", &parsed},
      {"retry-after-not-early", &not_early},
      {"retry-after-bounded", &after_bounded},
      {"retry-after-zero", &zero},
      {"synchronised-without-jitter", &synchronised},
      {"calls-isolated", &isolated},
      {"reset-after-success", &reset},
      {"amplification-bounded", &amplification},
  };
  return all;
}

const std::map<std::string_view, JudgeAll>& statistical() {
  static const std::map<std::string_view, JudgeAll> all = {
      {"jitter-law", &jitter_law},
      {"fleet-spreads", &fleet_spreads},
      {"jitter-alive-at-cap", &alive_at_cap},
      {"instances-independent", &instances_independent},
  };
  return all;
}

constexpr std::string_view between_processes = "processes-independent";

}  // namespace

bool decided_by_recording(std::string_view invariant) {
  return exact().contains(invariant) || statistical().contains(invariant) || invariant == between_processes;
}

struct Judge::Evidence {
  const Recording& recording;
  const Contract& contract;
  std::vector<Seen> all;
};

Judge::Judge(const Recording& recording, const Contract& contract)
    : evidence_(std::make_unique<const Evidence>(
          Evidence{recording, contract, seen_in(recording.trace, contract, recording.ours)})) {}
Judge::~Judge() = default;

Finding Judge::operator()(std::string_view invariant, double alpha) const {
  const auto& [recording, contract, all] = *evidence_;
  const Rules rules{contract, recording.ours, recording.cut_short};
  std::optional<Finding> finding;
  if (invariant == between_processes) {
    std::vector<Process> processes;
    for (const FreshProcess& one : recording.processes)
      processes.push_back({one.seed, seen_in(one.trace, contract, recording.ours)});
    finding = processes_independent(processes, contract, alpha);
  } else if (const auto one = exact().find(invariant); one != exact().end()) {
    finding = one->second(all, rules);
  } else {
    finding = statistical().at(invariant)(all, rules, alpha);
  }
  return finding.value_or(Finding{Verdict::not_promised, {}, {}});
}

}  // namespace retrygate
