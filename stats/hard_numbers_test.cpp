// Large offsets, huge and tiny values, ties, one value or two, constants: every procedure answers with
// numbers, a state or an error of the user, and decisions do not depend on the unit that things are measured
// in.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policies/base/json.hpp"
#include "stats/decide.hpp"
#include "stats/methods.hpp"
#include "stats/procedure.hpp"
#include "stats/sequential.hpp"
#include "stats/until_decided.hpp"

namespace retrygate::stats {
namespace {

// run() asserts that no result holds a NaN.
TEST(HardNumbers, EveryProcedureAnswersOrRefuses) {
  const char* const hard[] = {"[1]",
                              "[2]",
                              "[1, 2]",
                              "[1e16, 1e16, 10000000000000002, 1e16]",
                              "[1000000000.1, 1000000000.2, 1000000000.1, 1000000000.3]",
                              "[1e300, 1e-300, -1e300, 0, 1e-300]",
                              "[1e308, -1e308, 1e308]",
                              "[1e200, 2e200, -3e200, 1e200]",
                              "[1e-200, 2e-200, -3e-200, 1e-200]",
                              "[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]",
                              "[1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3]",
                              "[\"Infinity\", 1, 2]",
                              "[0.1, 0.1, 0.1, 0.30000000000000004]"};
  for (const Procedure& p : procedures()) {
    for (const char* x : hard) {
      for (const char* y : hard) {
        const std::string text = fmt::format(
            R"({{"x": {0}, "y": {1}, "d": {0}, "groups": [{0}, {1}], "table": [{0}, {1}], "time": {0}, )"
            R"("event": {1}, "observed": {0}, "params": {{"p": 0.5, "draws": 50}}}})",
            x, y);
        SCOPED_TRACE(fmt::format("{} {}", p.id, text));
        const auto result = run(p, *parse_json(text, "case"));
        EXPECT_TRUE(result || !result.error().empty());
      }
    }
  }
}

// The prior is 10^170 times as wide as an observation: the log evidence is 1/2 - 170 log 10. And with an
// observation of 10^300 standard deviations it is no double any more.
TEST(HardNumbers, EvidenceOfPriorsOfAnyWidth) {
  EXPECT_NEAR(msprt_normal({1e-170, 1, 0}, std::vector{1e-170}).front().log_ratio, 0.5 - 170 * std::log(10.0),
              1e-9);
  EXPECT_NEAR(confidence_sequence({1, 1e-170, 0}, std::vector{3.0}, 0.5).front().high / 1e170,
              std::sqrt(2 * std::log(2.0)), 1e-9);
  const auto beyond = [](const char* text) {
    return run(*procedures().find("msprt_normal"), *parse_json(text, "case"));
  };
  EXPECT_FALSE(
      beyond(R"({"x": [0.1], "params": {"sigma": 1e-300, "tau": 0.5, "theta0": 0.5, "alpha": 0.05}})"));
}

// Differences with an easy answer under every method.
Question in_unit(double unit, double offset, double margin, Deciding method, bool relative) {
  Question q;
  q.method = method;
  q.pairs.relative = relative;
  for (int i = 0; i < 70; ++i) {
    q.pairs.baseline.push_back(unit * (offset + i % 13));
    q.pairs.candidate.push_back(unit * (offset + i % 13 + 2 + i * i % 7 * 0.25));
  }
  q.margin = relative ? margin / (offset + 6) : unit * margin;
  return q;
}

// Units are powers of two: others round differences, and rounding breaks the ties that ranks depend on.
TEST(HardNumbers, DecisionsDoNotDependOnUnitAndOffset) {
  for (const Method& method : methods()) {
    if (method.deciding == Deciding::paired_shares) continue;
    for (const bool relative : {false, true}) {
      const auto decided = [&](double unit, double offset, double margin) {
        return decide(std::vector{in_unit(unit, offset, margin, method.deciding, relative)}, Seed{1})
            ->front();
      };
      for (const auto& [margin, answer] : {std::pair(1.0, Answer::fail), {5.0, Answer::pass}}) {
        const Ruling plain = decided(1, 10, margin);
        EXPECT_EQ(plain.answer, answer) << method.id;
        for (const double unit : {0x1p-963, 0x1p-30, 0x1p963}) {
          const Ruling other = decided(unit, 10, margin);
          EXPECT_EQ(other.answer, answer) << method.id << ' ' << unit;
          EXPECT_NEAR(other.effect / (relative ? 1 : unit) / plain.effect, 1, 1e-9)
              << method.id << ' ' << unit;
          EXPECT_NEAR(*other.high / (relative ? 1 : unit) / *plain.high, 1, 1e-9) << method.id << ' ' << unit;
          EXPECT_NEAR(*other.p / *plain.p, 1, 1e-6) << method.id << ' ' << unit;
        }
        if (relative) continue;
        const Ruling far = decided(1, 1e9, margin);
        EXPECT_EQ(far.answer, answer) << method.id;
        EXPECT_NEAR(*far.high / *plain.high, 1, 1e-6) << method.id;
      }
    }
  }
}

TEST(HardNumbers, RulingsHoldNoNaN) {
  const std::vector<std::vector<double>> hard = {{0, 0},
                                                 {1, 2},
                                                 {1, 1e-300},
                                                 {1e150, -1e150, 0},
                                                 {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1e-320},
                                                 {1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 2, 2}};
  const auto sound = [](const std::optional<double>& x) { return !x || !std::isnan(*x); };
  for (const Method& method : methods()) {
    if (method.deciding == Deciding::paired_shares) continue;
    for (const auto& x : hard) {
      for (const Asking asking : {Asking::not_worse, Asking::better, Asking::equivalent}) {
        Question q;
        q.method = method.deciding;
        q.asking = asking;
        q.pairs = {std::vector<double>(x.size(), 0), x, false};
        for (const double margin : {0.0, 1e-300, 1.0}) {
          q.margin = margin;
          for (const Ruling& r :
               {decide(std::vector{q}, Seed{1})->front(), decide_so_far(std::vector{q})->front()})
            EXPECT_TRUE(!std::isnan(r.effect) && sound(r.low) && sound(r.high) && sound(r.p) &&
                        sound(r.p_adjusted))
                << method.id << ' ' << x.size() << ' ' << margin;
        }
      }
    }
  }
}

}  // namespace
}  // namespace retrygate::stats
