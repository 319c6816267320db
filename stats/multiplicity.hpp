// Adjusted p values over a family of tests.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrygate::stats {

// What is controlled: the chance of any false finding (family-wise error), or the expected share of false
// ones among the findings (false discovery rate).
enum class Adjustment {
  bonferroni,           // family-wise, any dependence
  holm,                 // family-wise, any dependence, never less powerful than Bonferroni
  hochberg,             // family-wise, independent or positively dependent tests
  hommel,               // family-wise, as Hochberg; closed testing with Simes, never less powerful
  benjamini_hochberg,   // false discovery rate, independent or positively dependent tests
  benjamini_yekutieli,  // false discovery rate, any dependence
};

// Adjusted values in the order given, in [0, 1]. What is missing stays missing and counts as no test.
// `family` is the number of tests of the family when some of them, with larger p, are not at hand; at least
// the number of values that are. Every p in [0, 1].
// Sources: Holm 1979; Hochberg 1988; Hommel 1988, in the form of Wright 1992; Benjamini and Hochberg 1995;
// Benjamini and Yekutieli 2001.
std::vector<std::optional<double>> adjust(Adjustment, std::span<const std::optional<double>> p,
                                          std::optional<std::size_t> family = {});

std::vector<double> holm(std::span<const double> p);  // nothing missing, the family is what is given

}  // namespace retrygate::stats
