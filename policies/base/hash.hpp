// FNV-1a, 64 bits: names a text in a file or a seed; no protection against intent.
// Source: Fowler, Noll, Vo, Eastlake, "The FNV Non-Cryptographic Hash Algorithm", draft-eastlake-fnv.
#pragma once

#include <cstdint>
#include <string_view>

namespace retrygate {

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t from = 0xcbf29ce484222325) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return from;
}

}  // namespace retrygate
