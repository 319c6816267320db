// How often the decisions and the intervals err where the truth is known. Prints Markdown tables; exit 1
// when a rate that is promised is not kept. Every row is deterministic.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ci/calibration/false_alarms.hpp"
#include "policies/named.hpp"
#include "sim/sweep.hpp"
#include "stats/bootstrap.hpp"
#include "stats/brunner_munzel.hpp"
#include "stats/decide.hpp"
#include "stats/distributions.hpp"
#include "stats/equivalence.hpp"
#include "stats/mann_whitney.hpp"
#include "stats/paired_shares.hpp"
#include "stats/parallel.hpp"
#include "stats/power.hpp"
#include "stats/proportions.hpp"
#include "stats/quantile_interval.hpp"
#include "stats/regression.hpp"
#include "stats/sample.hpp"
#include "stats/signed_rank.hpp"
#include "stats/student.hpp"
#include "stats/survival.hpp"
#include "stats/until_decided.hpp"

namespace retrygate::stats {
namespace {

// What ci/README.md promises, written here again: taken from the code under test it would move along with it.
constexpr double promised_error = 0.05;

// A measured rate, what was stated of it, and whether that is a promise.
enum class Stated { at_most, at_least, about };
struct Rate {
  Share seen;
  double stated = promised_error;
  Stated kind = Stated::at_most;
  bool promised = true;
};

// Kept unless the exact 99.9 % interval of the rate excludes what was stated.
bool kept(const Rate& rate) {
  const Interval i = clopper_pearson(rate.seen, 0.999);
  switch (rate.kind) {
    case Stated::at_most:
      return i.low <= rate.stated;
    case Stated::at_least:
      return i.high >= rate.stated;
    case Stated::about:
      return i.low <= rate.stated && rate.stated <= i.high;
  }
  return false;
}

int broken = 0;  // promises

// "5.33 % (3.08 .. 8.52)", with a mark when what was stated is not kept.
std::string cell(const Rate& rate) {
  const Interval i = clopper_pearson(rate.seen, 0.95);
  const bool good = kept(rate);
  if (!good && rate.promised) ++broken;
  return fmt::format("{:.2f} % ({:.2f} .. {:.2f}){}", 100 * rate.seen.value(), 100 * i.low, 100 * i.high,
                     good            ? ""
                     : rate.promised ? " **not kept**"
                                     : " (!)");
}

void head(const std::string& title, const std::string& columns) {
  fmt::print("\n{}\n\n| {} |\n|", title, columns);
  for (std::size_t n = 1 + static_cast<std::size_t>(std::count(columns.begin(), columns.end(), '|')); n > 0;
       --n)
    fmt::print(" --- |");
  fmt::print("\n");
}

template <class... Cells>
void row(const Cells&... cells) {
  (fmt::print("| {} ", cells), ...);
  fmt::print("|\n");
  std::fflush(stdout);
}

// Runs numbered 0 .. runs-1 on all cores; `one` says in which of `kinds` ways a run counts.
std::vector<Share> count(std::size_t runs, std::size_t kinds,
                         const std::function<std::vector<bool>(std::uint64_t)>& one) {
  std::vector<std::atomic<std::int64_t>> hits(kinds);
  constexpr std::size_t piece = 50;
  in_parallel((runs + piece - 1) / piece, 0, [&](std::size_t p) {
    for (std::size_t run = p * piece; run < std::min(runs, (p + 1) * piece); ++run) {
      const std::vector<bool> counts = one(run);
      for (std::size_t k = 0; k < kinds; ++k) hits[k] += counts[k] ? 1 : 0;
    }
  });
  std::vector<Share> all;
  for (const auto& hit : hits) all.push_back({hit.load(), static_cast<std::int64_t>(runs)});
  return all;
}

// Runs share the cores among themselves, and other opinions decide nothing.
constexpr DecideOptions alone{.threads = 1, .opinions = false};

double normal(Rng& rng) { return normal_quantile(rng.unit() + 0x1p-54); }

// A law of paired outcomes with its true mean difference.
struct Outcomes {
  std::string_view name;
  double effect;
  void (*draw)(Rng&, double& baseline, double& candidate);
  double step = 0;  // of what is counted
  Deciding method = Deciding::paired_mean;
};
const std::vector<Outcomes> laws = {
    {"normal", 0, [](Rng& r, double& b, double& c) { b = 10 + normal(r), c = 10 + normal(r); }},
    {"symmetric, heavy tails (t, 3)", 0,
     [](Rng& r, double& b, double& c) { b = 0, c = student_quantile(r.unit() + 0x1p-54, 3); }},
    {"skewed upwards (lognormal)", 1.6487212707001282,  // exp(1/2)
     [](Rng& r, double& b, double& c) { b = 0, c = std::exp(normal(r)); }},
    {"skewed downwards", -1.6487212707001282,
     [](Rng& r, double& b, double& c) { b = std::exp(normal(r)), c = 0; }},
    {"ties (-1, 0, 1)", 0,
     [](Rng& r, double& b, double& c) {
       b = 0, c = static_cast<double>(r.below(4) / 3) - static_cast<double>(r.below(4) / 3);
     }},
    {"censored at the horizon",
     1.2642411176571153 - 0.86466471676338730813,  // 2 (1 - exp(-1)) and 1 - exp(-2)
     [](Rng& r, double& b, double& c) {
       b = std::min(2.0, -std::log1p(-r.unit()));
       c = std::min(2.0, -2 * std::log1p(-r.unit()));
     }},
    {"rare events (6 % of seeds)", 0.06,
     [](Rng& r, double& b, double& c) { b = 0, c = r.unit() < 0.06 ? 1 : 0; }, 1},
    {"rare events (2 % of seeds)", 0.02,
     [](Rng& r, double& b, double& c) { b = 0, c = r.unit() < 0.02 ? 1 : 0; }, 1},
    {"rare events (0.5 % of seeds)", 0.005,
     [](Rng& r, double& b, double& c) { b = 0, c = r.unit() < 0.005 ? 1 : 0; }, 1},
    {"an event in 98 % of seeds", 0.98,
     [](Rng& r, double& b, double& c) { b = 0, c = r.unit() < 0.98 ? 1 : 0; }, 1},
};

Question drawn(const Outcomes& law, std::size_t n, std::uint64_t run, std::uint64_t salt = 0) {
  Rng rng = StreamKey(Seed{run}, Stream::generator, salt).at(n);
  Question q;
  q.step = law.step;
  q.method = law.method;
  q.pairs.baseline.resize(n);
  q.pairs.candidate.resize(n);
  for (std::size_t i = 0; i < n; ++i) law.draw(rng, q.pairs.baseline[i], q.pairs.candidate[i]);
  return q;
}

// One question failed or passed by itself, whatever Holm makes of its neighbours: questions are put together
// only to share their resamples.
bool fails(const Ruling& r) {
  return r.p ? r.answer != Answer::pass && *r.p <= promised_error : r.answer == Answer::fail;
}

// The truth sits exactly at the margin: every fail and every pass is an error.
void at_the_margin(std::size_t runs, const std::vector<std::size_t>& sizes) {
  head(
      fmt::format(
          "The truth at the margin, {} runs each: stated <= 5 % fail, <= 5 % pass, >= 90 % of the "
          "intervals hold it. Below 30 seeds Student's t, from 30 on the wider of it and bootstrap-t; events "
          "are counted, one in a seed.",
          runs),
      "differences | seeds | fail | pass | interval holds the truth");
  for (const std::size_t n : sizes) {
    const auto seen = count(runs, 3 * laws.size(), [&](std::uint64_t run) {
      std::vector<Question> all;
      for (const Outcomes& law : laws) {
        Question q = drawn(law, n, run);
        // A margin is not negative: a constant is added to both sides of the question instead.
        for (double& v : q.pairs.candidate) v += std::max(0.0, -law.effect);
        q.margin = law.effect + std::max(0.0, -law.effect);
        all.push_back(std::move(q));
      }
      const auto rulings = *decide(all, Seed{run}, alone);
      std::vector<bool> counts;
      for (std::size_t k = 0; k < laws.size(); ++k) {
        const Ruling& r = rulings[k];
        counts.push_back(fails(r));
        counts.push_back(r.answer == Answer::pass);
        // No interval is no false one.
        counts.push_back(!r.low || !r.high || (*r.low <= all[k].margin && all[k].margin <= *r.high));
      }
      return counts;
    });
    for (std::size_t k = 0; k < laws.size(); ++k) {
      row(laws[k].name, n, cell({seen[3 * k]}), cell({seen[3 * k + 1]}),
          cell({seen[3 * k + 2], 1 - 2 * promised_error, Stated::at_least}));
    }
  }
}

// Yes/no metrics: all outcomes of n pairs with their probabilities, so that nothing is left to chance.
void shares(std::int64_t n) {
  head(
      fmt::format("Yes/no metrics, {} seeds, the truth at the margin: the exact error rates, summed over all "
                  "outcomes; stated <= 5 %. Beside them those of the normal law of the score (Tango), which "
                  "decides nothing here.",
                  n),
      "margin | seeds turned to no | fails | passes | score: fails | score: passes");
  constexpr double points[] = {0, 0.05, 0.10}, turned_to_no[] = {0.001, 0.02, 0.1, 0.3};
  for (const double margin : points) {
    struct Outcome {
      PairedShares s;
      PairedTest exact, score;
    };
    std::vector<Outcome> outcomes;
    for (std::int64_t b = 0; b <= n; ++b) {
      for (std::int64_t c = 0; b + c <= n; ++c) outcomes.push_back({{n, b, c}, {}, {}});
    }
    in_parallel(outcomes.size(), 0, [&](std::size_t i) {
      outcomes[i].exact = test_paired_shares(outcomes[i].s, margin);
      outcomes[i].score = score_test_paired_shares(outcomes[i].s, margin);
    });
    for (const double q : turned_to_no) {
      double rates[4] = {};
      for (const auto& [s, exact, score] : outcomes) {
        const double p = binomial_pmf(s.second_only, n, q) *
                         binomial_pmf(s.first_only, n - s.second_only, (q + margin) / (1 - q));
        rates[0] += exact.p_greater <= promised_error ? p : 0;
        rates[1] += exact.p_less <= promised_error ? p : 0;
        rates[2] += score.p_greater <= promised_error ? p : 0;
        rates[3] += score.p_less <= promised_error ? p : 0;
      }
      const auto exactly = [](double rate) {
        if (rate > promised_error) ++broken;
        return fmt::format("{:.2f} %{}", 100 * rate, rate > promised_error ? " **not kept**" : "");
      };
      row(fmt::format("{:.0f} points", 100 * margin), fmt::format("{:.1f} %", 100 * q), exactly(rates[0]),
          exactly(rates[1]), fmt::format("{:.2f} %", 100 * rates[2]),
          fmt::format("{:.2f} %", 100 * rates[3]));
    }
  }
}

// The intervals of the procedures on their own ground and beyond it.
void coverage(std::size_t runs) {
  head(fmt::format("Coverage of 90 % intervals, {} runs each; for shares exact, summed over all outcomes of "
                   "200 trials.",
                   runs),
       "interval | of | data | seeds | holds the truth");
  struct Study {
    std::string_view what, of, data;
    std::size_t n;
    double truth;
    bool promised;
    std::function<Interval(std::uint64_t run, std::size_t n)> interval;
  };
  constexpr double level = 1 - 2 * promised_error;
  const auto sample = [](std::uint64_t run, std::size_t n, std::uint64_t salt, double (*draw)(Rng&)) {
    Rng rng = StreamKey(Seed{run}, Stream::generator, salt).at(n);
    std::vector<double> x(n);
    for (double& v : x) v = draw(rng);
    return x;
  };
  const auto gaussian = [](Rng& r) { return normal(r); };
  const auto lognormal = [](Rng& r) { return std::exp(normal(r)); };
  const auto resampled = [=](bool bca) {
    return [=](std::uint64_t run, std::size_t n) {
      const auto x = sample(run, n, 1, lognormal);
      const Functional mean_of{};
      const auto done = intervals(drawn_law(x, mean_of, {2'000, Seed{run}, 1}), mean(x),
                                  jackknife(x, mean_of).acceleration, level);
      return bca ? Interval{done.bca_low.value_or(0), done.bca_high.value_or(0)}
                 : Interval{done.percentile.low, done.percentile.high};
    };
  };
  const std::vector<Study> studies = {
      {"Student's t", "the mean", "normal", 10, 0, true,
       [=](std::uint64_t run, std::size_t n) {
         const auto x = sample(run, n, 1, gaussian);
         const TTest t = t_one_sample(x, {.level = level});
         return Interval{*t.low, *t.high};
       }},
      {"Welch's t", "the difference of means", "normal, sd 1 and 3", 20, 0, true,
       [=](std::uint64_t run, std::size_t n) {
         const auto x = sample(run, n, 1, gaussian);
         auto y = sample(run, n / 2, 2, gaussian);
         for (double& v : y) v *= 3;
         const TTest t = t_welch(x, y, {.level = level});
         return Interval{*t.low, *t.high};
       }},
      {"percentile bootstrap", "the mean", "lognormal", 50, std::exp(0.5), false, resampled(false)},
      {"BCa bootstrap", "the mean", "lognormal", 50, std::exp(0.5), false, resampled(true)},
      {"Hodges-Lehmann, exact", "the shift", "normal", 20, 0, true,
       [=](std::uint64_t run, std::size_t n) {
         const auto shift =
             hodges_lehmann(sample(run, n, 1, gaussian), sample(run, n, 2, gaussian), level, Law::exact);
         return Interval{shift->low, shift->high};
       }},
      {"pseudomedian, exact", "the centre", "normal", 20, 0, true,
       [=](std::uint64_t run, std::size_t n) {
         const auto centre = pseudomedian(sample(run, n, 1, gaussian), level, Law::exact);
         return Interval{centre->low, centre->high};
       }},
      {"order statistics", "the 95 % quantile", "lognormal", 200, std::exp(1.6448536269514722), true,
       [=](std::uint64_t run, std::size_t n) {
         const auto q = quantile_interval(sorted(sample(run, n, 1, lognormal)), 0.95, level);
         return Interval{q.low, q.high};
       }},
      {"Fieller", "the ratio of paired means", "normal, means 10 and 12", 30, 1.2, true,
       [=](std::uint64_t run, std::size_t n) {
         auto x = sample(run, n, 1, gaussian), y = sample(run, n, 2, gaussian);
         for (double& v : x) v += 12;
         for (double& v : y) v += 10;
         const FiellerRatio r = ratio_paired(x, y, level);
         return r.interval.value_or(Interval{});
       }},
      {"sign test", "the median", "lognormal", 20, 1, true,
       [=](std::uint64_t run, std::size_t n) {
         const SignTest t = sign_test(sample(run, n, 1, lognormal), level);
         return Interval{t.low, t.high};
       }},
      {"pooled t", "the difference of means", "normal", 20, 0, true,
       [=](std::uint64_t run, std::size_t n) {
         const TTest t = t_pooled(sample(run, n, 1, gaussian), sample(run, n, 2, gaussian), {.level = level});
         return Interval{*t.low, *t.high};
       }},
      {"Hodges-Lehmann, normal", "the shift", "lognormal", 200, 0, true,
       [=](std::uint64_t run, std::size_t n) {
         const auto shift =
             hodges_lehmann(sample(run, n, 1, lognormal), sample(run, n, 2, lognormal), level, Law::normal);
         return Interval{shift->low, shift->high};
       }},
      {"pseudomedian, normal", "the centre", "t, 3 degrees of freedom", 100, 0, true,
       [=](std::uint64_t run, std::size_t n) {
         const auto centre =
             pseudomedian(sample(run, n, 1, [](Rng& r) { return student_quantile(r.unit() + 0x1p-54, 3); }),
                          level, Law::normal);
         return Interval{centre->low, centre->high};
       }},
      {"Brunner-Munzel", "P(x < y)", "lognormal", 30, 0.5, true,
       [=](std::uint64_t run, std::size_t n) {
         const BrunnerMunzel b =
             brunner_munzel(sample(run, n, 1, lognormal), sample(run, n, 2, lognormal), level);
         return Interval{b.low.value_or(0), b.high.value_or(1)};
       }},
      {"Cliff's delta", "P(x > y) - P(x < y)", "lognormal", 30, 0, false,
       [=](std::uint64_t run, std::size_t n) {
         const OrdinalEffect e =
             ordinal_effect(sample(run, n, 1, lognormal), sample(run, n, 2, lognormal), level);
         return Interval{e.cliff_low.value_or(-1), e.cliff_high.value_or(1)};
       }},
      {"ratio of geometric means", "the ratio", "lognormal", 20, 1, true,
       [=](std::uint64_t run, std::size_t n) {
         auto x = sample(run, n, 1, gaussian);
         const auto y = sample(run, n, 2, gaussian);
         const TTest t = t_welch(x, y, {.level = level});
         return Interval{std::exp(*t.low), std::exp(*t.high)};
       }},
      {"least squares, HC3", "a slope", "errors that grow with x", 40, 1, true,
       [=](std::uint64_t run, std::size_t n) {
         auto errors = sample(run, n, 1, gaussian);
         RegressionData data{{{}}, {}, {}, true};
         for (std::size_t i = 0; i < n; ++i) {
           const double x = static_cast<double>(i) / static_cast<double>(n);
           data.columns[0].push_back(x);
           data.y.push_back(x + (0.2 + x) * errors[i]);
         }
         return *fit_linear(data, level, ErrorModel::hc3).coefficients[1].interval;
       }},
      {"restricted mean", "the mean of min(time, 1)", "exponential, a third censored", 100,
       1 - std::exp(-1.0), false, [=](std::uint64_t run, std::size_t n) {
         const auto exponential = [](Rng& r) { return -std::log1p(-r.unit()); };
         const auto times = sample(run, n, 1, exponential), ends = sample(run, n, 2, exponential);
         std::vector<Lifetime> lives;
         for (std::size_t i = 0; i < n; ++i)
           lives.push_back({std::min(times[i], 2 * ends[i]), times[i] <= 2 * ends[i]});
         const RestrictedMean m = restricted_mean(kaplan_meier(lives, level, SurvivalScale::log), 1);
         const double reach = normal_quantile((1 + level) / 2) * m.std_error;
         return Interval{m.mean - reach, m.mean + reach};
       }}};
  for (const Study& study : studies) {
    const auto seen = count(runs, 1, [&](std::uint64_t run) {
      const Interval i = study.interval(run, study.n);
      return std::vector<bool>{i.low <= study.truth && study.truth <= i.high};
    });
    row(study.what, study.of, study.data, study.n, cell({seen[0], level, Stated::at_least, study.promised}));
  }
  const std::vector<std::pair<std::string_view, Interval (*)(Share, double)>> shares = {
      {"Clopper-Pearson", &clopper_pearson},
      {"Wilson", &wilson},
      {"Agresti-Coull", &agresti_coull},
      {"Jeffreys", &jeffreys}};
  for (const auto& [name, interval] : shares) {
    for (const double p : {0.02, 0.1, 0.5}) {
      double covered = 0;
      for (std::int64_t k = 0; k <= 200; ++k) {
        const Interval i = interval({k, 200}, level);
        if (i.low <= p && p <= i.high) covered += binomial_pmf(k, 200, p);
      }
      row(name, fmt::format("a share of {}", p), "binomial", 200, fmt::format("{:.2f} %", 100 * covered));
    }
  }
  double covered = 0;
  for (std::int64_t k = 0; k <= 60; ++k) {
    for (std::int64_t j = 0; j <= 60; ++j) {
      const Interval i = newcombe_difference({k, 60}, {j, 60}, level);
      if (i.low <= -0.1 && -0.1 <= i.high) covered += binomial_pmf(k, 60, 0.2) * binomial_pmf(j, 60, 0.3);
    }
  }
  row("Newcombe", "0.2 minus 0.3", "binomial", 60, fmt::format("{:.2f} %", 100 * covered));
  covered = 0;
  double p = std::exp(-8.0);
  for (std::int64_t k = 0; k < 60; ++k, p *= 8.0 / static_cast<double>(k)) {
    const Interval i = poisson_interval({k, 1}, level);
    if (i.low <= 8 && 8 <= i.high) covered += p;
  }
  row("Garwood", "a rate of 8", "Poisson", 1, fmt::format("{:.2f} %", 100 * covered));
}

// Planted regressions against what the design functions foretell.
void power(std::size_t runs) {
  head(fmt::format(
           "Planted regressions at margin 0, {} runs each: the fraction that fails, and what "
           "is foretold of this rule (`power_to_fail`). It asks for more than a t test, so that few or "
           "skewed seeds do not mislead it; beside it the power of that test (`power_t`).",
           runs),
       "regression | seeds | fails | foretold | a t test");
  for (const auto& [planted, n] :
       {std::pair(0.05, std::size_t{200}), {0.10, 60}, {0.20, 30}, {0.20, 20}, {0.20, 12}}) {
    // Baseline 10 +- 3, the candidate shares half of the variance: differences have sd 3.
    const auto seen = count(runs, 1, [&, by = planted, seeds = n](std::uint64_t run) {
      Rng rng = StreamKey(Seed{run}, Stream::generator, 7).at(seeds);
      Question q;
      for (std::size_t i = 0; i < seeds; ++i) {
        const double shared = normal(rng);
        q.pairs.baseline.push_back(10 + 3 * std::sqrt(0.5) * (shared + normal(rng)));
        q.pairs.candidate.push_back(10 * (1 + by) + 3 * std::sqrt(0.5) * (shared + normal(rng)));
      }
      return std::vector<bool>{decide(std::vector{q}, Seed{run}, alone)->front().answer == Answer::fail};
    });
    const TPlan plan{TDesign::paired, 10 * planted, 3, promised_error, false, true};
    const double foretold = power_to_fail(plan.delta / plan.sd, n);
    row(fmt::format("{:.0f} % of the mean, sd of the differences 30 %", 100 * planted), n,
        cell({seen[0], foretold, Stated::about}), fmt::format("{:.2f} %", 100 * foretold),
        fmt::format("{:.2f} %", 100 * power_t(plan, static_cast<double>(n))));
  }
}

void family(std::size_t runs) {
  constexpr std::size_t n = 200, questions = 20;
  const auto seen = count(runs, 1, [&](std::uint64_t run) {
    std::vector<Question> all;
    for (std::size_t k = 0; k < questions; ++k) all.push_back(drawn(laws[0], n, run, k + 1));
    const auto rulings = *decide(all, Seed{run}, alone);
    return std::vector<bool>{std::any_of(rulings.begin(), rulings.end(),
                                         [](const Ruling& r) { return r.answer == Answer::fail; })};
  });
  head(fmt::format("A family of 20 metrics, all at their margins, {} runs: stated <= 5 %.", runs),
       "what | seeds | fails");
  row("any of the 20 fails", n, cell({seen[0], promised_error, Stated::at_most, true}));
}

void sequence(std::size_t runs) {
  head(fmt::format("`--until-decided`, 40 looks from 50 to 2000 seeds, the truth at the margin, {} runs "
                   "each: stated <= 5 %.",
                   runs),
       "differences | fails at some look | passes at some look");
  constexpr std::size_t n = 2000;
  std::vector<Outcomes> all = laws;
  all.push_back({"yes/no (2.5 % turn to yes, 0.5 % to no)", 0.02,
                 [](Rng& r, double& b, double& c) {
                   const double u = r.unit();
                   b = u < 0.005 || (u >= 0.03 && u < 0.5) ? 1 : 0;
                   c = u >= 0.005 && u < 0.5 ? 1 : 0;
                 },
                 0, Deciding::paired_shares});
  for (const Outcomes& law : all) {
    if (law.effect < 0) continue;  // the mirror image of another
    const auto seen = count(runs, 2, [&](std::uint64_t run) {
      Question q = drawn(law, n, run);
      q.margin = law.effect;
      const Ruling r = decide_so_far(std::vector{q})->front();
      return std::vector<bool>{r.answer == Answer::fail, r.answer == Answer::pass};
    });
    row(law.name, cell({seen[0]}), cell({seen[1]}));
  }
}

// The real pipeline: one policy against itself, under two salts of its random stream in the same world, and
// on disjoint seeds. A pool is simulated once; every run is a fresh choice of seeds from it, and the pool's
// own difference is taken out, so that the null is true.
void a_against_a(std::size_t runs_of_first, std::size_t runs_of_second, std::size_t pool_size) {
  head(fmt::format(
           "A against A through the whole pipeline, 200 seeds, {} runs of full-jitter and {} of "
           "decorrelated: stated 5 % at margin 0 and less at the default margins (10 %; requests 5 %).",
           runs_of_first, runs_of_second),
       "policy | metric | seeds of the two sides | fails at margin 0 | fails at the default margin");
  const std::vector<std::string> metrics = {"peak_1s", "completion_s", "requests"};
  constexpr std::size_t n = 200;
  const Scenario scenario = *find_scenario("outage-then-limit", {});
  for (const auto& [reference, runs] :
       {std::pair("full-jitter", runs_of_first), {"decorrelated", runs_of_second}}) {
    const std::vector<NamedPolicy> policy = {*find_policy(reference, {})};
    std::vector<std::uint64_t> seeds(2 * pool_size);
    for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i + 1;
    const SampleTable plain = *sweep(policy, {scenario}, seeds, metrics);
    const SampleTable salted = *sweep(policy, {scenario}, seeds, metrics, 0, 1);
    const double horizon = scenario.horizon.seconds();
    for (const bool disjoint : {false, true}) {
      std::vector<std::vector<double>> a(metrics.size()), b(metrics.size());
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        const auto& mine = plain.cells[0].samples[m];
        const auto& other = salted.cells[0].samples[m];
        for (std::size_t i = 0; i < pool_size; ++i) {
          a[m].push_back(mine[i].value_or(horizon));
          b[m].push_back((disjoint ? mine[pool_size + i] : other[i]).value_or(horizon));
        }
        const double shift = mean(a[m]) - mean(b[m]);
        for (double& v : b[m]) v += shift;
      }
      const auto seen = count(runs, 2 * metrics.size(), [&](std::uint64_t run) {
        Rng rng = StreamKey(Seed{run}, Stream::generator, 11).at(0);
        std::vector<Question> all(metrics.size());
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t k = rng.below(pool_size);
          for (std::size_t m = 0; m < metrics.size(); ++m) {
            all[m].pairs.baseline.push_back(a[m][k]);
            all[m].pairs.candidate.push_back(b[m][k]);
            all[m].pairs.relative = true;
          }
        }
        std::vector<bool> counts;
        const auto rulings = *decide(all, Seed{run}, alone);
        for (std::size_t m = 0; m < metrics.size(); ++m) {
          counts.push_back(fails(rulings[m]));
          // Interval and p are of one method: what lies wholly beyond a margin has p <= 5 % there.
          counts.push_back(rulings[m].low && *rulings[m].low > (metrics[m] == "requests" ? 0.05 : 0.10));
        }
        return counts;
      });
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        row(reference, metrics[m], disjoint ? "disjoint" : "the same, two salts",
            cell({seen[2 * m], promised_error, Stated::about, true}),
            cell({seen[2 * m + 1], promised_error, Stated::at_most, true}));
      }
    }
  }
}

int decisions(bool brief) {
  a_against_a(brief ? 100 : 10'000, brief ? 50 : 2'000, brief ? 300 : 20'000);
  at_the_margin(brief ? 60 : 3'000,
                brief ? std::vector<std::size_t>{10, 60} : std::vector<std::size_t>{10, 29, 30, 60, 200});
  shares(brief ? 20 : 60);
  coverage(brief ? 100 : 4'000);
  power(brief ? 100 : 2'000);
  family(brief ? 40 : 1'000);
  sequence(brief ? 150 : 2'000);
  if (broken > 0) fmt::print("\n{} promised rates not kept\n", broken);
  return broken > 0 ? 1 : 0;
}

}  // namespace
}  // namespace retrygate::stats

int main(int argc, char** argv) {
  CLI::App app("How often the decisions and the intervals err where the truth is known");
  bool brief = false, decisions = false, presets = false;
  std::size_t seeds = 1'000;
  app.add_flag("--short", brief, "fewer runs; 2 seeds");
  auto* alone = app.add_flag("--decisions", decisions, "all but the last table");
  app.add_flag("--presets", presets, "the last table alone")->excludes(alone);
  auto* stated = app.add_option("--seeds", seeds, "of the last table (1000)");
  stated->check(CLI::Range(1, 1'000'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (brief && stated->count() == 0) seeds = 2;
  int code = 0;
  if (!presets) code = retrygate::stats::decisions(brief);
  if (!decisions && retrygate::false_alarms(seeds) > 0) code = 1;
  return code;
}
