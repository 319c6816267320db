// FNV-1a, 64 bits: names a text in a file or a seed; no protection against intent.
// Source: Fowler, Noll, Vo, Eastlake, "The FNV Non-Cryptographic Hash Algorithm", draft-eastlake-fnv.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace retrygate {

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t from = 0xcbf29ce484222325) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return from;
}

// 16 hexadecimal digits, as hashes and digests are written.
inline std::string hex(std::uint64_t hash) {
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; hash >>= 4) digits[i] = "0123456789abcdef"[hash & 15];
  return digits;
}

}  // namespace retrygate
