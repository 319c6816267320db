#include "policies/find_contract.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policies/base/testing.hpp"

namespace retrygate {
namespace {

using testing::HasSubstr;

class FindContract : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) { return scratch_.file(name, text); }
  static std::string faults(const std::string& reference) {
    const auto found = find_contract(reference, {"--contract", 1, 1});
    return found ? "" : to_string(found.error());
  }

 private:
  Scratch scratch_;
};

TEST_F(FindContract, AWholeFileATableOrOneOfSeveral) {
  const auto base = [](const std::string& reference) {
    const auto found = find_contract(reference, {"--contract", 1, 1});
    EXPECT_TRUE(found) << to_string(found.error());
    return found ? found->contract.base : std::nullopt;
  };
  EXPECT_EQ(base(file("a.toml", "base = \"1s\"\n")), Duration::s(1));
  EXPECT_EQ(base(file("a.json", R"({"base":"2s","jitter":{"kind":"additive","max":"1s"}})")), Duration::s(2));
  EXPECT_EQ(base(file("b.toml", "[contract]\nbase = \"3s\"\n")), Duration::s(3));
  EXPECT_EQ(base(file("c.toml", "[contract.one]\nbase = \"4s\"\n[policy.x]\nkind = \"fixed\"\n")),
            Duration::s(4));
  const std::string two = file("d.toml", "[contract.one]\nbase = \"5s\"\n[contract.two]\nbase = \"6s\"\n");
  EXPECT_EQ(base(two + "#two"), Duration::s(6));
  EXPECT_EQ(base(R"({"base":"7s"})"), Duration::s(7));
}

TEST_F(FindContract, FaultsHaveTheirPlaces) {
  const std::string two = file("d.toml", "[contract.one]\nbase = \"5s\"\n[contract.two]\nbasis = \"6s\"\n");
  EXPECT_THAT(faults(two), HasSubstr("--contract:1:1: error: "));
  EXPECT_THAT(faults(two), HasSubstr("has several contracts"));
  EXPECT_THAT(faults(two + "#tow"), HasSubstr("has no [contract.tow], did you mean 'two'?"));
  EXPECT_THAT(faults(two + "#two"), HasSubstr("d.toml:4:1: error: unknown key 'basis'"));
  EXPECT_THAT(faults("/nowhere.toml"), HasSubstr("/nowhere.toml"));
  EXPECT_THAT(faults(R"({"base":1})"), HasSubstr("--contract:1:9: error: "));
  EXPECT_THAT(faults(file("e.json", "{\"base\":1}")), HasSubstr("e.json:1:9: error: "));
  EXPECT_THAT(faults(file("f.toml", "a = 1\n")), HasSubstr("f.toml:1:1: error: unknown key 'a'"));
}

}  // namespace
}  // namespace retrygate
