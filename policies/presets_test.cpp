// The replicas against tables made from the libraries' sources (presets/make_support.py), and against what
// their documentation says of counting, caps and Retry-After.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "policies/guarded.hpp"
#include "policies/named.hpp"

namespace retrygate {
namespace {

using testing::HasSubstr;

std::vector<std::vector<std::string>> table(const std::string& name) {
  std::ifstream file(std::string(RETRYGATE_SOURCE_DIR) + "/policies/presets/" + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    rows.emplace_back();
    std::stringstream cells(line + ",");
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  EXPECT_GT(rows.size(), 1U) << name;
  rows.erase(rows.begin());
  return rows;
}

NamedPolicy named(const std::string& reference) {
  auto found = find_policy(reference, {"test", 0, 0});
  EXPECT_TRUE(found) << to_string(found.error());
  return std::move(*found);
}

// A failure that this preset retries. aws-java-v2-legacy has two laws; the table is about the throttled one.
Status failure(const NamedPolicy& p) {
  if (p.preset->id == "aws-java-v2-legacy") return Status::http(429);
  const auto on = p.policy.contract().retry_on;
  if (!on || on->contains(Status::http(503))) return Status::http(503);
  return on->statuses.empty() ? Status::http(500) : on->statuses.front();
}

struct Memory {
  alignas(std::max_align_t) std::byte client[client_slot_bytes];
  alignas(std::max_align_t) std::byte call[call_slot_bytes];
};

// Calls of fresh clients; the delay before, where a law depends on it, comes first in a call's slot.
class Prober {
 public:
  explicit Prober(NamedPolicy p) : p_(std::move(p)), status_(failure(p_)) {}

  // Retry n of a call whose delay before was this.
  Duration draw(std::int64_t n, Duration previous) {
    start();
    std::memcpy(memory_.call, &previous, sizeof previous);
    return told(n);
  }
  void start() {
    p_.policy.start_client(memory_.client);
    p_.policy.start_call(memory_.call);
    ++client_;
  }
  Duration told(std::int64_t n) {
    Attempt attempt;
    attempt.number = n;
    attempt.outcome.status = status_;
    Rng rng = key_.at(client_, 0, static_cast<std::uint64_t>(n));
    const Decision decision = p_.policy.after(memory_.client, memory_.call, attempt, rng);
    EXPECT_FALSE(decision.stops()) << p_.name << " n " << n << ": " << to_string(decision);
    return decision.delay();
  }
  Duration tick() const { return p_.policy.contract().tick; }

 private:
  NamedPolicy p_;
  Status status_;
  StreamKey key_{Seed{20261130}, Stream::policy};
  std::uint64_t client_ = 0;
  Memory memory_;
};

NamedPolicy patient(const std::string& id) { return named(id + ":max_attempts=100"); }

constexpr int draws = 1000;

// Retries 1..40 of so many calls, in seconds, by the number of the retry.
std::vector<std::vector<double>> calls(Prober& prober) {
  std::vector<std::vector<double>> delays(40);
  for (int i = 0; i < draws; ++i) {
    prober.start();
    for (std::int64_t n = 1; n <= 40; ++n)
      delays[static_cast<std::size_t>(n - 1)].push_back(prober.told(n).seconds());
  }
  return delays;
}

// Draws lie in the table's support and come near both ends; where the law is even, no point of it is further
// from the even law than the inequality of Dvoretzky, Kiefer and Wolfowitz allows.
// Error budget: fewer than 5000 rows. An end is missed by 3 % of the width with 0.97^1000 = 6e-14, both ends
// of all rows with 6e-10. Distance: 2 exp(-2 * 1000 * 0.13^2) = 4e-15 a row, 2e-11 in all.
TEST(Presets, KeepTheirSupportAndLaw) {
  constexpr double distance_max = 0.13;
  std::set<std::string> seen;
  std::optional<Prober> prober;
  std::vector<std::vector<double>> from_the_first;
  std::map<std::string, double> caps;
  for (const auto& row : table("support.csv")) caps[row[0]] = std::numeric_limits<double>::infinity();
  for (const auto& row : table("facts.csv")) caps[row[0]] = std::stod(row[1]);
  for (const auto& row : table("support.csv")) {
    const std::string& id = row[0];
    if (row[2] == "any") continue;
    if (seen.insert(id).second) {
      prober.emplace(patient(id));
      from_the_first = calls(*prober);
    }
    const std::int64_t n = std::stoll(row[1]);
    SCOPED_TRACE(id + " n=" + row[1] + " previous=" + row[2]);
    const double lo = std::stod(row[3]), hi = std::stod(row[4]);
    // What a Duration cannot hold saturates.
    if (hi > 9.2e9) {
      for (const double d : from_the_first[static_cast<std::size_t>(n - 1)]) ASSERT_GE(d, 0);
      continue;
    }
    const double tick = prober->tick().seconds();
    const double slack = std::max(tick > 2e-9 ? tick : 2e-9, 1e-9 * hi);
    std::vector<double> d;
    if (row[2].empty()) {
      d = from_the_first[static_cast<std::size_t>(n - 1)];
    } else {
      for (int i = 0; i < draws; ++i)
        d.push_back(prober->draw(n, Duration::seconds(std::stod(row[2]))).seconds());
    }
    std::sort(d.begin(), d.end());
    ASSERT_GE(d.front(), lo - slack);
    ASSERT_LE(d.back(), hi + slack);
    const bool even = !row[5].empty();
    // A corner of two draws (decorrelated-v2): within 20 % of the width with 1 - (1 - 0.2^2 / 2)^1000 at
    // least.
    // A cut interval: 3 % of what is drawn from, which may reach far above the cut.
    const double near = even ? 0.03 * (std::stod(row[5]) - lo) + slack : 0.2 * (hi - lo) + slack;
    // Where a law that is not even is cut, its lower end lies far below what it mostly gives.
    if (even || hi < caps[id]) {
      EXPECT_LE(d.front(), lo + near);
    }
    EXPECT_GE(d.back(), hi - near);
    if (!even || std::stod(row[5]) - lo <= slack) continue;
    const double width = std::stod(row[5]) - lo;
    const double lattice = 2 * std::max(tick, slack) / width;
    for (int i = 0; i < draws; ++i) {
      const double x = d[static_cast<std::size_t>(i)];
      if (x >= hi - slack && std::stod(row[5]) > hi + slack)
        break;  // the atom at the cap: what is below is held
      ASSERT_NEAR((i + 0.5) / draws, (x - lo) / width, distance_max + lattice);
    }
  }
  EXPECT_EQ(seen.size(), 88U);  // of 95; seven have no delay law
}

// The envelope that a whole call may reach, where each delay depends on the one before.
TEST(Presets, ChainsStayInTheirEnvelope) {
  std::map<std::string, std::map<std::int64_t, std::pair<double, double>>> envelopes;
  for (const auto& row : table("support.csv")) {
    if (row[2] == "any") envelopes[row[0]][std::stoll(row[1])] = {std::stod(row[3]), std::stod(row[4])};
  }
  EXPECT_EQ(envelopes.size(), 7U);
  for (const auto& [id, envelope] : envelopes) {
    Prober prober(patient(id));
    for (int call = 0; call < 500; ++call) {
      prober.start();
      for (std::int64_t n = 1; n <= 20; ++n) {
        const double d = prober.told(n).seconds();
        const auto at = envelope.find(n);
        if (at == envelope.end()) continue;
        ASSERT_GE(d, at->second.first * (1 - 1e-6) - 2e-9) << id << " n " << n;
        ASSERT_LE(d, at->second.second * (1 + 1e-6) + 2e-9) << id << " n " << n;
      }
    }
  }
}

TEST(Presets, ExceedTheirCapExactlyWhereTheLibraryDoes) {
  int exceeding = 0;
  for (const auto& row : table("facts.csv")) {
    const Duration cap = Duration::seconds(std::stod(row[1]));
    Prober prober(patient(row[0]));
    Duration most;
    for (int i = 0; i < 300; ++i) {
      prober.start();
      for (std::int64_t n = 1; n <= 40; ++n) most = std::max(most, prober.told(n));
    }
    EXPECT_EQ(most > cap, row[2] == "yes") << row[0] << ": " << to_string(most);
    exceeding += row[2] == "yes" ? 1 : 0;
  }
  EXPECT_EQ(exceeding, 13);
}

// Every preset answers every attempt number, forward and after a jump, with no negative delay.
TEST(Presets, AreTotal) {
  for (const Preset& preset : presets()) {
    Memory memory;
    const NamedPolicy p = named(std::string(preset.id));
    EXPECT_NE(preset.source, "") << preset.id;
    EXPECT_NE(preset.summary, "") << preset.id;
    EXPECT_NE(preset.family, "") << preset.id;
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{1024}, std::int64_t{1030},
                                 std::int64_t{1} << 31, std::int64_t{1} << 62}) {
      for (const char* status : {"503", "429", "200", "404", "UNAVAILABLE", "timeout", "cancelled"}) {
        p.policy.start_client(memory.client);
        p.policy.start_call(memory.call);
        Attempt a;
        a.number = n;
        a.outcome.status = *parse_status(status);
        Rng rng{Seed{1}};
        const Decision decision = p.policy.after(memory.client, memory.call, a, rng);
        EXPECT_GE(decision.delay(), Duration{}) << preset.id << " " << n << " " << status;
        if (std::string(status) == "200") {
          EXPECT_EQ(decision, Decision::stop(Stop::success)) << preset.id;
        }
        if (std::string(status) == "cancelled") {
          EXPECT_EQ(decision, Decision::stop(Stop::cancelled)) << preset.id;
        }
      }
    }
  }
}

// Attempts, the first try counted, from each library's documentation or source: "retries" are one less.
TEST(Presets, CountAttemptsAsTheirLibrariesDo) {
  const std::map<std::string, int> expected = {
      {"botocore-legacy", 5},
      {"botocore-standard", 3},
      {"botocore-adaptive", 3},
      {"aws-java-v2-standard", 3},
      {"aws-java-v2-legacy", 4},
      {"smithy-rs-standard", 3},
      {"aws-go-v2-standard", 3},
      {"aws-ruby-standard", 3},
      {"aws-ruby-legacy", 4},  // retry_limit 3
      {"aws-c-io-full", 6},    // max_retries 5
      {"aws-c-io-decorrelated", 6},
      {"grpc-a6-2024", 5},  // maxAttempts above 5 counts as 5
      {"grpc-a6-old", 5},
      {"envoy-retry", 2},  // num_retries 1
      {"envoy-rate-limited", 2},
      {"linkerd2-proxy", 2},            // max_retries 1
      {"go-retryablehttp-default", 5},  // RetryMax 4
      {"go-retryablehttp-linear-jitter", 5},
      {"azcore-go", 4},        // MaxRetries 3
      {"avast-retry-go", 10},  // Attempts
      {"resilience4j-exponential", 3},
      {"resilience4j-exponential-random", 3},
      {"spring-retry-exponential", 3},
      {"spring-retry-exponential-random", 3},
      {"spring-retry-uniform", 3},
      {"spring-framework-7", 4},        // maxRetries 3
      {"failsafe", 3},                  // maxRetries 2
      {"polly-v8-constant-linear", 4},  // MaxRetryAttempts 3
      {"polly-v8-exponential", 4},
      {"polly-v8-exponential-jitter", 4},
      {"azure-net", 4},
      {"urllib3-retry", 11},        // total 10
      {"azure-core-python", 11},    // retry_total 10
      {"celery-retry-backoff", 4},  // max_retries 3
      {"openai-python", 3},
      {"anthropic-python", 3},
      {"stripe", 3},
      {"sidekiq", 26},  // 25 retries
      {"oban", 20},
      {"bullmq", 1},  // attempts
      {"axios-retry-exponential", 4},
      {"p-retry", 11},
      {"node-retry", 11},
      {"got", 3},
      {"ky", 3},
      {"undici-retry", 6},
      {"backon-exponential", 4},  // max_times 3
      {"backon-fibonacci", 4},
      {"article-000-full-jitter", 12},
      {"article-001-retry-fixed", 5},
      {"article-001-with-backoff", 5},
      {"article-002-retry", 6},  // max = 5 is six calls
      {"article-003-backoff-40ms", 4},
      {"article-004-retry", 4},
  };
  for (const auto& [id, attempts] : expected) {
    NamedPolicy p = named(id);
    EXPECT_EQ(p.policy.contract().max_attempts, attempts) << id;
    // And it keeps the promise.
    Memory memory;
    Status status = failure(p);
    if (id == "article-004-retry") status = Status::transport(TransportError::timeout);
    std::int64_t sent = 1;
    p.policy.start_client(memory.client);
    p.policy.start_call(memory.call);
    for (;; ++sent) {
      Attempt a;
      a.number = sent;
      a.outcome.status = status;
      Rng rng{Seed{static_cast<std::uint64_t>(sent)}};
      const Decision decision = p.policy.after(memory.client, memory.call, a, rng);
      if (decision.stops()) {
        EXPECT_EQ(decision.why(), Stop::attempts) << id;
        break;
      }
    }
    EXPECT_EQ(sent, attempts) << id;
  }
  for (const char* id : {"gax-go", "k8s-workqueue", "temporal-activity", "cenkalti-v4", "redis-py-full",
                         "socketio-backo2", "ferd-backoff-jitter", "tokio-retry"})
    EXPECT_FALSE(named(id).policy.contract().max_attempts) << id;
}

std::string answer(const std::string& reference, const std::string& status, std::optional<Duration> header,
                   bool idempotent = true, Duration finished = {}, std::int64_t n = 1) {
  const NamedPolicy p = named(reference);
  Memory memory;
  p.policy.start_client(memory.client);
  p.policy.start_call(memory.call);
  Attempt a;
  a.number = n;
  a.outcome = {*parse_status(status), header};
  a.idempotent = idempotent;
  a.finished = {finished};
  Rng rng{Seed{1}};
  return to_string(p.policy.after(memory.client, memory.call, a, rng));
}

TEST(Presets, HeedRetryAfterAsTheirLibrariesDo) {
  const auto s = [](std::int64_t n) { return Duration::s(n); };
  // A lower bound: max(server, own).
  EXPECT_EQ(answer("aws-java-v2-standard", "503", s(7)), "wait 7s");
  EXPECT_EQ(answer("azure-net", "503", s(100)), "wait 100s");
  EXPECT_THAT(answer("azure-net", "503", Duration{}), HasSubstr("ms"));
  // Exactly, without a limit; go-retryablehttp only on 429 and 503.
  EXPECT_EQ(answer("go-retryablehttp-default", "429", s(90'000)), "wait 25h");
  EXPECT_EQ(answer("go-retryablehttp-default", "500", s(90'000)), "wait 1s");
  EXPECT_EQ(answer("cenkalti-v5", "503", s(1)), "wait 1s");
  for (const char* id : {"cenkalti-v5", "ihrwein-backoff"})
    EXPECT_EQ(answer(id, "503", s(0)), "wait 0s") << id;
  for (const char* id : {"grpc-a6-2024", "grpc-a6-old"}) {
    EXPECT_EQ(answer(id, "UNAVAILABLE", s(0)), "wait 0s") << id;
    EXPECT_EQ(answer(id, "UNAVAILABLE", s(700)), "wait 700s") << id;
  }
  EXPECT_EQ(answer("cenkalti-v5", "503", s(1800)), "stop: deadline");  // above 15 min (#159)
  // Exactly up to a limit, beyond it the call ends.
  EXPECT_EQ(answer("azcore-go", "503", s(60)), "wait 1m");
  EXPECT_EQ(answer("azcore-go", "503", s(61)), "stop: deadline");
  EXPECT_EQ(answer("openai-python", "503", s(120)), "wait 2m");
  EXPECT_EQ(answer("openai-python", "503", s(121)), "stop: deadline");
  EXPECT_EQ(answer("got:max_retry_after=10s", "503", s(11)), "stop: deadline");
  // Beyond 60 s ignored.
  EXPECT_EQ(answer("anthropic-python", "503", s(60)), "wait 1m");
  EXPECT_THAT(answer("anthropic-python", "503", s(61)), HasSubstr("ms"));
  EXPECT_THAT(answer("anthropic-python", "503", Duration{}), HasSubstr("ms"));
  // Clipped.
  EXPECT_EQ(answer("smithy-rs-standard", "503", s(21)), "wait 20s");
  EXPECT_EQ(answer("undici-retry", "503", s(31)), "wait 30s");
  EXPECT_EQ(answer("undici-retry", "503", Duration{}), "wait 0s");
  EXPECT_EQ(answer("urllib3-retry", "503", s(22'000)), "wait 6h");
  EXPECT_EQ(answer("ky:max_retry_after=9s", "503", s(10)), "wait 9s");
  EXPECT_EQ(answer("temporal-activity", "503", s(101)), "wait 100s");
  // Jitter on top only.
  for (const char* id : {"axios-retry-exponential", "envoy-rate-limited"}) {
    const std::string text = answer(id, "503", s(100));
    const double waits = parse_duration(text.substr(5))->seconds();
    EXPECT_GE(waits, 100) << id;
    EXPECT_LE(waits, 150) << id;
  }
  // Everyone else has no use for it, however long it is: that is the whole list.
  const std::set<std::string> heeding{"aws-java-v2-standard",
                                      "aws-java-v2-legacy",
                                      "azure-net",
                                      "go-retryablehttp-default",
                                      "go-retryablehttp-linear-jitter",
                                      "cenkalti-v5",
                                      "ihrwein-backoff",
                                      "grpc-a6-2024",
                                      "grpc-a6-old",
                                      "azcore-go",
                                      "openai-python",
                                      "got",
                                      "anthropic-python",
                                      "smithy-rs-standard",
                                      "undici-retry",
                                      "urllib3-retry",
                                      "azure-core-python",
                                      "ky",
                                      "temporal-activity",
                                      "axios-retry-exponential",
                                      "envoy-rate-limited",
                                      "client-go-rest",
                                      "article-002-retry-after"};
  for (const Preset& preset : presets()) {
    const std::string id(preset.id), status = to_string(failure(named(id)));
    const bool heeds =
        answer(id + ":max_attempts=9", status, s(50)) != answer(id + ":max_attempts=9", status, std::nullopt);
    EXPECT_EQ(heeds, heeding.contains(id)) << id;
  }
  // Only with the header.
  EXPECT_EQ(answer("client-go-rest", "503", s(2)), "wait 2s");
  EXPECT_EQ(answer("client-go-rest", "503", std::nullopt), "stop: not-retryable");
  EXPECT_EQ(answer("client-go-rest", "connection-reset", std::nullopt), "wait 1s");
  // maxRetries 10
  EXPECT_EQ(answer("client-go-rest", "503", s(2), true, {}, 10), "wait 2s");
  EXPECT_EQ(answer("client-go-rest", "503", s(2), true, {}, 11), "stop: attempts");
  EXPECT_EQ(answer("client-go-rest", "connection-reset", std::nullopt, false), "stop: not-retryable");
  // Ignored.
  for (const char* id :
       {"botocore-standard", "aws-ruby-standard", "stripe", "reqwest-retry", "python-api-core"})
    EXPECT_THAT(answer(id, "500", s(100)), testing::Not(HasSubstr("100s"))) << id;
  // Number(null) is 0; a date is no number.
  EXPECT_EQ(answer("article-002-retry-after", "429", std::nullopt), "wait 0s");
  EXPECT_EQ(answer("article-002-retry-after", "429", s(3)), "wait 3s");
  EXPECT_EQ(answer("article-002-retry-after", "429", s(2'147'484)), "wait 1ms");
}

TEST(Presets, RetryWhatTheirLibrariesRetry) {
  struct Row {
    const char *id, *status;
    bool idempotent, retried;
  };
  for (const Row& row : {
           Row{"go-retryablehttp-default", "501", true, false},
           Row{"go-retryablehttp-default", "599", false, true}, Row{"reqwest-retry", "503", false, true},
           Row{"reqwest-retry", "400", true, false}, Row{"urllib3-retry", "503", false, false},
           Row{"urllib3-retry", "connect-refused", false, true},
           Row{"axios-retry-exponential", "timeout", true, false},  // ECONNABORTED
           Row{"axios-retry-exponential", "500", false, false}, Row{"stripe", "409", false, true},
           Row{"openai-python", "408", true, true}, Row{"openai-python", "400", true, false},
           Row{"grpc-a6-2024", "UNAVAILABLE", true, true},
           Row{"grpc-a6-2024", "INVALID_ARGUMENT", true, false}, Row{"azure-core-python", "505", true, false},
           Row{"azure-core-python", "506", true, true},
           Row{"article-001-with-backoff", "400", true, true},  // its list is never used
           Row{"article-002-retry", "timeout", true, false},
           Row{"article-004-retry", "503", true, false},  // it knows no status
       })
    EXPECT_EQ(answer(row.id, row.status, std::nullopt, row.idempotent) != "stop: not-retryable", row.retried)
        << row.id << " " << row.status;
}

// What is repeated, whatever the method, of all that was probed; "connection" stands for the errors of
// transport. From each library's documentation or source, as its preset names it; whoever is not here leaves
// that to its caller and repeats everything, and so do the built-ins.
TEST(Presets, RepeatWhatTheirLibrariesRepeatAndNothingElse) {
  const std::vector<std::string> connection{"dns",     "connect-refused",  "connect-timeout", "tls",
                                            "timeout", "connection-reset", "truncated"};
  std::vector<std::string> probed{"300",
                                  "400",
                                  "401",
                                  "403",
                                  "404",
                                  "408",
                                  "409",
                                  "410",
                                  "412",
                                  "413",
                                  "416",
                                  "421",
                                  "422",
                                  "423",
                                  "425",
                                  "429",
                                  "431",
                                  "500",
                                  "501",
                                  "502",
                                  "503",
                                  "504",
                                  "505",
                                  "506",
                                  "507",
                                  "508",
                                  "509",
                                  "511",
                                  "520",
                                  "521",
                                  "522",
                                  "524",
                                  "529",
                                  "599",
                                  "UNAVAILABLE",
                                  "RESOURCE_EXHAUSTED",
                                  "DEADLINE_EXCEEDED",
                                  "INTERNAL",
                                  "ABORTED",
                                  "INVALID_ARGUMENT"};
  probed.insert(probed.end(), connection.begin(), connection.end());
  const std::string sdk = "429 500 502 503 504 connection";
  struct Repeats {
    std::string what;
    bool safe_only = false;  // an unsafe request only where it surely never left
  };
  const std::map<std::string, Repeats> expected = {
      {"botocore-legacy", {sdk + " 509"}},
      {"botocore-standard", {sdk}},
      {"botocore-adaptive", {sdk}},
      {"aws-java-v2-standard", {sdk}},
      {"aws-java-v2-legacy", {sdk}},
      {"smithy-rs-standard", {sdk}},
      {"aws-go-v2-standard", {sdk}},
      {"aws-ruby-standard", {"429 5xx connection"}},
      {"aws-ruby-legacy", {"429 5xx connection"}},
      {"grpc-a6-2024", {"UNAVAILABLE"}},
      {"grpc-a6-old", {"UNAVAILABLE"}},
      {"envoy-retry", {"5xx connection"}},
      {"envoy-rate-limited", {"429 503"}},
      {"linkerd2-proxy", {"5xx"}},
      {"go-retryablehttp-default", {"429 5xx -501 connection"}},
      {"go-retryablehttp-linear-jitter", {"429 5xx -501 connection"}},
      {"azcore-go", {"408 429 500 502 503 504 connection"}},
      {"python-api-core", {"429 500 503 connection"}},
      {"google-http-java", {"5xx"}},
      {"urllib3-retry", {"413 429 503 connection", true}},
      {"azure-core-python", {"408 429 5xx -501 -505 connection", true}},
      {"redis-py-full", {"connection"}},
      {"redis-py-exp-jitter", {"connection"}},
      {"redis-py-decorrelated", {"connection"}},
      {"openai-python", {"408 409 429 5xx connection"}},
      {"anthropic-python", {"408 409 429 5xx connection"}},
      {"stripe", {"409 5xx connection"}},
      {"axios-retry-exponential", {"429 5xx connection -timeout -truncated", true}},
      {"got", {"408 413 429 500 502 503 504 521 522 524 connection", true}},
      {"ky", {"408 413 429 500 502 503 504 connection", true}},
      {"undici-retry", {"429 500 502 503 504 connection", true}},
      {"reqwest-retry", {"408 429 5xx connection"}},
  };
  const auto meant = [&](const std::string& words) {
    std::set<std::string> all;
    std::istringstream in(words);
    for (std::string word; in >> word;) {
      if (word[0] == '-')
        all.erase(word.substr(1));
      else if (word == "connection")
        all.insert(connection.begin(), connection.end());
      else if (word == "5xx")
        std::copy_if(probed.begin(), probed.end(), std::inserter(all, all.end()),
                     [](const std::string& s) { return s[0] == '5'; });
      else
        all.insert(word);
    }
    return all;
  };
  const std::set<std::string> elsewhere{"client-go-rest"};  // the header decides: see below
  for (const Preset& preset : presets()) {
    const std::string id(preset.id);
    if (id.starts_with("article-") || elsewhere.contains(id)) continue;
    const auto row = expected.find(id);
    const std::set<std::string> repeated =
        row != expected.end() ? meant(row->second.what) : std::set(probed.begin(), probed.end());
    for (const std::string& status : probed) {
      const bool surely_not_sent =
          status == "dns" || status == "connect-refused" || status == "connect-timeout" || status == "tls";
      for (const bool idempotent : {true, false}) {
        const bool allowed = row == expected.end() || !row->second.safe_only || idempotent || surely_not_sent;
        EXPECT_EQ(answer(id + ":max_attempts=9", status, std::nullopt, idempotent).starts_with("wait"),
                  repeated.contains(status) && allowed)
            << id << ' ' << status << (idempotent ? "" : ", not idempotent");
      }
    }
  }
}

// Of a client's calls together, and of the time of one; every preset that is not here has neither. The
// numbers are their libraries' defaults. (EnvoysBudgetCountsWhatIsUnderWay and AWorkqueueSharesItsBucket: two
// budgets that no contract can name.)
TEST(Presets, HaveTheBudgetsAndTimesOfTheirLibraries) {
  const auto quota = [](double timeout_cost) {
    Budget b;
    b.kind = BudgetKind::aws_quota;
    b.capacity = 500;
    b.cost = 5;
    b.timeout_cost = timeout_cost;
    return b;
  };
  Budget tenth;  // Finagle's RetryBudget, which Linkerd and tower have copied
  tenth.kind = BudgetKind::ratio;
  tenth.ratio = 0.2;
  tenth.reserve_per_s = 10;
  tenth.window = Duration::s(10);
  Budget throttling;
  throttling.kind = BudgetKind::grpc_throttle;
  throttling.capacity = 10;
  throttling.ratio = 0.1;
  // botocore/retries: 0.7 and 0.4 of the CUBIC law, half a request per second, weight 0.8, windows of 500 ms.
  Budget adaptive = quota(10);
  adaptive.kind = BudgetKind::aws_adaptive;
  adaptive.beta = 0.7;
  adaptive.cubic_scale = 0.4;
  adaptive.rate_per_s_min = 0.5;
  adaptive.smoothing = 0.8;
  adaptive.window = Duration::ms(500);
  const std::map<std::string, Budget> budgets = {
      {"botocore-standard", quota(10)},   {"botocore-adaptive", adaptive},
      {"aws-java-v2-standard", quota(5)}, {"smithy-rs-standard", quota(10)},
      {"aws-go-v2-standard", quota(10)},  {"aws-ruby-standard", quota(10)},
      {"budget-aws-quota", quota(10)},    {"finagle-decorrelated", tenth},
      {"finagle-equal-jittered", tenth},  {"finagle-exponential-jittered", tenth},
      {"finagle-retry-budget", tenth},    {"linkerd2-proxy", tenth},
      {"budget-tower-linkerd", tenth},    {"budget-grpc-retry-throttling", throttling}};
  const std::map<std::string, Duration> times = {
      {"cenkalti-v4", Duration::s(900)},           {"cenkalti-v5", Duration::s(900)},
      {"ihrwein-backoff", Duration::s(900)},       {"google-http-java", Duration::s(900)},
      {"python-api-core", Duration::s(120)},       {"kafka-client", Duration::s(120)},
      {"temporal-internal", Duration::s(60)},      {"article-002-retry", Duration::s(15)},
      {"article-002-retry-after", Duration::s(15)}};
  for (const Preset& preset : presets()) {
    const std::string id(preset.id);
    const Contract c = named(id).policy.contract();
    const auto budget = budgets.find(id);
    EXPECT_EQ(c.budget, budget == budgets.end() ? std::nullopt : std::optional(budget->second)) << id;
    const auto time = times.find(id);
    EXPECT_EQ(c.elapsed, time == times.end() ? std::nullopt : std::optional(time->second)) << id;
    EXPECT_EQ(c.deadline, std::nullopt) << id;
    EXPECT_EQ(c.breaker, std::nullopt) << id;
    EXPECT_EQ(c.timer_max, id == "ky" ? std::optional(Duration::ms(2'147'483'647)) : std::nullopt) << id;
  }
}

// What is done with a delay that would pass the time that is left.
TEST(Presets, KeepTimeAsTheirLibrariesDo) {
  // elapsed + next > limit stops: 900 s, the next delay is at least 30 s from retry 20 on.
  EXPECT_EQ(answer("cenkalti-v4", "503", std::nullopt, true, Duration::s(880), 20), "stop: deadline");
  EXPECT_THAT(answer("cenkalti-v4", "503", std::nullopt, true, Duration::s(700), 20), HasSubstr("wait"));
  // Tested before the sleep: one may pass it.
  EXPECT_THAT(answer("google-http-java", "503", std::nullopt, true, Duration::s(899), 20), HasSubstr("wait"));
  EXPECT_EQ(answer("google-http-java", "503", std::nullopt, true, Duration::s(900), 20), "stop: deadline");
  EXPECT_THAT(answer("article-002-retry:max_attempts=30", "503", std::nullopt, true, Duration::ms(14'999), 9),
              HasSubstr("wait"));
  // Clipped to what is left.
  EXPECT_EQ(
      answer("litl-backoff-expo:max_time=100s,factor=1h,cap=10h", "503", std::nullopt, true, Duration::s(90)),
      "wait 10s");
  const std::string left = answer("temporal-internal", "503", std::nullopt, true, Duration::s(59), 20);
  EXPECT_LE(parse_duration(left.substr(5))->seconds(), 1) << left;
  EXPECT_EQ(answer("temporal-internal", "503", std::nullopt, true, Duration::ms(59'951), 20),
            "stop: deadline");
  EXPECT_THAT(answer("temporal-internal", "503", std::nullopt, true, Duration::ms(59'930), 20),
              testing::StartsWith("wait"));
  // The least delays there are 750 ms and 1 s.
  EXPECT_EQ(answer("failsafe:max_duration=10s", "503", std::nullopt, true, Duration::ms(9'900)),
            "wait 100ms");
  EXPECT_EQ(answer("p-retry:max_retry_time=10s", "503", std::nullopt, true, Duration::ms(9'900)),
            "wait 100ms");
}

// Spring's own table of its defaults without jitter, and google-http-java's of its intervals.
TEST(Presets, PrintedSequences) {
  const int spring[] = {2000, 3000, 4500, 6750, 10125, 15187, 22780, 30000, 30000, 30000};
  for (int n = 1; n <= 10; ++n)
    EXPECT_EQ(answer("spring-framework-7:j=0ms,max_attempts=20", "503", std::nullopt, true, {}, n),
              "wait " + to_string(Duration::ms(spring[n - 1])));
  const double http[] = {0.5, 0.75, 1.125, 1.687, 2.53, 3.795, 5.692, 8.538, 12.807, 19.210};
  for (int n = 1; n <= 10; ++n) {
    const std::string text = answer("google-http-java:r=0", "503", std::nullopt, true, {}, n);
    EXPECT_NEAR(parse_duration(text.substr(5))->seconds(), http[n - 1], 0.0011) << n;
  }
}

// 10 retries per second, burst 100, shared by the whole queue: the 101st waits for its token.
TEST(Presets, AWorkqueueSharesItsBucket) {
  const NamedPolicy p = named("k8s-workqueue");
  Memory memory;
  p.policy.start_client(memory.client);
  Rng rng{Seed{1}};
  for (int i = 1; i <= 103; ++i) {
    p.policy.start_call(memory.call);
    Attempt a;
    a.outcome.status = Status::http(503);
    const Duration d = p.policy.after(memory.client, memory.call, a, rng).delay();
    EXPECT_EQ(d, i <= 100 ? Duration::ms(5) : Duration::ms(100) * (i - 100)) << i;
  }
}

// max(20 % of those under way, 3): of one call at most three retries may be under way, of 100 calls 20.
TEST(Presets, EnvoysBudgetCountsWhatIsUnderWay) {
  const NamedPolicy p = named("budget-envoy:max_attempts=9");
  ASSERT_TRUE(p.policy.gates());
  Memory memory;
  Rng rng{Seed{1}};
  const auto retries_let_through = [&](int first_tries) {
    p.policy.start_client(memory.client);
    int sent = 0;
    for (int i = 0; i < first_tries + 100; ++i) {
      p.policy.start_call(memory.call);
      const Decision d = p.policy.before(memory.client, memory.call, {i < first_tries ? 1 : 2, {}, {}}, rng);
      if (i >= first_tries && !d.stops()) ++sent;
    }
    return sent;
  };
  EXPECT_EQ(retries_let_through(0), 3);
  EXPECT_EQ(retries_let_through(100), 25);  // 25 of the 125 then under way
}

// Without a delay there is none at any attempt, and it takes no time to say so.
TEST(Presets, NoBaseIsNoDelay) {
  for (const char* reference : {"backon-fibonacci:base=0s,max_attempts=4294967296",
                                "fixed:base=0s,growth=polynomial,exponent=64,max_attempts=4294967296",
                                "linear:base=0s,growth=exponential,max_attempts=4294967296"}) {
    const NamedPolicy p = named(reference);
    Memory memory;
    p.policy.start_client(memory.client);
    p.policy.start_call(memory.call);
    Attempt a;
    a.outcome.status = Status::http(503);
    Rng rng{Seed{1}};
    for (a.number = 1; a.number < 1LL << 32; a.number *= 2)
      ASSERT_EQ(p.policy.after(memory.client, memory.call, a, rng), Decision::wait({}))
          << reference << a.number;
  }
}

TEST(Presets, DeviationsNameAnInvariantWhyAndSource) {
  for (const Preset& preset : presets()) {
    std::set<std::string_view> ids;
    for (const Deviation& d : preset.deviations) {
      EXPECT_TRUE(ids.insert(d.invariant).second) << preset.id << ": " << d.invariant << " twice";
      EXPECT_NE(d.why, "");
      EXPECT_NE(d.source, "");
    }
  }
}

TEST(Presets, AreExplained) {
  const auto lines = about(*presets().find("go-retryablehttp-linear-jitter"));
  EXPECT_THAT(lines, testing::Contains("Law: n * U[lo, hi): hi is no cap, 4 retries"));
  EXPECT_THAT(lines, testing::Contains("Promises: at most 5 attempts, the first included"));
  EXPECT_THAT(lines, testing::Contains("Source: hashicorp/go-retryablehttp fd004584, client.go"));
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("Deviation from cap-respected: RetryWaitMax is")));
}

TEST(Presets, RefuseWhatMakesNoSense) {
  const auto refusal = [](std::string_view reference) {
    const auto found = find_policy(reference, {"--policy", 0, 1});
    return found ? "accepted" : to_string(found.error());
  };
  EXPECT_THAT(refusal("failsafe:f=1.5"), HasSubstr("'f' must lie in [0, 1], not 1.5"));
  EXPECT_THAT(refusal("failsafe:factr=2"), HasSubstr("did you mean 'factor'?"));
  EXPECT_THAT(refusal("got:max_attempts=0"), HasSubstr("must be at least 1, not 0"));
  EXPECT_THAT(refusal("got:deadline=0s"), HasSubstr("'deadline' must be above 0"));
  EXPECT_THAT(refusal("got:base=100"), HasSubstr("needs a unit"));
  EXPECT_EQ(refusal("got:deadline=3s,max_attempts=2,noise=1ms"), "accepted");
}

}  // namespace
}  // namespace retrygate
