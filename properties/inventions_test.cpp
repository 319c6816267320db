// More policies that no report is about, as values: faults that have to be found, each by the invariant
// beside it, and right ones that are written in ways of their own and must not be accused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "policies/base/testing.hpp"
#include "policies/named.hpp"
#include "properties/check.hpp"
#include "properties/header.hpp"
#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {
namespace inventions {

using D = Decision;
using Decide = Decision (*)(Notes& client, Notes& call, const Attempt&, Rng&);

struct Invented {
  Contract promise;
  Decide decide;
  using Client = Notes;
  using Call = Notes;
  Decision after(Client& client, Call& call, const Attempt& a, Rng& rng) const {
    return decide(client, call, a, rng);
  }
  Contract contract() const { return promise; }
  bool operator==(const Invented& other) const { return promise == other.promise && decide == other.decide; }
  friend std::string to_string(const Invented&) { return "invented"; }
};

std::set<std::string> accused(const Contract& promise, Decide decide, std::uint64_t seed = 1) {
  std::set<std::string> ids;
  for (const VerdictRow& row :
       check(subject_of("invented", Invented{promise, decide}), {.seed = Seed{seed}})) {
    EXPECT_NE(row.verdict, Verdict::broken) << row.invariant->id << ": " << row.note;
    if (row.verdict == Verdict::fails) ids.insert(std::string(row.invariant->id));
  }
  return ids;
}

// ---- what they promise

Contract eight(JitterKind jitter) {
  Contract c = exponential(Duration::ms(100), 2, Duration::s(5), jitter);
  c.max_attempts = 8;
  return c;
}
Contract stepping(GrowthKind growth, Duration base, Duration cap) {
  Contract c;
  c.growth = growth;
  c.base = base;
  c.cap = cap;
  c.jitter = Jitter{};
  c.max_attempts = 9;
  return c;
}
Contract heeding(RetryAfterRule rule, Duration most) {
  Contract c = eight(JitterKind::none);
  c.retry_after = rule;
  c.retry_after_max = most;
  return c;
}
Contract paying() {
  Contract c = constant(Duration::s(1));
  c.max_attempts = 10;
  Budget b;
  b.kind = BudgetKind::token_bucket;
  b.capacity = 5;
  b.refill_per_s = 0.5;
  b.cost = 1;
  c.budget = b;
  return c;
}
Contract only(std::initializer_list<int> statuses) {
  Contract c = eight(JitterKind::none);
  RetryOn on;
  for (const int s : statuses) on.statuses.push_back(Status::http(s));
  c.retry_on = on;
  return c;
}

// ---- what they are made of

bool good(const Attempt& a) { return a.outcome.status.succeeded(); }
Duration ceil_of(std::int64_t n) {
  return std::min(Duration::s(5), Duration::ms(100).scaled(
                                      std::exp2(static_cast<double>(std::min<std::int64_t>(n, 40) - 1))));
}
D done() { return D::stop(Stop::success); }
D upto(std::int64_t most, const Attempt& a, Duration d) {
  if (good(a)) return done();
  return a.number >= most ? D::stop(Stop::attempts) : D::wait(d);
}
D plain(const Attempt& a, Duration asked = {}) { return upto(8, a, std::max(ceil_of(a.number), asked)); }
Duration asked_of(const Attempt& a) { return a.outcome.retry_after.value_or(Duration{}); }
D pay(Notes& client, const Attempt& a, double rate, double most, bool refund) {
  if (client.count == 0) client.tokens = most;
  client.count = 1;
  client.tokens = std::min(most, client.tokens + rate * (a.finished - client.at).seconds());
  client.at = a.finished;
  if (good(a)) {
    if (refund) client.tokens = std::min(most, client.tokens + 1);
    return done();
  }
  if (a.number >= 10) return D::stop(Stop::attempts);
  if (client.tokens < 1) return D::stop(Stop::budget);
  client.tokens -= 1;
  return D::wait(Duration::s(1));
}

struct Fault {
  const char* what;
  Contract promise;
  Decide decide;
  const char* killer;
};

TEST(Inventions, FaultsAreFound) {
  const Contract full = eight(JitterKind::full), none = eight(JitterKind::none);
  Contract safe = none;
  safe.idempotent_only = true;
  Contract timed = exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::none);
  timed.elapsed = Duration::s(20);
  Contract caller = timed;
  caller.elapsed.reset();
  caller.deadline = Duration::s(20);
  Contract timer = exponential(Duration::s(1), 2, uncapped, JitterKind::none);
  timer.timer_max = Duration::ms(2'147'483'647);
  const std::vector<Fault> faults{
      {"grows at every other attempt", none,
       [](Notes&, Notes&, const Attempt& a, Rng&) { return upto(8, a, ceil_of((a.number + 1) / 2)); },
       "growth-law"},
      {"the third power in place of two to the third", none,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         return upto(8, a, std::min(Duration::s(5), Duration::ms(100) * a.number * a.number));
       },
       "growth-law"},
      {"one nanosecond above the cap", none,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         const Duration d = ceil_of(a.number);
         return upto(8, a, d == Duration::s(5) ? d + Duration::ns(1) : d);
       },
       "cap-respected"},
      {"fibonacci that starts with 1, 2", stepping(GrowthKind::fibonacci, Duration::ms(100), Duration::s(8)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         std::int64_t one = 1, two = 2;
         for (std::int64_t i = 1; i < std::min<std::int64_t>(a.number, 60); ++i) {
           const std::int64_t sum = one + two;
           one = two;
           two = sum;
         }
         return upto(9, a, std::min(Duration::s(8), Duration::ms(100) * one));
       },
       "growth-law"},
      {"linear from 0 on", stepping(GrowthKind::linear, Duration::ms(250), Duration::s(3)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         return upto(
             9, a, std::min(Duration::s(3), Duration::ms(250) * std::min<std::int64_t>(a.number - 1, 1000)));
       },
       "delay-not-zero"},
      {"the larger of two draws", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         const Duration one = rng.between({}, ceil_of(a.number)), two = rng.between({}, ceil_of(a.number));
         return upto(8, a, std::max(one, two));
       },
       "jitter-law"},
      {"a sine of the draw", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(8, a, ceil_of(a.number).scaled(0.5 + 0.5 * std::sin(2 * std::numbers::pi * rng.unit())));
       },
       "jitter-law"},
      {"a hundredth waits exactly the ceiling", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         const bool all = rng.unit() < 0.01;
         return upto(8, a, all ? ceil_of(a.number) : rng.between({}, ceil_of(a.number)));
       },
       "fleet-spreads"},
      {"whole percent of the ceiling", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(8, a, ceil_of(a.number).scaled(static_cast<double>(rng.below(101)) / 100));
       },
       "fleet-spreads"},
      {"the sixth retry is not jittered", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(8, a, a.number == 6 ? ceil_of(6) : rng.between({}, ceil_of(a.number)));
       },
       "jitter-law"},
      {"jitter of the second that it is", full,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         Rng own(Seed{static_cast<std::uint64_t>(a.finished.since_start.ns() / 1'000'000'000) * 16 +
                      static_cast<std::uint64_t>(a.number)});
         return upto(8, a, own.between({}, ceil_of(a.number)));
       },
       "instances-independent"},
      {"a request that may not be repeated waits twice as long, and is repeated", safe,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         return upto(8, a, ceil_of(a.number) * (a.idempotent ? 1 : 2));
       },
       "no-unsafe-repeat"},
      {"502 is forgotten", only({500, 502, 503}),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         const Status s = a.outcome.status;
         if (s != Status::http(500) && s != Status::http(503)) return D::stop(Stop::not_retryable);
         return plain(a);
       },
       "all-retryable"},
      {"every 5xx", only({500, 502, 503}),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         if (a.outcome.status.code() < 500) return D::stop(Stop::not_retryable);
         return plain(a);
       },
       "only-retryable"},
      {"gives up when time is up, and not before the wait", timed,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         if (a.finished - a.call_started >= Duration::s(20)) return D::stop(Stop::deadline);
         return D::wait(ceil_of(a.number));
       },
       "deadline-respected"},
      {"half of the time is left unused", timed,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         if (a.finished - a.call_started + ceil_of(a.number) > Duration::s(10))
           return D::stop(Stop::deadline);
         return D::wait(ceil_of(a.number));
       },
       "deadline-respected"},
      {"whatever comes with a header is repeated", only({500, 503}),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         const Status s = a.outcome.status;
         if (!good(a) && s != Status::http(500) && s != Status::http(503) && !a.outcome.retry_after)
           return D::stop(Stop::not_retryable);
         return plain(a);
       },
       "only-retryable"},
      {"what may not be repeated is repeated when the server says when", safe,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (!good(a) && !a.idempotent && !a.outcome.retry_after) return D::stop(Stop::not_retryable);
         return plain(a);
       },
       "no-unsafe-repeat"},
      {"a header on top of the own delay", heeding(RetryAfterRule::exact, Duration::s(60 * 2)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (asked_of(a) > Duration::s(60 * 2)) return D::stop(Stop::deadline);
         return upto(8, a, ceil_of(a.number) + asked_of(a));
       },
       "retry-after-parsed"},
      {"a header counts from the start of the call", heeding(RetryAfterRule::floor, Duration::s(60 * 2)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (asked_of(a) > Duration::s(60 * 2)) return D::stop(Stop::deadline);
         return plain(a, asked_of(a) - (a.finished - a.call_started));
       },
       "retry-after-not-early"},
      {"nine tenths of a header", heeding(RetryAfterRule::floor, Duration::s(60 * 2)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (asked_of(a) > Duration::s(60 * 2)) return D::stop(Stop::deadline);
         return plain(a, asked_of(a).scaled(0.9));
       },
       "retry-after-not-early"},
      {"a header of a minute or more is none", heeding(RetryAfterRule::floor, Duration::s(60 * 2)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         return plain(a, asked_of(a) >= Duration::s(60 * 1) ? Duration{} : asked_of(a));
       },
       "retry-after-not-early"},
      {"fails for good at the timer's limit", timer,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         return D::wait(Duration::s(1) * (std::int64_t{1} << std::min<std::int64_t>(a.number - 1, 30)));
       },
       "fits-timer"},
      {"a success gives a token back", paying(),
       [](Notes& client, Notes&, const Attempt& a, Rng&) { return pay(client, a, 0.5, 5, true); },
       "budget-conserved"},
      {"the bucket holds six", paying(),
       [](Notes& client, Notes&, const Attempt& a, Rng&) { return pay(client, a, 0.5, 6, false); },
       "budget-conserved"},
      {"refills a tenth too fast", paying(),
       [](Notes& client, Notes&, const Attempt& a, Rng&) { return pay(client, a, 0.55, 5, false); },
       "budget-conserved"},
      {"the second call of a client goes on where the first one was", none,
       [](Notes& client, Notes&, const Attempt& a, Rng&) {
         client.count = good(a) ? 0 : client.count + 1;
         return upto(8, a, ceil_of(client.count));
       },
       "calls-isolated"},
      {"seven attempts after a header", heeding(RetryAfterRule::floor, Duration::s(60 * 2)),
       [](Notes&, Notes& call, const Attempt& a, Rng&) {
         if (asked_of(a) > Duration::s(60 * 2)) return D::stop(Stop::deadline);
         if (a.outcome.retry_after) call.count = 1;
         return upto(8 - call.count, a, std::max(ceil_of(a.number), asked_of(a)));
       },
       "attempts-exact"},
  };
  for (const Fault& f : faults) {
    const auto ids = accused(f.promise, f.decide);
    EXPECT_TRUE(ids.contains(f.killer)) << f.what << ": " << testing::PrintToString(ids);
  }
}

struct Right {
  const char* what;
  Contract promise;
  Decide decide;
};

TEST(Inventions, RightOnesAreNotAccused) {
  const Contract full = eight(JitterKind::full), none = eight(JitterKind::none);
  Contract whole_ms = full;
  whole_ms.tick = Duration::ms(1);
  Contract whole_s = exponential(Duration::s(2), 2, Duration::s(60), JitterKind::full);
  whole_s.tick = Duration::s(1);
  whole_s.max_attempts = 8;
  Contract decorrelated;
  decorrelated.base = Duration::ms(100);
  decorrelated.cap = Duration::s(5);
  decorrelated.cap_kind = CapKind::clamp;
  decorrelated.jitter = Jitter{JitterKind::decorrelated, 0, {}};
  Contract rounded = decorrelated;
  rounded.tick = Duration::ms(1);
  Contract safe = none;
  safe.idempotent_only = true;
  Contract timed = exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::full);
  timed.elapsed = Duration::s(20);
  Contract caller = exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::none);
  caller.deadline = Duration::s(20);
  Contract clamped = exponential(Duration::ms(500), 2, Duration::s(10), JitterKind::proportional, 0.5);
  clamped.cap_kind = CapKind::clamp;
  Contract timer = exponential(Duration::s(1), 2, uncapped, JitterKind::none);
  timer.timer_max = Duration::ms(2'147'483'647);
  Contract clip = heeding(RetryAfterRule::floor, Duration::s(60));
  clip.retry_after_over = RetryAfterOver::clip;
  const std::vector<Right> right{
      {"24 bits of a float", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(8, a, ceil_of(a.number).scaled(static_cast<double>(static_cast<float>(rng.unit()))));
       }},
      {"a generator for each call, of 32 bits of seed", full,
       [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
         if (call.count == 0) call.count = static_cast<std::int64_t>(1 + (rng.bits() >> 32));
         Rng own = StreamKey(Seed{static_cast<std::uint64_t>(call.count)}, Stream::policy)
                       .at(0, 0, static_cast<std::uint64_t>(a.number));
         return upto(8, a, own.between({}, ceil_of(a.number)));
       }},
      {"one minus the draw", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(8, a, ceil_of(a.number).scaled(1 - rng.unit()));
       }},
      {"sixteen draws of which the last counts", full,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         Duration d;
         for (int i = 0; i < 16; ++i) d = rng.between({}, ceil_of(a.number));
         return upto(8, a, d);
       }},
      {"milliseconds, rounded down", whole_ms,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(8, a, Duration::ms(rng.between({}, ceil_of(a.number)).ns() / 1'000'000));
       }},
      {"milliseconds, rounded up", whole_ms,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(8, a, Duration::ms((rng.between({}, ceil_of(a.number)).ns() + 999'999) / 1'000'000));
       }},
      {"whole seconds, each as likely", whole_s,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         const std::uint64_t most =
             std::min<std::uint64_t>(60, std::uint64_t{1} << std::min<std::int64_t>(a.number, 10));
         return upto(8, a, Duration::s(static_cast<std::int64_t>(rng.below(most + 1))));
       }},
      {"whole seconds, rounded down", whole_s,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         const double most =
             std::min(60.0, std::exp2(static_cast<double>(std::min<std::int64_t>(a.number, 10))));
         return upto(8, a, Duration::s(static_cast<std::int64_t>(most * rng.unit())));
       }},
      {"decorrelated, the delay before in nanoseconds", decorrelated,
       [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
         if (good(a)) return done();
         const Duration base = Duration::ms(100);
         call.last = std::min(Duration::s(5), rng.between(base, std::max(base, call.last) * 3));
         return D::wait(call.last);
       }},
      {"decorrelated, what it keeps in nanoseconds and waits in milliseconds", rounded,
       [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
         if (good(a)) return done();
         const Duration base = Duration::ms(100);
         call.last = std::min(Duration::s(5), rng.between(base, std::max(base, call.last) * 3));
         return D::wait(Duration::ms((call.last.ns() + 500'000) / 1'000'000));
       }},
      {"decorrelated, what it waits is what it keeps, in milliseconds", rounded,
       [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
         if (good(a)) return done();
         const std::int64_t last_ms = std::max<std::int64_t>(100, call.last.ns() / 1'000'000);
         const auto more = rng.below(static_cast<std::uint64_t>(3 * last_ms - 100) + 1);
         call.last = Duration::ms(std::min<std::int64_t>(5000, 100 + static_cast<std::int64_t>(more)));
         return D::wait(call.last);
       }},
      {"doubles what it keeps in place of a power", none,
       [](Notes&, Notes& call, const Attempt& a, Rng&) {
         // An attempt number that is skipped is doubled for, too.
         for (; call.count < std::min<std::int64_t>(a.number, 40); ++call.count)
           call.last = call.count == 0 ? Duration::ms(100) : std::min(Duration::s(5), call.last * 2);
         return upto(8, a, call.last);
       }},
      {"nothing that is not idempotent is ever repeated", safe,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         return a.idempotent ? plain(a) : D::stop(Stop::not_retryable);
       }},
      {"gives up where the ceiling would not fit", timed,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         if (good(a)) return done();
         const Duration wait = rng.between({}, ceil_of(a.number));
         return a.finished - a.call_started + ceil_of(a.number) > Duration::s(20) ? D::stop(Stop::deadline)
                                                                                  : D::wait(wait);
       }},
      {"gives up where its draw would not fit", timed,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         if (good(a)) return done();
         const Duration wait = rng.between({}, ceil_of(a.number));
         return a.finished - a.call_started + wait > Duration::s(20) ? D::stop(Stop::deadline)
                                                                     : D::wait(wait);
       }},
      {"a deadline that it works out itself", caller,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         const Instant end = std::min(a.deadline, a.call_started + Duration::s(20));
         return a.finished + ceil_of(a.number) >= end ? D::stop(Stop::deadline) : D::wait(ceil_of(a.number));
       }},
      {"cut to the cap after the jitter", clamped,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         if (good(a)) return done();
         const Duration grown = Duration::ms(500).scaled(std::exp2(static_cast<double>(a.number - 1)));
         return D::wait(std::min(Duration::s(10), rng.between(grown.scaled(0.5), grown.scaled(1.5))));
       }},
      {"a header that is too long is cut", clip,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         return plain(a, std::min(Duration::s(60), asked_of(a)));
       }},
      {"a header that is too long ends the call", heeding(RetryAfterRule::floor, Duration::s(60)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (!good(a) && asked_of(a) > Duration::s(60)) return D::stop(Stop::not_retryable);
         return plain(a, asked_of(a));
       }},
      {"the header exactly, but for one of 0", heeding(RetryAfterRule::exact, Duration::s(60)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (!good(a) && asked_of(a) > Duration::s(60)) return D::stop(Stop::deadline);
         return upto(8, a, asked_of(a) > Duration{} ? asked_of(a) : ceil_of(a.number));
       }},
      {"the header exactly or the end, but for one of 0",
       heeding(RetryAfterRule::exact_or_stop, Duration::s(60)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (!good(a) && asked_of(a) > Duration::s(60)) return D::stop(Stop::deadline);
         return upto(8, a, asked_of(a) > Duration{} ? asked_of(a) : ceil_of(a.number));
       }},
      {"the header, or its own delay if that is shorter", heeding(RetryAfterRule::max, Duration::s(60)),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         const auto asked = a.outcome.retry_after;
         return upto(8, a,
                     asked ? std::min({ceil_of(a.number), *asked, Duration::s(60)}) : ceil_of(a.number));
       }},
      {"a timer of 32 bits, filled to the brim", timer,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         const std::int64_t power = std::min<std::int64_t>(a.number - 1, 32);
         return D::wait(std::min(Duration::ms(2'147'483'647), Duration::s(1) * (std::int64_t{1} << power)));
       }},
      {"a bucket that is paid when it is decided", paying(),
       [](Notes& client, Notes&, const Attempt& a, Rng&) { return pay(client, a, 0.5, 5, false); }},
      {"any failure that is listed, and some that are not", only({500, 503}),
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         const Status s = a.outcome.status;
         if (good(a)) return done();
         if (s.kind() == Status::Kind::http && s != Status::http(500) && s != Status::http(503))
           return D::stop(Stop::not_retryable);
         return plain(a);
       }},
      {"nothing at all is promised", Contract{},
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         return upto(3, a, rng.between({}, Duration::s(3600)));
       }},
      {"whatever happens, never again", Contract{},
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         return good(a) ? done() : D::stop(Stop::not_retryable);
       }},
  };
  for (const Right& r : right) {
    for (std::uint64_t seed = 1; seed <= (sanitized ? 1U : 3U); ++seed)
      EXPECT_EQ(accused(r.promise, r.decide, seed), std::set<std::string>{}) << r.what << ", seed " << seed;
  }
}

// Whatever the seed: all cases tell of a success, of one of ten kinds.
TEST(Inventions, ASuccessOfAnyKindIsTold) {
  const auto accepted_is_a_failure = [](Notes&, Notes&, const Attempt& a, Rng&) {
    if (a.outcome.status != Status::http(202)) return plain(a);
    return a.number >= 8 ? D::stop(Stop::attempts) : D::wait(ceil_of(a.number));
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_TRUE(accused(eight(JitterKind::none), accepted_is_a_failure, seed).contains("survives")) << seed;
}

// Policies of ours that promise something else than what they do.
TEST(Inventions, BudgetsAndBreakersThatAreAlmostRight) {
  struct Almost {
    const char *what, *does, *promises, *killer;
  };
  const std::vector<Almost> all{
      {"a breaker that is open for 29 s in place of 30", "breaker = { failures = 5, open_for = \"29s\" }",
       "breaker = { failures = 5, open_for = \"30s\" }", "breaker-states"},
      {"a breaker that is open for 31 s in place of 30", "breaker = { failures = 5, open_for = \"31s\" }",
       "breaker = { failures = 5, open_for = \"30s\" }", "breaker-states"},
      {"a ratio without its reserve", "budget = { kind = \"ratio\", ratio = 0.2, window = \"10s\" }",
       "budget = { kind = \"ratio\", ratio = 0.2, window = \"10s\", reserve_per_s = 5 }", "budget-conserved"},
      {"a timeout that costs no more", "budget = { kind = \"aws-quota\", capacity = 50, cost = 5 }",
       "budget = { kind = \"aws-quota\", capacity = 50, cost = 5, timeout_cost = 10 }", "budget-conserved"},
      {"a timeout that costs twice as much as it should",
       "budget = { kind = \"aws-quota\", capacity = 50, cost = 5, timeout_cost = 20 }",
       "budget = { kind = \"aws-quota\", capacity = 50, cost = 5, timeout_cost = 10 }", "budget-conserved"},
  };
  const auto guarded = [](const std::string& guard) {
    const auto file = parse_toml("kind = \"fixed\"\nbase = \"100ms\"\nmax_attempts = 9\n" + guard, "test");
    if (!file) throw std::runtime_error(to_string(file.error()));
    const auto named = read_policy("guarded", *file);
    if (!named) throw std::runtime_error(to_string(named.error()));
    return named->policy;
  };
  for (const Almost& a : all) {
    for (std::uint64_t seed = 1; seed <= (sanitized ? 2U : 10U); ++seed) {
      Subject subject = subject_of("almost", guarded(a.does));
      const Options options{.seed = Seed{seed}, .only = {a.killer}};
      EXPECT_EQ(check(subject, options).at(0).verdict, Verdict::holds) << a.does << ", seed " << seed;
      subject.contract = guarded(a.promises).contract();
      EXPECT_EQ(check(subject, options).at(0).verdict, Verdict::fails) << a.what << ", seed " << seed;
    }
  }
}

// Of the commands of a sequence those are left that it takes, whatever stood between them.
TEST(Inventions, ASequenceIsMadeAsShortAsItCanBe) {
  const auto remembers = [](Notes& client, Notes&, const Attempt& a, Rng&) {
    const Decision d = upto(8, a, ceil_of(a.number + client.count));
    if (d.stops() && d.why() == Stop::attempts) client.count += 1;
    return d;
  };
  for (std::uint64_t seed = 1; seed <= (sanitized ? 3U : 20U); ++seed) {
    const auto rows = check(subject_of("invented", Invented{eight(JitterKind::none), remembers}),
                            {.seed = Seed{seed}, .only = {"reset-after-success"}});
    EXPECT_THAT(
        rows.at(0).counterexample.shrunk,
        testing::StartsWith("a call that fails 8 times and then gives up, then a call that fails 1 time "
                            "and then succeeds: failure 1 of a fresh client's call: 'wait 100ms'; of "
                            "the next call: 'wait 200ms'"));
  }
  // Six retries at once, or five and one more before a second is over.
  const auto six = [](Notes& client, Notes&, const Attempt& a, Rng&) {
    return pay(client, a, 0.5, 6, false);
  };
  for (std::uint64_t seed = 1; seed <= (sanitized ? 3U : 20U); ++seed) {
    const auto rows = check(subject_of("invented", Invented{paying(), six}),
                            {.seed = Seed{seed}, .only = {"budget-conserved"}});
    const std::string& shrunk = rows.at(0).counterexample.shrunk;
    EXPECT_FALSE(shrunk.empty());
    EXPECT_EQ(shrunk.find(", then ", shrunk.find(", then ") + 1), std::string::npos)
        << "three or more: " << shrunk;
  }
}

// Whatever the seed: a delay does not depend on what the failure was.
TEST(Inventions, AnyFailureIsWaitedForAlike) {
  Contract steady = constant(Duration::s(1));
  steady.max_attempts = 5;
  Contract half = eight(JitterKind::full), listed = eight(JitterKind::none), timed = listed;
  listed.retry_on = RetryOn{{Status::http(429), Status::http(503)}, {}};
  timed.max_attempts.reset();
  timed.elapsed = Duration::s(20);
  const std::vector<Fault> faults{
      {"429 waits twice as long", listed,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (!good(a) && a.outcome.status.kind() != Status::Kind::http) return D::stop(Stop::not_retryable);
         return upto(8, a, ceil_of(a.number) * (a.outcome.status == Status::http(429) ? 2 : 1));
       },
       "delay-in-bounds"},
      {"at once after a connection that was refused", half,
       [](Notes&, Notes&, const Attempt& a, Rng& rng) {
         const bool refused = a.outcome.status == Status::transport(TransportError::connect_refused);
         return upto(8, a, refused ? Duration{} : rng.between({}, ceil_of(a.number)));
       },
       "delay-not-zero"},
      {"grows only while the failure stays the same", listed,
       [](Notes&, Notes& call, const Attempt& a, Rng&) {
         if (!good(a) && a.outcome.status.kind() != Status::Kind::http) return D::stop(Stop::not_retryable);
         const std::int64_t code = a.outcome.status.code();
         if (call.last != Duration::ns(code)) call.count = 0;
         call.last = Duration::ns(code);
         return upto(8, a, ceil_of(++call.count));
       },
       "delay-in-bounds"},
      {"the first timeout is waited for a tenth", steady,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         const bool timeout = a.outcome.status == Status::transport(TransportError::timeout);
         return upto(5, a, Duration::ms(timeout && a.number == 1 ? 100 : 1000));
       },
       "delay-in-bounds"},
      {"RESOURCE_EXHAUSTED starts anew, and time is limited", timed,
       [](Notes&, Notes&, const Attempt& a, Rng&) {
         if (good(a)) return done();
         const Duration wait = ceil_of(a.outcome.status == Status::grpc(8) ? 1 : a.number);
         return a.finished + wait - a.call_started > Duration::s(20) ? D::stop(Stop::deadline)
                                                                     : D::wait(wait);
       },
       "delay-in-bounds"},
  };
  for (const Fault& f : faults) {
    for (std::uint64_t seed = 1; seed <= (sanitized ? 3U : 20U); ++seed)
      EXPECT_TRUE(accused(f.promise, f.decide, seed).contains(f.killer)) << f.what << ", seed " << seed;
  }
  const auto rows = check(subject_of("invented", Invented{faults[0].promise, faults[0].decide}),
                          {.only = {"delay-in-bounds"}});
  EXPECT_THAT(rows.at(0).counterexample.shrunk,
              testing::StartsWith("after attempt 1, which ended with 429, the delay is 200ms, not 100ms"));
}

TEST(Inventions, AFindingSaysWhatAHeaderAllows) {
  const Support own{1e9L, 1e9L, 0};
  Contract c = heeding(RetryAfterRule::floor, Duration::s(60));
  EXPECT_EQ(allowance(c, Duration::s(7), own), "the header asks for 7s: 'floor' allows 7s");
  EXPECT_EQ(allowance(c, Duration{}, own), "the header asks for 0s: 'floor' allows 1s");
  EXPECT_EQ(allowance(c, std::nullopt, own), "the header is malformed and counts as absent, which leaves 1s");
  const std::string too_long = "the header asks for 1h, above retry_after_max = 1m: 'floor' allows ";
  EXPECT_EQ(allowance(c, Duration::s(3600), own), too_long + "1m, or the end of the call");
  c.retry_after_over = RetryAfterOver::clip;
  EXPECT_EQ(allowance(c, Duration::s(3600), own), too_long + "1m");
  c.retry_after_over = RetryAfterOver::stop;
  EXPECT_EQ(allowance(c, Duration::s(3600), own), too_long + "nothing but the end of the call");
  c.retry_after_max.reset();
  EXPECT_EQ(allowance(c, Duration::max(), Support{0, without_end, 0}),
            "the header asks for more than 292 years: 'floor' allows a wait without end");
}

TEST(Inventions, AFindingSaysByWhichCommandsABudgetWasLedThere) {
  const auto six = [](Notes& client, Notes&, const Attempt& a, Rng&) {
    return pay(client, a, 0.5, 6, false);
  };
  const auto rows = check(subject_of("invented", Invented{paying(), six}), {.only = {"budget-conserved"}});
  EXPECT_THAT(rows.at(0).counterexample.shrunk,
              testing::MatchesRegex(".*(a call whose first|calls at once).*: a retry is (sent|decided) "
                                    "\\(attempt .*\\) with .* of 5 tokens left; it takes at least 1"));
}

}  // namespace inventions
}  // namespace
}  // namespace retrygate
