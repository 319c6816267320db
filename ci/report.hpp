// Everything any reader of a run may be shown, as one plain value. Reporters are pure functions of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ci/exit_code.hpp"
#include "policies/base/error.hpp"
#include "policies/base/shelf.hpp"
#include "policies/base/units.hpp"

namespace retrygate::ci {

struct RunInfo {
  std::string version, suite, summary, seeds, command;  // command: what repeats the run
};

// One subject against one invariant.
struct VerdictRow {
  std::string subject, invariant, level, evidence, verdict;  // verdict: "holds", "fails", "waived" ...
  std::string claim, counterexample, repeat;
  Where where = {};            // of the policy, in a file or on the command line
  std::string waiver = {};     // of a "waived" failure: until when, and why
  std::string unshrunk = {};   // the case as it was first met, where a smaller one was found
  std::string elsewhere = {};  // where else it fails
  bool strict = false;         // a SHOULD counts like a MUST
};

// How far the check of one subject went.
struct CoverageRow {
  std::string subject, tried;
  std::vector<std::string> not_tried;
};

// What another test says to the question of a comparison; it never decides.
struct SensitivityRow {
  std::string method, verdict;  // verdict: "pass", "fail", "inconclusive", by the rule of the deciding test
  double p_worse = 1;           // small when the candidate is worse than the margin allows
  double p_adjusted = 1;        // the same by Holm over all comparisons of the run
  double p_within = 1;          // small when the candidate is within the margin
  std::optional<double> low = {}, high = {};  // of the effect, where the method has an interval
};

// One metric of one candidate against its baseline.
struct ComparisonRow {
  std::string scenario, baseline, candidate, metric, unit;
  std::string better;  // "lower" or "higher"
  std::optional<double> baseline_mean = {}, candidate_mean = {};
  std::optional<double> effect = {}, low = {},
                        high = {};  // a ratio minus 1 when `relative`, else in the metric's unit
  bool relative = false;
  std::string question = {};  // "not-worse", "better", "equivalent"
  std::string margin = {};    // as the suite has it; empty: none was given, so there is no verdict
  std::optional<double> margin_amount = {};  // the same as a number, 0.1 for "10%"
  std::string verdict = {};                  // "pass", "fail", "inconclusive"; empty without a margin
  std::string method = {};   // that decides: "bootstrap-t", "Student's t", "deterministic" ...
  std::string law = {};      // where its p and interval come from: "exact", "10000 resamples" ...
  std::string assumes = {};  // of the seeds; may be empty
  std::optional<double> p = {}, p_adjusted = {};
  std::vector<SensitivityRow> sensitivity = {};  // the same question to other tests
  std::size_t seeds = 0;
  std::optional<std::size_t> decided_at = {};  // seeds it took, where they came one after another
  std::optional<double> pairing_gain = {};     // unpaired seeds that are worth one pair
  std::optional<std::size_t> seeds_needed = {};
  Where where = {};                      // of the candidate policy, in a file or on the command line
  std::string headline = {};             // one sentence: what changed, how sure, what was asked
  std::vector<std::string> params = {};  // what was laid over the scenario, "clients=2000"
  std::string seed_range = {};           // "1..200"
};

// How a policy differs from the one that it is compared with: lines of its definition and its promises.
struct PolicyChange {
  std::string stored, now;  // names
  std::vector<std::string> removed, added;
  bool in_file = true;  // `stored` is that of a baseline file, else that of the suite or the command line
  bool operator==(const PolicyChange&) const = default;
};

// What was measured, seed by seed: what the distributions are drawn from.
struct SampleRow {
  std::string scenario, policy, metric;
  std::vector<std::optional<double>> values;  // by seed; nothing where it was not reached
  std::vector<std::string> params = {};       // of the scenario
  std::string seed_range = {};
};

struct MetricMeaning {
  std::string id, meaning;
};

// Attempts over time in one run of each policy of a scenario, all under the same seed.
struct StormArm {
  std::string policy;
  std::vector<std::int64_t> sent, failed;  // by bin: attempts that began in it, and how many of them failed
};
struct Storm {
  std::string scenario;
  std::uint64_t seed = 0;
  Duration bin;
  std::vector<StormArm> arms;
  std::vector<std::string> params = {};  // of the scenario
};

// The delays of a subject, retry by retry.
struct EnvelopeRow {
  Duration lo, mean, hi;
  std::vector<Duration> observed;  // of some calls
};
struct Envelope {
  std::string subject;
  bool exact = true;  // lo and hi follow from the contract; false: they were observed
  std::vector<EnvelopeRow> retries;
};

// How a metric of two policies grows with a number of the scenario, such as its clients.
struct GrowthPoint {
  std::int64_t size = 0;
  double baseline = 0, candidate = 0;         // means over seeds
  std::optional<double> effect = {};          // candidate's mean / baseline's - 1; none when that is 0
  std::optional<double> low = {}, high = {};  // its 95 % interval, paired by seed; none without spread
};
struct GrowthRow {
  std::string scenario, baseline, candidate, metric, unit;
  std::string key;  // what grows
  std::size_t seeds = 0;
  std::vector<GrowthPoint> points;  // by size
  std::vector<std::string> laws;    // sentences: exponents, and their difference
};

// Where the numbers come from: the same values give the same report.
struct ScenarioOrigin {
  std::string id, summary, hash;  // of its definition
  std::vector<std::string> params;
  bool operator==(const ScenarioOrigin&) const = default;
};
struct RunOrigin {
  std::string scenario, policy, definition, seeds;
  std::string digest;                    // of all events of all its seeds
  std::vector<std::string> params = {};  // of the scenario
  bool operator==(const RunOrigin&) const = default;
};
struct Provenance {
  std::string commit;
  int random_streams = 0;
  std::vector<ScenarioOrigin> scenarios;
  std::vector<RunOrigin> runs;
};

struct Report {
  RunInfo run;
  std::vector<VerdictRow> verdicts;
  std::vector<CoverageRow> coverage;  // of each subject
  std::vector<ComparisonRow> comparisons;
  std::vector<PolicyChange> changes;  // from each baseline to what is compared with it
  std::vector<std::string> blocked;   // why there is no comparison although one was asked for
  Errors refused;                     // what is wrong with the settings; nothing was run then
  Errors unstarted;                   // programs that could not be asked anything
  std::vector<std::string> notes;
  std::vector<SampleRow> samples;
  std::vector<MetricMeaning> metrics;
  std::vector<Storm> storms;
  std::vector<Envelope> envelopes;
  std::vector<GrowthRow> growth;
  Provenance provenance;
  bool one_by_one = false;  // seeds came one after another, until all was decided
  bool undecided = false;   // something is inconclusive, whatever --inconclusive makes of it
  ExitCode code = ExitCode::pass;
};

// Was anything asked? Of estimates alone nothing passes, although the command exits with 0.
bool judges(const Report&);

// The word of a report: "pass", "fail", "inconclusive", "no verdict" ... An undecided run that exits with 0
// says so.
std::string_view verdict_word(const Report&);

struct Reporter {
  std::string_view id, file, summary;  // file: its name under --out; none for what only a terminal reads
  std::string (*render)(const Report&);
};
const Shelf<Reporter>& reporters();

// A scenario as it was run: "outage-then-limit", or "outage-then-limit (clients=2000)" with what was laid
// over it. Two of them that differ are two worlds, and nothing of one belongs to the other.
std::string world_of(const std::string& scenario, const std::vector<std::string>& params);
template <class Row>
std::string world_of(const Row& row) {
  return world_of(row.scenario, row.params);
}

// Who and what a sentence is about, so that no other sentence of the report begins like it: "ours gave_up",
// with the scenario and the baseline where the report has several: "ours gave_up on brownout against
// full-jitter".
std::string sentence_about(const Report&, const ComparisonRow&);

// "failed" parts of a report, shared by the reporters.
bool is_bad(const VerdictRow&);
// Does it make the run fail? A failed SHOULD does when it is asked to (--strict).
bool is_violation(const VerdictRow&);
// Asked for equivalence, and better by more than the margin.
bool changed(const ComparisonRow&);
// What is wrong with a comparison that fails, by the question that was asked.
struct Fault {
  std::string_view id;     // "regression", "not-better", "changed"
  std::string_view words;  // "worse than allowed": completes "it is .."
  std::string_view claim;  // what was to be shown, as a sentence
};
const Fault& fault_of(const ComparisonRow&);
std::span<const Fault> faults();
// "pass", "FAIL", "CHANGED" or "?".
std::string_view verdict_mark(const ComparisonRow&);
// "+6.2 %" for a relative effect, "-6.0 pt" for shares, "+40 calls" or "-0.32 s" otherwise; "-" when there is
// none.
std::string effect_text(const ComparisonRow&, std::optional<double> value);
// "-12.2 .. -11.9 %": the unit once; "-" when there is none.
std::string interval_text(const ComparisonRow&);
// "Pairing by seed saves seeds: ..", of the metrics of one candidate; empty where it saves next to none.
std::string saved_by_pairing(std::span<const ComparisonRow* const>);
// What is bad (or waived) of the checks, the cause before what follows from it: failures before what could
// not be decided, and what could not be decided for one and the same reason together.
struct CheckBlock {
  std::vector<const VerdictRow*> rows;  // of one subject and one verdict; several have the same finding
};
std::vector<CheckBlock> check_blocks(const Report&);
// "+6.2 %", and "x117000" from ten times as much on; "-" when there is none.
std::string share_text(std::optional<double> share);
// "p = 0.031"; "p < 1e-9" where the digits would only distract, and never "p = 0".
std::string p_text(double p);
// Four significant digits, but a thousand and more to the unit, without an exponent; "-" when there is none.
std::string mean_text(std::optional<double> value);

}  // namespace retrygate::ci
