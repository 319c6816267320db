#include "policies/policy.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace retrygate {
namespace {

// A user's own type with both kinds of memory: a budget of the client, a count of the call.
struct Thrifty {
  int allowance = 2;
  struct Client {
    int spent = 0;
  };
  struct Call {
    std::int64_t retries = 0;
  };
  Decision after(Client& client, Call& call, const Attempt& attempt, Rng& rng) const {
    if (attempt.outcome.status.succeeded()) return Decision::stop(Stop::success);
    if (client.spent >= allowance) return Decision::stop(Stop::budget);
    ++client.spent;
    ++call.retries;
    return Decision::wait(rng.between(Duration::s(1), Duration::s(1)) * call.retries);
  }
  Contract contract() const {
    Contract c;
    c.name = "thrifty";
    return c;
  }
  bool operator==(const Thrifty&) const = default;
  friend std::string to_string(const Thrifty& p) { return "thrifty " + std::to_string(p.allowance); }
};
static_assert(Policy<Thrifty>);

struct TooBig : Thrifty {
  struct Client {
    char memory[client_slot_bytes + 1];
  };
};
struct NotPlain : Thrifty {
  struct Call {
    std::string text;
  };
};
static_assert(!Policy<TooBig> && !Policy<NotPlain> && !Policy<int>);

struct Slot {
  alignas(std::max_align_t) std::byte bytes[client_slot_bytes];
};

TEST(AnyPolicy, KeepsAUsersMemoryInItsSlots) {
  const AnyPolicy policy = Thrifty{};
  EXPECT_EQ(policy.client_bytes(), sizeof(int));
  EXPECT_EQ(policy.call_bytes(), sizeof(std::int64_t));
  Slot client, other, call, second;
  for (Slot* slot : {&client, &other}) policy.start_client(slot->bytes);
  for (Slot* slot : {&call, &second}) policy.start_call(slot->bytes);
  Attempt failed;
  failed.outcome.status = Status::transport(TransportError::timeout);
  Rng rng{Seed{1}};
  EXPECT_EQ(to_string(policy.after(client.bytes, call.bytes, failed, rng)), "wait 1s");
  EXPECT_EQ(to_string(policy.after(client.bytes, second.bytes, failed, rng)), "wait 1s");
  // The client's allowance is gone for every call of it, and for no other client.
  EXPECT_EQ(to_string(policy.after(client.bytes, call.bytes, failed, rng)), "stop: budget");
  EXPECT_EQ(to_string(policy.after(other.bytes, call.bytes, failed, rng)), "wait 2s");
  // A slot may be copied as bytes.
  Slot copy;
  std::memcpy(copy.bytes, client.bytes, sizeof copy.bytes);
  EXPECT_EQ(to_string(policy.after(copy.bytes, call.bytes, failed, rng)), "stop: budget");
  // And made anew.
  policy.start_client(client.bytes);
  policy.start_call(call.bytes);
  EXPECT_EQ(to_string(policy.after(client.bytes, call.bytes, failed, rng)), "wait 1s");
}

// Refuses its second send, delays its third.
struct Gate : Thrifty {
  Decision before(Client&, Call&, const Sending& s, Rng&) const {
    if (s.attempt == 2) return Decision::stop(Stop::breaker);
    return Decision::wait(s.attempt == 3 && s.now < Instant{Duration::s(1)} ? Duration::s(1) : Duration{});
  }
};
static_assert(Gatekeeper<Gate> && !Gatekeeper<Thrifty>);

TEST(AnyPolicy, AsksAGatekeeperBeforeEverySend) {
  Slot client, call;
  Rng rng{Seed{1}};
  const AnyPolicy gate = Gate{}, open = Thrifty{};
  gate.start_client(client.bytes);
  gate.start_call(call.bytes);
  const auto ask = [&](const AnyPolicy& policy, std::int64_t attempt, Duration now) {
    return to_string(policy.before(client.bytes, call.bytes, {attempt, {now}, {}}, rng));
  };
  EXPECT_TRUE(gate.gates());
  EXPECT_FALSE(open.gates());
  EXPECT_EQ(ask(gate, 1, {}), "wait 0s");
  EXPECT_EQ(ask(gate, 2, {}), "stop: breaker");
  EXPECT_EQ(ask(gate, 3, {}), "wait 1s");
  EXPECT_EQ(ask(gate, 3, Duration::s(1)), "wait 0s");
  EXPECT_EQ(ask(open, 2, {}), "wait 0s");
}

TEST(AnyPolicy, ComparesAndPrintsWhatItHolds) {
  const AnyPolicy policy = Thrifty{3};
  const AnyPolicy copy = policy;
  EXPECT_TRUE(copy == policy);
  EXPECT_TRUE(policy == AnyPolicy(Thrifty{3}));
  EXPECT_FALSE(policy == AnyPolicy(Thrifty{4}));
  EXPECT_EQ(to_string(policy), "thrifty 3");
  EXPECT_EQ(policy.contract().name, "thrifty");
}

TEST(Status, EveryWordReadsBack) {
  for (const std::string_view word : status_words()) {
    const auto status = parse_status(word);
    ASSERT_TRUE(status) << word;
    EXPECT_EQ(to_string(*status), word);
  }
  EXPECT_EQ(parse_status("503"), Status::http(503));
  for (const char* none : {"", "99", "600", "503 ", "+503", "unavailable", "5xx"})
    EXPECT_FALSE(parse_status(none)) << none;
  EXPECT_TRUE(Status::http(200).succeeded() && Status::http(299).succeeded() && Status::grpc(0).succeeded());
  EXPECT_FALSE(Status::http(199).succeeded() || Status::http(300).succeeded() ||
               Status::grpc(1).succeeded() || Status::transport(TransportError::dns).succeeded());
}

}  // namespace
}  // namespace retrygate
