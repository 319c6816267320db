// What a reader may want to see behind the verdicts: samples, storms, delays, and where all of it comes from.
#pragma once

#include "ci/baseline.hpp"
#include "ci/report.hpp"
#include "ci/suite.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

// Adds the samples of a comparison and where they come from. What is already there is not added twice.
void add_evidence(const CompareTask&, const SampleTable&, Report&);

// Adds one storm for every scenario of the comparisons and first seed: all policies that meet there. `stored`
// is the baseline file, or null.
Result<void> add_storms(const std::vector<CompareTask>&, const Baseline* stored, Report&);

// The delays of a policy by retry: lowest, mean, highest, and those of some calls.
Envelope envelope_of(const NamedPolicy&);

}  // namespace retrygate::ci
