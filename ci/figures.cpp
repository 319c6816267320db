#include "ci/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "ci/html.hpp"
#include "ci/web_files.hpp"
#include "stats/sample.hpp"

namespace retrygate::ci {
namespace {

Value text(std::string_view value) { return to_value(std::string(value)); }

Value counts(const std::vector<std::int64_t>& numbers) {
  Array all;
  for (const std::int64_t n : numbers) all.push_back(to_value(n));
  return to_value(std::move(all));
}

template <std::ranges::range Numbers>
Value plotted_all(const Numbers& numbers) {
  Array all;
  for (const double x : numbers) all.push_back(plotted(x));
  return to_value(std::move(all));
}

constexpr std::size_t arms_per_figure = 6;  // of a storm: what fits a screen
constexpr std::size_t table_rows = 40;      // of a storm: coarser than its plot

std::string canvas(std::string_view says) {
  return fmt::format("<div class=\"canvas\" role=\"img\" aria-label=\"{}\"></div>\n", html(says));
}

// Without plots `what` names the table that is left of it.
std::string figure(std::string_view kind, const std::string& what, const std::string& caption,
                   const std::string& canvases, Table data, const HtmlTable& table) {
  if (!plots_missing().empty())
    return fmt::format(
        "<figure data-plot=\"{}\">\n<script type=\"application/json\">{}</script>\n{}</figure>\n", kind,
        script_json(to_value(std::move(data))), folded(what + ", as a table", html(table)));
  return fmt::format(
      "<figure data-plot=\"{}\">\n<figcaption>{}</figcaption>\n{}"
      "<script type=\"application/json\">{}</script>\n{}</figure>\n",
      kind, caption, canvases, script_json(to_value(std::move(data))),
      folded("The same as a table", html(table)));
}

// A relative effect in per cent, else in the metric's unit.
std::string unit_of(const ComparisonRow& row) {
  if (row.relative) return "%";
  return row.unit == "1" ? "" : row.unit;
}

Value scaled(const ComparisonRow& row, std::optional<double> value) {
  return plotted(value ? std::optional(*value * (row.relative ? 100 : 1)) : std::nullopt);
}

std::vector<double> reached(const SampleRow& row) {
  std::vector<double> values;
  for (const std::optional<double>& value : row.values) {
    if (value) values.push_back(*value);
  }
  return stats::sorted(values);
}

// Sums of `group` neighbours each.
std::vector<std::int64_t> grouped(const std::vector<std::int64_t>& counts, std::size_t group) {
  std::vector<std::int64_t> sums((counts.size() + group - 1) / group);
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i / group] += counts[i];
  return sums;
}

std::size_t bins_of(const Storm& storm) {
  std::size_t most = 1;
  for (const StormArm& arm : storm.arms) most = std::max(most, arm.sent.size());
  return most;
}

std::string seconds_text(Duration time) { return fmt::format("{:.6g}", time.seconds()); }

std::string storm_figure(const Storm& storm, const std::vector<StormArm>& arms, std::size_t group,
                         std::int64_t top) {
  const std::size_t bins = bins_of(storm);
  const Duration bin = storm.bin * static_cast<std::int64_t>(group);
  Array rows;
  std::string canvases =
      "<div class=\"zoom\" role=\"group\" aria-label=\"range of time\"><span>Time shown: <span "
      "class=\"range\">"
      "all</span></span>\n"
      "<button type=\"button\" data-zoom=\"in\">closer</button><button type=\"button\" data-zoom=\"out\">"
      "farther</button><button type=\"button\" data-zoom=\"left\">earlier</button><button type=\"button\" "
      "data-zoom=\"right\">later</button><button type=\"button\" data-zoom=\"all\">all</button>\n"
      "<span>or drag over a part; double click for all</span></div>\n";
  for (const StormArm& arm : arms) {
    const auto sent = grouped(arm.sent, group), failed = grouped(arm.failed, group);
    rows.push_back(to_value(Table{{"sent", {}, counts(sent)}, {"failed", {}, counts(failed)}}));
    std::int64_t all = 0, bad = 0;
    for (const std::int64_t n : arm.sent) all += n;
    for (const std::int64_t n : arm.failed) bad += n;
    const auto peak = sent.empty() ? sent.end() : std::max_element(sent.begin(), sent.end());
    canvases +=
        fmt::format("<h4>{}: {} attempts, {} of them failed</h4>\n", html(arm.policy), all, bad) +
        canvas(sent.empty()
                   ? arm.policy + " sent no attempt"
                   : fmt::format("attempts of {} over time: most in one bin of {}: {}, at {} s", arm.policy,
                                 to_string(bin), *peak, seconds_text(bin * (peak - sent.begin()))));
  }
  const std::size_t coarse = std::max<std::size_t>(1, (bins + table_rows - 1) / table_rows);
  HtmlTable table{fmt::format("Attempts (and of them failed) that began in {} from the given second on",
                              to_string(storm.bin * static_cast<std::int64_t>(coarse))),
                  {"second"},
                  {}};
  for (const StormArm& arm : arms) table.columns.push_back("#" + arm.policy);
  for (std::size_t i = 0; i * coarse < bins; ++i) {
    std::vector<std::string> row = {seconds_text(storm.bin * static_cast<std::int64_t>(i * coarse))};
    for (const StormArm& arm : arms) {
      std::int64_t sent = 0, failed = 0;
      for (std::size_t k = i * coarse; k < std::min((i + 1) * coarse, arm.sent.size()); ++k) {
        sent += arm.sent[k];
        failed += arm.failed[k];
      }
      row.push_back(sent == 0 ? "0" : fmt::format("{} ({})", sent, failed));
    }
    table.rows.push_back(std::move(row));
  }
  Table data = {{"kind", {}, text("storm")},
                {"bin_s", {}, plotted(bin.seconds())},
                {"end_s", {}, plotted((storm.bin * static_cast<std::int64_t>(bins)).seconds())},
                member("top", std::int64_t{top}),
                member("rows", std::move(rows))};
  return figure(
      "storm", "Attempts over time",
      fmt::format("Attempts that clients sent in each {}, on {} under seed {}: all of them light, those that "
                  "failed dark. The scales are the same for all policies.",
                  to_string(bin), html(world_of(storm)), storm.seed),
      canvases, std::move(data), table);
}

}  // namespace

FigureBudget::FigureBudget(const Report& report) {
  // About 6 bytes a value and 3 a bin: together at most half a megabyte.
  std::size_t arms = 1;
  for (const Storm& storm : report.storms) arms += storm.arms.size();
  values_per_policy =
      std::clamp<std::size_t>(25'000 / std::max<std::size_t>(1, report.samples.size()), 21, 200);
  delays_per_retry = std::clamp<std::size_t>(200 / std::max<std::size_t>(1, report.envelopes.size()), 4, 16);
  bins_per_policy = std::clamp<std::size_t>(30'000 / arms, 100, 2000);
}

std::vector<double> thinned(const std::vector<double>& sorted, std::size_t n) {
  if (sorted.size() <= n) return sorted;
  std::vector<double> kept;
  for (std::size_t i = 0; i < n; ++i) kept.push_back(sorted[i * (sorted.size() - 1) / (n - 1)]);
  return kept;
}

std::string p_html(double p) { return p < 1e-9 ? "&lt;1e-9" : fmt::format("{:.2g}", p); }

std::string_view kind_of(std::string_view verdict) {
  if (verdict == "pass" || verdict == "holds") return "pass";
  if (verdict == "fail" || verdict == "fails" || verdict == "broken") return "fail";
  if (verdict == "inconclusive" || verdict == "unsure") return "inconclusive";
  return "open";
}

std::string verdict_html(std::string_view verdict) {
  return fmt::format("<b class={}>{}</b>", kind_of(verdict), verdict.empty() ? "not judged" : html(verdict));
}

// What the dashed lines of a forest say.
std::string margin_caption(const ComparisonRow& row) {
  if (row.margin.empty()) return "";
  if (row.question == "equivalent")
    return fmt::format(" The dashed lines are the margin, {}; what lies outside of them is a change.",
                       html(row.margin));
  const bool better = row.question == "better";
  const bool right = (row.better == "lower") != better;
  return fmt::format(" The dashed line is the margin, {}; {} of it is {}.", html(row.margin),
                     right ? "right" : "left", better ? "as much better as was asked" : "worse than allowed");
}

std::string forest_figure(const std::vector<const ComparisonRow*>& rows) {
  const ComparisonRow& first = *rows.front();
  Array bars;
  HtmlTable table{"",
                  {"candidate", "#baseline", "#candidate's", "#effect", "#90 % interval", "#margin",
                   "verdict", "#seeds", "#adjusted p", "decided by"},
                  {}};
  for (const ComparisonRow* row : rows) {
    if (row->effect)
      bars.push_back(to_value(Array{text(row->candidate), scaled(*row, row->effect), scaled(*row, row->low),
                                    scaled(*row, row->high), text(row->verdict)}));
    table.rows.push_back({html(row->candidate), mean_text(row->baseline_mean), mean_text(row->candidate_mean),
                          effect_text(*row, row->effect), interval_text(*row), html(row->margin),
                          verdict_html(row->verdict), fmt::format("{}", row->seeds),
                          row->p_adjusted ? p_html(*row->p_adjusted) : "-", html(row->method)});
  }
  // The margin as places on the axis: on the side that is worse, on the other, or on both.
  const bool right_is_worse = first.better == "lower";
  Array margins;
  if (first.margin_amount) {
    const double worse = right_is_worse ? *first.margin_amount : -*first.margin_amount;
    if (first.question != "better") margins.push_back(scaled(first, worse));
    if (first.question == "better" || first.question == "equivalent")
      margins.push_back(scaled(first, -worse));
  }
  Table data = {{"kind", {}, text("forest")},
                {"unit", {}, text(unit_of(first))},
                {"better", {}, text(first.better)},
                member("margins", std::move(margins)),
                member("rows", std::move(bars))};
  return figure(
      "forest", "Effect on " + html(first.metric),
      fmt::format(
          "Effect on {}: candidate against {}, with its 90 % interval.{} Circle: pass; triangle: fail; "
          "diamond: inconclusive; square: not judged.",
          html(first.metric), html(first.baseline), margin_caption(first)),
      canvas(fmt::format("effects on {} of {} candidates with their intervals; the table below has them",
                         first.metric, rows.size())),
      std::move(data), table);
}

std::string distribution_figure(const std::vector<const SampleRow*>& rows, const std::string& unit,
                                const FigureBudget& budget) {
  const std::string& metric = rows.front()->metric;
  const std::string shown_unit = unit == "1" ? "" : unit;
  Array policies;
  HtmlTable table{"",
                  {"policy", "#seeds", "#not reached", "#least", "#quartile", "#median", "#mean", "#quartile",
                   "#greatest"},
                  {}};
  bool thin = false;
  std::string unreached;
  for (const SampleRow* row : rows) {
    const std::vector<double> values = reached(*row);
    const std::string missing = fmt::format("{}", row->values.size() - values.size());
    const std::string seeds = fmt::format("{}", row->values.size());
    if (values.empty()) {
      unreached += fmt::format(" {} reached it in no seed.", html(row->policy));
      table.rows.push_back({html(row->policy), seeds, missing, "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const double mean = stats::mean(values);
    const double box[] = {values.front(), stats::quantile(values, 0.25), stats::median(values),
                          stats::quantile(values, 0.75), values.back()};
    table.rows.push_back({html(row->policy), seeds, missing, mean_text(box[0]), mean_text(box[1]),
                          mean_text(box[2]), mean_text(mean), mean_text(box[3]), mean_text(box[4])});
    thin = thin || values.size() > budget.values_per_policy;
    policies.push_back(
        to_value(Table{{"name", {}, text(row->policy)},
                       {"box", {}, plotted_all(box)},
                       {"mean", {}, plotted(mean)},
                       {"values", {}, plotted_all(thinned(values, budget.values_per_policy))}}));
  }
  Table data = {{"kind", {}, text("distribution")},
                {"metric", {}, text(metric)},
                {"unit", {}, text(shown_unit)},
                member("rows", std::move(policies))};
  return figure(
      "distribution", html(metric) + " by policy",
      fmt::format(
          "{} by policy: a dot is one seed{}, the box the middle half, its bar the median, the diamond the "
          "mean.{}",
          html(metric),
          thin ? fmt::format(" ({} of them, spread evenly over the sorted sample)", budget.values_per_policy)
               : "",
          unreached),
      canvas(fmt::format("distributions of {} for {} policies; the table below has their quartiles", metric,
                         rows.size())),
      std::move(data), table);
}

std::string storm_figures(const Storm& storm, const FigureBudget& budget) {
  const std::size_t bins = bins_of(storm);
  const std::size_t group = (bins + budget.bins_per_policy - 1) / budget.bins_per_policy;
  std::int64_t top = 1;
  for (const StormArm& arm : storm.arms) {
    for (const std::int64_t n : grouped(arm.sent, group)) top = std::max(top, n);
  }
  std::string out;
  for (std::size_t i = 0; i < storm.arms.size(); i += arms_per_figure) {
    const std::size_t end = std::min(i + arms_per_figure, storm.arms.size());
    const auto at = storm.arms.begin();
    const std::vector<StormArm> arms(at + static_cast<std::ptrdiff_t>(i),
                                     at + static_cast<std::ptrdiff_t>(end));
    const std::string one = storm_figure(storm, arms, group, top);
    out += i == 0 ? one : folded(fmt::format("Policies {} to {} of {}", i + 1, end, storm.arms.size()), one);
  }
  return out;
}

std::string growth_figure(const GrowthRow& row) {
  Array sizes, baseline, candidate;
  HtmlTable table{
      "", {"#" + row.key, "#" + row.baseline, "#" + row.candidate, "#effect", "#95 % interval"}, {}};
  for (const GrowthPoint& point : row.points) {
    sizes.push_back(to_value(point.size));
    baseline.push_back(plotted(point.baseline));
    candidate.push_back(plotted(point.candidate));
    table.rows.push_back(
        {fmt::format("{}", point.size), mean_text(point.baseline), mean_text(point.candidate),
         share_text(point.effect),
         point.low ? fmt::format("{} .. {}", share_text(point.low), share_text(point.high)) : "-"});
  }
  const GrowthPoint &first = row.points.front(), &last = row.points.back();
  const bool logarithmic = std::all_of(row.points.begin(), row.points.end(), [](const GrowthPoint& point) {
    return point.baseline > 0 && point.candidate > 0;
  });
  Table data = {{"kind", {}, text("growth")},
                {"metric", {}, text(row.metric)},
                {"unit", {}, text(row.unit == "1" ? "" : row.unit)},
                {"key", {}, text(row.key)},
                {"names", {}, to_value(Array{text(row.baseline), text(row.candidate)})},
                member("sizes", std::move(sizes)),
                member("rows", Array{to_value(std::move(baseline)), to_value(std::move(candidate))})};
  return figure(
      "growth", fmt::format("{} by {}", html(row.metric), html(row.key)),
      fmt::format(
          "{} by {}, means of {} seeds: {} solid with circles, {} dashed with triangles.{}", html(row.metric),
          html(row.key), row.seeds, html(row.baseline), html(row.candidate),
          logarithmic ? " On such scales a power law is a straight line, and its exponent the slope." : ""),
      canvas(fmt::format("{} from {} to {} {}: {} from {} to {}, {} from {} to {}", row.metric, first.size,
                         last.size, row.key, row.baseline, mean_text(first.baseline),
                         mean_text(last.baseline), row.candidate, mean_text(first.candidate),
                         mean_text(last.candidate))),
      std::move(data), table);
}

std::string envelope_figure(const Envelope& envelope, const FigureBudget& budget) {
  Array lo, mean, hi, seen;
  HtmlTable table{
      "Seconds", {"retry", "#lowest", "#mean", "#highest", "#observed, from", "#observed, to"}, {}};
  std::size_t calls = 0;
  for (const EnvelopeRow& row : envelope.retries) {
    lo.push_back(plotted(row.lo.seconds()));
    mean.push_back(plotted(row.mean.seconds()));
    hi.push_back(plotted(row.hi.seconds()));
    std::vector<double> delays;
    for (const Duration delay : row.observed) {
      if (delays.size() < budget.delays_per_retry) delays.push_back(delay.seconds());
    }
    calls = std::max(calls, delays.size());
    seen.push_back(plotted_all(delays));
    const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
    table.rows.push_back({fmt::format("{}", table.rows.size() + 1), mean_text(row.lo.seconds()),
                          mean_text(row.mean.seconds()), mean_text(row.hi.seconds()),
                          delays.empty() ? "-" : mean_text(*least), delays.empty() ? "-" : mean_text(*most)});
  }
  Table data = {{"kind", {}, text("envelope")},
                member("lo", std::move(lo)),
                member("mean", std::move(mean)),
                member("hi", std::move(hi)),
                member("seen", std::move(seen))};
  return figure(
      "envelope", "Delay before each retry",
      fmt::format(
          "Delay before each retry: the bar reaches from the lowest to the highest ({}), the thick line is "
          "the mean, circles are the delays of {} calls; a cross lies outside of the bar.",
          envelope.exact ? "from the contract" : "as observed in many calls", calls),
      canvas(fmt::format("delays of {} for {} retries; the table below has them", envelope.subject,
                         envelope.retries.size())),
      std::move(data), table);
}

}  // namespace retrygate::ci
