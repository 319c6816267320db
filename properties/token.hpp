// One failing case as a word that fits on a command line: `cap-respected:1:200:5f3a91c2:17:0.3`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policies/base/error.hpp"
#include "policies/base/rng.hpp"

namespace retrygate {

// INVARIANT:SEED:CASES:SUBJECT[:PLACE]. Only with the same subject and the same version does it name the same
// case.
struct Token {
  std::string invariant;  // id
  Seed seed{1};           // of the whole check, and how much was generated for it
  int cases = 200;
  std::uint32_t subject = 0;  // check digits made from the subject's name
  std::string place = {};     // of the case among those of the invariant; empty: all of them are tried
  bool operator==(const Token&) const = default;
};

std::uint32_t check_digits(std::string_view subject);
std::string to_string(const Token&);
std::optional<Token> parse_token(std::string_view text);  // nothing: this is no token
// As one word of a command line for a shell.
std::string shell_word(std::string_view);
// A token of this subject and of an invariant that we know; else what is wrong with it.
Result<Token> read_token(std::string_view text, std::string_view subject, const Where&);

}  // namespace retrygate
