#include "ci/crew.hpp"

#include <gmock/gmock.h>

#include "ci/json_io.hpp"
#include "ci/samples.hpp"

namespace retrygate::ci {
namespace {

// Rank 0 of a crew whose other ranks have said what they say.
class WithOthers final : public Crew {
 public:
  explicit WithOthers(std::vector<std::string> others) : others_(std::move(others)) {}
  std::size_t rank() const override { return 0; }
  std::size_t size() const override { return others_.size() + 1; }
  std::vector<std::string> gather(const std::string& said) override {
    std::vector<std::string> all = {said};
    all.insert(all.end(), others_.begin(), others_.end());
    return all;
  }
  int agree(int said) override { return said; }

 private:
  std::vector<std::string> others_;
};

Result<std::string> missing() { return failure({"p.toml", 0, 0}, "cannot read this file", ""); }
const std::string same_error = "-p.toml: error: cannot read this file\n";

TEST(Crew, PartsInTheOrderOfTheRanks) {
  WithOthers crew({"+two", "+"});
  const Gathered all = gather_parts(crew, "one");
  EXPECT_EQ(all.errors, "");
  ASSERT_EQ(all.parts.size(), 3U);
  EXPECT_EQ(all.parts[1].source, "rank 1");
  EXPECT_EQ(all.parts[1].text, "two");
  EXPECT_EQ(all.parts[2].text, "");
}

TEST(Crew, WhatAllRanksFindIsSaidOnceAndWhatSomeFindWithTheirNumbers) {
  WithOthers alike({same_error, same_error});
  EXPECT_EQ(gather_parts(alike, missing()).errors, same_error.substr(1));
  WithOthers some({"+part", same_error});
  EXPECT_EQ(gather_parts(some, missing()).errors, "on ranks 0, 2 of 3:\n" + same_error.substr(1));
  WithOthers other({"-full\n"});
  EXPECT_EQ(gather_parts(other, "part").errors, "on rank 1 of 2:\nfull\n");
}

SampleTable small_table() {
  SampleTable table{{"requests", "completion_s"}, {}};
  table.cells.push_back(
      {"mine", "a \"law\", capped", "storm", {"clients=3", "limit=2"}, {7, 8}, {255, 16}, {}, {}});
  table.cells[0].samples = {{12, 13}, {0.1, std::nullopt}};
  return table;
}

TEST(Samples, CommaSeparatedValues) {
  EXPECT_EQ(samples_csv(small_table()),
            "policy,definition,scenario,params,seed,digest,requests,completion_s\n"
            "mine,\"a \"\"law\"\", capped\",storm,clients=3;limit=2,7,00000000000000ff,12,0.1\n"
            "mine,\"a \"\"law\"\", capped\",storm,clients=3;limit=2,8,0000000000000010,13,\n");
}

TEST(Samples, JsonLines) {
  const std::string lines = samples_json_lines(small_table());
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_THAT(lines, testing::StartsWith(
                         R"({"policy":"mine","definition":"a \"law\", capped","scenario":"storm",)"
                         R"("params":{"clients":"3","limit":"2"},"seed":7,"digest":"00000000000000ff",)"
                         R"("metrics":{"requests":12.0,"completion_s":0.1}})"));
  EXPECT_THAT(lines, testing::HasSubstr(R"("metrics":{"requests":13.0,"completion_s":null}})"));
}

}  // namespace
}  // namespace retrygate::ci
