#include "policies/base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace retrygate {
namespace {

using testing::ElementsAre;

std::string places(const Value& value) {
  std::string text = std::to_string(value.where.line) + ":" + std::to_string(value.where.column);
  if (const auto* items = std::get_if<Array>(&value.data)) {
    for (const Value& item : *items) text += " " + places(item);
  }
  if (const auto* members = std::get_if<Table>(&value.data)) {
    for (const Member& member : *members)
      text += " " + std::to_string(member.where.line) + ":" + std::to_string(member.where.column) + "=" +
              places(member.value);
  }
  return text;
}

TEST(Json, EveryValueKnowsItsPlace) {
  const auto value = parse_json("{\"a\\\"b\" : [1, -2.5e3,\n  \"x,:\", true,null],\n\"c\":{}}", "f.json");
  ASSERT_TRUE(value) << to_string(value.error());
  EXPECT_EQ(places(*value), "1:1 1:2=1:11 1:12 1:15 2:3 2:10 2:15 3:1=3:5");
}

TEST(Json, AReaderTakesItLikeToml) {
  const auto value = parse_json(R"({"base":"100ms","n":3,"x":[1,2.5],"odd":1})", "f.json");
  ASSERT_TRUE(value);
  Errors complaints;
  Reader reader(*value, complaints);
  EXPECT_EQ(reader.duration("base"), Duration::ms(100));
  EXPECT_EQ(reader.integer("n"), 3);
  EXPECT_THAT(reader.numbers("x"), ElementsAre(1, 2.5));
  reader.finish();
  EXPECT_EQ(to_string(complaints), "f.json:1:35: error: unknown key 'odd'\n  hint: known: base, n, x\n");
}

TEST(Json, FaultsHaveAPlace) {
  const auto first = [](std::string_view text) {
    const auto value = parse_json(text, "f.json", 7);
    return value ? "fine" : to_string(value.error().front().where);
  };
  EXPECT_EQ(first(""), "f.json:7:1");
  EXPECT_EQ(first("{\"a\":1,\n \"a\":2}"), "f.json:8:2");
  EXPECT_EQ(first("[1,\n 2"), "f.json:8:3");
  EXPECT_EQ(first("[1,]"), "f.json:7:4");
  EXPECT_EQ(first("{\"a\":\"\xff\"}"), "f.json:7:7");
  EXPECT_EQ(first("1e999"), "f.json:7:5");
  EXPECT_EQ(first("[1] 2"), "f.json:7:5");
  EXPECT_EQ(first(std::string(100000, '[')), "f.json:7:65");
  EXPECT_EQ(first(std::string(64, '[') + std::string(64, ']')), "fine");
}

TEST(Json, WritesBackWhatItRead) {
  const std::string text = R"({"z":1,"a":[0.1,1e+300,-5,true,null,"\u00e9\n"],"t":{}})";
  const auto value = parse_json(text, "f.json");
  ASSERT_TRUE(value);
  EXPECT_EQ(write_json(*value, Layout::compact), R"({"z":1,"a":[0.1,1e+300,-5,true,null,"é\n"],"t":{}})");
  const double infinite = std::numeric_limits<double>::infinity();
  const Table all = {member("x", std::vector<double>{infinite, -infinite}),
                     member("none", std::optional<double>{}), member("flag", true),
                     member("big", std::int64_t{1} << 62)};
  EXPECT_EQ(write_json(to_value(all)),
            "{\n \"x\": [\n  \"Infinity\",\n  \"-Infinity\"\n ],\n \"none\": null,\n \"flag\": true,\n"
            " \"big\": 4611686018427387904\n}");
}

}  // namespace
}  // namespace retrygate
