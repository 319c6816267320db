// The examples in other languages, run where their interpreter is there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "policies/base/testing.hpp"
#include "policies/find_contract.hpp"
#include "properties/outside.hpp"

namespace retrygate {
namespace {

const std::string examples = RETRYGATE_SOURCE_DIR "/policies/adapters/examples/";

bool is_there(const std::string& program) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1 && {} >/dev/null 2>&1",
                                 program.substr(0, program.find(' ')), program)
                         .c_str()) == 0;
}

void check_example(const std::string& command) {
  const auto contract = find_contract(examples + "contract.toml", {});
  ASSERT_TRUE(contract) << to_string(contract.error());
  OutsideOptions options;
  options.contract_text = &contract->source;
  options.limits.answer = Duration::s(60);  // an interpreter may start slowly
  const auto result = check_program("exec:" + command, command, contract->contract, options);
  ASSERT_TRUE(result) << to_string(result.error());
  int held = 0;
  for (const VerdictRow& row : result->rows) {
    EXPECT_THAT(row.verdict, testing::AnyOf(Verdict::holds, Verdict::not_promised))
        << row.invariant->id << ": " << row.note << row.counterexample.shrunk;
    held += row.verdict == Verdict::holds ? 1 : 0;
  }
  EXPECT_GE(held, 12);
  EXPECT_LE(result->decisions, 60'000);
}

TEST(Adapters, ExampleInPython) {
  if (!is_there("python3 --version")) GTEST_SKIP() << "no python3 here";
  check_example("python3 '" + examples + "full_jitter.py'");
}

TEST(Adapters, ExampleInNode) {
  if (!is_there("node --version")) GTEST_SKIP() << "no node here";
  check_example("node '" + examples + "full_jitter.mjs'");
}

TEST(Adapters, ExampleInGo) {
  if (!is_there("go version")) GTEST_SKIP() << "no go here";
  const Scratch scratch;
  const std::string program = scratch.path() / "full_jitter_go";
  ASSERT_EQ(std::system(
                fmt::format("GO111MODULE=off GOFLAGS= go build -o '{}' '{}full_jitter.go'", program, examples)
                    .c_str()),
            0);
  check_example("'" + program + "'");
}

}  // namespace
}  // namespace retrygate
