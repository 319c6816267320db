// Replays the corpus, and a few thousand deterministic mutations of it: what the fuzzer once found stays
// found, and a reader that crashes on nearly valid bytes shows without the fuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "ci/fuzz/targets.hpp"
#include "policies/base/config.hpp"
#include "policies/base/rng.hpp"

namespace retrygate::ci {
namespace {

const std::filesystem::path corpus = std::filesystem::path(RETRYGATE_SOURCE_DIR) / "ci/fuzz/corpus";

std::vector<std::string> seeds_of(const FuzzTarget& target) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus / target.id))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const auto& file : files) texts.push_back(*read_file(file.string()));
  return texts;
}

// One to four small changes: a bit, a part cut out or repeated, a number at an edge, an end cut off.
std::string mutated(std::string text, Rng& rng) {
  constexpr std::string_view edges[] = {
      "-1", "0", "9223372036854775807", "1e308", "-0.0", "\"", "null", "\xff\xfe", "[[",
      "\n", "{", "99999999999"};
  for (std::size_t change = 1 + rng.below(4); change > 0; --change) {
    if (text.empty()) return text;
    const std::size_t at = rng.below(text.size()),
                      length = 1 + rng.below(std::min<std::size_t>(text.size() - at, 16));
    switch (rng.below(5)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << rng.below(8)));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.replace(at, length, edges[rng.below(std::size(edges))]);
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

class Fuzz : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Fuzz, CorpusAndItsMutationsAreRead) {
  const auto texts = seeds_of(GetParam());
  ASSERT_FALSE(texts.empty());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    GetParam().read(texts[i]);
    for (std::uint64_t n = 0; n < 200; ++n) {
      Rng rng(Seed{1000 * i + n});
      const std::string bytes = mutated(texts[i], rng);
      SCOPED_TRACE(bytes);
      GetParam().read(bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& target) {
                           std::string name(target.param.id);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace retrygate::ci
