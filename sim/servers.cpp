#include "sim/servers.hpp"

#include <filesystem>

namespace retrygate {

std::string folder_of(const Where& where) { return std::filesystem::path(where.file).parent_path().string(); }

std::string path_beside(const Where& where, const std::string& path) {
  return (std::filesystem::path(folder_of(where)) / path).string();
}

Refusal read_refusal(Reader& table, int status) {
  Refusal refusal{Status::http(status), {}};
  if (const Value* value = table.any("answer")) {
    const auto* code = std::get_if<std::int64_t>(&value->data);
    const auto* word = std::get_if<std::string>(&value->data);
    std::optional<Status> given;
    if (code != nullptr) given = parse_status(fmt::format("{}", *code));
    if (word != nullptr) given = parse_status(*word);
    if (given && !given->succeeded())
      refusal.status = *given;
    else
      table.fail("answer", "'answer' must be a failure",
                 "an HTTP status such as 503 or a transport error such as \"connect-refused\"");
  }
  if (table.has("retry_after")) {
    refusal.retry_after = table.duration("retry_after");
    if (refusal.retry_after && refusal.retry_after->ns() % 1'000'000'000 != 0)
      table.fail("retry_after", "'retry_after' must be whole seconds", "the header knows no fractions");
  }
  return refusal;
}

namespace {

// Complains about a key that must be there and is not.
void want(Reader& table, std::string_view key, bool required, std::string_view hint) {
  if (required && !table.has(key)) table.fail(key, fmt::format("'{}' is missing", key), std::string(hint));
}

}  // namespace

std::int64_t count(Reader& table, std::string_view key, std::int64_t least,
                   std::optional<std::int64_t> otherwise) {
  want(table, key, !otherwise, "a whole number");
  const std::int64_t n = table.integer(key).value_or(otherwise.value_or(least));
  if (n < least || n > many) {
    table.fail(key, fmt::format("'{}' must be {}..{}", key, least, many));
    return least;
  }
  return n;
}

double probability(Reader& table, std::string_view key, std::optional<double> otherwise) {
  want(table, key, !otherwise, "a probability, 0..1");
  const double p = table.number(key).value_or(otherwise.value_or(0));
  if (!(p >= 0 && p <= 1)) table.fail(key, fmt::format("'{}' must be a probability, 0..1", key));
  return p;
}

Law law(Reader& table, std::string_view key, std::optional<Law> otherwise) {
  want(table, key, !otherwise, "a time such as \"50ms\", or a law such as \"exponential 50ms\"");
  const auto text = table.text(key);
  if (!text) return otherwise.value_or(Law{});
  return keep(parse_law(*text, table.where(key)), table.complaints()).value_or(Law{});
}

}  // namespace retrygate
