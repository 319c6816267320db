// What a retry policy is: a value (its configuration), slots of memory that others own, and randomness
// that is an argument. AnyPolicy holds any such value behind one pointer.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "policies/attempt.hpp"
#include "policies/base/rng.hpp"
#include "policies/contract.hpp"
#include "policies/retry_table.hpp"

namespace retrygate {

// Memory of a policy that keeps none.
struct Stateless {};

inline constexpr std::size_t client_slot_bytes = 128;
inline constexpr std::size_t call_slot_bytes = 32;

// A slot is copied with memcpy and made by its default constructor: a fleet is one flat array.
template <class T, std::size_t Bytes>
concept Fits = std::is_trivially_copyable_v<T> && std::default_initializable<T> && sizeof(T) <= Bytes &&
               alignof(T) <= alignof(std::max_align_t);

template <class P>
concept Policy = std::copyable<P> && std::equality_comparable<P>  // the value is configuration only
    && Fits<typename P::Client, client_slot_bytes>                // memory shared by a client's calls
    && Fits<typename P::Call, call_slot_bytes>                    // memory of one call
    && requires(const P p, typename P::Client& client, typename P::Call& call, const Attempt& a, Rng& rng) {
  { p.after(client, call, a, rng) } -> std::same_as<Decision>;  // told of every finished attempt, success too
  { p.contract() } -> std::same_as<Contract>;
  { to_string(p) } -> std::convertible_to<std::string>;
};

// Optional: asked before every send, the first included. wait(0) sends now, wait(d) asks again d later, stop
// refuses (a breaker that is open, a budget that is spent, a wait that would pass the deadline) and ends the
// call.
template <class P>
concept Gatekeeper = Policy<P> && requires(const P p, typename P::Client& client, typename P::Call& call,
                                           const Sending& sending, Rng& rng) {
  { p.before(client, call, sending, rng) } -> std::same_as<Decision>;
};

// Optional: told when the caller gives up between two attempts. Nothing more is heard of the call: what it
// holds of its client's memory is given back here.
template <class P>
concept Abandonable = Policy<P> &&
    requires(const P p, typename P::Client& client, typename P::Call& call, Instant now) {
  p.abandoned(client, call, now);
};

// Optional: decisions that a simulator may make by itself. `after` decides the same with the same draws.
template <class P>
concept Tabled = Policy<P> && std::is_empty_v<typename P::Client> &&
    (std::is_empty_v<typename P::Call> ||
     std::same_as<typename P::Call, RetryTable::Memory>)&&requires(const P p) {
  { p.retry_table() } -> std::same_as<const RetryTable&>;
};

// Any Policy. Cheap to copy; the held value never changes.
class AnyPolicy {
 public:
  template <class P>
  requires(!std::same_as<P, AnyPolicy>) && Policy<P>  // in this order: is it one itself? would go in circles
      AnyPolicy(P policy)
      : value_(std::make_shared<const P>(std::move(policy))),
  table_(&table_of<P>) {}  // NOLINT: meant to convert

  // Bytes of one client's and one call's slot; 0 when the policy keeps no such memory.
  std::size_t client_bytes() const { return table_->client_bytes; }
  std::size_t call_bytes() const { return table_->call_bytes; }
  // Make fresh memory in a slot of that size, aligned for std::max_align_t.
  void start_client(std::byte* slot) const { table_->start_client(slot); }
  void start_call(std::byte* slot) const { table_->start_call(slot); }

  Decision after(std::byte* client, std::byte* call, const Attempt& attempt, Rng& rng) const {
    return table_->after(value_.get(), client, call, attempt, rng);
  }
  // Does it want to be asked before a send? If not, `before` lets everything through.
  bool gates() const { return table_->gates; }
  Decision before(std::byte* client, std::byte* call, const Sending& sending, Rng& rng) const {
    return table_->before(value_.get(), client, call, sending, rng);
  }
  void abandoned(std::byte* client, std::byte* call, Instant now) const {
    table_->abandoned(value_.get(), client, call, now);
  }
  const RetryTable* retry_table() const { return table_->retry_table(value_.get()); }  // none: always ask
  Contract contract() const { return table_->contract(value_.get()); }
  friend std::string to_string(const AnyPolicy& p) { return p.table_->text(p.value_.get()); }
  friend bool operator==(const AnyPolicy& a, const AnyPolicy& b) {
    return a.table_ == b.table_ && a.table_->equal(a.value_.get(), b.value_.get());
  }

 private:
  struct Functions {
    std::size_t client_bytes, call_bytes;
    void (*start_client)(std::byte*);
    void (*start_call)(std::byte*);
    bool gates;
    Decision (*after)(const void*, std::byte*, std::byte*, const Attempt&, Rng&);
    Decision (*before)(const void*, std::byte*, std::byte*, const Sending&, Rng&);
    void (*abandoned)(const void*, std::byte*, std::byte*, Instant);
    const RetryTable* (*retry_table)(const void*);
    Contract (*contract)(const void*);
    std::string (*text)(const void*);
    bool (*equal)(const void*, const void*);
  };

  template <class T>
  static constexpr std::size_t bytes = std::is_empty_v<T> ? 0 : sizeof(T);
  template <class T>
  static void make(std::byte* slot) {
    if constexpr (!std::is_empty_v<T>) ::new (slot) T();
  }
  template <class T>
  static T& in(std::byte* slot, T& nothing) {
    if constexpr (std::is_empty_v<T>)
      return nothing;
    else
      return *std::launder(reinterpret_cast<T*>(slot));
  }
  template <class P>
  static const P& as(const void* value) {
    return *static_cast<const P*>(value);
  }

  template <class P>
  static constexpr Functions table_of = {
      bytes<typename P::Client>,
      bytes<typename P::Call>,
      &make<typename P::Client>,
      &make<typename P::Call>,
      Gatekeeper<P>,
      [](const void* value, std::byte* client, std::byte* call, const Attempt& attempt, Rng& rng) {
        typename P::Client no_client{};
        typename P::Call no_call{};
        return as<P>(value).after(in(client, no_client), in(call, no_call), attempt, rng);
      },
      [](const void* value, std::byte* client, std::byte* call, const Sending& sending, Rng& rng) {
        if constexpr (Gatekeeper<P>) {
          typename P::Client no_client{};
          typename P::Call no_call{};
          return as<P>(value).before(in(client, no_client), in(call, no_call), sending, rng);
        } else {
          return Decision::wait({});
        }
      },
      [](const void* value, std::byte* client, std::byte* call, Instant now) {
        if constexpr (Abandonable<P>) {
          typename P::Client no_client{};
          typename P::Call no_call{};
          as<P>(value).abandoned(in(client, no_client), in(call, no_call), now);
        }
      },
      [](const void* value) -> const RetryTable* {
        if constexpr (Tabled<P>)
          return &as<P>(value).retry_table();
        else
          return nullptr;
      },
      [](const void* value) { return as<P>(value).contract(); },
      [](const void* value) -> std::string { return to_string(as<P>(value)); },
      [](const void* a, const void* b) { return as<P>(a) == as<P>(b); },
  };

  std::shared_ptr<const void> value_;
  const Functions* table_;
};

}  // namespace retrygate
