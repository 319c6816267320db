// What a competent programmer would write instead of using this project: the loops that our own simulator is
// timed against, in the same build with the same flags. They share no code with sim/.
#pragma once

#include <cstdint>

namespace retrygate::bench {

enum class Retry { full, decorrelated };

// W1, the retry storm with a network: n clients send at once; the server answers 503 for 1 s, then to
// everything above max(1, n/10) in process, else 200 after 50 ms; each way takes U[0.2, 2) ms; 12 attempts,
// base 100 ms, cap 5 s. std::priority_queue of 16-byte records, one for every arrival and completion;
// counter- based draws; both window maxima by two-pointer rings.
struct Storm {
  std::uint64_t requests = 0, peak_100ms = 0, peak_1s = 0, gave_up = 0, attempts_max = 0, digest = 0;
  double completion_s = 0;
};
Storm storm(std::uint64_t clients, Retry, std::uint64_t seed);

// W5: Poisson arrivals, a FIFO queue before 20 workers with exponential service of 50 ms, load rho of its
// capacity without retries; callers give up on an attempt after 300 ms and try up to 4 times, full jitter;
// the server serves them all the same. One priority queue; timeouts stay in it and are recognised as stale
// when they come up.
struct Queueing {
  std::uint64_t attempts = 0, succeeded = 0, gave_up = 0, wasted = 0;  // wasted: served after its caller left
  double latency_mean_s = 0;
};
Queueing queueing(std::uint64_t calls, double rho, std::uint64_t seed);

}  // namespace retrygate::bench
