// What a reader may want to see behind the verdicts: samples, storms, delays, and where all of it comes from.
#pragma once

#include "ci/baseline.hpp"
#include "ci/report.hpp"
#include "ci/suite.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

// Adds the samples of a comparison, one storm per scenario (its first seed), and the provenance of both.
// `stored` is the baseline file, or null. Scenarios and policies that are already there are not added twice.
Result<void> add_evidence(const CompareTask&, const Baseline* stored, const SampleTable&, Report&);

// The delays of a policy by retry: lowest, mean, highest, and those of some calls.
Envelope envelope_of(const NamedPolicy&);

}  // namespace retrygate::ci
