#include "properties/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>

#include "policies/base/hash.hpp"
#include "properties/search.hpp"

namespace retrygate {
namespace {

std::uint64_t seed_of(Seed suite, std::string_view invariant, std::string_view subject) {
  // Each part with an end mark: "ab","c" is not "a","bc".
  std::uint64_t hash = fnv1a("\xff", fnv1a(invariant));
  hash = fnv1a("\xff", fnv1a(subject, hash));
  return detail::mix(hash, suite.value);
}

// One check of one subject accuses a faithful one at most this often, all statistical invariants together.
constexpr double alpha_of_a_subject = 1e-9;

double alpha_of_an_invariant() {
  const auto statistical = std::count_if(invariants().begin(), invariants().end(), [](const Invariant& i) {
    return i.evidence == Evidence::statistical;
  });
  return alpha_of_a_subject / static_cast<double>(std::max<std::ptrdiff_t>(1, statistical));
}

// The edges that users' settings have met: nothing, one nanosecond, everything.
constexpr std::array edges = {"base=0ns",       "base=1ns",     "base=1ns,cap=1ns",  "cap=1ns",
                              "max_attempts=1", "max=1ns",      "ratio=0.000000001", "ratio=1",
                              "factor=1",       "deadline=1ns", "elapsed=1ns"};

}  // namespace

VerdictRow check_one(const Invariant& invariant, const Subject& subject, const Options& options) {
  VerdictRow row{subject.name, &invariant, Verdict::not_promised, {}, {}};
  if (!invariant.applies(subject)) return row;
  Trial trial;
  trial.seed = seed_of(options.seed, invariant.id, subject.name);
  trial.suite_seed = options.seed.value;
  trial.cases = options.cases;
  trial.alpha = alpha_of_an_invariant();
  trial.jumps = subject.jumps;
  // What a generator of its own decided does not come back: smaller cases would be other ones.
  if (!subject.keyed) trial.shrinks = 0;
  if (const auto saved = options.replay.find(invariant.id); saved != options.replay.end())
    trial.replay = saved->second;
  if (options.first_failure)
    trial.first_failure = [&](const std::string& text) { options.first_failure(invariant, text); };
  Finding found;
  try {
    found = invariant.check(subject, trial);
  } catch (const std::exception& e) {
    found = {Verdict::broken, fmt::format("the checker raised: {}", e.what()), {}};
  } catch (...) {
    found = {Verdict::broken, "the checker raised something that is no std::exception", {}};
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

namespace {

// Stands where a loop is checked and no policy is asked.
struct Unasked {
  using Client = Stateless;
  using Call = Stateless;
  Decision after(Client&, Call&, const Attempt&, Rng&) const { return Decision::stop(Stop::attempts); }
  Contract contract() const { return {}; }
  bool operator==(const Unasked&) const = default;
  friend std::string to_string(const Unasked&) { return "a loop"; }
};

}  // namespace

Subject subject_of(std::string name, AnyPolicy policy) {
  Contract contract = policy.contract();
  return {std::move(name), std::move(policy), std::move(contract)};
}

Subject subject_of(std::string name, AnyLoop loop) {
  Subject subject{std::move(name), Unasked{}, loop.contract()};
  subject.keyed = loop.seeded();
  subject.jumps = false;
  subject.loop = std::move(loop);
  return subject;
}

Subject subject_of(const NamedPolicy& named) {
  Subject subject{named.name, named.policy, named.policy.contract(), named.preset->deviations};
  for (const std::string_view settings : edges) {
    const bool has_overrides = named.name.find(':') != std::string::npos;
    const auto edge = find_policy(fmt::format("{}{}{}", named.name, has_overrides ? "," : ":", settings), {});
    if (edge) subject.variants.push_back({std::string(settings), edge->policy});
  }
  return subject;
}

std::string attempts_tried(const Subject& subject) {
  std::vector<std::string> tried, left_out;
  const auto& numbers = attempt_numbers();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > 70)
      (i < numbers_tried(subject.jumps) ? tried : left_out).push_back(std::to_string(numbers[i]));
  }
  std::string text = fmt::format("attempts tried: 1..70, {}", fmt::join(tried, ", "));
  if (!left_out.empty()) text += fmt::format("; not tried: {}", fmt::join(left_out, ", "));
  if (subject.contract.max_attempts)
    text += fmt::format("; as far as its {} attempts go", *subject.contract.max_attempts);
  return text;
}

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
  std::vector<VerdictRow> rows;
  for (const Invariant& invariant : invariants()) {
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), invariant.id) == options.only.end())
      continue;
    rows.push_back(check_one(invariant, subject, options));
  }
  return rows;
}

Verdict worst(const std::vector<VerdictRow>& rows) {
  Verdict all = Verdict::holds;
  for (const VerdictRow& row : rows) all = std::max(all, row.verdict);
  return all;
}

}  // namespace retrygate
