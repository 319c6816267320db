// Deciding by name: each method against other programs, and what it does with too little.
#include "stats/methods.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/decide.hpp"
#include "stats/until_decided.hpp"

namespace retrygate::stats {
namespace {

Ruling ruled(const Question& q) { return decide(std::vector{q}, Seed{1}, {.threads = 1})->front(); }

Question about(const std::vector<double>& differences, Deciding method, double margin) {
  Question q;
  q.pairs = {std::vector<double>(differences.size(), 0), differences, false};
  q.method = method;
  q.margin = margin;
  return q;
}

const std::vector<double> twelve = {1.1, -0.4, 2.3, 3.7, 0.9, -1.6, 2.8, 4.2, 1.9, 0.3, 5.1, -0.7};

// R 4.2.2: wilcox.test(d, conf.int = TRUE, conf.level = 0.9, exact = TRUE), and mu = 0.5, "greater".
TEST(Methods, SignedRankIsWilcoxonsWithThePseudomedian) {
  const Ruling r = ruled(about(twelve, Deciding::signed_rank, 0.5));
  EXPECT_EQ(r.method, "signed rank");
  EXPECT_EQ(r.law, "exact");
  EXPECT_NEAR(r.effect, 1.625, 1e-8);
  EXPECT_NEAR(*r.low, 0.35, 1e-8);
  EXPECT_NEAR(*r.high, 2.8, 1e-8);
  EXPECT_NEAR(*r.p, 0.054931640625, 1e-12);
}

// Order statistics 3 and 10 of 12: pbinom(2, 12, 0.5) = 0.0193, pbinom(3, 12, 0.5) = 0.0730. 8 of 12 lie
// above 0.5: binom.test(8, 12, alternative = "greater").
TEST(Methods, SignTestIsAboutTheMedian) {
  const Ruling r = ruled(about(twelve, Deciding::sign, 0.5));
  EXPECT_NEAR(*r.low, -0.4, 1e-8);
  EXPECT_NEAR(*r.high, 3.7, 1e-8);
  EXPECT_NEAR(r.effect, (1.1 + 1.9) / 2, 1e-8);
  EXPECT_NEAR(*r.p, 0.19384765625, 1e-12);
}

TEST(Methods, SignFlipsAreAboutTheMean) {
  const Question q = about(twelve, Deciding::sign_flips, 0.5);
  const Ruling r = ruled(q);
  EXPECT_EQ(r.law, "all sign flips");
  EXPECT_NEAR(r.effect, 19.6 / 12, 1e-8);
  const auto p = [&](double m, bool greater) {
    std::vector<double> x = twelve;
    for (double& v : x) v -= m;
    const CentreTest test = test_centre(Deciding::sign_flips, x);
    return greater ? test.p_greater : test.p_less;
  };
  EXPECT_LE(p(*r.low - 1e-6, true), 0.05);
  EXPECT_GT(p(*r.low + 1e-6, true), 0.05);
  EXPECT_LE(p(*r.high + 1e-6, false), 0.05);
  EXPECT_GT(p(*r.high - 1e-6, false), 0.05);
  EXPECT_EQ(*r.p, p(0.5, true));
  // Of a ratio: of the means.
  Question ratio = q;
  ratio.pairs.relative = true;
  for (std::size_t i = 0; i < twelve.size(); ++i) {
    ratio.pairs.baseline[i] = 10;
    ratio.pairs.candidate[i] = 10 + twelve[i];
  }
  ratio.margin = 0.05;
  EXPECT_NEAR(ruled(ratio).effect, 19.6 / 120, 1e-9);
  EXPECT_NEAR(*ruled(ratio).low, *r.low / 10, 1e-8);
  EXPECT_NEAR(*ruled(ratio).p, *r.p, 1e-12);
}

TEST(Methods, TooFewSeedsHaveNoBoundByRanks) {
  const Ruling r = ruled(about({1, 2, 3, 4}, Deciding::signed_rank, 0));
  EXPECT_FALSE(r.low);
  EXPECT_FALSE(r.high);
  EXPECT_EQ(r.answer, Answer::inconclusive);
  EXPECT_NE(r.note.find("too few"), std::string::npos);
}

TEST(Methods, EachCanPassFailAndStayOpen) {
  for (const Method& method : methods()) {
    if (method.deciding == Deciding::paired_shares) continue;
    std::vector<double> x;
    for (int i = 0; i < 80; ++i) x.push_back(1 + std::sin(7.0 * i));
    EXPECT_EQ(ruled(about(x, method.deciding, 5)).answer, Answer::pass) << method.id;
    EXPECT_EQ(ruled(about(x, method.deciding, 0.2)).answer, Answer::fail) << method.id;
    EXPECT_EQ(ruled(about(x, method.deciding, 1.02)).answer, Answer::inconclusive) << method.id;
    EXPECT_FALSE(ruled(about(x, method.deciding, 1)).law.empty()) << method.id;
    EXPECT_FALSE(ruled(about(x, method.deciding, 1)).assumes.empty()) << method.id;
  }
  EXPECT_EQ(*find_method("signed-rank", {}), Deciding::signed_rank);
  EXPECT_FALSE(find_method("signed_rank", {}));
}

// R 4.2.2: the skewness of type 2 is 3.697, t.test(x, conf.level = 0.9) gives [-0.82083, 6.15417] around 8/3.
TEST(Methods, ALongTailThatFewSeedsDoNotShowWidensItsBound) {
  const std::vector<double> x = {0, 0, 0, 0, 0, 0, 0, 0, 0.1, -0.1, 1, 2, 3, 4, 30};
  const std::vector<double> plain = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 30};
  const Studentized s = estimate({std::vector<double>(15, 0), plain, false});
  EXPECT_NEAR(s.skewness, 3.6967527595104293, 1e-12);
  const Widening w = widening(s, 15, skewness_at_once);
  EXPECT_EQ(w.low, 1);
  EXPECT_EQ(w.high, 4);
  EXPECT_EQ(w.seeds, 415u);  // 5 + 30 * 3.697^2 = 414.98
  EXPECT_EQ(widening(s, 415, skewness_at_once).high, 1);
  EXPECT_EQ(widening(s, 9, skewness_at_once).low, 4);
  const Opinion t = student_opinion(about(plain, Deciding::paired_mean, 0), s, w);
  EXPECT_NEAR(*t.low, -0.82083188749515845, 1e-12);
  EXPECT_NEAR(*t.high, 8.0 / 3 + 4 * (6.15416522082849227 - 8.0 / 3), 1e-12);
  // Mirrored, it is the other bound.
  std::vector<double> mirrored = x;
  for (double& v : mirrored) v = -v;
  const Ruling up = ruled(about(x, Deciding::paired_mean, 1)),
               down = ruled(about(mirrored, Deciding::paired_mean, 1));
  EXPECT_NEAR(*up.high, -*down.low, 1e-12);
  EXPECT_NEAR(*up.low, -*down.high, 1e-12);
  EXPECT_GT(*up.high - up.effect, 3 * (up.effect - *up.low));
}

Question shares(std::size_t n, std::size_t to_yes, std::size_t to_no, double margin) {
  Question q;
  q.method = Deciding::paired_shares;
  q.margin = margin;
  for (std::size_t i = 0; i < n; ++i) {
    q.pairs.baseline.push_back(i < to_yes ? 0 : i < to_yes + to_no || i % 2 == 0 ? 1 : 0);
    q.pairs.candidate.push_back(i < to_yes ? 1 : i < to_yes + to_no ? 0 : q.pairs.baseline.back());
  }
  return q;
}

TEST(Shares, PassFailAndInconclusive) {
  EXPECT_EQ(ruled(shares(200, 0, 0, 0.02)).answer, Answer::pass);
  EXPECT_EQ(ruled(shares(200, 30, 2, 0.02)).answer, Answer::fail);
  const Ruling open = ruled(shares(200, 8, 2, 0.05));
  EXPECT_EQ(open.answer, Answer::inconclusive);
  EXPECT_GT(open.seeds_needed, 200u);
  EXPECT_EQ(open.method, "paired shares");
  EXPECT_EQ(open.law, "exact");
  EXPECT_DOUBLE_EQ(open.effect, 0.03);
  EXPECT_EQ(open.note, "8 of 200 seeds turned from no to yes, 2 from yes to no");
  // No seed differs: 59 seeds bound the share by 4.95 %.
  EXPECT_EQ(ruled(shares(59, 0, 0, 0.05)).answer, Answer::pass);
  EXPECT_EQ(ruled(shares(58, 0, 0, 0.05)).answer, Answer::inconclusive);
  EXPECT_EQ(ruled(shares(200, 0, 0, 0.01)).answer, Answer::inconclusive);
  EXPECT_EQ(ruled(shares(200, 0, 0, 0)).answer, Answer::inconclusive);
}

TEST(Shares, HigherIsBetterAndOtherQuestions) {
  Question q = shares(200, 2, 30, 0.02);
  EXPECT_EQ(ruled(q).answer, Answer::pass);
  q.lower_is_better = false;
  EXPECT_EQ(ruled(q).answer, Answer::fail);
  q.asking = Asking::better;
  EXPECT_EQ(ruled(q).answer, Answer::fail);
  q.lower_is_better = true;
  EXPECT_EQ(ruled(q).answer, Answer::pass);
  q.asking = Asking::equivalent;
  EXPECT_EQ(ruled(q).answer, Answer::fail);
  q.margin = 0.3;
  EXPECT_EQ(ruled(q).answer, Answer::pass);
}

// binom.test(9, 10, alternative = "greater") in R: 11 / 1024.
TEST(Shares, McNemarStandsBesideWhereNoMarginIsAllowed) {
  const Ruling r = ruled(shares(100, 9, 1, 0));
  ASSERT_EQ(r.opinions.size(), 2u);
  EXPECT_EQ(r.opinions[1].method, "McNemar");
  EXPECT_NEAR(r.opinions[1].p, 11 / 1024.0, 1e-12);
  EXPECT_EQ(ruled(shares(100, 9, 1, 0.01)).opinions.size(), 1u);
}

TEST(Shares, LookedAtAgainAndAgain) {
  const auto now = [](const Question& q) { return decide_so_far(std::vector{q})->front(); };
  EXPECT_EQ(now(shares(50, 0, 0, 0.05)).answer, Answer::inconclusive);
  EXPECT_EQ(now(shares(200, 0, 0, 0.05)).answer, Answer::pass);
  EXPECT_EQ(now(shares(100, 40, 0, 0.05)).answer, Answer::fail);
}

}  // namespace
}  // namespace retrygate::stats
