#include "stats/proportions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "stats/case.hpp"
#include "stats/fisher.hpp"
#include "stats/paired_shares.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

// Above, a double does not tell a count from the next one.
constexpr std::int64_t count_limit = std::int64_t{1} << 53;

Member limits(std::string key, const Interval& interval) {
  return retrygate::member(std::move(key), std::vector<double>{interval.low, interval.high});
}

Share share(Reader& the_case, std::string_view successes, std::string_view trials) {
  Share share;
  share.trials = whole(the_case, trials, 1, count_limit);
  share.successes = whole(the_case, successes, 0, share.trials);
  return share;
}

Result<Value> binomial_interval(Reader& the_case) {
  const Share s = share(the_case, "k", "n");
  Reader settings = params(the_case);
  const double confidence = level(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const Interval raw = agresti_coull(s, confidence);
  return to_value(Table{member(Status::ok), member("estimate", s.value()),
                        limits("clopper_pearson", clopper_pearson(s, confidence)),
                        limits("wilson", wilson(s, confidence)),
                        limits("agresti_coull", Interval{std::max(0.0, raw.low), std::min(1.0, raw.high)}),
                        limits("agresti_coull_raw", raw), limits("jeffreys", jeffreys(s, confidence)),
                        limits("jeffreys_raw", jeffreys_quantiles(s, confidence))});
}

Result<Value> test_of_one_share(Reader& the_case) {
  const Share s = share(the_case, "k", "n");
  Reader settings = params(the_case);
  const double p0 = number_or(settings, "p0", 0.5, 0, 1);
  if (wrong(the_case)) return failure_of(the_case);
  const BinomialTest test = binomial_test(s, p0);
  return to_value(Table{member(Status::ok), member("estimate", s.value()),
                        member("p_value", test.p_two_sided), member("p_value_central", test.p_central),
                        member("p_less", test.p_less), member("p_greater", test.p_greater)});
}

Result<Value> difference_of_shares(Reader& the_case) {
  const Share first = share(the_case, "k1", "n1"), second = share(the_case, "k2", "n2");
  Reader settings = params(the_case);
  const double confidence = level(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const Interval interval = newcombe_difference(first, second, confidence);
  return to_value(Table{member(Status::ok), member("estimate", first.value() - second.value()),
                        member("ci_low", interval.low), member("ci_high", interval.high)});
}

// The `table` of a case: two rows of two counts.
TwoByTwo two_by_two(Reader& the_case) {
  const Samples table = rows(the_case, "table");
  TwoByTwo counts;
  if (wrong(the_case)) return counts;
  if (table.size() != 2 || table.front().size() != 2) {
    the_case.fail("table", "'table' must have two rows of two counts");
    return counts;
  }
  const std::array<std::int64_t*, 4> cells{&counts.a, &counts.b, &counts.c, &counts.d};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double cell = table[i / 2][i % 2];
    if (cell < 0 || cell > static_cast<double>(count_limit) || cell != std::floor(cell)) {
      the_case.fail("table", fmt::format("a count of {} is none", cell));
      return counts;
    }
    *cells[i] = static_cast<std::int64_t>(cell);
  }
  if (counts.a + counts.b + counts.c + counts.d == 0) the_case.fail("table", "every count of 'table' is 0");
  return counts;
}

Result<Value> test_of_two_by_two(Reader& the_case) {
  const TwoByTwo table = two_by_two(the_case);
  Reader settings = params(the_case);
  const double confidence = level(settings);
  if (wrong(the_case)) return failure_of(the_case);
  constexpr std::int64_t values_limit = 1'000'000;  // of the first cell; seconds and megabytes
  if (const MarginLaw law(table); law.highest() - law.lowest() > values_limit) {
    the_case.fail("table", "these counts are too many for an exact law",
                  "an interval for the difference of two proportions has no such limit: newcombe_difference");
    return failure_of(the_case);
  }
  const FisherTest test = fisher_exact(table, confidence);
  return to_value(Table{member(Status::ok), member("p_value", test.p_two_sided),
                        member("p_less", test.p_less), member("p_greater", test.p_greater),
                        member("odds_ratio_sample", test.odds_sample),
                        member("odds_ratio_conditional", test.odds_conditional),
                        member("ci_low", test.odds.low), member("ci_high", test.odds.high)});
}

Result<Value> test_of_discordant(Reader& the_case) {
  const TwoByTwo table = two_by_two(the_case);
  if (wrong(the_case)) return failure_of(the_case);
  const Discordant pairs{table.b, table.c};
  if (pairs.total() == 0) {
    return to_value(Table{member(Status::degenerate), member("discordant", std::int64_t{0}),
                          member("p_value", 1.0), member("p_mid", 1.0), member("statistic", std::nullopt),
                          member("p_asymptotic", std::nullopt), member("statistic_cc", std::nullopt),
                          member("p_cc", std::nullopt)});
  }
  const McNemar test = mcnemar(pairs);
  return to_value(Table{member(Status::ok), member("discordant", pairs.total()),
                        member("p_value", test.p_exact), member("p_mid", test.p_mid),
                        member("statistic", test.chi_square), member("p_asymptotic", test.p_asymptotic),
                        member("statistic_cc", test.chi_square_corrected), member("p_cc", test.p_corrected)});
}

Result<Value> difference_of_paired_shares(Reader& the_case) {
  const TwoByTwo table = two_by_two(the_case);
  Reader settings = params(the_case);
  const double confidence = level(settings);
  const double difference = number_or(settings, "difference", 0, -1, 1);
  if (wrong(the_case)) return failure_of(the_case);
  const PairedShares s{table.a + table.b + table.c + table.d, table.b, table.c};
  const PairedTest test = test_paired_shares(s, difference);
  const Interval interval = paired_interval(s, confidence), score = tango_interval(s, confidence);
  const double z = tango_score(s, difference);
  return to_value(Table{member(Status::ok), member("method", std::string(test.exact ? "exact" : "normal")),
                        member("estimate", s.difference()), member("statistic", z),
                        member("p_value", std::min(1.0, 2 * std::min(test.p_greater, test.p_less))),
                        member("p_greater", test.p_greater), member("p_less", test.p_less),
                        member("ci_low", interval.low), member("ci_high", interval.high),
                        limits("tango", score)});
}

Result<Value> one_rate(Reader& the_case) {
  const Rate rate{whole(the_case, "events", 0, count_limit), positive(the_case, "exposure")};
  Reader settings = params(the_case);
  const double confidence = level(settings);
  if (wrong(the_case)) return failure_of(the_case);
  const Interval interval = poisson_interval(rate, confidence);
  return to_value(Table{member(Status::ok),
                        member("estimate", static_cast<double>(rate.events) / rate.exposure),
                        member("ci_low", interval.low), member("ci_high", interval.high)});
}

Result<Value> two_rates(Reader& the_case) {
  const auto events = sample(the_case, "events"), exposure = sample(the_case, "exposure");
  Reader settings = params(the_case);
  const double confidence = level(settings);
  const double ratio0 = positive(settings, "ratio0", 1);
  if (wrong(the_case)) return failure_of(the_case);
  if (events.size() != 2 || exposure.size() != 2) {
    the_case.fail("events", "'events' and 'exposure' must have two numbers each");
    return failure_of(the_case);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (events[i] < 0 || events[i] > static_cast<double>(count_limit) || events[i] != std::floor(events[i]))
      the_case.fail("events", fmt::format("a count of {} is none", events[i]));
    if (exposure[i] <= 0) the_case.fail("exposure", fmt::format("an exposure of {} is none", exposure[i]));
  }
  if (wrong(the_case)) return failure_of(the_case);
  const auto rate = [&](std::size_t i) { return Rate{static_cast<std::int64_t>(events[i]), exposure[i]}; };
  if (events[0] + events[1] == 0) {
    // No event on either side: every ratio is as good as another.
    return to_value(Table{member(Status::undefined), member("estimate", std::nullopt), member("p_value", 1.0),
                          member("ci_low", 0.0), member("ci_high", std::numeric_limits<double>::infinity())});
  }
  const RateRatio result = compare_rates(rate(0), rate(1), ratio0, confidence);
  return to_value(Table{member(Status::ok), member("estimate", result.ratio), member("p_value", result.p),
                        member("ci_low", result.interval.low), member("ci_high", result.interval.high)});
}

}  // namespace

void add_proportions(Shelf<Procedure>& shelf) {
  shelf.add({"binomial_interval", "intervals for one proportion", "independent trials of one probability",
             "Clopper and Pearson 1934; Wilson 1927; Agresti and Coull 1998; Brown, Cai and DasGupta 2001",
             binomial_interval});
  shelf.add({"binomial_test", "exact test of one proportion", "independent trials of one probability",
             "binomial law; two-sided by probability, and twice the smaller tail", test_of_one_share});
  shelf.add({"newcombe_difference", "interval for the difference of two proportions",
             "independent trials, two independent groups", "Newcombe 1998, method 10", difference_of_shares});
  shelf.add({"fisher_exact", "exact test and odds ratio of a table of two by two",
             "independent counts; conditional on the margins", "Fisher 1935; Cornfield 1956",
             test_of_two_by_two});
  shelf.add({"mcnemar", "test of two proportions of the same pairs", "independent pairs",
             "McNemar 1947; Edwards 1948; Fagerland, Lydersen and Laake 2013 (mid p)", test_of_discordant});
  shelf.add({"paired_proportions", "difference of two proportions of the same pairs, against any value",
             "independent pairs", "Tango 1998; Hsueh, Liu and Chen 2001; Berger and Boos 1994",
             difference_of_paired_shares});
  shelf.add({"poisson_rate_interval", "exact interval for a rate of events", "Poisson counts", "Garwood 1936",
             one_rate});
  shelf.add({"poisson_rate_ratio", "exact test and interval for the ratio of two rates",
             "two independent Poisson counts", "Przyborowski and Wilenski 1940", two_rates});
}

}  // namespace retrygate::stats
