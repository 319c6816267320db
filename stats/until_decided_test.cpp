#include "stats/until_decided.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/distributions.hpp"

namespace retrygate::stats {
namespace {

Question drawn(std::uint64_t seed, std::size_t n, double by, double margin) {
  Rng rng(Seed{seed}, Stream::generator);
  Question q;
  for (std::size_t i = 0; i < n; ++i) {
    q.pairs.baseline.push_back(10);
    q.pairs.candidate.push_back(10 + by + normal_quantile(rng.unit() + 0x1p-54));
  }
  q.margin = margin;
  return q;
}

Ruling decided(const Question& q) { return decide_so_far(std::vector{q})->front(); }

// The boundary by the formula of the source, worked out in R 4.2.2:
// r2 <- (-2*log(.05)+log(-2*log(.05)+1))/200; n <- 200; sqrt(2*(n*r2+1)/(n^2*r2)*log(1+sqrt(n*r2+1)/.1))
TEST(Sequence, BoundaryAndItsInverse) {
  EXPECT_NEAR(sequence_boundary(200, 0.05), 0.19654033265627241, 1e-12);
  EXPECT_NEAR(sequence_boundary(2000, 0.05), 0.067555432323338369, 1e-12);
  for (const double a : {0.2, 0.05, 1e-6, 1e-30}) {
    EXPECT_NEAR(sequence_p(300, sequence_boundary(300, a)) / a, 1, 1e-9);
  }
  EXPECT_EQ(sequence_p(300, 0), 1);
  EXPECT_EQ(sequence_p(300, -1), 1);
}

TEST(Sequence, DecidesAtItsLooks) {
  EXPECT_EQ(decided(drawn(1, 49, 5, 1)).answer, Answer::inconclusive);
  EXPECT_EQ(decided(drawn(1, 49, 5, 1)).seeds_needed, 50u);
  EXPECT_EQ(decided(drawn(1, 50, 5, 1)).answer, Answer::fail);
  EXPECT_EQ(decided(drawn(1, 50, -5, 1)).answer, Answer::pass);
  EXPECT_EQ(decided(drawn(1, 2000, 1, 1)).answer, Answer::inconclusive);
}

// A seed that comes after the last look changes nothing.
TEST(Sequence, LooksOnlyWhereItSaidItWould) {
  Question q = drawn(1, 100, 0.3, 0.5);
  const Ruling before = decided(q);
  for (int i = 0; i < 49; ++i) {
    q.pairs.baseline.push_back(0);
    q.pairs.candidate.push_back(1e6);
  }
  EXPECT_EQ(decided(q).high, before.high);
}

TEST(Sequence, ADecisionStays) {
  Question q = drawn(1, 50, -5, 1);
  ASSERT_EQ(decided(q).answer, Answer::pass);
  const Question worse = drawn(2, 1000, 50, 1);
  q.pairs.baseline.insert(q.pairs.baseline.end(), worse.pairs.baseline.begin(), worse.pairs.baseline.end());
  q.pairs.candidate.insert(q.pairs.candidate.end(), worse.pairs.candidate.begin(),
                           worse.pairs.candidate.end());
  EXPECT_EQ(decided(q).answer, Answer::pass);
}

TEST(Sequence, ConstantDifferencesSpendTheirErrorOverTheLooks) {
  Question q;
  q.pairs = {std::vector<double>(50, 10), std::vector<double>(50, 11), false};
  q.margin = 0.5;
  EXPECT_EQ(decided(q).answer, Answer::inconclusive);  // at error 0.05 / 2, 72 seeds would do
  // After 50 more, at 0.05 / 6, fewer than 5 % can differ from 94 seeds on.
  q.pairs = {std::vector<double>(100, 10), std::vector<double>(100, 11), false};
  EXPECT_EQ(decided(q).answer, Answer::fail);
  q.deterministic = true;
  q.pairs = {{10}, {11}, false};
  EXPECT_EQ(decided(q).answer, Answer::fail);
  q.same_policy = true;
  EXPECT_EQ(decided(q).answer, Answer::pass);
}

TEST(Sequence, HolmCoversAllQuestions) {
  const Question borderline = drawn(3, 50, 1.42, 1);
  ASSERT_EQ(decided(borderline).answer, Answer::fail);
  std::vector<Question> family(1000, drawn(4, 50, -5, 1));
  family.push_back(borderline);
  const Ruling r = decide_so_far(family)->back();
  EXPECT_EQ(r.answer, Answer::inconclusive) << *r.p << " " << *r.p_adjusted;
}

// An event in 2 % of seeds stays away from 100 seeds with probability 0.13. At the eighth look the error
// spent is 0.05 / 72, and 0.98^400 = 0.00031 is less; at the seventh 0.05 / 56 = 0.00089, and 0.98^350 =
// 0.00085 is less too; at the sixth 0.05 / 42 = 0.0012, and 0.98^300 = 0.0023 is more.
TEST(Sequence, RareEventsNeedAsManySeedsAsTheyAreRare) {
  Question q;
  q.margin = 0.02;
  q.step = 1;
  q.pairs = {std::vector<double>(300, 0), std::vector<double>(300, 0), false};
  EXPECT_EQ(decided(q).answer, Answer::inconclusive);
  q.pairs = {std::vector<double>(350, 0), std::vector<double>(350, 0), false};
  EXPECT_EQ(decided(q).answer, Answer::pass);
}

// 1 of 100 differs by 40: at error 0.05 / 6 at most 6.65 % do, qbeta(1 - 0.05 / 6, 2, 99) in R.
TEST(Sequence, FewSeedsThatDifferSpendTheirErrorTheSameWay) {
  Question q;
  q.pairs = {std::vector<double>(100, 0), std::vector<double>(100, 0), false};
  q.pairs.candidate[7] = 40;
  EXPECT_NEAR(*decided(q).high, 40 * 0.066509132271, 1e-6);
}

// 40 looks at a true null, 400 runs: an error of at most 5 % a side stays below 44 of 400 with probability
// 1 - 1e-6 (binomial). The ordinary test, looked at as often, errs several times as often.
TEST(Sequence, FortyLooksAtATrueNull) {
  int failed = 0, passed = 0, ordinary = 0;
  for (std::uint64_t run = 0; run < 400; ++run) {
    const Question q = drawn(100 + run, 2000, 0, 0);
    const Ruling r = decided(q);
    failed += r.answer == Answer::fail;
    passed += r.answer == Answer::pass;
    double sum = 0, squares = 0;
    bool crossed = false;
    for (std::size_t i = 0; i < 2000; ++i) {
      const double d = q.pairs.candidate[i] - q.pairs.baseline[i];
      sum += d;
      squares += d * d;
      const auto n = static_cast<double>(i + 1);
      if ((i + 1) % 50 == 0) crossed = crossed || sum / std::sqrt(squares - sum * sum / n) > 1.645;
    }
    ordinary += crossed;
  }
  EXPECT_LT(failed, 44);
  EXPECT_LT(passed, 44);
  EXPECT_GT(ordinary, 60);
}

}  // namespace
}  // namespace retrygate::stats
