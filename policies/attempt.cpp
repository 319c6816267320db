#include "policies/attempt.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace retrygate {
namespace {

// gRPC status codes 0..16 (grpc.github.io/grpc/core/md_doc_statuscodes.html).
constexpr std::array<std::string_view, 17> grpc_names = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};
constexpr std::array<std::string_view, 8> transport_names = {
    "dns",     "connect-refused",  "connect-timeout", "tls",
    "timeout", "connection-reset", "truncated",       "cancelled"};

}  // namespace

std::string to_string(Status status) {
  const auto code = static_cast<std::size_t>(status.code());
  switch (status.kind()) {
    case Status::Kind::http:
      return std::to_string(status.code());
    case Status::Kind::grpc:
      return std::string(grpc_names.at(code));
    case Status::Kind::transport:
      return std::string(transport_names.at(code));
  }
  return "";
}

std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t i = 0; i < grpc_names.size(); ++i) {
    if (grpc_names[i] == text) return Status::grpc(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < transport_names.size(); ++i) {
    if (transport_names[i] == text) return Status::transport(static_cast<TransportError>(i));
  }
  int code = 0;
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, code);
  if (fault == std::errc{} && at == end && code >= 100 && code <= 599) return Status::http(code);
  return std::nullopt;
}

std::vector<std::string_view> status_words() {
  std::vector<std::string_view> words(grpc_names.begin(), grpc_names.end());
  words.insert(words.end(), transport_names.begin(), transport_names.end());
  return words;
}

std::string_view to_string(Stop why) {
  constexpr std::array<std::string_view, 7> names = {"success", "attempts", "deadline", "not-retryable",
                                                     "budget",  "breaker",  "cancelled"};
  return names.at(static_cast<std::size_t>(why));
}

std::string to_string(const Decision& decision) {
  if (decision.stops()) return fmt::format("stop: {}", to_string(decision.why()));
  return fmt::format("wait {}", to_string(decision.delay()));
}

}  // namespace retrygate
