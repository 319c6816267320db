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
  leaves_ = std::bit_ceil(clients_.size());
  client_bits_ = std::countr_zero(leaves_);
  tree_.resize(2 * leaves_);
}

std::byte* Contention::slot(std::vector<std::byte>& slots, std::size_t client) {
  return slots.data() + client * slot_bytes_;
}

// Replays the matches on the path from the client's leaf to the root.
inline void Contention::schedule(std::size_t client, std::uint64_t key) {
  std::size_t place = leaves_ + client;
  tree_[place] = key;
  while (place > 1) {
    key = std::min(key, tree_[place ^ 1]);
    place >>= 1;
    tree_[place] = key;
  }
}

OccTotals Contention::run(Seed seed) {
  const Ziggurat& normal = Ziggurat::instance();
  const StreamKey network(seed, Stream::network);
  const StreamKey chance(seed, Stream::policy);
  const auto key_of = [&](std::int64_t time, std::size_t client) {
    return static_cast<std::uint64_t>(time) << client_bits_ | client;
  };
  // Reads and writes are queued when they arrive at the server; what a client does in between only adds
  // to the next arrival.
  std::fill(tree_.begin(), tree_.end(), never);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    clients_[i] = {network.at(i, 0, 1)};
    policy_.start_client(slot(client_slots_, i));
    policy_.start_call(slot(call_slots_, i));
    tree_[leaves_ + i] = key_of(message(normal, clients_[i].network), i);
  }
  for (std::size_t i = leaves_ - 1; i >= 1; --i) tree_[i] = std::min(tree_[2 * i], tree_[2 * i + 1]);

  const RetryTable* const table = policy_.retry_table();
  OccTotals totals;
  std::int64_t version = 0;
  std::int64_t last = 0;
  Attempt attempt;
  while (tree_[1] != never) {
    const auto i = static_cast<std::size_t>(tree_[1]) & (leaves_ - 1);
    const auto now = static_cast<std::int64_t>(tree_[1] >> client_bits_);
    Client& client = clients_[i];
    client.writing = !client.writing;
    if (client.writing) {  // a read has arrived
      client.version = version;
      const std::int64_t reply = message(normal, client.network);
      schedule(i, key_of(now + reply + message(normal, client.network), i));
      continue;
    }
    ++totals.calls;
    const bool won = client.version == version;
    if (won) ++version;
    const std::int64_t back = now + message(normal, client.network);
    attempt.number = client.attempt;
    attempt.outcome.status = Status::http(won ? 200 : 409);
    attempt.finished = {Duration::ns(back)};
    Rng rng = chance.at(i, 0, static_cast<std::uint64_t>(client.attempt));
    Decision decision = Decision::stop(Stop::success);
    if (table == nullptr || !(won || table->decides(attempt.number, attempt.outcome.status))) {
      decision = policy_.after(slot(client_slots_, i), slot(call_slots_, i), attempt, rng);
    } else if (!won) {
      RetryTable::Memory none;
      auto& memory = RetryTable::Memory::of(slot(call_slots_, i), policy_.call_bytes(), none);
      decision = Decision::wait(table->delay(attempt.number, memory, rng));
    }
    if (won || decision.stops()) {
      if (!won) ++totals.gave_up;
      last = std::max(last, back);
      schedule(i, never);
      continue;
    }
    RG_ASSERT(decision.delay() < longest_delay, to_string(decision));
    ++client.attempt;
    client.network = network.at(i, 0, static_cast<std::uint64_t>(client.attempt));
    const std::int64_t send = back + std::max(Duration{}, decision.delay()).ns();
    schedule(i, key_of(send + message(normal, client.network), i));
  }
  totals.time = Duration::ns(last);
  return totals;
}

}  // namespace retrygate
