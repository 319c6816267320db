#include "stats/procedure.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "policies/base/json.hpp"

namespace retrygate::stats {
namespace {

TEST(Procedures, TheGuideTellsTheSame) {
  const auto guide = read_file(std::string(RETRYGATE_SOURCE_DIR) + "/stats/README.md");
  ASSERT_TRUE(guide);
  for (const Procedure& p : procedures()) {
    const std::string row = fmt::format("| `{}` | {} | {} | {} |", p.id, p.summary, p.assumes, p.source);
    EXPECT_NE(guide->find(row), std::string::npos) << row;
  }
}

// Too little, too equal, too large: an answer with a state or an error of the user, never a crash or a NaN
// (run() asserts that).
TEST(Procedures, DegenerateSamplesAreAnsweredOrRefused) {
  const char* const lists[] = {"[]",
                               "[3]",
                               "[0, 0]",
                               "[3, 3, 3]",
                               "[1e300, 1e300]",
                               "[1e300, -1e300, 0]",
                               "[5e-324, 0, 5e-324]",
                               "[1, 2]",
                               "[2, 1, 0.5]",
                               "\"text\"",
                               "[null]"};
  const char* const levels[] = {"{}", R"({"conf_level": 0.9999999, "p": 0.5, "k": 1})",
                                R"({"conf_level": 1})"};
  for (const Procedure& p : procedures()) {
    for (const char* x : lists) {
      for (const char* y : lists) {
        for (const char* params : levels) {
          const std::string text = fmt::format(
              R"({{"x": {0}, "y": {1}, "groups": [{0}, {1}], "table": [{0}, {1}], "params": {2}}})", x, y,
              params);
          SCOPED_TRACE(fmt::format("{} {}", p.id, text));
          const auto result = run(p, *parse_json(text, "case"));
          EXPECT_TRUE(result || !result.error().empty());
        }
      }
    }
  }
}

}  // namespace
}  // namespace retrygate::stats
