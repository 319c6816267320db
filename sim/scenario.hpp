// What a fleet does and what its server does to it, as one value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/config.hpp"
#include "policies/base/embedded.hpp"
#include "policies/base/units.hpp"

namespace retrygate {

// Client i makes one call, at i * interval. A request passes the front (a FIFO queue with one worker),
// then arrives at the server, which decides in this order: outage, concurrency limit, fail-first-k,
// random failure, Poisson outages, service. Every reply then takes the reply latency.
struct Scenario {
  std::string id;
  std::string summary;
  std::vector<std::string> params;  // the overrides it was made with, "clients=400"

  Duration horizon = Duration::s(60);  // the run stops here
  std::int64_t clients = 1;
  Duration interval;  // between the calls of two clients; 0 is a burst

  Duration outage_start;  // 503 while outage_start <= t < outage_start + outage
  Duration outage;
  std::int64_t concurrency_limit = 0;  // 503 above so many in process, this one included; 0 is none
  std::int64_t fail_first = 0;         // attempts 1..k of every call fail
  int fail_first_status = 503;
  double random_failure = 0;  // probability of 503 while no Poisson outage runs
  Duration outage_gap;        // mean, exponential, from start to start; 0 is no such outages
  Duration outage_min;        // their lengths are uniform
  Duration outage_max;
  Duration service_time;   // of an accepted request, which holds a slot for so long
  Duration front_service;  // of every request, before the server; 0 is no front
  Duration reply_latency;  // of every reply

  // Does the world itself draw random numbers, so that seeds differ whatever the policies do?
  bool draws() const { return random_failure > 0 || outage_gap > Duration{}; }
  bool operator==(const Scenario&) const = default;
};

// The shipped scenarios, by id; compiled in from scenarios/*.toml.
std::span<const EmbeddedFile> scenario_files();

// A shipped scenario's id, `FILE.toml`, or `FILE.toml#name` for its [scenario.name] table. Each override
// is "key=value" in the file's own keys; `where` is where the reference was written.
Result<Scenario> find_scenario(std::string_view id_or_toml_path, Where where,
                               const std::vector<std::string>& overrides = {});

// One scenario's table.
Result<Scenario> read_scenario(std::string id, const Value& table);

}  // namespace retrygate
