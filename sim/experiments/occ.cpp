#include "sim/experiments/occ.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sim/experiments/ziggurat.hpp"

namespace retrygate {
namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr Duration longest_delay = Duration::s(3600);
constexpr double mean_ns = 10e6, sd_ns = 2e6;  // of a message

std::int64_t message(const Ziggurat& normal, Rng& rng) {
  return static_cast<std::int64_t>(std::abs(mean_ns + sd_ns * normal.draw(rng)) + 0.5);
}

}  // namespace

Contention::Contention(const AnyPolicy& policy, std::int64_t clients)
    : policy_(policy), clients_(static_cast<std::size_t>(clients)) {
  RG_ASSERT(clients >= 1 && clients <= 65536, fmt::format("{} clients", clients));
  constexpr std::size_t unit = alignof(std::max_align_t);
  slot_bytes_ = (std::max(policy.client_bytes(), policy.call_bytes()) + unit - 1) / unit * unit;
  client_slots_.resize(clients_.size() * slot_bytes_);
  call_slots_.resize(clients_.size() * slot_bytes_);
  client_bits_ = std::countr_zero(std::bit_ceil(clients_.size()));
  races_.resize(clients_.size());
  reached_.resize(clients_.size());
}

std::byte* Contention::slot(std::vector<std::byte>& slots, std::size_t client) {
  return slots.data() + client * slot_bytes_;
}

inline Contention::Race Contention::race(std::size_t i, std::int64_t send, const StreamKey& network) {
  const Ziggurat& normal = Ziggurat::instance();
  Client& client = clients_[i];
  Rng messages = network.at(i, 0, static_cast<std::uint64_t>(client.attempt));
  const std::int64_t read = send + message(normal, messages);
  const std::int64_t version_known = read + message(normal, messages);
  const std::int64_t write = version_known + message(normal, messages);
  client.back = write + message(normal, messages);
  const auto key = [&](std::int64_t time) { return static_cast<std::uint64_t>(time) << client_bits_ | i; };
  return {key(read), key(write)};
}

inline Decision Contention::after(std::size_t i, bool won, const RetryTable* table, const StreamKey& chance) {
  const Client& client = clients_[i];
  const Status status = Status::http(won ? 200 : 409);
  Rng rng = chance.at(i, 0, static_cast<std::uint64_t>(client.attempt));
  if (table != nullptr && !won && table->decides(client.attempt, status)) {
    RetryTable::Memory none;
    auto& memory = RetryTable::Memory::of(slot(call_slots_, i), policy_.call_bytes(), none);
    return Decision::wait(table->delay(client.attempt, memory, rng));
  }
  Attempt attempt;
  attempt.number = client.attempt;
  attempt.outcome.status = status;
  attempt.finished = {Duration::ns(client.back)};
  return policy_.after(slot(client_slots_, i), slot(call_slots_, i), attempt, rng);
}

OccTotals Contention::run(Seed seed) {
  const StreamKey network(seed, Stream::network);
  const StreamKey chance(seed, Stream::policy);
  const RetryTable* const table = policy_.retry_table();
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    clients_[i] = {1, 0};
    policy_.start_client(slot(client_slots_, i));
    policy_.start_call(slot(call_slots_, i));
    races_[i] = race(i, 0, network);
  }
  OccTotals totals;
  std::int64_t last = 0;
  std::size_t racing = clients_.size();
  while (racing > 0) {
    std::uint64_t success = never;
    for (std::size_t place = 0; place < racing; ++place) success = std::min(success, races_[place].write);
    std::size_t count = 0;  // without a branch: who has read already is anybody's guess
    for (std::size_t place = 0; place < racing; ++place) {
      reached_[count] = static_cast<std::uint32_t>(place);
      count += races_[place].read <= success ? 1 : 0;
    }
    totals.calls += static_cast<std::int64_t>(count);
    // From the back, so that the last race can take the place of one that is over.
    while (count > 0) {
      const std::size_t place = reached_[--count];
      const bool won = races_[place].write == success;
      const std::size_t i = races_[place].write & ((std::uint64_t{1} << client_bits_) - 1);
      Client& client = clients_[i];
      const Decision decision = after(i, won, table, chance);
      if (won || decision.stops()) {
        if (!won) ++totals.gave_up;
        last = std::max(last, client.back);
        races_[place] = races_[--racing];
        continue;
      }
      RG_ASSERT(decision.delay() < longest_delay, to_string(decision));
      ++client.attempt;
      races_[place] = race(i, client.back + std::max(Duration{}, decision.delay()).ns(), network);
    }
  }
  totals.time = Duration::ns(last);
  return totals;
}

}  // namespace retrygate
