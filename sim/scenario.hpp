// What a fleet does and what its server does to it, as one value.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/config.hpp"
#include "policies/base/embedded.hpp"
#include "policies/base/units.hpp"
#include "sim/law.hpp"
#include "sim/server.hpp"

namespace retrygate {

// When calls start. A fleet (burst): every client makes `calls` calls, one after the other; an open stream:
// call n of the stream is call n / clients of client n % clients, whatever became of the others.
struct Arrivals {
  enum class Kind : std::uint8_t { burst, interval, poisson, trace };
  struct Start {
    Duration time;
    std::uint32_t client = 0, call = 0;
    bool operator==(const Start&) const = default;
  };

  Kind kind = Kind::burst;
  Duration ramp;                   // burst: client i of n starts at ramp * i / n
  Law think;                       // burst: between the end of a call and the start of the client's next
  Duration interval;               // interval: between two calls of the stream
  double rate_per_s = 0;           // poisson: calls of the stream
  std::vector<Start> starts = {};  // trace: in order of time, client, call
  bool operator==(const Arrivals&) const = default;
};

struct Network {
  Law request, reply;  // one way each
  Duration front;  // a FIFO front of one worker takes so long for every request, before the server; 0 is none
  double loss = 0;  // probability that a request or its reply is lost on the way, each
  bool operator==(const Network&) const = default;
};

// A request travels to the server, passes the front, arrives (is counted) and passes the stages; the answer
// travels back. The caller waits until the answer, its attempt timeout or its deadline.
struct Scenario {
  std::string id;
  std::string summary;
  std::vector<std::string> params;  // the overrides it was made with, "clients=400"
  // Its table as compact JSON with sorted keys, the summary left out, and what the files and policies that it
  // names hold: what a stored baseline compares.
  std::string definition;

  Duration horizon = Duration::s(60);  // the run stops here
  std::int64_t clients = 1;
  std::int64_t calls = 1;  // of every client
  Arrivals arrivals;
  Network network;
  Duration attempt_timeout = Duration::max();
  Duration call_deadline = Duration::max();  // from the start of the call
  bool idempotent = true;                    // may a request be processed twice without harm?
  std::vector<StageSpec> stages;

  // Does the world itself draw random numbers, so that seeds differ whatever the policies do?
  bool draws() const;
  // Are there windows of failure, whose end a recovery is counted from?
  bool has_faults() const;
  bool operator==(const Scenario&) const = default;
};

// The shipped scenarios, by id; compiled in from scenarios/*.toml.
std::span<const EmbeddedFile> scenario_files();

// A shipped scenario's id, `FILE.toml`, or `FILE.toml#name` for its [scenario.name] table. Each override
// is "key=value" in the file's own keys; `where` is where the reference was written.
Result<Scenario> find_scenario(std::string_view id_or_toml_path, Where where,
                               const std::vector<std::string>& overrides = {});

// One scenario's table; the files that it names are relative to the file that it is in. A text "$name"
// anywhere in `stages` stands for the table's key `name`, which so becomes a parameter that can be
// overridden.
Result<Scenario> read_scenario(std::string id, const Value& table);
// The same with "key=value" overrides laid over it, written at `where`.
Result<Scenario> read_scenario(std::string id, Value table, const std::vector<std::string>& overrides,
                               const Where& where);

}  // namespace retrygate
