// The fuzzer's entry. One program for all targets: RETRYGATE_FUZZ_TARGET names the one to run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ci/fuzz/targets.hpp"

namespace {

const retrygate::ci::FuzzTarget& chosen() {
  const char* name = std::getenv("RETRYGATE_FUZZ_TARGET");
  for (const auto& target : retrygate::ci::fuzz_targets()) {
    if (name != nullptr && target.id == name) return target;
  }
  std::fputs("retrygate_fuzz: RETRYGATE_FUZZ_TARGET must be one of:", stderr);
  for (const auto& target : retrygate::ci::fuzz_targets())
    std::fprintf(stderr, " %.*s", static_cast<int>(target.id.size()), target.id.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const retrygate::ci::FuzzTarget& target = chosen();
  target.read({reinterpret_cast<const char*>(data), size});
  return 0;
}
