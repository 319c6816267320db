#include "policies/base/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policies/base/shelf.hpp"
#include "policies/base/testing.hpp"

namespace retrygate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Config, TellsEveryMistakeWithItsPlace) {
  const auto file = parse_toml(
      "name = 5\n"
      "base = 100\n"
      "cap = \"5 parsecs\"\n"
      "factor = \"two\"\n"
      "max_attempts = 1.5\n"
      "idempotent = \"yes\"\n"
      "  jiter = \"full\"\n",
      "p.toml");
  ASSERT_TRUE(file);
  Errors complaints;
  Reader reader(*file, complaints);
  EXPECT_FALSE(reader.text("name"));
  EXPECT_FALSE(reader.duration("base"));
  EXPECT_FALSE(reader.duration("cap"));
  EXPECT_FALSE(reader.number("factor"));
  EXPECT_FALSE(reader.integer("max_attempts"));
  EXPECT_FALSE(reader.flag("idempotent"));
  EXPECT_FALSE(reader.text("jitter"));  // absent: no complaint
  reader.finish();
  EXPECT_EQ(to_string(complaints),
            "p.toml:1:8: error: 'name' must be a text, not a whole number\n"
            "p.toml:2:8: error: 'base' needs a unit\n"
            "  hint: write \"100ms\" or \"100s\", not 100\n"
            "p.toml:3:7: error: 'cap': '5 parsecs' is not a duration: unknown unit 'parsecs'\n"
            "  hint: write a number and one of ns us ms s m h, for example \"100ms\"\n"
            "p.toml:4:10: error: 'factor' must be a number, not a text\n"
            "p.toml:5:16: error: 'max_attempts' must be a whole number, without point or exponent\n"
            "p.toml:6:14: error: 'idempotent' must be true or false, not a text\n"
            "p.toml:7:3: error: unknown key 'jiter', did you mean 'jitter'?\n"
            "  hint: known: base, cap, factor, idempotent, jitter, max_attempts, name\n");
}

TEST(Config, ReadsEveryKind) {
  const auto file = parse_toml(
      "text = \"a\"\nwhole = -7\nnumber = 0.5\nflag = true\ntime = \"2s\"\none = \"x\"\nmany = [\"x\", "
      "\"y\"]\n[[row]]\nid = 1\n[[row]]\nid = 2\n[sub.second]\nz = 1\n[sub.first]\nz = 2\n",
      "k.toml");
  ASSERT_TRUE(file) << to_string(file.error());
  Errors complaints;
  Reader reader(*file, complaints);
  EXPECT_EQ(reader.text("text"), "a");
  EXPECT_EQ(reader.integer("whole"), -7);
  EXPECT_EQ(reader.number("whole"), -7.0);
  EXPECT_EQ(reader.number("number"), 0.5);
  EXPECT_EQ(reader.flag("flag"), true);
  EXPECT_EQ(reader.duration("time"), Duration::s(2));
  EXPECT_THAT(reader.texts("one"), ElementsAre("x"));
  EXPECT_THAT(reader.texts("many"), ElementsAre("x", "y"));
  EXPECT_EQ(reader.word("one", {"w", "x"}), 1U);
  auto rows = reader.tables("row");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].integer("id"), 2);
  auto members = reader.members("sub");
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].first, "second");  // the order of the file, not of the alphabet
  EXPECT_EQ(members[1].second.integer("z"), 2);
  reader.finish();
  EXPECT_EQ(to_string(complaints), "");
}

TEST(Config, RefusesNegativeDurationsAndInfinities) {
  const auto file = parse_toml("a = \"-1s\"\nb = inf\nc = nan\nd = true\n", "n.toml");
  ASSERT_TRUE(file);
  Errors complaints;
  Reader reader(*file, complaints);
  reader.duration("a");
  reader.number("b");
  reader.number("c");
  reader.duration("d");
  EXPECT_EQ(to_string(complaints),
            "n.toml:1:5: error: 'a' must not be negative\n"
            "n.toml:2:5: error: 'b' must be a finite number\n"
            "n.toml:3:5: error: 'c' must be a finite number\n"
            "n.toml:4:5: error: 'd' must be a duration such as \"100ms\", not true or false\n");
}

TEST(Config, SaysWhichFileCannotBeRead) {
  const auto missing = load_toml("/nonexistent/p.toml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(to_string(missing.error()), HasSubstr("/nonexistent/p.toml: error: cannot read this file"));
  const auto folder = load_toml("/");
  ASSERT_FALSE(folder);
  EXPECT_THAT(to_string(folder.error()), HasSubstr("cannot read this file"));
  const Scratch scratch;
  for (const char* nothing : {"", "\n\n", "# only a comment\n"}) {
    const auto empty = load_toml(scratch.file("empty.toml", nothing));
    ASSERT_FALSE(empty);
    EXPECT_THAT(to_string(empty.error()), HasSubstr("empty.toml:1:1: error: the file is empty"));
  }
}

TEST(Config, SyntaxErrorsHaveTheirPlace) {
  const auto file = parse_toml("a = 1\nb = = 2\n", "s.toml");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error()[0].where.file, "s.toml");
  EXPECT_EQ(file.error()[0].where.line, 2);
  EXPECT_GE(file.error()[0].where.column, 4);
}

TEST(Config, OverridesKnowTheirColumn) {
  const auto read = parse_overrides("base=100ms,n=3,f=0.5,on=true", {"--policy", 0, 7});
  ASSERT_TRUE(read);
  const Table& table = std::get<Table>(read->data);
  ASSERT_EQ(table.size(), 4U);
  EXPECT_EQ(std::get<std::string>(table[0].value.data), "100ms");
  EXPECT_EQ(table[0].where.column, 7);
  EXPECT_EQ(table[0].value.where.column, 12);
  EXPECT_EQ(std::get<std::int64_t>(table[1].value.data), 3);
  EXPECT_EQ(table[1].where.column, 18);
  EXPECT_EQ(std::get<double>(table[2].value.data), 0.5);
  EXPECT_EQ(std::get<bool>(table[3].value.data), true);
  // Not a finite number: stays a text.
  EXPECT_EQ(std::get<std::string>(std::get<Table>(parse_overrides("x=inf", {})->data)[0].value.data), "inf");
}

TEST(Config, OverridesTellEveryMistake) {
  const auto read = parse_overrides("base,=3,n=1,n=2,", {"--policy", 0, 1});
  ASSERT_FALSE(read);
  ASSERT_EQ(read.error().size(), 4U);
  EXPECT_EQ(read.error()[0].message, "'base' is not of the form key=value");
  EXPECT_EQ(read.error()[1].message, "'=3' is not of the form key=value");
  EXPECT_EQ(read.error()[2].message, "'n' is given twice");
  EXPECT_EQ(read.error()[3].message, "'' is not of the form key=value");
  EXPECT_FALSE(parse_overrides("", {}));
}

TEST(Config, OverridesWinKeyByKey) {
  const auto under = parse_overrides("a=1,b=2", {});
  const auto over = parse_overrides("b=3,c=4", {});
  const Value both = overlaid(*under, *over);
  const Table& table = std::get<Table>(both.data);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(std::get<std::int64_t>(table[1].value.data), 3);
  EXPECT_EQ(table[2].key, "c");
}

TEST(Shelf, DidYouMean) {
  EXPECT_EQ(did_you_mean("full-jiter", {"fixed", "full-jitter"}), ", did you mean 'full-jitter'?");
  EXPECT_EQ(did_you_mean("bsae", {"base", "cap"}), ", did you mean 'base'?");
  EXPECT_EQ(did_you_mean("something", {"base", "cap"}), "");
  EXPECT_EQ(did_you_mean("base", {}), "");
  EXPECT_EQ(did_you_mean("x", {"ms", "cap"}), "");  // every letter differs: no slip
}

}  // namespace
}  // namespace retrygate
