// The cases that RETRYGATE_CHECK makes: what the environment says is read, or fails them.
#include "properties/gtest.hpp"

#include <gtest/gtest-spi.h>

#include <cstdlib>

#include "policies/named.hpp"

namespace retrygate {
namespace {

TEST(GTestCases, AnEnvironmentThatIsNotUnderstoodFailsThem) {
  InvariantTest one(*invariants().find("delay-non-negative"), [] {
    return subject_of(*find_policy("fixed", {"test", 1, 1}));
  });
  for (const char* text : {"abc", "", "0", "-1", "20x", "1000001", "99999999999999999999"}) {
    setenv("RETRYGATE_CASES", text, 1);
    EXPECT_NONFATAL_FAILURE(one.TestBody(), "is no whole number from 1 to 1000000");
  }
  setenv("RETRYGATE_CASES", "20", 1);
  one.TestBody();
  unsetenv("RETRYGATE_CASES");
}

}  // namespace
}  // namespace retrygate
