// What the words of a report mean that are no name of anything: the second half of `explain`.
#pragma once

#include <span>
#include <string_view>

namespace retrygate::ci {

struct Term {
  std::string_view word, kind, text;
};
std::span<const Term> glossary();

}  // namespace retrygate::ci
