// One GoogleTest case per invariant, for a policy or a retry loop of your own:
//
//   #include "properties/gtest.hpp"
//   RETRYGATE_CHECK(Mine, MyPolicy{.base = retrygate::Duration::ms(100)})
//
// Link retrygate::gtest and GTest::gtest_main. A broken MUST fails its case, with the least input that shows
// it; what the contract does not promise, or too few draws could not decide, is skipped. The environment may
// set RETRYGATE_SEED (1), RETRYGATE_CASES (200) and RETRYGATE_STRICT (1: a broken SHOULD fails too).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include "properties/check.hpp"

namespace retrygate {

class InvariantTest : public testing::Test {
 public:
  InvariantTest(const Invariant& invariant, std::function<Subject()> make)
      : invariant_(invariant), make_(std::move(make)) {}

  void TestBody() override {
    Options options;
    options.seed = Seed{number("RETRYGATE_SEED", 1)};
    options.cases = static_cast<int>(number("RETRYGATE_CASES", 200));
    // Told before smaller cases are tried: it is on the screen even if one of those kills the process.
    options.first_failure = [](const Invariant& i, const std::string& text) {
      std::cerr << i.id << " fails first with: " << text << std::endl;
    };
    const VerdictRow row = check_one(invariant_, make_(), options);
    switch (row.verdict) {
      case Verdict::holds:
        return;
      case Verdict::not_promised:
        GTEST_SKIP() << "not promised";
      case Verdict::unsure:
      case Verdict::deviates:
        GTEST_SKIP() << to_string(row.verdict) << ": " << row.note;
      case Verdict::fails:
        if (invariant_.level == Level::should && number("RETRYGATE_STRICT", 0) == 0) {
          std::cout << "SHOULD, and does not: " << row.counterexample.shrunk << '\n';
          return;
        }
        ADD_FAILURE() << invariant_.claim << "\n  least case: " << row.counterexample.shrunk
                      << "\n  why it matters: " << invariant_.why << " (" << invariant_.source << ")"
                      << "\n  repeat: RETRYGATE_SEED=" << options.seed.value
                      << " RETRYGATE_CASES=" << options.cases << " <this program> --gtest_filter=" << name();
        return;
      case Verdict::broken:
        ADD_FAILURE() << "the checker failed: " << row.note;
    }
  }

 private:
  static std::uint64_t number(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  }
  static std::string name() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    return std::string(info->test_suite_name()) + '.' + info->name();
  }

  const Invariant& invariant_;
  std::function<Subject()> make_;
};

// Registers the cases NAME.cap_respected, NAME.survives ...; before RUN_ALL_TESTS.
inline bool register_invariants(const char* name, const std::function<Subject()>& make, const char* file,
                                int line) {
  for (const Invariant& invariant : invariants()) {
    std::string id(invariant.id);
    std::replace(id.begin(), id.end(), '-', '_');
    testing::RegisterTest(
        name, id.c_str(), nullptr, nullptr, file, line,
        [&invariant, make]() -> InvariantTest* { return new InvariantTest(invariant, make); });
  }
  return true;
}

}  // namespace retrygate

#define RETRYGATE_CHECK(name, ...)                                                               \
  [[maybe_unused]] static const bool retrygate_checks_##name = ::retrygate::register_invariants( \
      #name, [] { return ::retrygate::subject_of(#name, __VA_ARGS__); }, __FILE__, __LINE__);
