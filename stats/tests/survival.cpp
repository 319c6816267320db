#include "stats/survival.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

std::vector<Lifetime> lifetimes(Reader& the_case) {
  const auto times = sample(the_case, "time"), events = sample(the_case, "event");
  std::vector<Lifetime> lives;
  if (wrong(the_case)) return lives;
  if (times.size() != events.size())
    the_case.fail("event", fmt::format("'event' must have {} values, one per time", times.size()));
  for (std::size_t i = 0; i < times.size() && i < events.size(); ++i) {
    if (times[i] < 0) the_case.fail("time", fmt::format("a time of {} is none", times[i]));
    if (events[i] != 0 && events[i] != 1) the_case.fail("event", "'event' must hold 0 and 1 only");
    lives.push_back({times[i], events[i] == 1});
  }
  return lives;
}

// Labels of any kind of number as 0, 1, 2 ... in rising order.
std::vector<std::size_t> labels(Reader& the_case, std::string_view key, std::size_t n) {
  const auto given = sample(the_case, key);
  if (given.size() != n && !wrong(the_case))
    the_case.fail(key, fmt::format("'{}' must have {} values, one per time", key, n));
  std::map<double, std::size_t> known;
  for (const double label : given) known[label] = 0;
  std::size_t next = 0;
  for (auto& [label, number] : known) number = next++;
  std::vector<std::size_t> numbers;
  for (const double label : given) numbers.push_back(known[label]);
  return numbers;
}

// The steps that are shown: up to 40 all, else the first two, the quarters and the last two.
std::vector<SurvivalStep> shown(const std::vector<SurvivalStep>& steps) {
  const std::size_t n = steps.size();
  if (n <= 40) return steps;
  return {steps[0], steps[1], steps[n / 4], steps[n / 2], steps[3 * n / 4], steps[n - 2], steps[n - 1]};
}

Value curve_of(const std::vector<SurvivalStep>& all) {
  const std::vector<SurvivalStep> steps = shown(all);
  Array time, at_risk, events, survival, std_error, low, high;
  for (const SurvivalStep& step : steps) {
    const auto limit = [&](double Interval::*end) {
      return to_value(step.interval ? std::optional((*step.interval).*end) : std::nullopt);
    };
    time.push_back(to_value(step.time));
    at_risk.push_back(to_value(step.at_risk));
    events.push_back(to_value(step.events));
    survival.push_back(to_value(step.survival));
    std_error.push_back(to_value(step.std_error));
    low.push_back(limit(&Interval::low));
    high.push_back(limit(&Interval::high));
  }
  Table curve{member("time", std::move(time)),           member("at_risk", std::move(at_risk)),
              member("events", std::move(events)),       member("survival", std::move(survival)),
              member("std_error", std::move(std_error)), member("ci_low", std::move(low)),
              member("ci_high", std::move(high))};
  if (steps.size() < all.size())
    curve.push_back(member("note", std::string("a selection of the event times")));
  return to_value(std::move(curve));
}

Result<Value> curve(Reader& the_case) {
  const auto lives = lifetimes(the_case);
  Reader settings = params(the_case);
  const double confidence = level(settings);
  auto scale = SurvivalScale::log;
  if (settings.has("conf_type"))
    scale = static_cast<SurvivalScale>(settings.word("conf_type", {"log", "log-log", "plain"}).value_or(0));
  std::optional<double> tau;
  if (settings.has("tau")) tau = positive(settings, "tau");
  if (wrong(the_case)) return failure_of(the_case);

  const SurvivalCurve km = kaplan_meier(lives, confidence, scale);
  const RestrictedMean mean = restricted_mean(km, tau.value_or(km.last_time));
  return to_value(
      Table{member(km.events == 0 ? Status::degenerate : Status::ok), member("events", km.events),
            member("censored", km.censored), member("q25", km.quantile(0.25)),
            member("median", km.quantile(0.5)), member("q75", km.quantile(0.75)),
            member("median_ci_low", km.quantile_low(0.5)), member("median_ci_high", km.quantile_high(0.5)),
            member("rmst", mean.mean), member("rmst_se", mean.std_error),
            member("tau_beyond_last_time", mean.beyond_last_time), Member{"km", {}, curve_of(km.steps)}});
}

Result<Value> comparison(Reader& the_case) {
  const auto lives = lifetimes(the_case);
  Reader settings = params(the_case);
  const double rho = number_or(settings, "rho", 0, 0, 100);
  const auto groups = labels(the_case, "group", lives.size());
  std::vector<std::size_t> strata(lives.size(), 0);
  if (the_case.has("strata")) strata = labels(the_case, "strata", lives.size());
  const std::size_t number = groups.empty() ? 0 : 1 + *std::max_element(groups.begin(), groups.end());
  if (number < 2 && !wrong(the_case)) the_case.fail("group", "there is only one group");
  if (wrong(the_case)) return failure_of(the_case);

  std::vector<GroupedLifetime> all;
  for (std::size_t i = 0; i < lives.size(); ++i) all.push_back({lives[i], groups[i], strata[i]});
  const LogRank test = log_rank(all, number, rho);
  Array variance;
  for (const auto& row : test.variance) variance.push_back(to_value(row));
  return to_value(Table{member(test.p ? Status::ok : Status::undefined), member("observed", test.observed),
                        member("expected", test.expected), member("variance", std::move(variance)),
                        member("chi_square", test.chi_square),
                        count("df", static_cast<std::size_t>(std::max(test.dof, 0))),
                        member("p_value", test.p), member("z", test.z)});
}

}  // namespace

void add_survival(Shelf<Procedure>& shelf) {
  shelf.add({"kaplan_meier", "survival curve with quantiles and restricted mean",
             "censoring that tells nothing about the time to the event",
             "Kaplan and Meier 1958; Greenwood 1926; Brookmeyer and Crowley 1982", curve});
  shelf.add({"log_rank", "do groups differ in their times to an event",
             "censoring that tells nothing; most powerful for proportional hazards",
             "Mantel 1966; Peto and Peto 1972; Harrington and Fleming 1982", comparison});
}

}  // namespace retrygate::stats
