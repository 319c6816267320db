#include "properties/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

namespace retrygate {
namespace {

// FNV-1a over the bytes, then the finaliser of the random streams.
std::uint64_t seed_of(Seed suite, std::string_view invariant, std::string_view subject) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto fold = [&hash](std::string_view part) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;  // an end mark: "ab","c" is not "a","bc"
  };
  fold(invariant);
  fold(subject);
  return detail::mix(hash, suite.value);
}

// One check of one subject accuses a faithful one at most this often, all statistical invariants together.
constexpr double alpha_of_a_subject = 1e-9;

VerdictRow judge_one(const Invariant& invariant, const Subject& subject, const Options& options,
                     double alpha) {
  VerdictRow row{subject.name, &invariant, Verdict::not_promised, {}, {}};
  if (!invariant.applies(subject.contract)) return row;
  Trial trial;
  trial.seed = seed_of(options.seed, invariant.id, subject.name);
  trial.cases = options.cases;
  trial.alpha = alpha;
  Finding found;
  try {
    found = invariant.check(subject, trial);
  } catch (const std::exception& e) {
    found = {Verdict::broken, fmt::format("the checker raised: {}", e.what()), {}};
  }
  row.verdict = found.verdict;
  row.note = std::move(found.note);
  row.counterexample = std::move(found.counterexample);
  if (row.verdict == Verdict::fails) {
    row.counterexample.repeat = fmt::format("retrygate check '{}' --only {} --seed {} --cases {}",
                                            subject.name, invariant.id, options.seed.value, options.cases);
    for (const Deviation& d : subject.deviations) {
      if (d.invariant != invariant.id) continue;
      row.verdict = Verdict::deviates;
      row.note = fmt::format("{} ({})", d.why, d.source);
    }
  }
  return row;
}

}  // namespace

std::string_view to_string(Level level) { return level == Level::must ? "MUST" : "SHOULD"; }
std::string_view to_string(Evidence evidence) {
  return evidence == Evidence::exact ? "exact" : "statistical";
}
std::string_view to_string(Verdict verdict) {
  static constexpr std::array<std::string_view, 6> names{"holds",    "not-promised", "unsure",
                                                         "deviates", "fails",        "broken"};
  return names.at(static_cast<std::size_t>(verdict));
}

std::vector<VerdictRow> check(const Subject& subject, const Options& options) {
  const auto statistical = std::count_if(invariants().begin(), invariants().end(), [](const Invariant& i) {
    return i.evidence == Evidence::statistical;
  });
  const double alpha = alpha_of_a_subject / static_cast<double>(std::max<std::ptrdiff_t>(1, statistical));
  std::vector<VerdictRow> rows;
  for (const Invariant& invariant : invariants()) {
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), invariant.id) == options.only.end())
      continue;
    rows.push_back(judge_one(invariant, subject, options, alpha));
  }
  return rows;
}

Verdict worst(const std::vector<VerdictRow>& rows) {
  Verdict all = Verdict::holds;
  for (const VerdictRow& row : rows) all = std::max(all, row.verdict);
  return all;
}

}  // namespace retrygate
