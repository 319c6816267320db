// Published claims against what this project computes: one row per claim, and what the rows of all
// articles are made with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ci/suite.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

struct ClaimRow {
  std::string experiment;
  std::string claim;  // begins with the row's number: "1.13 only what may pass is retried"
  std::string published;
  std::string ours;
  std::string verdict;
  std::string why;
};

enum class Word { ok, ok_if, imprecise, inconsistent, wrong, open };
std::string_view to_string(Word);
// All of them, in the order above, with what they say about the published claim.
struct ClaimWord {
  Word value;
  std::string_view word, meaning;
};
std::span<const ClaimWord> claim_words();

// The row of that number: claim and published text come from sim/experiments/published.cpp.
ClaimRow judged(std::string_view row, std::string ours, Word, std::string why);

void append(std::vector<ClaimRow>& rows, std::vector<ClaimRow> more);
Word ok(bool yes);  // or wrong

// The rows of one article, in any order; seeds (at least two) for what is drawn.
std::vector<ClaimRow> retry_storm_claims(const Seeds&);
std::vector<ClaimRow> random_backoff_claims(const Seeds&);
std::vector<ClaimRow> rate_limited_fleet_claims(const Seeds&);
std::vector<ClaimRow> flaky_service_claims(const Seeds&);
std::vector<ClaimRow> decorator_claims(const Seeds&);
std::vector<ClaimRow> occ_contention_claims(const Seeds&);

// The samples of one metric that were reached, sorted.
struct Column {
  std::vector<double> values;
  std::size_t not_reached = 0;

  double low() const;
  double high() const;
  double mean() const;
  double variance() const;             // unbiased; at least two values
  double standard_error() const;       // of the mean; at least two values
  double quantile(double q) const;     // type 7
  double share_up_to(double x) const;  // of the values
  double share_of(double x) const;     // of the values, equal to x
  bool holds(double x) const { return x >= low() && x <= high(); }
};
Column column(std::vector<double> samples);

// Policies in one scenario over seeds, every metric that the claims read.
class Played {
 public:
  Played(std::string_view scenario, const std::vector<std::string>& overrides,
         const std::vector<std::string>& policies, const Seeds&);
  const Column& operator()(std::string_view policy, std::string_view metric) const;
  bool same_for_all_seeds(std::string_view policy) const;  // the digests
  bool drew(std::string_view policy) const;                // did the policy consume randomness?

 private:
  std::size_t cell(std::string_view policy) const;
  std::vector<std::string> policies_;
  SampleTable table_;
  std::vector<std::vector<Column>> columns_;  // [policy][metric]
};

// Mean difference over seeds with its two-sided 95 % t interval.
struct Paired {
  double mean = 0, low = 0, high = 0;
  std::size_t below = 0;  // seeds with a negative difference
  std::size_t n = 0;
};
Paired paired(const std::vector<double>& differences);
std::string in_words(const Paired&, std::string_view unit);  // "-0.506 points [-0.534, -0.479]"

std::string joined(const std::vector<Duration>&);  // "500ms 1s 2s"
// "1167..1203": the lowest and the highest, one figure when they agree.
std::string spread(const Column&, int digits = 6);

}  // namespace retrygate::ci
