// The texts that come from outside, each with the function that reads it: whatever the bytes are, it returns
// without a crash, a hang or a growth of memory beyond its input.
#pragma once

#include <span>
#include <string_view>

namespace retrygate::ci {

struct FuzzTarget {
  std::string_view id;  // the name of its folder in corpus/
  void (*read)(std::string_view bytes);
};
std::span<const FuzzTarget> fuzz_targets();

}  // namespace retrygate::ci
