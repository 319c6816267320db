// One policy, one scenario, one seed -> totals and a digest of everything that happened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policies/base/rng.hpp"
#include "policies/policy.hpp"
#include "sim/scenario.hpp"

namespace retrygate {

// What a run is asked to find out; it keeps no track of anything else. The digest and the counts are always
// made.
struct Measures {
  std::vector<Duration> peaks;        // window widths
  std::vector<Duration> retry_peaks;  // the same for requests that are not first attempts
  std::vector<std::int64_t> spreads;  // numbers of attempts
  bool latencies = false;             // of calls that succeeded
  bool latencies_all = false;         // of calls that ended
  bool recovery = false;
  bool duplicates = false;
  bool operator==(const Measures&) const = default;
};

struct Latencies {
  std::int64_t count = 0;  // at least 1
  double mean_s = 0;
  // Nearest ranks.
  Duration p50, p95, p99, p999, max;
  bool operator==(const Latencies&) const = default;
};

struct Totals {
  std::int64_t calls = 0;  // that started before the horizon
  std::int64_t succeeded = 0;
  std::int64_t gave_up = 0;     // ended without success
  std::int64_t unfinished = 0;  // cut off by the horizon
  std::int64_t sent = 0;        // attempts
  std::int64_t requests = 0;    // that reached the server, behind the front
  std::int64_t retries = 0;     // of them, not first attempts
  std::int64_t last_hop = 0;    // requests that reached the innermost service; as `requests` without layers
  std::int64_t attempts_max = 0;
  std::optional<Duration> last_success;  // when its caller knew
  std::optional<Duration> last_end;      // of the last call that ended
  Duration wasted;  // server time whose answer was no success for a caller that still waited
  // Of the calls that started after the last fault window (of all calls if none did):
  std::int64_t late_calls = 0, late_succeeded = 0;
  std::uint64_t policy_draws = 0;
  std::uint64_t digest = 0;

  // What Measures asked for, in its order.
  struct Peak {
    Duration window;
    std::int64_t most = 0;
    bool operator==(const Peak&) const = default;
  };
  struct Spread {
    std::int64_t attempt;
    std::optional<Duration> width;  // from the first to the last such request; nothing if there was none
    bool operator==(const Spread&) const = default;
  };
  std::vector<Peak> peaks, retry_peaks;
  std::vector<Spread> spreads;
  std::optional<Latencies> latencies, latencies_all;  // nothing if there was no such call
  std::optional<Duration> recovery;                   // nothing: no fault windows, or not reached
  std::int64_t duplicates = 0;
  Duration horizon;
  bool operator==(const Totals&) const = default;
};

// One attempt of a recorded trace (design: columns of `sim --trace`).
struct TraceRow {
  std::uint32_t client = 0, call = 0, attempt = 0;
  Instant start;                   // sent by its client
  std::optional<Instant> arrived;  // at the server, behind the front; nothing if lost or beyond the horizon
  std::optional<Instant> end;      // for its client; nothing if it is under way at the horizon
  Outcome outcome;                 // of one that ended
};

// Tests compare the queues; users never choose.
enum class QueueKind : std::uint8_t { automatic, tree, buckets, heap };

struct RunOptions {
  std::uint64_t policy_salt = 0;  // policy draws are those of StreamKey(seed, Stream::policy, policy_salt)
  std::string_view name = {};     // what messages call the policy; its definition when empty
  const Measures* measures = nullptr;  // everything that a metric without parameters reads, when absent
  std::vector<TraceRow>* trace =
      nullptr;  // gets every attempt that was sent, sorted by start, client, call, attempt
  QueueKind queue = QueueKind::automatic;
  bool in_a_program = false;  // the policy is, so that asking it changes what it remembers
};

// Bytes that one run needs at its largest, roughly (within about a factor of two).
double estimated_bytes(const AnyPolicy&, const Scenario&, const RunOptions&);

// Holds the memory of a run for the next one. One per thread.
class Runner {
 public:
  Runner();
  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  // It is an error if a call makes 100,000 attempts within a second, or would (sim/haste.hpp).
  Result<Totals> run(const AnyPolicy&, const Scenario&, Seed, const RunOptions& = {});

  struct Memory;

 private:
  std::unique_ptr<Memory> memory_;
};

Result<Totals> run(const AnyPolicy&, const Scenario&, Seed, const RunOptions& = {});

// The most times in any window [t, t + w) that begins at one of them. `sorted` nanoseconds, w > 0.
std::int64_t busiest_window(std::span<const std::int64_t> sorted, Duration w);

}  // namespace retrygate
