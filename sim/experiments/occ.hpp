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
class Contention {
 public:
  Contention(const AnyPolicy&, std::int64_t clients);  // clients in 1 .. 65536; memory for one run
  // Memory is used again, results depend on the seed alone. Delays stay below an hour.
  OccTotals run(Seed);

 private:
  struct Client {
    Rng network{0, 0};  // the messages of the current attempt
    std::int64_t attempt = 1;
    std::int64_t version = 0;  // that the last read brought
    bool writing = false;      // what arrives next at the server: a write or a read
  };
  void schedule(std::size_t client, std::uint64_t key);
  std::byte* slot(std::vector<std::byte>& slots, std::size_t client);

  AnyPolicy policy_;
  std::vector<Client> clients_;
  std::vector<std::byte> client_slots_, call_slots_;
  std::size_t slot_bytes_;
  int client_bits_;                  // of a key
  std::size_t leaves_;               // a power of two
  std::vector<std::uint64_t> tree_;  // winner tree: [1] is the earliest key, time << client_bits | client
};

}  // namespace retrygate
