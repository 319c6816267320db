// The study behind "Exponential Backoff And Jitter" (M. Brooker, AWS Architecture Blog, 2015): clients that
// update one row under optimistic concurrency control. Model: aws-samples/aws-arch-backoff-simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/policy.hpp"

namespace retrygate {

struct OccTotals {
  std::int64_t calls = 0;    // writes, the failed ones too
  std::int64_t gave_up = 0;  // clients whose policy stopped
  Duration time;             // until the last client knows how its last call ended
  bool operator==(const OccTotals&) const = default;
};

// All clients start at 0. Each reads the row's version, then writes with it; a write whose version is no
// longer the row's fails (409), and after the policy's delay the client reads again. Each of the four
// messages takes |N(10 ms, 2 ms)|; the server takes no time.
//
// No queue of events is needed. Only a success changes the row, and a client does not feel the others but by
// its own failures. So of those who have read since the last success, whoever writes first is the next
// success; all who have read before it and write later fail; nobody else is concerned.
class Contention {
 public:
  Contention(const AnyPolicy&, std::int64_t clients);  // clients in 1 .. 65536; memory for one run
  // Memory is used again, results depend on the seed alone. Delays stay below an hour. The policy is asked
  // about a client's calls in their order; among clients the order is nobody's promise.
  OccTotals run(Seed);

 private:
  // When the next read and write of a client reach the server: time << client_bits | client, so that no two
  // clients are equal and the earlier time, then the lower client, is less.
  struct Race {
    std::uint64_t read, write;
  };
  struct Client {
    std::int64_t attempt;  // from 1
    std::int64_t back;     // when it knows how its write ended
  };
  Race race(std::size_t client, std::int64_t send, const StreamKey& network);
  Decision after(std::size_t client, bool won, const RetryTable*, const StreamKey& chance);
  std::byte* slot(std::vector<std::byte>& slots, std::size_t client);

  AnyPolicy policy_;
  std::vector<Client> clients_;
  std::vector<std::byte> client_slots_, call_slots_;
  std::size_t slot_bytes_;
  int client_bits_;
  std::vector<Race> races_;             // of the clients that are not done, in no order
  std::vector<std::uint32_t> reached_;  // places in races_ of those whom a success concerns
};

}  // namespace retrygate
