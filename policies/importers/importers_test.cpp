#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/base/yaml.hpp"
#include "policies/importers/importer.hpp"
#include "policies/named.hpp"

namespace retrygate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Imported import(std::string_view kind, const std::string& text) {
  auto result = importers().find(kind)->read(text, "in");
  EXPECT_TRUE(result) << to_string(result.error());
  return result ? std::move(*result) : Imported{};
}
std::string faults(std::string_view kind, const std::string& text) {
  const auto result = importers().find(kind)->read(text, "in");
  return result ? "" : to_string(result.error());
}

// What the TOML means once it is read back as a policy.
Contract contract_of(const Imported& imported, const std::string& name) {
  const auto file = parse_toml(to_toml(imported), "out.toml");
  EXPECT_TRUE(file) << to_toml(imported);
  Errors complaints;
  Reader reader(*file, complaints);
  auto outer = reader.table("policy");
  EXPECT_TRUE(outer && outer->has(name)) << to_toml(imported);
  const auto policy = read_policy(name, *outer->any(name));
  EXPECT_TRUE(policy) << to_string(policy.error());
  return policy ? policy->policy.contract() : Contract{};
}

// The example of gRFC A6, "Retry policy", with throttling as in its section on it.
TEST(Importers, Grpc) {
  const Imported imported = import("grpc", R"({
  "methodConfig": [{
    "name": [{"service": "shop.Cart", "method": "Add"}],
    "timeout": "30s",
    "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE", 8, "aborted"]}
  }, {
    "name": [{}],
    "retryPolicy": {"maxAttempts": 9, "initialBackoff": "2s", "maxBackoff": "1s", "backoffMultiplier": 1.5,
                    "retryableStatusCodes": ["UNAVAILABLE"], "perAttemptRecvTimeout": "1s"}
  }, {"name": [{"service": "x"}], "hedgingPolicy": {"maxAttempts": 3}}],
  "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
})");
  ASSERT_EQ(imported.policies.size(), 2U);
  const Contract cart = contract_of(imported, "shop-Cart-Add");
  EXPECT_EQ(cart.growth, GrowthKind::exponential);
  EXPECT_EQ(cart.base, Duration::ms(100));
  EXPECT_EQ(cart.factor, 2);
  EXPECT_EQ(cart.cap, Duration::s(1));
  EXPECT_EQ(cart.cap_kind, CapKind::before_jitter);
  EXPECT_EQ(cart.jitter, (Jitter{JitterKind::proportional, 0.2, {}}));
  EXPECT_EQ(cart.max_attempts, 4);
  EXPECT_EQ(cart.deadline, Duration::s(30));
  EXPECT_EQ(cart.retry_after, RetryAfterRule::exact);  // the server's pushback
  EXPECT_EQ(to_string(*cart.retry_on), "UNAVAILABLE RESOURCE_EXHAUSTED ABORTED");
  EXPECT_EQ(cart.budget->kind, BudgetKind::grpc_throttle);
  EXPECT_EQ(cart.budget->capacity, 10);
  EXPECT_EQ(cart.budget->ratio, 0.1);
  const Contract rest = contract_of(imported, "default");
  EXPECT_EQ(rest.max_attempts, 5);  // clients treat more as 5
  EXPECT_EQ(rest.base, Duration::s(1));
  const std::string warnings = to_string(imported.warnings);
  for (const char* word :
       {"maxAttempts 9: clients treat more than 5 as 5", "initialBackoff is above maxBackoff",
        "a time limit of one attempt", "hedging", "pushback", "shared by all methods"})
    EXPECT_THAT(warnings, HasSubstr(word));
}

TEST(Importers, GrpcFaultsHaveTheirPlaces) {
  const auto policy = [](const std::string& keys) {
    return "{\"methodConfig\":[{\"retryPolicy\":{" + keys + "}}]}";
  };
  const std::string rest =
      R"("initialBackoff":"1s","maxBackoff":"2s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"])";
  EXPECT_THAT(faults("grpc", policy(R"("maxAttempts":1,)" + rest)),
              HasSubstr("in:1:48: error: 'maxAttempts' must be at least 2, not 1"));
  EXPECT_THAT(faults("grpc", policy(rest)), HasSubstr("'maxAttempts' is missing"));
  EXPECT_THAT(
      faults(
          "grpc",
          policy(
              R"("maxAttempts":3,"initialBackoff":"100ms","maxBackoff":"0s","backoffMultiplier":0,"retryableStatusCodes":["BUSY"])")),
      AllOf(HasSubstr("'initialBackoff' must be in seconds"), HasSubstr("'maxBackoff' must be above 0"),
            HasSubstr("'backoffMultiplier' must be above 0"), HasSubstr("no gRPC status code")));
  EXPECT_THAT(faults("grpc", policy(R"("maxAttempts":3,"jitter":1,)" + rest)),
              HasSubstr("unknown key 'jitter'"));
  EXPECT_THAT(faults("grpc", policy(R"("maxAttempts":3,)" + rest + R"(},"hedgingPolicy":{"maxAttempts":2)")),
              HasSubstr("a 'retryPolicy' or a 'hedgingPolicy', not both"));
  EXPECT_THAT(
      faults(
          "grpc",
          policy(
              R"("maxAttempts":3,"initialBackoff":"-1s","maxBackoff":"1us","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILBLE"])")),
      AllOf(HasSubstr("'initialBackoff' must be above 0"), HasSubstr("'maxBackoff' must be in seconds"),
            HasSubstr("did you mean 'UNAVAILABLE'?")));
  EXPECT_THAT(faults("grpc", "{}"), HasSubstr("no 'methodConfig' list"));
  EXPECT_THAT(faults("grpc", R"({"methodConfig":[{}]})"), HasSubstr("no method has a 'retryPolicy'"));
  EXPECT_THAT(faults("grpc", "{"), HasSubstr("this is no JSON"));
}

// As it stands in a TXT record of the DNS: choices for clients of some language or share (gRFC A2).
TEST(Importers, GrpcChoices) {
  const std::string config =
      R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"1s","maxBackoff":"9s",)"
      R"("backoffMultiplier":1.6,"retryableStatusCodes":[14]}}]})";
  const Imported imported = import("grpc", R"([{"clientLanguage":["GO"],"serviceConfig":)" + config +
                                               R"(},{"percentage":5,"serviceConfig":)" + config + "}]");
  ASSERT_EQ(imported.policies.size(), 2U);
  EXPECT_EQ(contract_of(imported, "default").cap, Duration::s(9));
  EXPECT_EQ(contract_of(imported, "default-2").factor, 1.6);
  EXPECT_THAT(to_string(imported.warnings), HasSubstr("older clients draw it from 0 on"));
  EXPECT_THAT(faults("grpc", "[{}]"), HasSubstr("no 'methodConfig' list"));
}

TEST(Importers, EnvoyInYaml) {
  const Imported imported = import("envoy", R"(
virtual_hosts:
- name: shop
  routes:
  - name: cart
    route:
      cluster: cart
      timeout: 3s
      retry_policy:
        retry_on: "gateway-error,connect-failure,retriable-status-codes,refused-stream"
        num_retries: 3
        retriable_status_codes: [429]
        retry_back_off: {base_interval: 0.1s, max_interval: 2s}
        per_try_timeout: 0.5s
  - route:
      cluster: search
      retry_policy: {retry_on: 5xx}
)");
  ASSERT_EQ(imported.policies.size(), 2U) << to_toml(imported);
  EXPECT_EQ(imported.policies[0].where, (Where{"in", 10, 9}));
  const Contract cart = contract_of(imported, "cart");
  EXPECT_EQ(cart.jitter->kind, JitterKind::full);
  EXPECT_EQ(cart.base, Duration::ms(100));
  EXPECT_EQ(cart.cap, Duration::s(2));
  EXPECT_EQ(cart.factor, 2);
  EXPECT_EQ(cart.max_attempts, 4);  // num_retries leaves the first try out
  EXPECT_EQ(cart.deadline, Duration::s(3));
  EXPECT_EQ(to_string(*cart.retry_on), "429 502 503 504 connect-refused connect-timeout");
  const Contract search = contract_of(imported, "search");
  EXPECT_EQ(search.base, Duration::ms(25));  // Envoy's defaults
  EXPECT_EQ(search.cap, Duration::ms(250));
  EXPECT_EQ(search.max_attempts, 2);
  EXPECT_EQ(search.deadline, Duration::s(15));
  const std::string warnings = to_string(imported.warnings);
  for (const char* word :
       {"'refused-stream' has no word", "'per_try_timeout', a time limit of one attempt, is no part",
        "15s bound all attempts"})
    EXPECT_THAT(warnings, HasSubstr(word));
}

// What Envoy retries and a contract has no word for leaves nothing, and nothing is what is retried.
TEST(Importers, EnvoyRetriesNoMoreThanItSays) {
  for (const char* text : {"retry_on: refused-stream\n", "num_retries: 3\n"}) {
    const Contract c = contract_of(import("envoy", text), "route");
    ASSERT_TRUE(c.retry_on) << text;
    EXPECT_FALSE(c.retry_on->contains(Status::http(503))) << text;
  }
}

// Envoy's and the Gateway API's integers have 32 bits.
TEST(Importers, CountsOfRetriesHaveARange) {
  EXPECT_THAT(faults("envoy", "retry_on: 5xx\nnum_retries: 9223372036854775807\n"),
              HasSubstr("in:2:14: error: 'num_retries' must lie in 0..4294967295, not 9223372036854775807"));
  EXPECT_THAT(faults("envoy", "retry_on: 5xx\nnum_retries: -1\n"), HasSubstr("not -1"));
  EXPECT_THAT(
      faults("gateway", "kind: HTTPRoute\nspec: {rules: [{retry: {attempts: 9223372036854775807}}]}\n"),
      HasSubstr("'attempts' must lie in 0..4294967295"));
  EXPECT_EQ(contract_of(import("envoy", "retry_on: 5xx\nnum_retries: 4294967295\n"), "route").max_attempts,
            4'294'967'296);
}

TEST(Importers, EnvoyInJsonAndFaults) {
  const Imported imported = import("envoy", R"({"retry_on": "unavailable", "num_retries": 2})");
  EXPECT_EQ(to_string(*contract_of(imported, "route").retry_on), "UNAVAILABLE");
  EXPECT_THAT(faults("envoy", "retry_on: 5xx\nnum_retrys: 2\n"),
              HasSubstr("in:2:1: error: unknown key 'num_retrys'"));
  EXPECT_THAT(faults("envoy", "retry_on: 5xx\nretry_back_off: {base_interval: 2s, max_interval: 1s}\n"),
              HasSubstr("'max_interval' is below 'base_interval'"));
  const auto back_off = [](const std::string& keys) {
    return "retry_on: 5xx\nretry_back_off: {" + keys + "}\n";
  };
  // protobuf knows seconds alone.
  EXPECT_THAT(faults("envoy", back_off("base_interval: 25ms, max_interval: 0s")),
              AllOf(HasSubstr("in:2:33: error: 'base_interval' must be in seconds with an s"),
                    HasSubstr("'max_interval' must be above 0")));
  EXPECT_THAT(faults("envoy", back_off("max_interval: 1s")), HasSubstr("'base_interval' is missing"));
  const Imported fast = import("envoy", back_off("base_interval: 0.0001s"));
  EXPECT_EQ(contract_of(fast, "route").base, Duration::ms(1));
  EXPECT_EQ(contract_of(fast, "route").cap, Duration::ms(10));
  EXPECT_THAT(to_string(fast.warnings), HasSubstr("Envoy takes 100us for 1ms"));
  const Imported host =
      import("envoy", "virtual_hosts:\n- name: shop\n  domains: ['*']\n  retry_policy: {retry_on: 5xx}\n");
  EXPECT_EQ(contract_of(host, "shop").deadline, Duration::s(15));
  EXPECT_THAT(to_string(host.warnings), HasSubstr("the 'timeout' of each route of this virtual host"));
  const Imported mute = import("envoy", "retry_on: 5xx\nretriable_status_codes: [429]\n");
  EXPECT_FALSE(contract_of(mute, "route").retry_on->contains(Status::http(429)));
  EXPECT_THAT(to_string(mute.warnings), HasSubstr("'retriable_status_codes' does nothing"));
  EXPECT_THAT(to_string(import("envoy", "retry_on: 5xx\nrate_limited_retry_back_off: {}\n").warnings),
              HasSubstr("its nearest is retry_after = \"floor\""));
  EXPECT_THAT(faults("envoy", "a: 1\n"), HasSubstr("no 'retry_policy'"));
  EXPECT_THAT(faults("envoy", "a: [\n"), HasSubstr("this is no YAML"));
}

// The defaults and the second example are those of the Amazon States Language and the developer's guide.
TEST(Importers, StepFunctions) {
  const Imported imported = import("step-functions", R"({
  "StartAt": "A", "States": {
    "A": {"Type": "Task", "Retry": [{"ErrorEquals": ["States.ALL"]}]},
    "B": {"Type": "Task", "Retry": [
       {"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 3, "MaxAttempts": 2, "BackoffRate": 1.5},
       {"ErrorEquals": ["Busy"], "IntervalSeconds": 5, "MaxDelaySeconds": 30, "JitterStrategy": "FULL"}]},
    "C": {"Type": "Parallel", "Branches": [{"StartAt": "D", "States": {"D": {"Retry": [{"ErrorEquals": ["X"], "MaxAttempts": 0}]}}}]},
    "E": {"Type": "Map", "ItemProcessor": {"States": {"F": {"Retry": [{"ErrorEquals": ["States.ALL"]}]}}}}
  }})");
  ASSERT_EQ(imported.policies.size(), 5U) << to_toml(imported);
  const Contract a = contract_of(imported, "A");
  EXPECT_EQ(a.base, Duration::s(1));
  EXPECT_EQ(a.factor, 2);
  EXPECT_EQ(a.max_attempts, 4);
  EXPECT_EQ(a.cap, Duration::s(31'622'400));
  EXPECT_EQ(a.jitter->kind, JitterKind::none);
  const Contract b = contract_of(imported, "B");
  EXPECT_EQ(b.base, Duration::s(3));
  EXPECT_EQ(b.factor, 1.5);
  EXPECT_EQ(b.max_attempts, 3);
  EXPECT_EQ(to_string(*b.retry_on), "timeout");
  const Contract b2 = contract_of(imported, "B-2");
  EXPECT_EQ(b2.jitter->kind, JitterKind::full);
  EXPECT_EQ(b2.cap, Duration::s(30));
  EXPECT_EQ(contract_of(imported, "D").max_attempts, 1);
  EXPECT_EQ(contract_of(imported, "F").max_attempts, 4);
  EXPECT_THAT(to_string(imported.warnings),
              AllOf(HasSubstr("(Busy)"), HasSubstr("state B: each retrier counts for itself")));
}

TEST(Importers, StepFunctionsFaults) {
  const auto one = [](const std::string& keys) {
    return "{\"States\":{\"A\":{\"Retry\":[{" + keys + "}]}}}";
  };
  EXPECT_THAT(
      faults("step-functions", one("\"MaxAttempts\":-1,\"BackoffRate\":0.5")),
      AllOf(HasSubstr("'ErrorEquals' is missing"), HasSubstr("'MaxAttempts' must lie in 0..99999999, not -1"),
            HasSubstr("'BackoffRate' must be at least 1")));
  EXPECT_THAT(faults("step-functions", one(R"("ErrorEquals":["x"],"IntervalSeconds":9,"MaxDelaySeconds":9)")),
              HasSubstr("'MaxDelaySeconds' must be above 'IntervalSeconds'"));
  EXPECT_THAT(faults("step-functions", one(R"("ErrorEquals":["x"],"JitterStrategy":"HALF")")),
              HasSubstr("NONE, FULL"));
  for (const char* names : {"\"Busy\"", "[]", "3"})
    EXPECT_THAT(faults("step-functions", one(std::string("\"ErrorEquals\":") + names)),
                HasSubstr("'ErrorEquals' must be a list of at least one error name"))
        << names;
  EXPECT_THAT(faults("step-functions", one(R"("ErrorEquals":["Busy","States.ALL"])")),
              HasSubstr("States.ALL must stand alone, and in the last retrier"));
  EXPECT_THAT(faults("step-functions", one(R"("ErrorEquals":["States.ALL"]},{"ErrorEquals":["Busy"])")),
              HasSubstr("in:1:41: error: States.ALL must stand alone"));
  EXPECT_THAT(faults("step-functions", "{}"), HasSubstr("no state has a 'Retry'"));
}

// The example of GEP-1731.
TEST(Importers, Gateway) {
  const Imported imported = import("gateway", R"(
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  rules:
  - retry: {codes: [500, 502, 503, 504], attempts: 3, backoff: 500ms}
    timeouts: {request: 1m30s}
  - name: open
    retry: {}
---
kind: Service
metadata: {name: other}
)");
  ASSERT_EQ(imported.policies.size(), 2U) << to_toml(imported);
  const Contract shop = contract_of(imported, "shop");
  EXPECT_EQ(shop.base, Duration::ms(500));
  EXPECT_EQ(shop.max_attempts, 4);
  EXPECT_EQ(shop.deadline, Duration::s(90));
  EXPECT_EQ(to_string(*shop.retry_on), "500 502 503 504");
  EXPECT_EQ(contract_of(imported, "open").max_attempts, 2);
  EXPECT_THAT(
      to_string(imported.warnings),
      AllOf(HasSubstr("'backoff' is the least delay"), HasSubstr("in:10:12: error: without 'attempts'"),
            HasSubstr("without 'codes'"), HasSubstr("without 'backoff'")));
  EXPECT_THAT(faults("gateway", "kind: HTTPRoute\nspec: {rules: [{retry: {backoff: 5}}]}\n"),
              HasSubstr("'backoff'"));
  EXPECT_THAT(faults("gateway", "kind: HTTPRoute\nspec: {rules: [{retry: {backoff: fast}}]}\n"),
              HasSubstr("'fast' is no duration of the Gateway API"));
  EXPECT_THAT(faults("gateway", "kind: HTTPRoute\nspec: {rules: [{retry: {codes: [500, 200]}}]}\n"),
              HasSubstr("200 in 'codes' is no HTTP status from 400 to 599"));
  EXPECT_THAT(faults("gateway", "kind: Pod\n"), HasSubstr("no rule of an HTTPRoute has a 'retry'"));
}

TEST(Yaml, ReadsTheCoreSchemaWithPlaces) {
  const auto documents = parse_yaml("a: 1\nb: [true, ~, 1.5, 'true', \"2\", 1s]\nc:\n  d: x\n", "y");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 1U);
  const auto& table = std::get<Table>(documents->front().data);
  EXPECT_EQ(std::get<std::int64_t>(table[0].value.data), 1);
  const auto& list = std::get<Array>(table[1].value.data);
  EXPECT_TRUE(std::get<bool>(list[0].data));
  EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(list[1].data));
  EXPECT_EQ(std::get<double>(list[2].data), 1.5);
  EXPECT_EQ(std::get<std::string>(list[3].data), "true");
  EXPECT_EQ(std::get<std::string>(list[4].data), "2");
  EXPECT_EQ(std::get<std::string>(list[5].data), "1s");
  EXPECT_EQ(std::get<Table>(table[2].value.data)[0].where, (Where{"y", 4, 3}));
}

TEST(Yaml, RefusesWhatIsWrongOrTooMuch) {
  const auto fault = [](const std::string& text) {
    const auto read = parse_yaml(text, "y");
    return read ? std::string() : to_string(read.error());
  };
  EXPECT_THAT(fault("a: 1\na: 2\n"), HasSubstr("y:2:1: error: 'a' is given twice"));
  EXPECT_THAT(fault("a: [1\nb: 2\n"), HasSubstr("this is no YAML"));
  // yaml-cpp alone reads this for ever.
  EXPECT_THAT(fault("{},"), HasSubstr("y:1:3: error: this is no YAML: nothing may stand here"));
  EXPECT_THAT(fault("\"a\",b"), HasSubstr("y:1:4: "));
  for (const auto& [text, n] :
       {std::pair("---\na: 1\n---\n---\nb: 2\n...\nc", 4U), std::pair("\"a\" b", 2U), std::pair("", 0U)})
    EXPECT_EQ(parse_yaml(text, "y")->size(), n) << text;
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(fault(bomb), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(fault(std::string(200, '[') + std::string(200, ']')), HasSubstr("nested deeper than 64"));
}

}  // namespace
}  // namespace retrygate
