#include "properties/token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "policies/base/hash.hpp"
#include "properties/invariant.hpp"

namespace retrygate {
namespace {

template <class Number>
bool read_all(std::string_view text, Number& into, int base = 10) {
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, into, base);
  return fault == std::errc{} && at == end && !text.empty();
}

// Up to the next colon, which is taken away too.
std::string_view next_part(std::string_view& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(std::min(colon + 1, text.size()));
  return part;
}

constexpr int most_cases = 1'000'000;  // the limit of --cases

}  // namespace

std::uint32_t check_digits(std::string_view subject) {
  const std::uint64_t hash = fnv1a(subject);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

std::string to_string(const Token& t) {
  return fmt::format("{}:{}:{}:{:08x}{}{}", t.invariant, t.seed.value, t.cases, t.subject,
                     t.place.empty() ? "" : ":", t.place);
}

std::optional<Token> parse_token(std::string_view text) {
  Token token;
  token.invariant = next_part(text);
  const std::string_view seed = next_part(text), cases = next_part(text), subject = next_part(text);
  token.place = text;
  const bool good = !token.invariant.empty() && read_all(seed, token.seed.value) &&
                    read_all(cases, token.cases) && token.cases >= 1 && token.cases <= most_cases &&
                    subject.size() == 8 && read_all(subject, token.subject, 16) &&
                    token.place.find_first_not_of("0123456789.:") == std::string::npos;
  if (!good) return std::nullopt;
  return token;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,%+@";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

Result<Token> read_token(std::string_view text, std::string_view subject, const Where& where) {
  constexpr std::string_view what = "a token stands behind --replay in the 'repeat' line of a failure";
  const auto token = parse_token(text);
  if (!token) return failure(where, fmt::format("'{}' is no token", text), std::string(what));
  if (invariants().find(token->invariant) == nullptr)
    return failure(where, fmt::format("the token is about '{}', which is no invariant", token->invariant),
                   "it was made by another version of retrygate");
  if (token->subject != check_digits(subject))
    return failure(where, fmt::format("the token belongs to another subject than '{}'", subject),
                   "name the subject as it was written when the token was made");
  return *token;
}

}  // namespace retrygate
