#include "properties/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>

#include "policies/base/hash.hpp"
#include "properties/search.hpp"
#include "properties/walk.hpp"

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
constexpr std::array edge_settings = {"base=0ns",       "base=1ns",     "base=1ns,cap=1ns",  "cap=1ns",
                                      "max_attempts=1", "max=1ns",      "ratio=0.000000001", "ratio=1",
                                      "factor=1",       "deadline=1ns", "elapsed=1ns"};

VerdictRow verdict_of(const Invariant& invariant, const Subject& subject, const Options& options,
                      std::optional<std::string> place) {
  VerdictRow row{subject.name, &invariant, Verdict::not_promised, {}, {}, {}};
  if (!invariant.applies(subject)) return row;
  Trial trial;
  trial.seed = seed_of(options.seed, invariant.id, subject.name);
  trial.suite_seed = options.seed.value;
  trial.cases = options.cases;
  trial.alpha = alpha_of_an_invariant();
  trial.jumps = subject.jumps;
  trial.replay = std::move(place);
  // What a generator of its own decided does not come back: smaller cases would be other ones.
  if (!subject.keyed) trial.shrinks = 0;
  if (options.shrinks) trial.shrinks = *options.shrinks;
  const auto listed = std::find_if(subject.deviations.begin(), subject.deviations.end(),
                                   [&](const Deviation& d) { return d.invariant == invariant.id; });
  if (options.first_failure && listed == subject.deviations.end())
    trial.first_failure = [&](const std::string& text) { options.first_failure(invariant, text); };
  if (options.trying) {
    options.trying(invariant, "its first case");
    trial.trying = [&](const std::string& text) { options.trying(invariant, text); };
  }
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
  if (row.verdict != Verdict::fails) return row;
  if (listed != subject.deviations.end()) {
    row.verdict = Verdict::deviates;
    row.note = fmt::format("{} ({})", listed->why, listed->source);
  }
  name_case(row.counterexample, subject.name, {std::string(invariant.id), options.seed, options.cases});
  return row;
}

}  // namespace

bool repeats_all(const Token& token, const Options& options) {
  return token.place.empty() && token.seed == options.seed && token.cases == options.cases;
}

void name_case(Counterexample& found, const std::string& subject, Token token) {
  token.subject = check_digits(subject);
  token.place = found.place;
  found.token = to_string(token);
  found.repeat = fmt::format("retrygate check {} --replay {}", shell_word(subject), found.token);
}

VerdictRow check_one(const Invariant& invariant, const Subject& subject, const Options& options) {
  std::optional<Token> mended;
  for (const Token& token : options.saved) {
    if (token.invariant != invariant.id || token.subject != check_digits(subject.name)) continue;
    mended = token;
    if (repeats_all(token, options)) continue;
    VerdictRow row = replay(token, subject, options);
    if (row.verdict >= Verdict::deviates) return row;
  }
  VerdictRow row = verdict_of(invariant, subject, options, {});
  if (row.verdict == Verdict::holds) row.mended = std::move(mended);
  return row;
}

VerdictRow replay(const Token& token, const Subject& subject, const Options& options) {
  const Invariant* invariant = invariants().find(token.invariant);
  RG_ASSERT(invariant != nullptr, token.invariant);
  Options same = options;
  same.seed = token.seed;
  same.cases = token.cases;
  return verdict_of(*invariant, subject, same,
                    token.place.empty() ? std::nullopt : std::optional(token.place));
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
  Subject subject{std::move(name), std::move(policy), std::move(contract)};
  subject.failure = seen_to_retry(subject);
  return subject;
}

Subject subject_of(std::string name, AnyLoop loop) {
  Subject subject{std::move(name), Unasked{}, loop.contract()};
  subject.keyed = loop.seeded();
  subject.jumps = false;
  subject.loop = std::move(loop);
  return subject;
}

Subject subject_of(const NamedPolicy& named) {
  Subject subject = subject_of(named.reference, named.policy);
  subject.deviations = named.preset->deviations;
  const std::size_t hash = named.reference.find('#');  // a colon before it belongs to a file's name
  const bool has_overrides =
      named.reference.find(':', hash == std::string::npos ? 0 : hash) != std::string::npos;
  for (const std::string_view settings : edge_settings) {
    const auto edge =
        find_policy(fmt::format("{}{}{}", named.reference, has_overrides ? "," : ":", settings), {});
    if (edge) subject.variants.push_back({std::string(settings), edge->policy});
  }
  return subject;
}

Coverage coverage_of(const Subject& subject, const Options& options) {
  const std::int64_t most = subject.contract.max_attempts.value_or(std::numeric_limits<std::int64_t>::max());
  const auto& numbers = attempt_numbers();
  std::vector<std::int64_t> within, beyond;
  // Every case takes the next number of the list.
  const std::size_t reached =
      std::min(numbers_tried(subject.jumps), static_cast<std::size_t>(std::max(1, options.cases)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && numbers[i - 1] >= most) break;
    (i < reached ? within : beyond).push_back(std::min(numbers[i], most));
  }
  Coverage coverage{fmt::format("attempts {}; {} cases for each invariant", ranges(within), options.cases),
                    {}};
  if (most < numbers.back()) coverage.not_tried.push_back(fmt::format("attempts beyond its {}", most));
  if (!beyond.empty())
    coverage.not_tried.push_back(fmt::format("attempts {} ({})", ranges(beyond),
                                             subject.jumps || reached < numbers_tried(subject.jumps)
                                                 ? "it takes more cases to come so far"
                                                 : "its attempts are made one after the other"));
  if (!subject.loop) {
    std::vector<std::string> of_a_loop{"cancel-prompt"};
    if (!subject.policy.gates()) {
      of_a_loop.push_back("no-wait-after-last");
      if (subject.contract.elapsed || subject.contract.deadline) of_a_loop.push_back("no-futile-wait");
    }
    coverage.not_tried.push_back(fmt::format(
        "{} (a policy does not sleep: they are about the loop around it)", fmt::join(of_a_loop, ", ")));
  } else {
    coverage.not_tried.push_back(
        "calls-isolated, budget-conserved, breaker-states (a loop makes its calls itself)");
  }
  if (subject.variants.empty()) coverage.not_tried.push_back("other settings than its own");
  if (!options.only.empty()) coverage.not_tried.push_back("the other invariants (--only)");
  return coverage;
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
