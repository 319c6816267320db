#include "ci/growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include "ci/layout.hpp"
#include "ci/report.hpp"
#include "ci/samples.hpp"
#include "policies/base/json.hpp"
#include "stats/equivalence.hpp"
#include "stats/sample.hpp"

namespace retrygate::ci {
namespace {

constexpr double level = 0.95;

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

// Both ends, and 1, 2, 5, 10, 20, 50 ... between them.
std::vector<std::int64_t> preferred(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> sizes{first};
  constexpr std::int64_t beyond = 1'000'000'000'000;
  for (std::int64_t power = 1; power <= beyond; power *= 10) {
    for (const std::int64_t digit : {1, 2, 5}) {
      if (digit * power > first && digit * power < last) sizes.push_back(digit * power);
    }
  }
  sizes.push_back(last);
  return sizes;
}

GrowthComparison::Step step(const std::vector<double>& baseline, const std::vector<double>& candidate) {
  const double from = stats::mean(baseline), to = stats::mean(candidate);
  if (from == 0) return {};
  const stats::FiellerRatio ratio = stats::ratio_paired(candidate, baseline, level);
  if (!ratio.interval) return {to / from - 1, std::nullopt};
  // Fieller's set knows nothing of metrics that are never below 0.
  return {*ratio.estimate - 1,
          stats::Interval{std::max(0.0, ratio.interval->low) - 1, ratio.interval->high - 1}};
}

// The law of the sizes at which every run got there: what the horizon stands for is flat.
stats::PowerLaw law_of(stats::Growth values, std::size_t reached) {
  stats::PowerLaw law;
  law.status = stats::Status::undefined;
  if (reached < 2) return law;
  values.sizes.resize(reached);
  values.values.resize(reached);
  return stats::power_law(values, level);
}

void judge(GrowthComparison& c) {
  for (std::size_t i = 0; i < c.baseline_values.sizes.size(); ++i)
    c.steps.push_back(step(c.baseline_values.values[i], c.candidate_values.values[i]));
  c.baseline_law = law_of(c.baseline_values, c.baseline_reached);
  c.candidate_law = law_of(c.candidate_values, c.candidate_reached);
  c.difference = stats::compare_exponents(c.baseline_values, c.candidate_values, level);
  c.baseline_trend = stats::trend(c.baseline_values);
  c.candidate_trend = stats::trend(c.candidate_values);
}

// All metrics and candidates of one scenario.
Result<void> compare_in(const GrowthRequest& request, const std::vector<Scenario>& scenarios,
                        GrowthReport& report) {
  std::vector<NamedPolicy> policies{request.baseline};
  policies.insert(policies.end(), request.candidates.begin(), request.candidates.end());
  const auto table = sweep(policies, scenarios, request.seeds, request.metrics, request.threads);
  if (!table) return tl::unexpected(table.error());

  const std::vector<double> sizes(request.over.sizes.begin(), request.over.sizes.end());
  for (std::size_t c = 1; c < policies.size(); ++c) {
    for (std::size_t m = 0; m < request.metrics.size(); ++m) {
      const auto metric = find_metric(request.metrics[m], {"--metric", 1, 1});
      if (!metric) return tl::unexpected(metric.error());
      GrowthComparison comparison{scenarios.front().id,
                                  policies[0].name,
                                  policies[c].name,
                                  metric->id,
                                  metric->unit,
                                  {sizes, {}},
                                  {sizes, {}},
                                  {},
                                  {},
                                  {},
                                  {},
                                  {},
                                  {}};
      for (std::size_t s = 0; s < scenarios.size(); ++s) {
        const auto values = [&](std::size_t policy) {
          return comparable(table->cells[s * policies.size() + policy].samples[m], *metric, scenarios[s],
                            {"--metric", 1, 1});
        };
        const auto b = values(0), x = values(c);
        if (!b) return tl::unexpected(b.error());
        if (!x) return tl::unexpected(x.error());
        comparison.baseline_values.values.push_back(*b);
        comparison.candidate_values.values.push_back(*x);
        const auto cut = [&](std::size_t policy) {
          const auto& samples = table->cells[s * policies.size() + policy].samples[m];
          return static_cast<std::size_t>(std::count(samples.begin(), samples.end(), std::nullopt));
        };
        comparison.baseline_cut += cut(0);
        comparison.candidate_cut += cut(c);
        if (comparison.baseline_cut == 0) comparison.baseline_reached = s + 1;
        if (comparison.candidate_cut == 0) comparison.candidate_reached = s + 1;
      }
      judge(comparison);
      report.comparisons.push_back(std::move(comparison));
    }
  }
  return {};
}

std::string_view moves(stats::Direction direction) {
  if (direction == stats::Direction::level) return "stays the same";
  return direction == stats::Direction::neither ? "goes up and down" : to_string(direction);
}

// Does the exponent change from size to size, by chance hardly and by so much that a reader should know?
bool bends(const stats::PowerLaw& law) {
  constexpr double worth_a_word = 0.05;
  if (!law.p_bend || *law.p_bend >= 1 - level) return false;
  const auto [least, most] = std::minmax_element(law.local.begin(), law.local.end());
  return *most - *least >= worth_a_word;
}

std::string exponent_text(const std::string& who, const stats::PowerLaw& law, const stats::Trend& trend,
                          std::size_t reached, const std::vector<std::int64_t>& sizes) {
  if (reached < 2) return who + ": no exponent, as some runs did not get there";
  if (law.status == stats::Status::undefined)
    return fmt::format("{}: no power law goes through 0; the mean {}", who, moves(trend.direction));
  // Not "-0.000".
  const double shown = std::abs(law.exponent) < 0.0005 ? 0 : law.exponent;
  std::string text = fmt::format("{}: exponent {:.3f}", who, shown);
  if (law.interval) text += fmt::format(" ({:.3f} .. {:.3f})", law.interval->low, law.interval->high);
  const auto [least, most] = std::minmax_element(law.local.begin(), law.local.end());
  if (bends(law))
    text += fmt::format(", but not the same everywhere: {:.2f} .. {:.2f} from size to size", *least, *most);
  if (reached < sizes.size())
    text += fmt::format("; up to {}, where every run got there", sizes[reached - 1]);
  return text;
}

// A difference of what the horizon made of them is none of theirs.
bool cut(const GrowthComparison& c) { return c.baseline_cut + c.candidate_cut > 0; }

std::string difference_text(const GrowthComparison& c) {
  const stats::ExponentDifference& d = c.difference;
  if (cut(c) || !d.estimate || !d.interval || !d.p) return "";
  return fmt::format("difference of the exponents: {:+.3f} ({:+.3f} .. {:+.3f}), {}", *d.estimate,
                     d.interval->low, d.interval->high,
                     *d.p < 1e-4 ? "p < 0.0001" : fmt::format("p = {:.4f}", *d.p));
}

// "10-fold, in proportion to them": what ten times the size does to a metric.
std::string tenfold(const stats::PowerLaw& law, const stats::Trend& trend, std::size_t reached,
                    const std::vector<std::int64_t>& sizes) {
  if (reached < 2) return "is hidden by the horizon";
  if (trend.direction == stats::Direction::level) return "does not change";
  if (law.status == stats::Status::undefined)
    return fmt::format("{} from {} at {} to {} at {}, and is 0 in some runs", moves(trend.direction),
                       mean_text(trend.means.front()), sizes.front(), mean_text(trend.means.back()),
                       sizes.back());
  const double low = law.interval ? law.interval->low : law.exponent,
               high = law.interval ? law.interval->high : law.exponent;
  std::string text = fmt::format("becomes {:.3g} times as large", std::pow(10, law.exponent));
  if (low != high)
    text += fmt::format(" (95 % interval {:.3g} to {:.3g})", std::pow(10, low), std::pow(10, high));
  constexpr double nearly = 0.02;
  const bool with_one = low <= 1 + nearly && high >= 1 - nearly;
  if (with_one && high - low < 10 * nearly)
    text += ", in proportion";
  else if (high < 0)
    text += ", it falls";
  else if (high < 1)
    text += low > 0 ? ", slower than in proportion" : ", hardly at all";
  else if (low > 1)
    text += ", faster than in proportion";
  if (bends(law)) {
    const auto steepest =
        static_cast<std::size_t>(std::max_element(law.local.begin(), law.local.end()) - law.local.begin());
    text += fmt::format("; that is an average, growth is steepest between {} and {}", sizes[steepest],
                        sizes[steepest + 1]);
  }
  return text;
}

// The sentence of a comparison: how each policy grows, whether they differ, and what the horizon hides.
std::string growth_in_words(const GrowthComparison& c, const Over& over, std::size_t seeds) {
  const auto lawless = [](const stats::PowerLaw& law) { return law.status == stats::Status::undefined; };
  const bool none = lawless(c.baseline_law) && lawless(c.candidate_law);
  std::string text = fmt::format(
      "In words: with {} {}, {} of {} {}, of {} it {}.", none ? "more" : "ten times the", over.key, c.metric,
      c.baseline, tenfold(c.baseline_law, c.baseline_trend, c.baseline_reached, over.sizes), c.candidate,
      tenfold(c.candidate_law, c.candidate_trend, c.candidate_reached, over.sizes));
  if (cut(c))
    text += " Which of them grows faster cannot be told.";
  else if (c.difference.p && c.difference.estimate)
    text += *c.difference.p < 1 - level ? fmt::format(" {} grows {}.", c.candidate,
                                                      *c.difference.estimate > 0 ? "faster" : "more slowly")
                                        : " These seeds show no difference in growth.";
  for (const auto& [policy, runs, reached] : {std::tuple(&c.baseline, c.baseline_cut, c.baseline_reached),
                                              {&c.candidate, c.candidate_cut, c.candidate_reached}}) {
    if (runs == 0) continue;
    text += fmt::format(
        " {} did not get there in {} of {} runs: the horizon stands for them and hides their growth", *policy,
        runs, over.sizes.size() * seeds);
    text += reached < 2 ? "." : fmt::format("; what is said is up to {}.", over.sizes[reached - 1]);
  }
  return text;
}

Value interval_value(const std::optional<stats::Interval>& interval) {
  if (!interval) return to_value(std::nullopt);
  return to_value(std::vector<double>{interval->low, interval->high});
}

Value law_value(const stats::PowerLaw& law, const stats::Trend& trend) {
  const bool defined = law.status != stats::Status::undefined;
  const auto number = [&](double v) { return defined ? std::optional(v) : std::nullopt; };
  return to_value(Table{
      member("status", to_string(law.status)), member("exponent", number(law.exponent)),
      member("scale", number(law.scale)), member("std_error", law.std_error),
      Member{"interval", {}, interval_value(law.interval)}, member("r_squared", law.r_squared),
      member("p_bend", law.p_bend), member("local_exponents", law.local), member("means", trend.means),
      member("monotone", trend.monotone), member("direction", std::string(to_string(trend.direction)))});
}

}  // namespace

Result<Over> parse_over(std::string_view text, Where where) {
  const std::size_t equals = text.find('=');
  const auto wrong = [&](std::string message) {
    return failure(where, std::move(message),
                   "write for example clients=200..100000 or clients=200,1000,5000");
  };
  if (equals == std::string_view::npos || equals == 0)
    return wrong(fmt::format("'{}' is not of the form key=first..last", text));
  Over over{std::string(text.substr(0, equals)), {}};
  const std::string_view sizes = text.substr(equals + 1);
  if (const std::size_t dots = sizes.find(".."); dots != std::string_view::npos) {
    const auto first = whole(sizes.substr(0, dots)), last = whole(sizes.substr(dots + 2));
    if (!first || !last) return wrong(fmt::format("'{}' is no range of whole numbers above 0", sizes));
    if (*last <= *first) return wrong(fmt::format("{} is not above {}", *last, *first));
    over.sizes = preferred(*first, *last);
    return over;
  }
  for (std::size_t begin = 0; begin <= sizes.size();) {
    const std::size_t end = std::min(sizes.find(',', begin), sizes.size());
    const auto size = whole(sizes.substr(begin, end - begin));
    if (!size) return wrong(fmt::format("'{}' is no whole number above 0", sizes.substr(begin, end - begin)));
    if (!over.sizes.empty() && *size <= over.sizes.back())
      return wrong(fmt::format("the sizes must rise: {} after {}", *size, over.sizes.back()));
    over.sizes.push_back(*size);
    begin = end + 1;
  }
  if (over.sizes.size() < 2) return wrong("one size shows no growth");
  return over;
}

Result<std::vector<Scenario>> scenarios_over(const std::string& id, const std::vector<std::string>& overrides,
                                             const Over& over) {
  std::vector<Scenario> scenarios;
  for (const std::int64_t size : over.sizes) {
    std::vector<std::string> all = overrides;
    all.push_back(fmt::format("{}={}", over.key, size));
    auto made = find_scenario(id, {"--over", 1, 1}, all);
    if (!made) return tl::unexpected(std::move(made.error()));  // the same mistake at every size
    scenarios.push_back(std::move(*made));
  }
  return scenarios;
}

Result<GrowthReport> grow(const GrowthRequest& request) {
  GrowthReport report{request.over, request.seeds.size(), {}};
  for (const std::vector<Scenario>& scenarios : request.scenarios) {
    if (auto done = compare_in(request, scenarios, report); !done) return tl::unexpected(done.error());
  }
  return report;
}

std::vector<GrowthRow> growth_rows(const GrowthReport& report) {
  std::vector<GrowthRow> rows;
  for (const GrowthComparison& c : report.comparisons) {
    GrowthRow row{c.scenario,      c.baseline,   c.candidate, c.metric, c.unit,
                  report.over.key, report.seeds, {},          {}};
    for (std::size_t i = 0; i < c.steps.size(); ++i) {
      const auto& [effect, interval] = c.steps[i];
      row.points.push_back({report.over.sizes[i], c.baseline_trend.means[i], c.candidate_trend.means[i],
                            effect, interval ? std::optional(interval->low) : std::nullopt,
                            interval ? std::optional(interval->high) : std::nullopt});
    }
    row.laws = {
        exponent_text("baseline", c.baseline_law, c.baseline_trend, c.baseline_reached, report.over.sizes),
        exponent_text("candidate", c.candidate_law, c.candidate_trend, c.candidate_reached,
                      report.over.sizes)};
    if (std::string text = difference_text(c); !text.empty()) row.laws.push_back(std::move(text));
    row.laws.push_back(growth_in_words(c, report.over, report.seeds));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string growth_text(const std::vector<GrowthRow>& rows) {
  std::string text;
  for (const GrowthRow& row : rows) {
    text += fmt::format("{}{} of {} against {} on {}, {} seeds\n", text.empty() ? "" : "\n", row.metric,
                        row.candidate, row.baseline, row.scenario, row.seeds);
    text += fmt::format("  {:>10} {:>11} {:>11} {:>10}   95 % interval\n", row.key, "baseline", "candidate",
                        "effect");
    for (const GrowthPoint& point : row.points) {
      text += fmt::format("  {:>10} {:>11} {:>11} {:>10}   {}\n", point.size, mean_text(point.baseline),
                          mean_text(point.candidate), share_text(point.effect),
                          point.low ? share_text(point.low) + " .. " + share_text(point.high) : "-");
    }
    for (const std::string& law : row.laws) text += wrapped(law, 2);
  }
  return text;
}

std::string growth_json(const GrowthReport& report) {
  Array sizes, comparisons;
  for (const std::int64_t size : report.over.sizes) sizes.push_back(to_value(size));
  for (const GrowthComparison& c : report.comparisons) {
    Array effects, intervals;
    for (const auto& [effect, interval] : c.steps) {
      effects.push_back(to_value(effect));
      intervals.push_back(interval_value(interval));
    }
    comparisons.push_back(
        to_value(Table{member("scenario", c.scenario), member("baseline", c.baseline),
                       member("candidate", c.candidate), member("metric", c.metric), member("unit", c.unit),
                       member("effect", std::move(effects)), member("interval", std::move(intervals)),
                       Member{"baseline_law", {}, law_value(c.baseline_law, c.baseline_trend)},
                       Member{"candidate_law", {}, law_value(c.candidate_law, c.candidate_trend)},
                       Member{"exponent_difference",
                              {},
                              to_value(Table{member("status", to_string(c.difference.status)),
                                             member("estimate", c.difference.estimate),
                                             Member{"interval", {}, interval_value(c.difference.interval)},
                                             member("p", c.difference.p)})}}));
  }
  return write_json(to_value(Table{member("schema", std::string("retrygate.growth/1")),
                                   member("over", report.over.key), member("sizes", std::move(sizes)),
                                   member("seeds", static_cast<std::int64_t>(report.seeds)),
                                   member("comparisons", std::move(comparisons))})) +
         "\n";
}

}  // namespace retrygate::ci
