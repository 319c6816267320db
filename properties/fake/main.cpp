// For the tests: a policy of ours, or a known-bad one, in a process of its own. It speaks the protocol that
// policies/adapters/README.md describes. `fake full-jitter:max_attempts=5`, `fake mutant:cap-unused`.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <string>

#include "policies/base/json.hpp"
#include "policies/named.hpp"
#include "policies/retry_after.hpp"
#include "properties/mutants/mutant.hpp"
#include "properties/walk.hpp"

namespace retrygate {
namespace {

AnyPolicy policy_named(const std::string& text) {
  if (text.starts_with("mutant:")) {
    for (const Mutant& mutant : mutants()) {
      const auto* policy = std::get_if<AnyPolicy>(&mutant.faulty);
      if (mutant.id == text.substr(7) && policy != nullptr) return *policy;
    }
    throw std::invalid_argument("no such mutant: " + text);
  }
  auto named = find_policy(text, {"fake", 1, 1});
  if (!named) throw std::invalid_argument(to_string(named.error()));
  return named->policy;
}

struct Client {
  Slot memory;
  std::map<std::int64_t, Slot> calls = {};
};

// How it misbehaves as a program, whatever its policy is.
struct Habits {
  bool ignores_seed = false;
  std::int64_t hangs_after = std::numeric_limits<std::int64_t>::max();  // questions
  std::int64_t dies_of = 0;  // an HTTP status; what it had not written yet is lost
};

int run(const std::string& name, const Habits& habits) {
  const AnyPolicy policy = policy_named(name);
  std::string line;
  std::getline(std::cin, line);
  const auto hello = parse_json(line, "hello");
  Errors complaints;
  Reader greeting(*hello, complaints);
  const Seed seed{habits.ignores_seed ? 1 : std::stoull(*greeting.text("seed"))};
  const StreamKey key(seed, Stream::policy);
  std::cout << fmt::format("{{\"retrygate-policy\":1,\"name\":\"{}\",\"jumps\":true,\"can\":[{}\"cancel\"]}}",
                           name, policy.gates() ? "\"before\"," : "")
            << std::endl;
  std::map<std::int64_t, Client> clients;
  for (std::int64_t asked = 1; std::getline(std::cin, line); ++asked) {
    if (asked > habits.hangs_after) {
      std::cout.flush();
      ::pause();
    }
    const auto told = parse_json(line, "line");
    Reader q(*told, complaints);
    const auto number = [&](const char* field) { return q.integer(field).value_or(0); };
    const std::int64_t client_id = number("client"), call_id = number("call");
    auto [client, fresh] = clients.try_emplace(client_id, Client{Slot(policy.client_bytes())});
    if (fresh) policy.start_client(client->second.memory.get());
    auto [call, started] = client->second.calls.try_emplace(call_id, Slot(policy.call_bytes()));
    if (started) policy.start_call(call->second.get());
    Attempt a;
    a.number = number("attempt");
    a.call_started = Instant{Duration::ns(number("started_ns"))};
    a.finished = Instant{Duration::ns(number("now_ns"))};
    if (q.has("deadline_ns")) a.deadline = Instant{Duration::ns(number("deadline_ns"))};
    a.idempotent = q.flag("idempotent").value_or(true);
    const auto answer = [&](const std::string& member) {
      std::cout << fmt::format("{{\"id\":{},{}}}\n", number("id"), member);
      if (std::cin.rdbuf()->in_avail() <= 0) std::cout.flush();
    };
    const auto decided = [&](const Decision& d) {
      answer(d.stops() ? fmt::format("\"stop\":\"{}\"", to_string(d.why()))
                       : fmt::format("\"wait_ns\":{}", d.delay().ns()));
    };
    if (q.text("event")) {
      policy.abandoned(client->second.memory.get(), call->second.get(), a.finished);
      answer("\"stop\":\"cancelled\"");
      continue;
    }
    if (q.text("ask")) {
      // Asked again and again at later times: draws of their own.
      Rng at_the_gate = StreamKey(seed, Stream::policy, 1)
                            .at(static_cast<std::uint64_t>(client_id), static_cast<std::uint64_t>(call_id),
                                static_cast<std::uint64_t>(number("now_ns")));
      const Decision d = policy.before(client->second.memory.get(), call->second.get(),
                                       {a.number, a.finished, a.call_started, a.deadline}, at_the_gate);
      if (d.stops() || d.delay() > Duration{})
        decided(d);
      else
        answer("\"send\":true");
      continue;
    }
    const Value* status = q.any("status");
    const auto* code = status != nullptr ? std::get_if<std::int64_t>(&status->data) : nullptr;
    if (code != nullptr && *code == habits.dies_of) std::_Exit(3);
    a.outcome.status = code != nullptr ? Status::http(static_cast<int>(*code))
                                       : *parse_status(*q.text(status != nullptr ? "status" : "error"));
    const auto header = q.text("retry_after");
    if (header) {
      a.outcome.retry_after_text = *header;
      a.outcome.retry_after = parse_retry_after(*header, a.finished);
    }
    Rng rng = key.at(static_cast<std::uint64_t>(client_id), static_cast<std::uint64_t>(call_id),
                     static_cast<std::uint64_t>(a.number));
    decided(policy.after(client->second.memory.get(), call->second.get(), a, rng));
  }
  return 0;
}

}  // namespace
}  // namespace retrygate

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  try {
    retrygate::Habits habits;
    habits.ignores_seed = argc > 2 && std::string_view(argv[2]) == "no-seed";
    if (argc > 3 && std::string_view(argv[2]) == "hangs-after") habits.hangs_after = std::stoll(argv[3]);
    if (argc > 3 && std::string_view(argv[2]) == "dies-of") habits.dies_of = std::stoll(argv[3]);
    return retrygate::run(argc > 1 ? argv[1] : "full-jitter", habits);
  } catch (const std::exception& e) {
    std::cout.flush();
    std::cerr << "fake: " << e.what() << std::endl;
    return 1;
  }
}
