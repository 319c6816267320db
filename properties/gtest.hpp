// One GoogleTest case per invariant, for a policy or a retry loop of your own:
//
//   #include "properties/gtest.hpp"
//   RETRYGATE_CHECK(Mine, MyPolicy{.base = retrygate::Duration::ms(100)})
//
// Link retrygate::gtest and GTest::gtest_main. A broken MUST fails its case, with the least input that shows
// it; what the contract does not promise, or too few draws could not decide, is skipped. The environment may
// set RETRYGATE_SEED (1), RETRYGATE_CASES (200), RETRYGATE_STRICT (1: a broken SHOULD fails too) and
// RETRYGATE_REPLAY (a token out of a failure: that case alone).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "properties/check.hpp"
#include "properties/last_words.hpp"

namespace retrygate {

class InvariantTest : public testing::Test {
 public:
  InvariantTest(const Invariant& invariant, std::function<Subject()> make)
      : invariant_(invariant), make_(std::move(make)) {}

  void TestBody() override {
    const auto seed = number("RETRYGATE_SEED", 1, 0, std::numeric_limits<std::uint64_t>::max());
    const auto cases = number("RETRYGATE_CASES", 200, 1, 1'000'000);
    const auto strict = number("RETRYGATE_STRICT", 0, 0, 1);
    if (!seed || !cases || !strict) return;
    Options options;
    options.seed = Seed{*seed};
    options.cases = static_cast<int>(*cases);
    // Told before smaller cases are tried: it is on the screen even if one of those kills the process.
    options.first_failure = [](const Invariant& i, const std::string& text) {
      std::cerr << i.id << " fails first with: " << text << std::endl;
    };
    // The process still dies by the signal: the line before says of what.
    const LastWords words;
    options.trying = [](const Invariant& i, const std::string& text) {
      LastWords::are(std::string(i.id) + ": " + text);
    };
    const Subject subject = make_();
    const VerdictRow row = checked(subject, options);
    switch (row.verdict) {
      case Verdict::holds:
        return;
      case Verdict::not_promised:
        GTEST_SKIP() << "not promised";
      case Verdict::unsure:
      case Verdict::deviates:
        GTEST_SKIP() << to_string(row.verdict) << ": " << row.note;
      case Verdict::fails:
        if (invariant_.level == Level::should && *strict == 0) {
          std::cout << "SHOULD, and does not: " << row.counterexample.shrunk << '\n';
          return;
        }
        ADD_FAILURE() << "promised: " << invariant_.claim << "\n  found: " << row.counterexample.shrunk
                      << (row.counterexample.elsewhere.empty() ? "" : "\n  elsewhere: ")
                      << row.counterexample.elsewhere << "\n  why it matters: " << invariant_.why << " ("
                      << invariant_.source << ")"
                      << "\n  repeat: RETRYGATE_REPLAY=" << row.counterexample.token
                      << " <this program> --gtest_filter=" << name();
        return;
      case Verdict::broken:
        ADD_FAILURE() << "the checker failed: " << row.note;
    }
  }

 private:
  // RETRYGATE_REPLAY is the token of one case: that case alone.
  VerdictRow checked(const Subject& subject, const Options& options) const {
    const char* replayed = std::getenv("RETRYGATE_REPLAY");
    if (replayed == nullptr) return check_one(invariant_, subject, options);
    const auto token = read_token(replayed, subject.name, {"RETRYGATE_REPLAY", 1, 1});
    if (!token) return {subject.name, &invariant_, Verdict::broken, to_string(token.error()), {}, {}};
    if (token->invariant != invariant_.id)
      return {subject.name, &invariant_, Verdict::not_promised, {}, {}, {}};
    return replay(*token, subject, options);
  }
  // What the environment says; anything but a whole number in the range fails the case.
  static std::optional<std::uint64_t> number(const char* variable, std::uint64_t otherwise,
                                             std::uint64_t least, std::uint64_t most) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return otherwise;
    const std::string_view all(text);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(all.data(), all.data() + all.size(), value);
    if (fault == std::errc{} && end == all.data() + all.size() && value >= least && value <= most)
      return value;
    ADD_FAILURE() << variable << "='" << all << "' is no whole number from " << least << " to " << most;
    return std::nullopt;
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
