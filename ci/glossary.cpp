#include "ci/glossary.hpp"

namespace retrygate::ci {
namespace {

constexpr Term all_terms[] = {
    {"0", "exit code",
     "Pass. With --inconclusive warn also when something is undecided; the last line says so."},
    {"1", "exit code",
     "A promise is broken (a failed MUST; with --strict a failed SHOULD), or a candidate is worse than its "
     "margin allows. A policy that raises, dies, hangs or answers garbage on an input that its contract "
     "allows breaks a promise, too."},
    {"2", "exit code",
     "The command line or a file is wrong. Every mistake is named with file:line:column and what would do."},
    {"3", "exit code",
     "Undecided: the seeds do not decide a metric, a check had too few draws, or there is no stored baseline "
     "that can be compared. The report says what is missing. Of `sim`: it was interrupted, and not all seeds "
     "are there."},
    {"4", "exit code",
     "A fault of retrygate, or a program (exec:CMD) that cannot be started or gives no valid greeting. If "
     "several codes apply: 2, 4, 1, 3."},

    {"subject", "what is checked",
     "A policy, a program (exec:CMD) or a recording (--trace) that is held against its contract."},
    {"contract", "what is checked",
     "What a subject promises, as data: cap, jitter, attempts, deadline, Retry-After ... What it does not "
     "mention is not promised, and not checked."},
    {"invariant", "what is checked",
     "One promise as a sentence that holds for every call. `retrygate list invariants` shows all."},
    {"promised", "line of a report", "The claim of the invariant that fails."},
    {"found", "line of a report", "The smallest case that shows the failure."},
    {"first met", "line of a report", "The case as it was found, before it was made smaller."},
    {"elsewhere", "line of a report", "Where else the same promise is broken."},
    {"repeat", "line of a report",
     "A command that shows the same failure again, with the same draws. Behind --replay stands a token: the "
     "invariant, the seed, the number of cases, check digits of the subject, and the place of the case."},
    {"which", "line of a report", "The invariants that one and the same finding left undecided."},
    {"tried", "line of a report", "How far the check went: which attempts, how many cases."},
    {"not tried", "line of a report", "What the check left out, and why. Nothing is known about that."},

    {"MUST", "level of an invariant", "When it is promised and fails, the check fails."},
    {"SHOULD", "level of an invariant", "When it fails this is printed; it counts with --strict alone."},
    {"exact", "evidence of an invariant, law of a method",
     "Of an invariant: one case that fails is a proof. Of a method: p and interval follow from a count, "
     "without approximation."},
    {"statistical", "evidence of an invariant",
     "Decided by many draws. All statistical invariants of one check together accuse an innocent policy with "
     "probability 1e-9."},
    {"normal approximation", "law of a method", "p and interval follow from the normal law, for many seeds."},
    {"asymptotic, at every look", "law of a method",
     "The bounds hold at all looks together, for as many seeds as the first look has and more."},

    {"holds", "verdict of a check", "No counterexample was found, or the statistical test accepts."},
    {"not-promised", "verdict of a check", "The contract says nothing about it, so nothing was checked."},
    {"unsure", "verdict of a check", "Too few draws to decide; counts as inconclusive."},
    {"deviates", "verdict of a check",
     "It fails, but the replica lists this failure of the original with its source; counts as a pass."},
    {"fails", "verdict of a check",
     "A counterexample was found; the report has the smallest and a command that repeats it."},
    {"broken", "verdict of a check", "The checker itself failed; a fault of retrygate (exit 4)."},
    {"waived", "verdict of a check",
     "It fails, but a waiver of the suite accepts this until a day; counts as a pass through that day."},

    {"pass", "verdict of a comparison",
     "The one-sided 95 % bound on the bad side lies within the margin. It is not corrected for the number of "
     "metrics, because every metric must pass (intersection-union)."},
    {"fail", "verdict of a comparison",
     "The hypothesis \"not worse than the margin\" is rejected: its p, adjusted by Holm over all comparisons "
     "of the run, is at most 0.05."},
    {"inconclusive", "verdict of a comparison",
     "Neither: the interval reaches across the margin. The report says about how many seeds would decide, "
     "4 times in 5, if effect and spread stay as they are."},
    {"?", "verdict of a comparison", "Inconclusive, in the tables of a report."},
    {"changed", "verdict of a comparison",
     "Equivalence was asked for, and the candidate is better by more than the margin: a failure, too."},
    {"no verdict", "verdict of a run",
     "Nothing was judged: no metric has a margin, and nothing was checked. Estimates alone neither pass nor "
     "fail; the exit code is 0."},
    {"estimates alone", "verdict of a run",
     "Effects without a margin: they are shown, and nothing is decided."},
    {"usage error", "verdict of a run", "The command line or a file is wrong (exit 2)."},
    {"internal error", "verdict of a run",
     "A fault of retrygate, or a program that cannot be started (exit 4)."},
    {"regression", "failure of a comparison", "The candidate is worse than its margin allows."},
    {"not-better", "failure of a comparison", "The candidate is not better by as much as was asked for."},

    {"not-worse", "question of a comparison",
     "Is the candidate worse than the baseline by at most the margin? The default (non-inferiority)."},
    {"better", "question of a comparison",
     "Is the candidate better than the baseline by at least the margin (superiority)? Under a metric: which "
     "direction is good."},
    {"equivalent", "question of a comparison",
     "Is the candidate neither worse nor better than the baseline by more than the margin?"},
    {"estimate", "in place of a margin", "metrics = { collapse = \"estimate\" }: shown and not judged."},
    {"no comparison", "line of a report",
     "The stored baseline is missing, or something beside the policy differs from what is asked now; the "
     "line says what. Exit 3."},

    {"baseline", "column of a report",
     "The policy that is compared with, and its mean over seeds. A stored baseline is a file with the "
     "policy, the scenario, the seeds and the samples of an earlier run."},
    {"candidate", "column of a report",
     "The policy that may take the baseline's place, and its mean over seeds."},
    {"effect", "column of a report",
     "The mean over seeds of candidate minus baseline, or the ratio of the means minus 1 when the margin is "
     "in %. pt are points: seeds of a hundred."},
    {"90 % interval", "column of a report",
     "Holds the true effect with 90 % confidence: each side is a one-sided 95 % bound, and the one on the "
     "bad side decides."},
    {"95 % interval", "column of a growth table",
     "Holds the ratio of the means (minus 1) with 95 % confidence: Fieller's interval, paired by seed."},
    {"margin", "column of a report",
     "How much worse the metric may become: 10% of the baseline's mean, or an amount in the metric's unit "
     "(200ms, 0.5); of a yes/no metric points (5pt). You choose it; without one nothing is judged."},
    {"metric", "column of a report",
     "One number of a run, such as the requests that the server received. `retrygate list metrics` shows "
     "all."},
    {"seed", "word of a report",
     "One simulated world: arrivals, outages, draws. Both policies meet it alike and are compared in it; "
     "seeds are what intervals are about. The same seed gives the same bytes."},
    {"scenario", "word of a report",
     "Who calls, and what happens to the server. `retrygate list scenarios` shows those that ship."},
    {"horizon", "word of a report",
     "The time that all policies of a scenario get. What is not reached by then counts as the horizon."},
    {"p", "word of a report",
     "How likely data like these are if the candidate keeps the margin (or, of \"not worse\", if it does "
     "not). Never decides alone."},
    {"adjusted p", "word of a report",
     "p by Holm over all comparisons of the run: with many questions one of them looks bad by chance."},
    {"holm", "method",
     "Adjusts p for the number of comparisons: the smallest p of k is multiplied by k, the next by k - 1 ... "
     "S. Holm, A simple sequentially rejective multiple test procedure, 1979."},
    {"other tests", "section of a report",
     "What other tests say to the same questions, with their p. They never decide; where one disagrees, the "
     "sentence of the metric says so."},
    {"paired seeds", "line of a report",
     "Both policies meet the same worlds, so that the worlds' differences cancel. The factor is the variance "
     "of the difference without that, divided by the variance with it: so many times the seeds."},
    {"digest", "word of a report",
     "16 hexadecimal digits made of every event of a run: equal digests mean the same course of events."},
    {"random streams", "word of a report",
     "The version of how draws follow from seeds. Samples of different versions are not compared."},
    {"changes", "section of a report",
     "How the baseline and the candidate are written, line by line: - is what the candidate lacks, + what is "
     "new."},

    {"promises", "section of a report",
     "Every subject with how many of its invariants hold, fail, are undecided or are not promised; below, "
     "what fails."},
    {"in words", "section of a report", "Each comparison as a sentence: what was asked, and the answer."},
    {"at a glance", "section of a report", "All effects of the run in one table."},
    {"other tests", "section of a report",
     "What other methods would say to the same questions. They never decide; where one disagrees, the "
     "sentence of the metric says so."},
    {"the storm", "section of a report",
     "The attempts of all clients over time under one seed, policy by policy; those that failed are dark."},
    {"delays by retry", "section of a report",
     "The lowest, mean and highest delay before each retry, and those that were observed."},
    {"where this comes from", "section of a report",
     "Versions, hashes of the scenarios, digests of the runs, and the command that repeats all of it."},
    {"notes", "section of a report", "What one has to know to believe the intervals."},
    {"decides", "column of a report", "The method whose answer is the verdict; the others never are."},
    {"verdict", "last line of a report",
     "What the run says as a word, with its exit code. Of a row: pass, FAIL, CHANGED or ? (inconclusive)."},
    {"points", "unit of a report",
     "Of yes/no metrics: seeds of a hundred. From 60 of 200 seeds to 48 is -6 points, written -6.0 pt."},
    {"skewed", "word of a report",
     "Lopsided: the differences between seeds have a longer tail on one side. bootstrap-t measures this "
     "skewness; where the seeds are too few for it, they do not decide."},
    {"waiver", "key of a suite",
     "Accepts a known failure until a day: waivers = [{ subject = .., invariant = .., reason = .., until = "
     ".. }] in a [[check]]."},
    {"replay", "option of check",
     "--replay TOKEN shows one failure again, the one that the token of a repeat line names."},
    {"how they grow", "section of the page", "What `retrygate explain growth` says, with its curves."},
    {"the same questions to other tests", "section of the page",
     "What `retrygate explain 'other tests'` says, with p and intervals."},
    {"what changes in the policies", "section of the page", "What `retrygate explain changes` says."},

    {"growth", "section of a report",
     "The same comparison at several sizes, such as 200 to 20000 clients. Shown and not judged."},
    {"exponent", "word of a growth table",
     "Of the power law value = scale * size^exponent: 0 does not grow, 1 is in proportion, 2 four times for "
     "twice the size. Least squares of the logarithms, with robust errors (HC3)."},
    {"in proportion", "word of a growth table",
     "The exponent is 1, within 0.02 at both ends of its interval: ten times the size, ten times the value."},
    {"slower than in proportion", "word of a growth table",
     "The interval of the exponent lies between 0 and 1."},
    {"faster than in proportion", "word of a growth table", "The interval of the exponent lies above 1."},
    {"hardly at all", "word of a growth table", "The interval of the exponent lies below 1 and holds 0."},
    {"not the same everywhere", "word of a growth table",
     "The curve bends: a quadratic term is significant at 5 %. Read the exponents from size to size "
     "instead."},
    {"rises", "word of a growth table", "The means rise from each size to the next."},
    {"falls", "word of a growth table", "The means fall from each size to the next."},
    {"goes up and down", "word of a growth table", "The means neither rise nor fall throughout."},
    {"stays the same", "word of a growth table", "The means are the same at every size."},
};

}  // namespace

std::span<const Term> glossary() { return all_terms; }

}  // namespace retrygate::ci
