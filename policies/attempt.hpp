// The words every policy speaks: how an attempt ended, and what the policy decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/units.hpp"

namespace retrygate {

enum class TransportError : std::uint8_t {
  dns,
  connect_refused,
  connect_timeout,
  tls,
  timeout,
  connection_reset,
  truncated,
  cancelled
};

// How one attempt ended: an HTTP status, a gRPC code, or a transport error.
class Status {
 public:
  enum class Kind : std::uint8_t { http, grpc, transport };

  static constexpr Status http(int code) { return Status(Kind::http, code); }  // 100..599
  static constexpr Status grpc(int code) { return Status(Kind::grpc, code); }  // 0 (OK) .. 16
  static constexpr Status transport(TransportError e) { return Status(Kind::transport, static_cast<int>(e)); }

  constexpr Kind kind() const { return kind_; }
  constexpr int code() const { return code_; }
  // HTTP 200..299, gRPC OK.
  constexpr bool succeeded() const {
    return kind_ == Kind::http ? code_ >= 200 && code_ <= 299 : kind_ == Kind::grpc && code_ == 0;
  }
  constexpr bool operator==(const Status&) const = default;

 private:
  constexpr Status(Kind kind, int code) : kind_(kind), code_(static_cast<std::int16_t>(code)) {}
  Kind kind_;
  std::int16_t code_;
};

// "503", "UNAVAILABLE", "connection-reset".
std::string to_string(Status);
// The inverse; nothing if `text` is none of these.
std::optional<Status> parse_status(std::string_view text);
std::vector<std::string_view> status_words();  // the gRPC codes and transport errors by name

struct Outcome {
  Status status = Status::http(200);
  // How long the server asks to wait, counted from the end of the attempt: its Retry-After header read by the
  // grammar of retry_after.hpp. Absent when there is no header or it is malformed.
  std::optional<Duration> retry_after = {};
  std::string_view retry_after_text = {};  // the header as sent; lives as long as the attempt is being judged
  bool operator==(const Outcome&) const = default;
};

// One finished attempt, as its policy sees it.
struct Attempt {
  std::int64_t number = 1;  // from 1: the first try
  Outcome outcome;
  bool idempotent = true;  // may the request be sent again without harm?
  Instant call_started;
  Instant finished;                     // now
  Instant deadline = Instant::never();  // the caller's; the policy may have its own too
};

// One attempt that is about to be sent, as a policy's gate sees it.
struct Sending {
  std::int64_t attempt = 1;  // from 1: the first try
  Instant now;
  Instant call_started;
  Instant deadline = Instant::never();  // the caller's
};

enum class Stop : std::uint8_t { success, attempts, deadline, not_retryable, budget, breaker, cancelled };
std::string_view to_string(Stop);

// Wait that long after the end of this attempt and send again, or stop.
class Decision {
 public:
  static constexpr Decision wait(Duration delay) { return Decision(delay, waits); }
  static constexpr Decision stop(Stop why) { return Decision(Duration{}, static_cast<std::uint8_t>(why)); }

  constexpr bool stops() const { return how_ != waits; }
  constexpr Duration delay() const { return delay_; }             // of a wait
  constexpr Stop why() const { return static_cast<Stop>(how_); }  // of a stop
  constexpr bool operator==(const Decision&) const = default;

 private:
  static constexpr std::uint8_t waits = 255;
  constexpr Decision(Duration delay, std::uint8_t how) : delay_(delay), how_(how) {}
  Duration delay_;
  std::uint8_t how_;
};

std::string to_string(const Decision&);  // "wait 100ms", "stop: attempts"

}  // namespace retrygate
