// Policies that no report is about: faulty ones that have to be found, and unusual ones that are right and
// must not be accused. As values here, as programs in fake/trial.py.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>

#include "policies/base/testing.hpp"
#include "policies/find_contract.hpp"
#include "properties/check.hpp"
#include "properties/mutants/mutant.hpp"
#include "properties/outside.hpp"

namespace retrygate {
namespace {

using Ids = std::set<std::string>;

template <class Rows>
Ids failing(const Rows& rows) {
  Ids ids;
  for (const VerdictRow& row : rows) {
    EXPECT_NE(row.verdict, Verdict::broken) << row.invariant->id << ": " << row.note;
    if (row.verdict == Verdict::fails) ids.insert(std::string(row.invariant->id));
  }
  return ids;
}

Contract full_jitter() {
  Contract c = exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::full);
  c.max_attempts = 8;
  return c;
}
Duration ceiling(std::int64_t n) {
  return std::min(Duration::s(5), Duration::ms(100).scaled(
                                      std::exp2(static_cast<double>(std::min<std::int64_t>(n, 40) - 1))));
}

// One function of everything that it is told, limits and successes included.
struct Decides {
  using Function = Decision (*)(Notes& client, Notes& call, const Attempt&, Rng&);
  Contract promise;
  Function decide;
  using Client = Notes;
  using Call = Notes;
  Decision after(Client& client, Call& call, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    return decide(client, call, a, rng);
  }
  Contract contract() const { return promise; }
  bool operator==(const Decides& other) const { return promise == other.promise && decide == other.decide; }
  friend std::string to_string(const Decides&) { return "decides"; }
};

Ids found(const Contract& promise, Decides::Function decide) {
  return failing(check(subject_of("trial", Decides{promise, decide})));
}

TEST(Trial, OneDrawForAllRetriesOfACall) {
  EXPECT_EQ(found(full_jitter(),
                  [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
                    if (a.number >= 8) return Decision::stop(Stop::attempts);
                    if (a.number == 1) call.tokens = rng.unit();
                    return Decision::wait(ceiling(a.number).scaled(call.tokens));
                  }),
            Ids{"jitter-law"});
}

// Takes a permit before an attempt and gives it back after it, as limiters and half-open breakers do.
struct Permits {
  using Client = Notes;
  using Call = Notes;
  Decision before(Client& client, Call&, const Sending&, Rng&) const {
    client.count += 1;
    return Decision::wait({});
  }
  Decision after(Client& client, Call&, const Attempt& a, Rng& rng) const {
    if (client.count == 0) throw std::logic_error("a permit that nobody took");
    client.count -= 1;
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (a.number >= 8) return Decision::stop(Stop::attempts);
    return Decision::wait(rng.between({}, ceiling(a.number)));
  }
  Contract contract() const { return full_jitter(); }
  bool operator==(const Permits&) const = default;
  friend std::string to_string(const Permits&) { return "permits"; }
};

TEST(Trial, NoAttemptIsToldThatTheGateWasNotAskedAbout) {
  EXPECT_EQ(failing(check(subject_of("trial", Permits{}))), Ids{});
}

TEST(Trial, ADrawIsUsedForTwoRetries) {
  EXPECT_EQ(found(full_jitter(),
                  [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
                    if (a.number >= 8) return Decision::stop(Stop::attempts);
                    if (a.number % 2 == 0 || a.number == 1) call.tokens = rng.unit();
                    return Decision::wait(ceiling(a.number).scaled(call.tokens));
                  }),
            Ids{"jitter-law"});
  // The last retry is short where the one before was long.
  EXPECT_EQ(found(full_jitter(),
                  [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
                    if (a.number >= 8) return Decision::stop(Stop::attempts);
                    call.tokens = a.number == 7 ? 1 - call.tokens : rng.unit();
                    return Decision::wait(ceiling(a.number).scaled(call.tokens));
                  }),
            Ids{"jitter-law"});
}

TEST(Trial, OneRetryIsDrawnFromHalfOfItsInterval) {
  EXPECT_EQ(found(full_jitter(),
                  [](Notes&, Notes&, const Attempt& a, Rng& rng) {
                    if (a.number >= 8) return Decision::stop(Stop::attempts);
                    return Decision::wait(rng.between({}, ceiling(a.number) / (a.number == 3 ? 2 : 1)));
                  }),
            Ids{"jitter-law"});
}

// From some retry on delays are those of the first retries again: in bounds, and the wrong law.
struct Restarts {
  std::int64_t at;
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    return Decision::wait(rng.between({}, ceiling(a.number < at ? a.number : a.number - at + 1)));
  }
  Contract contract() const { return exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::full); }
  bool operator==(const Restarts&) const = default;
  friend std::string to_string(const Restarts& r) { return fmt::format("restarts at {}", r.at); }
};

TEST(Trial, JitterThatStartsAnewAtAnyRetry) {
  for (std::int64_t at = 7; at <= 70; at += sanitized ? 9 : 1) {
    const auto rows = check(subject_of("trial", Restarts{at}), {.only = {"jitter-law"}});
    EXPECT_EQ(failing(rows), Ids{"jitter-law"}) << at;
    EXPECT_THAT(rows.at(0).counterexample.shrunk, testing::HasSubstr(fmt::format("retry {},", at)));
  }
  for (const std::int64_t at : {127, 128, 129, 255, 256, 257})
    EXPECT_EQ(failing(check(subject_of("trial", Restarts{at}), {.only = {"jitter-law"}})), Ids{"jitter-law"})
        << at;
}

// Decorrelated: the delay before is kept as it was drawn, or cut elsewhere than the delay, or for ever.
template <int kept_to_s, bool of_the_client = false>
Decision keeps_in_mind(Notes& client, Notes& call, const Attempt& a, Rng& rng) {
  Notes& memory = of_the_client ? client : call;
  const Duration base = Duration::s(1), cap = Duration::s(20);
  const Duration drawn = rng.between(base, std::max(base, memory.last) * 3);
  memory.last = std::min(drawn, Duration::s(kept_to_s));
  return a.number >= 12 ? Decision::stop(Stop::attempts) : Decision::wait(std::min(cap, drawn));
}
TEST(Trial, ADecorrelatedDelayIsRememberedAsTheCapLeftIt) {
  Contract promise;
  promise.base = Duration::s(1);
  promise.cap = Duration::s(20);
  promise.cap_kind = CapKind::clamp;
  promise.jitter = Jitter{JitterKind::decorrelated, 0, {}};
  promise.max_attempts = 12;
  EXPECT_EQ(found(promise, &keeps_in_mind<20>), Ids{});
  constexpr int uncapped_s = 3'000'000;
  EXPECT_EQ(found(promise, &keeps_in_mind<uncapped_s>), Ids{"jitter-law"});
  EXPECT_EQ(found(promise, &keeps_in_mind<10>), Ids{"jitter-law"});
  EXPECT_EQ(found(promise, &keeps_in_mind<40>), Ids{"jitter-law"});
  EXPECT_THAT(found(promise, &keeps_in_mind<20, true>),
              testing::IsSupersetOf({"calls-isolated", "reset-after-success"}));
}

// One generator for a process, whose seed is one of a few.
struct FewStreams {
  std::uint64_t streams = 0;
  std::shared_ptr<Rng> generator = std::make_shared<Rng>(Seed{1});
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    if (a.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (a.number >= 8) return Decision::stop(Stop::attempts);
    return Decision::wait(generator->between({}, ceiling(a.number)));
  }
  Contract contract() const { return full_jitter(); }
  bool operator==(const FewStreams&) const = default;
  friend std::string to_string(const FewStreams& f) { return fmt::format("{} streams", f.streams); }
};
Ids found_of_streams(std::function<std::uint64_t(std::uint64_t)> seed_of) {
  Subject subject = subject_of("trial", FewStreams{});
  subject.keyed = false;
  subject.fresh = [seed_of](std::uint64_t process) {
    return AnyPolicy(FewStreams{0, std::make_shared<Rng>(Seed{seed_of(process)})});
  };
  return failing(check(subject, {.only = {"processes-independent"}}));
}
TEST(Trial, ProcessesThatShareAFewStreams) {
  EXPECT_EQ(found_of_streams([](std::uint64_t p) { return p; }), Ids{});
  EXPECT_EQ(found_of_streams([](std::uint64_t p) { return p & 0xffffffff; }), Ids{});
  EXPECT_EQ(found_of_streams([](std::uint64_t p) { return p % 2147483647; }), Ids{});
  const Ids shared{"processes-independent"};
  for (std::uint64_t m = 1; m <= 256; m += sanitized ? 15 : 1)
    EXPECT_EQ(found_of_streams([m](std::uint64_t p) { return p % m; }), shared) << m;
  EXPECT_EQ(found_of_streams([](std::uint64_t p) { return p & 0xffff; }), shared);
  EXPECT_EQ(found_of_streams([](std::uint64_t p) { return p >> 32; }), shared);
}

// A generator for each call, whose seed is one of a few; delays in whole seconds, so that at each retry many
// are equal anyway.
template <std::uint64_t streams>
Decision few_streams(Notes&, Notes& call, const Attempt& a, Rng& rng) {
  if (call.count == 0) call.count = 1 + static_cast<std::int64_t>(rng.below(streams));
  if (a.number >= 8) return Decision::stop(Stop::attempts);
  Rng own = StreamKey(Seed{7}, Stream::policy)
                .at(static_cast<std::uint64_t>(call.count), 0, static_cast<std::uint64_t>(a.number));
  const auto ceiling_s = std::min<std::uint64_t>(60, std::uint64_t{4} << (a.number - 1));
  return Decision::wait(Duration::s(static_cast<std::int64_t>(own.below(ceiling_s + 1))));
}
TEST(Trial, ClientsThatShareAFewStreams) {
  Contract promise = exponential(Duration::s(4), 2, Duration::s(60), JitterKind::full);
  promise.tick = Duration::s(1);
  promise.max_attempts = 8;
  EXPECT_EQ(found(promise, &few_streams<std::uint64_t{1} << 40>), Ids{});
  EXPECT_THAT(found(promise, &few_streams<64>), testing::Contains("instances-independent"));
  EXPECT_EQ(found(promise, &few_streams<256>), Ids{"instances-independent"});
  EXPECT_EQ(found(promise, &few_streams<10'000>), Ids{"instances-independent"});
}

TEST(Trial, OnlyFailuresOfHttpCount) {
  const Ids ids = found(full_jitter(), [](Notes&, Notes&, const Attempt& a, Rng& rng) {
    if (a.number >= 8 && a.outcome.status.kind() == Status::Kind::http) return Decision::stop(Stop::attempts);
    return Decision::wait(rng.between({}, ceiling(a.number)));
  });
  EXPECT_EQ(ids, Ids{"attempts-exact"});
}

TEST(Trial, EveryKindOfFailureHasItsOwnCount) {
  const Ids ids = found(full_jitter(), [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
    // Of HTTP in `count`, of the others in `tokens`.
    const bool http = a.outcome.status.kind() == Status::Kind::http;
    const double made = http ? static_cast<double>(++call.count) : ++call.tokens;
    if (made >= 8) return Decision::stop(Stop::attempts);
    return Decision::wait(rng.between({}, ceiling(a.number)));
  });
  EXPECT_EQ(ids, Ids{"attempts-exact"});
}

// Time since the start of the process is taken for time since the start of the call.
TEST(Trial, TheClockIsTakenForTheTimeThatHasPassed) {
  Contract promise = exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::none);
  promise.elapsed = Duration::s(30);
  const Ids ids = found(promise, [](Notes&, Notes&, const Attempt& a, Rng&) {
    const Duration wait = ceiling(a.number);
    if (a.finished.since_start + wait > Duration::s(30)) return Decision::stop(Stop::deadline);
    return Decision::wait(wait);
  });
  EXPECT_THAT(ids, testing::Contains("deadline-respected"));
  EXPECT_THAT(ids, testing::Contains("clock-independent"));
}

TEST(Trial, ASecondAttemptIsSentAgainWhateverItWas) {
  Contract promise = full_jitter();
  promise.idempotent_only = true;
  const Ids ids = found(promise, [](Notes&, Notes&, const Attempt& a, Rng& rng) {
    const bool left = a.outcome.status != Status::transport(TransportError::connect_refused);
    if (a.number == 1 && !a.idempotent && left) return Decision::stop(Stop::not_retryable);
    if (a.number >= 8) return Decision::stop(Stop::attempts);
    return Decision::wait(rng.between({}, ceiling(a.number)));
  });
  EXPECT_EQ(ids, Ids{"no-unsafe-repeat"});
}

struct ForgetsSuccess {
  Contract promise;
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng& rng) const {
    if (a.outcome.status.succeeded() && a.number < 3) return Decision::stop(Stop::success);
    if (a.number >= 8) return Decision::stop(Stop::attempts);
    return Decision::wait(rng.between({}, ceiling(a.number)));
  }
  Contract contract() const { return promise; }
  bool operator==(const ForgetsSuccess&) const = default;
  friend std::string to_string(const ForgetsSuccess&) { return "forgets"; }
};

TEST(Trial, AThirdSuccessIsNone) {
  EXPECT_THAT(failing(check(subject_of("trial", ForgetsSuccess{full_jitter()}))),
              testing::Contains("survives"));
}

// ---- right, and unusual

Contract hinted(Contract c) {
  c.jitter = Jitter{};
  c.retry_after = RetryAfterRule::floor;
  c.retry_after_max = Duration::s(60);
  return c;
}
Decision wait_or_stop(std::int64_t n, Duration asked) {
  return n >= 8 ? Decision::stop(Stop::attempts) : Decision::wait(std::max(ceiling(n), asked));
}

TEST(Trial, AHeaderCountsForTheRestOfTheCall) {
  const Ids ids = found(hinted(full_jitter()), [](Notes&, Notes& call, const Attempt& a, Rng&) {
    call.last = std::max(call.last, a.outcome.retry_after.value_or(Duration{}));
    if (call.last > Duration::s(60)) return Decision::stop(Stop::deadline);
    return wait_or_stop(a.number, call.last);
  });
  EXPECT_EQ(ids, Ids{"delay-in-bounds"});
}

TEST(Trial, AnAttemptWithAHeaderDoesNotCount) {
  const Ids ids = found(hinted(full_jitter()), [](Notes&, Notes& call, const Attempt& a, Rng&) {
    const auto asked = a.outcome.retry_after;
    if (asked && *asked > Duration::s(60)) return Decision::stop(Stop::deadline);
    if (asked) ++call.count;
    return wait_or_stop(std::max<std::int64_t>(1, a.number - call.count), asked.value_or(Duration{}));
  });
  EXPECT_THAT(ids, testing::IsSupersetOf({"attempts-exact", "delay-in-bounds"}));
}

TEST(Trial, TheTimeOfTheAttemptIsWaitedOnceMore) {
  Contract promise = full_jitter();
  promise.jitter = Jitter{};
  const Ids ids = found(promise, [](Notes&, Notes& call, const Attempt& a, Rng&) {
    const Duration took = a.finished - (a.number == 1 ? a.call_started : call.at);
    const Decision d = wait_or_stop(a.number, Duration{});
    if (d.stops()) return d;
    call.at = a.finished + d.delay() + took;
    return Decision::wait(d.delay() + took);
  });
  EXPECT_EQ(ids, Ids{"delay-in-bounds"});
}

// Any 2xx is a success; a 201 that is sent again is a second order.
struct TwoSuccesses {
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt& a, Rng&) const {
    const Status s = a.outcome.status;
    if (s == Status::http(200) || s == Status::http(204)) return Decision::stop(Stop::success);
    return wait_or_stop(a.number, {});
  }
  Contract contract() const { return {}; }
  bool operator==(const TwoSuccesses&) const = default;
  friend std::string to_string(const TwoSuccesses&) { return "two successes"; }
};
TEST(Trial, OnlySomeSuccessesCount) {
  EXPECT_EQ(failing(check(subject_of("trial", TwoSuccesses{}))), Ids{"survives"});
}

TEST(Trial, RightAndUnusualIsNotAccused) {
  const auto innocent = [](const char* what, const Contract& promise, Decides::Function decide) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      Options options;
      options.seed = Seed{seed};
      EXPECT_EQ(failing(check(subject_of("trial", Decides{promise, decide}), options)), Ids{}) << what;
    }
  };
  Contract bounded;
  bounded.cap = Duration::s(5);
  bounded.max_attempts = 8;
  innocent("full jitter above a floor, which no contract expresses", bounded,
           [](Notes&, Notes&, const Attempt& a, Rng& rng) {
             if (a.number >= 8) return Decision::stop(Stop::attempts);
             return Decision::wait(rng.between(Duration::ms(50), ceiling(a.number)));
           });
  Contract server;
  server.retry_after = RetryAfterRule::exact_or_stop;
  server.retry_after_max = Duration::s(60);
  server.max_attempts = 8;
  innocent("the server alone decides when, and whether", server, [](Notes&, Notes&, const Attempt& a, Rng&) {
    const auto asked = a.outcome.retry_after;
    if (!asked || *asked > Duration::s(60)) return Decision::stop(Stop::not_retryable);
    return a.number >= 8 ? Decision::stop(Stop::attempts) : Decision::wait(*asked);
  });
  Contract one = full_jitter();
  one.max_attempts = 1;
  innocent("one attempt", one,
           [](Notes&, Notes&, const Attempt&, Rng&) { return Decision::stop(Stop::attempts); });
  Contract at_the_cap = exponential(Duration::s(5), 2, Duration::s(5), JitterKind::full);
  innocent("the cap is reached at once", at_the_cap, [](Notes&, Notes&, const Attempt&, Rng& rng) {
    return Decision::wait(rng.between({}, Duration::s(5)));
  });
  Contract point;
  point.base = point.cap = Duration::ms(100);
  point.jitter = Jitter{JitterKind::decorrelated, 0, {}};
  innocent("decorrelated, as high as its base", point,
           [](Notes&, Notes&, const Attempt&, Rng&) { return Decision::wait(Duration::ms(100)); });
  innocent("no delay at all", constant({}), [](Notes&, Notes&, const Attempt& a, Rng&) {
    return a.number >= 20 ? Decision::stop(Stop::attempts) : Decision::wait({});
  });
  Contract timed = exponential(Duration::ms(100), 2, Duration::s(5), JitterKind::full);
  timed.deadline = Duration::s(10);
  innocent("gives up when the next attempt, made as long as this one, would end too late", timed,
           [](Notes&, Notes& call, const Attempt& a, Rng& rng) {
             const Duration lasted = a.finished - (a.number == 1 ? a.call_started : call.at);
             call.last = std::max(call.last, lasted);
             const Duration wait = rng.between({}, ceiling(a.number));
             if (a.finished - a.call_started + wait + call.last >= Duration::s(10))
               return Decision::stop(Stop::deadline);
             call.at = a.finished + wait;
             return Decision::wait(wait);
           });
}

// ---- as programs

const std::string trial = RETRYGATE_SOURCE_DIR "/properties/fake/trial.py";

bool has_python() { return std::system("python3 --version >/dev/null 2>&1") == 0; }

OutsideResult asked(const std::string& name, const std::string& contract) {
  const auto promise = find_contract(RETRYGATE_SOURCE_DIR "/properties/fake/trial.toml#" + contract, {});
  EXPECT_TRUE(promise) << to_string(promise.error());
  OutsideOptions options;
  options.contract_text = &promise->source;
  options.limits.answer = Duration::s(60);  // an interpreter may start slowly
  const std::string command = fmt::format("python3 '{}' {}", trial, name);
  auto result = check_program("exec:" + command, command, promise->contract, options);
  EXPECT_TRUE(result) << name << ": " << to_string(result.error());
  return result ? std::move(*result) : OutsideResult{};
}

TEST(Trial, FaultyProgramsAreFound) {
  if (!has_python()) GTEST_SKIP() << "no python3 here";
  const std::vector<std::array<const char*, 3>> faulty{{"tenths", "full", "jitter-law"},
                                                       {"triangle", "full", "jitter-law"},
                                                       {"sequence", "full", "instances-independent"},
                                                       {"one-draw", "full", "jitter-law"},
                                                       {"retry-3", "full", "jitter-law"},
                                                       {"in-pairs", "full", "jitter-law"},
                                                       {"restarts 17", "endless", "jitter-law"},
                                                       {"restarts 34", "endless", "jitter-law"},
                                                       {"restarts 70", "endless", "jitter-law"},
                                                       {"restarts 128", "endless", "jitter-law"},
                                                       {"restarts 257", "endless", "jitter-law"},
                                                       {"only-http", "full", "attempts-exact"},
                                                       {"per-kind", "full", "attempts-exact"},
                                                       {"tired", "full", "jitter-law"},
                                                       {"second-call", "none", "calls-isolated"},
                                                       {"later-all", "full-on", "only-retryable"},
                                                       {"later-unsafe", "full-safe", "no-unsafe-repeat"},
                                                       {"absolute", "elapsed", "deadline-respected"},
                                                       {"sum-of-waits", "elapsed", "deadline-respected"},
                                                       {"octal", "hint", "retry-after-parsed"},
                                                       {"local-time", "hint", "retry-after-parsed"},
                                                       {"asctime-local", "hint", "retry-after-parsed"},
                                                       {"one-form", "hint", "retry-after-parsed"},
                                                       {"tls-raises", "full", "survives"},
                                                       {"plateau", "none", "growth-law"},
                                                       {"sticky", "hint", "delay-in-bounds"},
                                                       {"for-all", "hint", "delay-in-bounds"},
                                                       {"unbilled", "hint", "attempts-exact"},
                                                       {"free-with-header", "hint", "attempts-exact"},
                                                       {"until-2038", "hint", "survives"},
                                                       {"bid-to-retry", "hint-on", "only-retryable"},
                                                       {"bid-to-repeat", "hint-safe", "no-unsafe-repeat"},
                                                       {"adds-duration", "none", "growth-law"},
                                                       {"forgets", "none", "growth-law"},
                                                       {"leaky-bucket", "bucket", "budget-conserved"},
                                                       {"dry-bucket", "bucket", "budget-conserved"},
                                                       {"few-seeds", "full", "processes-independent"},
                                                       {"modulo 16", "full", "processes-independent"},
                                                       {"modulo 251", "full", "processes-independent"},
                                                       {"upper-half", "full", "processes-independent"},
                                                       {"by-the-second", "full", "processes-independent"},
                                                       {"streams 256", "seconds", "instances-independent"},
                                                       {"remembers 1e9", "decorrelated", "jitter-law"},
                                                       {"remembers 10", "decorrelated", "jitter-law"},
                                                       {"remembers 2.5", "decorrelated", "jitter-law"}};
  for (std::size_t i = 0; i < faulty.size(); i += sanitized ? 3 : 1) {
    const auto& [name, contract, killer] = faulty[i];
    EXPECT_THAT(failing(asked(name, contract).rows), testing::Contains(killer)) << name;
  }
}

TEST(Trial, WhatIsAskedOneByOneIsShrunkAndComesAgain) {
  if (!has_python()) GTEST_SKIP() << "no python3 here";
  const OutsideResult result = asked("dry-bucket", "bucket");
  const auto row = std::find_if(result.rows.begin(), result.rows.end(),
                                [](const VerdictRow& r) { return r.invariant->id == "budget-conserved"; });
  ASSERT_NE(row, result.rows.end());
  EXPECT_EQ(row->note, "");
  EXPECT_THAT(row->counterexample.shrunk, testing::HasSubstr(": a retry is refused (attempt"));
  EXPECT_NE(row->counterexample.shrunk, row->counterexample.unshrunk);
  EXPECT_NE(row->counterexample.token, "");
}

// The time of the attempts, and a header, before a limit of time that leaves room for them.
TEST(Trial, ALimitOfTimeHidesNoHistory) {
  Contract promise = hinted(full_jitter());
  promise.elapsed = Duration::s(120);
  static const auto in_time = [](const Attempt& a, Decision d) {
    const Duration next = a.finished - a.call_started + d.delay();
    return !d.stops() && next > Duration::s(120) ? Decision::stop(Stop::deadline) : d;
  };
  const Ids sticky = found(promise, [](Notes&, Notes& call, const Attempt& a, Rng&) {
    call.last = std::max(call.last, a.outcome.retry_after.value_or(Duration{}));
    if (call.last > Duration::s(60)) return Decision::stop(Stop::deadline);
    return in_time(a, wait_or_stop(a.number, call.last));
  });
  EXPECT_THAT(sticky, testing::Contains("delay-in-bounds"));
}

// A loop whose caller sees the first error, and one that sends once more after it was cancelled.
struct LoopOf {
  bool first_error = false, sends_after = false;
  Outcome run(Clock& clock, Transport& transport) {
    std::optional<Outcome> first;
    for (int attempt = 1;; ++attempt) {
      const Outcome outcome = transport.send();
      if (!first) first = outcome;
      if (outcome.status.succeeded()) return outcome;
      if (attempt == 4) return first_error ? *first : outcome;
      if (clock.sleep_unless_cancelled(Duration::s(1))) continue;
      return sends_after ? transport.send() : outcome;
    }
  }
  Contract contract() const {
    Contract c = constant(Duration::s(1));
    c.max_attempts = 4;
    return c;
  }
  friend std::string to_string(const LoopOf&) { return "loop"; }
};
TEST(Trial, LoopsThatHandOnTheWrongErrorOrDoNotHearTheirCaller) {
  EXPECT_EQ(failing(check(subject_of("trial", LoopOf{}))), Ids{});
  EXPECT_EQ(failing(check(subject_of("trial", LoopOf{true, false}))), Ids{"survives"});
  EXPECT_EQ(failing(check(subject_of("trial", LoopOf{false, true}))), Ids{"cancel-prompt"});
}

TEST(Trial, UnusualProgramsAreNotAccused) {
  if (!has_python()) GTEST_SKIP() << "no python3 here";
  const std::vector<std::array<const char*, 2>> right{{"right", "full"},
                                                      {"floor", "floor"},
                                                      {"one", "one"},
                                                      {"zero", "zero"},
                                                      {"at-cap", "at-cap"},
                                                      {"point", "point"},
                                                      {"server", "server"},
                                                      {"down", "ms"},
                                                      {"whole-seconds", "hint"},
                                                      {"up", "ms"},
                                                      {"polynomial", "polynomial"},
                                                      {"table", "table"},
                                                      {"elapsed", "elapsed-full"},
                                                      {"remembers 5", "decorrelated"},
                                                      {"streams 1000000000000", "seconds"},
                                                      {"modulo 2147483647", "full"},
                                                      {"acquires", "full"},
                                                      {"bucket", "bucket"}};
  for (std::size_t i = 0; i < right.size(); i += sanitized ? 3 : 1) {
    const auto& [name, contract] = right[i];
    const OutsideResult result = asked(name, contract);
    EXPECT_EQ(failing(result.rows), Ids{}) << name;
    EXPECT_LE(result.decisions, 60'000) << name;
  }
}

}  // namespace
}  // namespace retrygate
