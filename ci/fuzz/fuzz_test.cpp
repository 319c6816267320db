// Replays the corpus, and a few thousand deterministic mutations of it, in a process of its own with bounds
// on time and memory: what the fuzzer once found stays found, and a reader that crashes, hangs or grows on
// nearly valid bytes shows without the fuzzer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ci/fuzz/targets.hpp"
#include "policies/base/config.hpp"
#include "policies/base/rng.hpp"
#include "policies/base/testing.hpp"

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

constexpr rlim_t seconds_max = 60;  // of processor time, for all inputs of a target
// Beyond what the tests themselves have: a sanitizer reserves addresses without end, so there only time is
// bound.
constexpr rlim_t bytes_max = sanitized ? 0 : rlim_t{1} << 30;

// Does `read` return for every one of `texts`? In a child, which is told by the input that it does not
// survive.
std::string casualty(const std::vector<std::string>& texts,
                     const std::function<void(const std::string&)>& read) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit time{seconds_max, seconds_max}, none{0, 0};
    ::setrlimit(RLIMIT_CPU, &time);
    ::setrlimit(RLIMIT_CORE, &none);
    const rlimit memory{bytes_max, bytes_max};
    if (bytes_max > 0) ::setrlimit(RLIMIT_AS, &memory);
    for (std::uint32_t i = 0; i < texts.size(); ++i) {
      if (::write(pipe_ends[1], &i, sizeof i) != sizeof i) ::_exit(1);
      // What is thrown must not reach GoogleTest, which would go on with the other tests, in the child.
      try {
        read(texts[i]);
      } catch (...) {
        ::_exit(2);
      }
    }
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::uint32_t last = 0;
  while (::read(pipe_ends[0], &last, sizeof last) == sizeof last) {
  }
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return "died (status " + std::to_string(status) + ") of: " + texts[last];
}

class Fuzz : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Fuzz, CorpusAndItsMutationsAreRead) {
  const auto seeds = seeds_of(GetParam());
  ASSERT_FALSE(seeds.empty());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    texts.push_back(seeds[i]);
    for (std::uint64_t n = 0; n < 200; ++n) {
      Rng rng(Seed{1000 * i + n});
      texts.push_back(mutated(seeds[i], rng));
    }
  }
  EXPECT_EQ(casualty(texts, [](const std::string& text) { GetParam().read(text); }), "");
}

// A folder that no target reads would never be replayed.
TEST(FuzzTargets, AreTheFoldersOfTheCorpusAndOfTheReadme) {
  const auto readme = read_file((std::filesystem::path(RETRYGATE_SOURCE_DIR) / "ci/README.md").string());
  std::set<std::string> folders, ids;
  for (const auto& entry : std::filesystem::directory_iterator(corpus))
    folders.insert(entry.path().filename().string());
  for (const FuzzTarget& target : fuzz_targets()) {
    ids.emplace(target.id);
    EXPECT_NE(readme->find(fmt::format("`{}`", target.id)), std::string::npos) << target.id;
  }
  EXPECT_EQ(folders, ids);
}

// What it would look like.
TEST(FuzzBounds, ACrashAndAHungerForMemoryAreSeen) {
  const std::vector<std::string> texts = {"good", "bad", "good"};
  EXPECT_EQ(casualty(texts, [](const std::string&) {}), "");
  EXPECT_NE(casualty(texts,
                     [](const std::string& text) {
                       if (text == "bad") std::abort();
                     })
                .find("of: bad"),
            std::string::npos);
  if (bytes_max == 0) return;
  std::vector<char> hunger;  // outside of the function: what nobody can see need not be allocated
  EXPECT_NE(casualty(texts,
                     [&](const std::string& text) {
                       if (text == "bad") hunger.assign(2 * bytes_max, 'x');
                     })
                .find("of: bad"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& target) {
                           std::string name(target.param.id);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace retrygate::ci
