// A subject that kills the process leaves a line that says what it was given.
#include "properties/last_words.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "policies/base/testing.hpp"
#include "properties/check.hpp"
#include "properties/mutants/mutant.hpp"

namespace retrygate {
namespace {

Options telling() {
  Options options;
  options.only = {"survives"};
  options.trying = [](const Invariant& i, const std::string& text) {
    LastWords::are(std::string(i.id) + ": " + text);
  };
  return options;
}

AnyPolicy dies_at_the_fifth(DelayFunction how) { return faulty(constant(Duration::ms(1)), how); }

TEST(LastWords, AreSaidBeforeTheSignalGoesOn) {
  const AnyPolicy policy = dies_at_the_fifth([](std::int64_t n, Rng&) {
    if (n == 5) std::abort();
    return Duration::ms(1);
  });
  EXPECT_EXIT(
      {
        const LastWords words;
        check(subject_of("dies", policy), telling());
      },
      testing::KilledBySignal(SIGABRT), "SIGABRT while trying survives: attempt 5");
}

// Recursion as deep as the attempt number: the stack ends first, and the handler has one of its own.
int depth(std::int64_t n) {
  volatile char room[4096];
  room[0] = static_cast<char>(n);
  return n == 0 ? room[0] : room[0] + depth(n - 1);
}

TEST(LastWords, AreSaidWhenTheStackIsFull) {
  if (sanitized) GTEST_SKIP() << "AddressSanitizer has the stack";
  const AnyPolicy policy = dies_at_the_fifth(
      [](std::int64_t n, Rng&) { return Duration::ns(1 + depth(n < 70 ? n : 1'000'000'000) % 2); });
  EXPECT_EXIT(
      {
        const LastWords words;
        check(subject_of("dies", policy), telling());
      },
      testing::KilledBySignal(SIGSEGV), "SIGSEGV while trying survives: attempt 70");
}

TEST(LastWords, AreNotHeardAfterwards) {
  if (sanitized) GTEST_SKIP() << "AddressSanitizer has words of its own";
  EXPECT_EXIT(
      {
        { const LastWords words; }
        std::raise(SIGFPE);
      },
      testing::KilledBySignal(SIGFPE), "^$");
}

}  // namespace
}  // namespace retrygate
