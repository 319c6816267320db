// What an outcome says about a retry: was the request sent at all, does the server ask for less load?
#pragma once

#include "policies/attempt.hpp"

namespace retrygate {

// No byte of the request reached the server: a repeat is safe whatever the request does. Name resolution,
// connecting and the TLS handshake come before the request. (TLS 1.3 early data is sent by no client here.)
constexpr bool surely_not_sent(Status status) {
  if (status.kind() != Status::Kind::transport) return false;
  switch (static_cast<TransportError>(status.code())) {
    case TransportError::dns:
    case TransportError::connect_refused:
    case TransportError::connect_timeout:
    case TransportError::tls:
      return true;
    default:
      return false;
  }
}

// The caller gave up; nothing may follow.
constexpr bool cancelled(Status status) { return status == Status::transport(TransportError::cancelled); }

// Nobody answered in time: the kind of failure for which AWS's quota charges more.
constexpr bool timed_out(Status status) {
  return status == Status::transport(TransportError::timeout) ||
         status == Status::transport(TransportError::connect_timeout);
}

// The server says that it is asked too often: 429 (RFC 6585, section 4) and RESOURCE_EXHAUSTED.
constexpr bool throttled(Status status) { return status == Status::http(429) || status == Status::grpc(8); }

// The server took the request on, whatever came of it: neither refused for load (429, 503,
// RESOURCE_EXHAUSTED, UNAVAILABLE) nor lost on the way.
constexpr bool accepted(Status status) {
  return status.kind() != Status::Kind::transport && !throttled(status) && status != Status::http(503) &&
         status != Status::grpc(14);
}

}  // namespace retrygate
