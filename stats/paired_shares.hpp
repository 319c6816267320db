// Two shares of the same pairs: by how much do they differ? Only the pairs that disagree tell, but how often
// pairs disagree is unknown; the exact tests take it for what is worst.
#pragma once

#include <cstdint>

#include "stats/interval.hpp"

namespace retrygate::stats {

// Pairs of yes or no: first_only + second_only <= pairs, pairs >= 1.
struct PairedShares {
  std::int64_t pairs = 1;
  std::int64_t first_only = 0;   // yes on the first side alone
  std::int64_t second_only = 0;  // yes on the second side alone
  // Share of the first side minus share of the second, in [-1, 1].
  double difference() const {
    return static_cast<double>(first_only - second_only) / static_cast<double>(pairs);
  }
};

inline constexpr std::int64_t paired_exact_limit =
    1000;  // at most so many pairs: exact tests, a fraction of a second

// (seen - difference) / standard error, with the error as it would be if `difference` were true; infinite
// where that is 0. -1 <= difference <= 1. Source: T. Tango, "Equivalence test and confidence interval for
// the difference in proportions for the paired-sample design", Statistics in Medicine 17 (1998).
double tango_score(const PairedShares&, double difference);
// That standard error.
double tango_error(const PairedShares&, double difference);

struct PairedTest {
  double p_greater = 1;  // of "the difference is at most this"
  double p_less = 1;     // of "the difference is at least this"
  bool exact = true;     // else by the normal law of the score
};
// Exact up to paired_exact_limit pairs: the probability of a score at least as far, at its largest over how
// often pairs may disagree, which is looked for within a 1 - 1e-6 interval (those 1e-6 are added, so no p is
// smaller). Sources: Hsueh, Liu and Chen, "Unconditional exact tests for equivalence or noninferiority for
// paired binary endpoints", Biometrics 57 (2001); Berger and Boos, "P values maximized over a confidence set
// for the nuisance parameter", 1994.
PairedTest test_paired_shares(const PairedShares&, double difference);
PairedTest score_test_paired_shares(const PairedShares&, double difference);

// All differences that these tests do not reject, (1 - level) / 2 on each side; 0 < level < 1. The exact ends
// are found to 1e-5.
Interval paired_interval(const PairedShares&, double level);
Interval tango_interval(const PairedShares&, double level);

}  // namespace retrygate::stats
