// When the calls of a run start: a cursor over what Arrivals describes, in order of time, client, call.
#pragma once

#include "policies/base/rng.hpp"
#include "sim/scenario.hpp"

namespace retrygate {

class Starts {
 public:
  Starts(const Scenario& scenario, Seed seed)
      : arrivals_(scenario.arrivals),
        clients_(scenario.clients),
        key_(seed, Stream::arrivals),
        mean_gap_(arrivals_.kind == Arrivals::Kind::poisson ? Duration::seconds(1 / arrivals_.rate_per_s)
                                                            : Duration{}) {
    using Kind = Arrivals::Kind;
    // A fleet's later calls start when the earlier ones have ended.
    total_ = arrivals_.kind == Kind::burst   ? clients_
             : arrivals_.kind == Kind::trace ? static_cast<std::int64_t>(arrivals_.starts.size())
                                             : clients_ * scenario.calls;
    find();
  }

  std::int64_t time() const { return time_; }  // never when there is no other
  std::uint32_t client() const {
    return is_trace() ? arrivals_.starts[static_cast<std::size_t>(n_)].client : client_;
  }
  std::uint32_t call() const {
    return is_trace() ? arrivals_.starts[static_cast<std::size_t>(n_)].call : call_;
  }
  void next() {
    ++n_;
    if (++client_ == clients_) {
      client_ = 0;
      ++call_;
    }
    find();
  }
  // When the first call of a client starts, of a fleet.
  std::int64_t of(std::int64_t client) const {
    if (arrivals_.ramp == Duration{}) return 0;
    return static_cast<std::int64_t>(int128{arrivals_.ramp.ns()} * client / clients_);
  }

 private:
  bool is_trace() const { return arrivals_.kind == Arrivals::Kind::trace; }
  void find() {
    using Kind = Arrivals::Kind;
    if (n_ >= total_) {
      time_ = never;
    } else if (arrivals_.kind == Kind::burst) {
      time_ = of(n_);
    } else if (arrivals_.kind == Kind::interval) {
      time_ = (arrivals_.interval * n_).ns();
    } else if (arrivals_.kind == Kind::poisson) {
      Rng rng = key_.at(static_cast<std::uint64_t>(n_));
      time_ = (Duration::ns(time_) + rng.exponential(mean_gap_)).ns();
    } else {
      time_ = arrivals_.starts[static_cast<std::size_t>(n_)].time.ns();
    }
  }

  const Arrivals& arrivals_;
  std::int64_t clients_;
  StreamKey key_;
  Duration mean_gap_;
  std::int64_t total_ = 0, n_ = 0;
  std::uint32_t client_ = 0, call_ = 0;  // of the n-th start, unless a trace names them
  std::int64_t time_ = 0;
};

}  // namespace retrygate
