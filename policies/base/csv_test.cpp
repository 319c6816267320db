#include "policies/base/csv.hpp"

#include <gmock/gmock.h>

#include "policies/base/hash.hpp"

namespace retrygate {
namespace {

std::vector<std::string> texts_of(std::string_view line) {
  std::vector<std::string> texts;
  for (const CsvCell& cell : csv_row(line, "x.csv", 3)) texts.push_back(cell.text);
  return texts;
}

// The rules and the quoted line are those of RFC 4180, section 2.
TEST(Csv, CellsAsSpreadsheetsWriteThem) {
  using testing::ElementsAre;
  EXPECT_THAT(texts_of("aaa,bbb,ccc\r"), ElementsAre("aaa", "bbb", "ccc"));
  EXPECT_THAT(texts_of("\"aaa\",\"b\"\"bb\",\"c,cc\""), ElementsAre("aaa", "b\"bb", "c,cc"));
  EXPECT_THAT(texts_of(" 1 ,\t2, "), ElementsAre("1", "2", ""));
  EXPECT_THAT(texts_of(",,"), ElementsAre("", "", ""));
  EXPECT_THAT(texts_of(""), ElementsAre(""));
  EXPECT_THAT(texts_of("\"no end"), ElementsAre("no end"));
  EXPECT_EQ(csv_row("1,  22", "x.csv", 3)[1].where, (Where{"x.csv", 3, 5}));
}

TEST(Hash, IsWrittenWithAllItsDigits) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0x0123456789abcdef), "0123456789abcdef");
  // The offset basis is the hash of nothing (draft-eastlake-fnv, section 5).
  EXPECT_EQ(hex(fnv1a("")), "cbf29ce484222325");
}

}  // namespace
}  // namespace retrygate
