// The list of what a replica of a library does against its documentation must stay true.
#include <fmt/format.h>

#include <algorithm>

#include "properties/check.hpp"

namespace retrygate {
namespace {

Finding current(const Subject& subject, const Trial& trial) {
  Options options;
  options.seed = Seed{trial.suite_seed};
  options.cases = trial.cases;
  Finding unsure;
  for (const Deviation& listed : subject.deviations) {
    if (!listed.shows) continue;
    const Invariant* invariant = invariants().find(listed.invariant);
    const auto fail = [&](std::string_view what) {
      const std::string text =
          fmt::format("'{}' is listed as deviating ({}), {}", listed.invariant, listed.source, what);
      return Finding{Verdict::fails, {}, {text, text, {}, {}, {}, {}}};
    };
    if (invariant == nullptr || invariant->id == "deviation-current") return fail("which is no invariant");
    const VerdictRow row = check_one(*invariant, subject, options);
    if (row.verdict == Verdict::deviates) continue;
    if (row.verdict == Verdict::broken)
      return {Verdict::broken, fmt::format("{}: {}", listed.invariant, row.note), {}};
    if (row.verdict == Verdict::unsure)
      unsure = {Verdict::unsure, fmt::format("{}: {}", listed.invariant, row.note), {}};
    else
      return fail(row.verdict == Verdict::holds ? "but it holds" : "but it is not promised");
  }
  return unsure;
}

}  // namespace

void add_deviations(Shelf<Invariant>& shelf) {
  shelf.add({"deviation-current", Level::must, Evidence::exact,
             "Every deviation that is listed as showing still shows.",
             "A list of known faults that nobody checks becomes a list of excuses.",
             "the library fixes its fault and the replica goes stale",
             [](const Subject& s) {
               return std::any_of(s.deviations.begin(), s.deviations.end(),
                                  [](const Deviation& d) { return d.shows; });
             },
             &current});
}

}  // namespace retrygate
