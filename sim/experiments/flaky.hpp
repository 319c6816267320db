// The published flaky-service simulation: 10,000 requests, one per 5 ms, against a server with Poisson
// outages, under three retry policies; as printed, and with its one defect mended.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace retrygate {

enum class FlakyVariant : std::uint8_t {
  // The printed script. Its outage cursor only moves forward although a retry asks about the future and
  // the next request about the past again: once one retry has looked past an outage, every later arrival
  // inside that outage is told that the server is up.
  literal,
  // The same stream of random numbers, but the server is down whenever any outage covers the moment.
  corrected,
  // The outages of that stream, but failures and jitter belong to (request, attempt), so that all three
  // policies meet the same ones: common random numbers, on this project's own generator.
  common
};

struct FlakyRow {
  std::string_view policy;  // "no-retry", "fixed-100ms", "backoff-40ms"
  std::int64_t successes = 0;
  std::int64_t attempts = 0;
  double mean_ms = 0;  // of successes, as printed
  double p95_ms = 0;   // sorted[int(0.95 n)] of successes, as printed
  double p99_ms = 0;
  double mean_all_ms = 0;            // of all requests, given up ones until they gave up
  std::uint64_t draws = 0;           // random numbers consumed from the one stream
  std::int64_t first_successes = 0;  // requests whose first attempt succeeded
  std::int64_t truly_down = 0;       // attempts that some outage covers
  std::int64_t answered_up = 0;      // of those, how many were told "up"; 0 when corrected
};

struct FlakyResult {
  static constexpr std::int64_t requests = 10'000;
  std::int64_t outages = 0;     // that begin inside the window of 50 s
  double down_fraction = 0;     // sum of their lengths / window, overlaps counted twice, as printed
  double covered_fraction = 0;  // length of their union / window, cut at the window's end
  std::array<FlakyRow, 3> rows;
};

// `healthy_failure` is the probability that an attempt fails while no outage runs.
FlakyResult flaky(std::uint64_t seed, FlakyVariant variant, double healthy_failure = 0.01);

}  // namespace retrygate
