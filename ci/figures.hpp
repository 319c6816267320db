// The figures of report.html: each has a text that says what it shows, the numbers for its plot, and the same
// numbers as a table, so that nothing is lost without a script or without eyes.
#pragma once

#include <string>
#include <vector>

#include "ci/report.hpp"

namespace retrygate::ci {

// How much of a report can be drawn before the page becomes too large.
struct FigureBudget {
  std::size_t values_per_policy = 200;  // dots of a distribution
  std::size_t bins_per_policy = 2000;   // of a storm
  std::size_t delays_per_retry = 16;    // observed ones, of an envelope
  explicit FigureBudget(const Report&);
};

// Effects of the candidates of one metric against its margin; all rows have the same scenario and metric.
std::string forest_figure(const std::vector<const ComparisonRow*>&);
// Samples of one metric by policy. Policies without a value are named in the caption.
std::string distribution_figure(const std::vector<const SampleRow*>&, const std::string& unit,
                                const FigureBudget&);
// Arrivals over time of every policy; several figures where there are many policies.
std::string storm_figures(const Storm&, const FigureBudget&);
// A metric of two policies by size, on logarithmic scales where everything is above 0.
std::string growth_figure(const GrowthRow&);
std::string envelope_figure(const Envelope&, const FigureBudget&);

// n of a sorted sample, spread evenly from its least to its greatest value; all of it if there are no more.
std::vector<double> thinned(const std::vector<double>& sorted, std::size_t n);

// A verdict as a word; the style puts a sign before it, and colour only repeats both.
std::string verdict_html(std::string_view verdict);
// "pass", "fail", "inconclusive" or "open", of any word for a verdict.
std::string_view kind_of(std::string_view verdict);
std::string p_html(double p);  // "0.031", "<1e-9" where the digits would only distract

}  // namespace retrygate::ci
