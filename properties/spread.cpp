#include "properties/spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "properties/bounds.hpp"

namespace retrygate {
namespace {

// What rounding may add on either side of a point.
long double edge(const DelayLaw& law) { return 2 * (law.drawn.slack + law.drawn.above + law.tick); }
long double width(const DelayLaw& law) { return law.drawn.hi - law.drawn.lo + law.tick; }

// P(X >= k) where X of `drawn` marked pairs fall among `marked` of `n`: what chance does to two halves that
// have nothing to do with each other, whatever their laws are.
double hypergeometric_at_least(int k, int n, int marked, int drawn) {
  const auto log_choose = [](int from, int some) {
    return std::lgamma(from + 1.0) - std::lgamma(some + 1.0) - std::lgamma(from - some + 1.0);
  };
  double sum = 0;
  for (int i = std::max(k, drawn + marked - n); i <= std::min(marked, drawn); ++i)
    sum += std::exp(log_choose(marked, i) + log_choose(n - marked, drawn - i) - log_choose(n, drawn));
  return std::min(1.0, sum);
}

}  // namespace

std::vector<std::int64_t> retries_of_one_law(const Contract& c) {
  if (chained(c)) return {1};
  return {1, 2, 4, 8};
}

const std::vector<std::int64_t>& retries_with_a_law() {
  static const std::vector<std::int64_t> retries = [] {
    std::vector<std::int64_t> all(70);
    std::iota(all.begin(), all.end(), 1);
    for (const std::int64_t power : {128, 256}) all.insert(all.end(), {power - 1, power, power + 1});
    return all;
  }();
  return retries;
}

double binomial_at_least(int k, int n, double p) {
  if (k <= 0 || p >= 1) return 1;
  if (p <= 0) return 0;
  double sum = 0;
  for (int i = k; i <= n; ++i)
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
  return std::min(1.0, sum);
}

double collects(int k, int n, double share) { return std::min(1.0, binomial_at_least(k, n, share) / share); }

bool finds_an_atom(int n, double share, double alpha) {
  if (n >= static_cast<int>(draws_wanted)) return true;
  int least = 1;  // that is found
  while (least <= n && collects(least, n, share) >= alpha) ++least;
  return least <= n && binomial_at_least(least, n, 0.1) >= 0.999;
}

std::optional<std::string> far_from_law(const std::vector<Drawn>& draws, double alpha) {
  const auto n = static_cast<double>(draws.size());
  if (draws.empty()) return std::nullopt;
  const long double allowed = std::sqrt(std::log(2 / alpha) / (2 * n));
  std::vector<long double> least, most, delays;
  bool one_law = true;
  for (const Drawn& d : draws) {
    delays.push_back(d.delay);
    one_law = one_law && d.law.drawn.hi == draws.front().law.drawn.hi;
    const long double slack = d.law.drawn.slack + d.law.drawn.above + d.law.tick;
    least.push_back(d.law.below(d.delay - 1 - slack));
    most.push_back(d.law.below(d.delay + slack));
  }
  std::sort(least.begin(), least.end());
  std::sort(most.begin(), most.end());
  long double furthest = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    furthest = std::max({furthest, static_cast<long double>(i + 1) / n - most[i],
                         least[i] - static_cast<long double>(i) / n});
  }
  if (furthest <= allowed) return std::nullopt;
  std::string text = fmt::format("the delays lie {:.3f} from the declared law, {:.3f} is chance",
                                 static_cast<double>(furthest), static_cast<double>(allowed));
  std::sort(delays.begin(), delays.end());
  const auto middle = delays[delays.size() / 2];
  if (!one_law || middle >= draws.front().law.cut) return text;  // at the cut, all delays should be as short
  return text + fmt::format("; half of them are {} or less, and {:.0f} % should be",
                            to_string(Duration::ns(static_cast<std::int64_t>(middle))),
                            100 * static_cast<double>(draws.front().law.below(middle)));
}

void AfterCap::add(const Contract& c, std::optional<Duration> previous, Duration delay) {
  const bool decorrelated = c.jitter && c.jitter->kind == JitterKind::decorrelated;
  if (!decorrelated || !c.cap || !previous || *previous < *c.cap) return;
  if (const auto law = law_of(c, 2, previous)) draws_.push_back({in_ns(delay), *law});
}

std::optional<std::string> AfterCap::far_from_law(double alpha) const {
  constexpr std::size_t least = 7, most = 16;  // powers of two
  std::size_t power = most;
  while (power >= least && draws_.size() < std::size_t{1} << power) --power;
  if (power < least) return std::nullopt;
  const auto n = std::ptrdiff_t{1} << power;
  const std::vector<Drawn> first(draws_.begin(), draws_.begin() + n);
  const auto why = retrygate::far_from_law(first, alpha / static_cast<double>(most - least + 1));
  if (!why) return std::nullopt;
  const DelayLaw& law = first.front().law;
  const auto at_cap =
      std::count_if(first.begin(), first.end(), [](const Drawn& d) { return d.delay >= d.law.cut; });
  const std::string again =
      law.cut < law.drawn.hi ? fmt::format("; {:.0f} % of them are at the cap again, the law says {:.0f} %",
                                           100.0 * static_cast<double>(at_cap) / static_cast<double>(n),
                                           100 * static_cast<double>(1 - law.below(law.cut - 1)))
                             : "";
  return fmt::format("{} retries after a delay at the cap: {}{}", n, *why, again);
}

bool can_spread(const DelayLaw& law) { return width(law) / law.tick >= 2 && width(law) >= 5 * edge(law); }

namespace {

// Delays that are all whole microseconds, milliseconds ... come from a clock that counts these: then equal
// ones are no herd, and the contract lacks a word.
std::string hint_of_a_tick(const std::vector<long double>& delays, const DelayLaw& law) {
  std::int64_t step = 0;
  for (const long double d : delays) {
    if (d < law.cut) step = std::gcd(step, static_cast<std::int64_t>(d));
  }
  for (const Duration tick : {Duration::s(1), Duration::ms(1), Duration::us(1)}) {
    if (step % tick.ns() == 0 && step > 0 && in_ns(tick) > law.tick)
      return fmt::format(
          "; every delay is a multiple of {0}: if that is the policy's resolution, promise tick = "
          "\"{0}\"",
          to_string(tick));
  }
  return "";
}

}  // namespace

std::optional<std::string> herds(const std::vector<long double>& delays, const DelayLaw& law, double alpha) {
  constexpr int bins = 20;
  const int n = static_cast<int>(delays.size());
  std::map<long double, int> same;
  std::vector<int> in_bin(bins);
  for (const long double d : delays) {
    if (d >= law.cut) continue;
    ++same[d];
    const long double part = (d - law.drawn.lo) / width(law);
    const long double place = (law.shape == nullptr ? part : law.shape(part)) * bins;
    ++in_bin[static_cast<std::size_t>(std::clamp(place, 0.0L, bins - 1.0L))];
  }
  const auto share = static_cast<double>(1.0L / bins + law.densest * edge(law) / width(law));
  const int fullest = *std::max_element(in_bin.begin(), in_bin.end());
  if (binomial_at_least(fullest, n, share) < alpha / 2 / bins)
    return fmt::format("{} come back within 1/{} of the interval, where the law sends {} of {}", fullest,
                       bins, n / bins, n);
  const auto most = std::max_element(same.begin(), same.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == same.end()) return std::nullopt;
  // A value may collect its two neighbours by rounding; the union is over all values.
  const long double points = width(law) / law.tick / law.densest;
  if (static_cast<double>(points) * binomial_at_least(most->second, n, static_cast<double>(3 / points)) <
      alpha / 2)
    return fmt::format("{} come back at the same instant, after {}{}", most->second,
                       to_string(Duration::ns(static_cast<std::int64_t>(most->first))),
                       hint_of_a_tick(delays, law));
  return std::nullopt;
}

std::optional<std::string> dependence(const Pairs& pairs, const DelayLaw& law, double alpha) {
  const int n = static_cast<int>(pairs.first.size());
  if (n == 0) return std::nullopt;
  int equal = 0;
  std::vector<long double> all = pairs.first;
  all.insert(all.end(), pairs.second.begin(), pairs.second.end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  const long double median = *middle;
  int first_high = 0, second_high = 0, both_high = 0;
  for (std::size_t i = 0; i < pairs.first.size(); ++i) {
    const long double a = pairs.first[i], b = pairs.second[i];
    if (a == b && a < law.cut) ++equal;
    first_high += a > median;
    second_high += b > median;
    both_high += a > median && b > median;
  }
  // A value may collect its two neighbours by rounding.
  const auto same = static_cast<double>(std::min(1.0L, 3 * law.densest * law.tick / width(law)));
  if (binomial_at_least(equal, n, same) < alpha / 3)
    return fmt::format("{} of {} pairs wait exactly as long as each other{}", equal, n,
                       hint_of_a_tick(all, law));
  if (hypergeometric_at_least(both_high, n, first_high, second_high) < alpha / 3)
    return fmt::format("in {} of {} pairs both wait longer than most", both_high, n);
  const int only_first = first_high - both_high;
  if (hypergeometric_at_least(only_first, n, first_high, n - second_high) < alpha / 3)
    return fmt::format("in {} of {} pairs the first waits longer than most and the second does not",
                       only_first, n);
  return std::nullopt;
}

namespace {

// The most clients that wait equally long at one retry, a delay at the cut included.
std::size_t most_alike(const std::vector<std::vector<long double>>& all, std::size_t retry) {
  std::map<long double, std::size_t> same;
  std::size_t most = 0;
  for (const auto& delays : all) most = std::max(most, ++same[delays[retry]]);
  return most;
}

// Bounds what a single delay has of the declared law, in steps of `step`.
long double largest_share(const DelayLaw& law, long double step) {
  const long double at_the_cut = law.cut < law.drawn.hi ? 1 - law.below(law.cut - 1 - edge(law)) : 0;
  return std::min(1.0L, std::max(at_the_cut, 3 * law.densest * std::max(step, law.tick) / width(law)));
}

// The declared laws of the first retries of a call, whatever came before in it. A chained delay is drawn from
// an interval no narrower than the first one, as long as no delay before it can have reached the cap.
std::vector<DelayLaw> laws_of_a_call(const Contract& c, std::size_t retries) {
  std::vector<DelayLaw> laws;
  const auto first = law_of(c, 1, std::nullopt);
  long double longest = first ? first->drawn.hi : 0;
  for (std::size_t k = 1; k <= retries; ++k, longest *= 3) {
    const auto law = chained(c) ? first : law_of(c, static_cast<std::int64_t>(k), std::nullopt);
    if (!law || (chained(c) && (longest >= law->cut || law->shape != nullptr))) break;
    laws.push_back(*law);
  }
  return laws;
}

}  // namespace

std::optional<std::string> few_sequences(const std::vector<std::vector<long double>>& all, const Contract& c,
                                         double alpha) {
  if (all.size() < 2 || all.front().empty()) return std::nullopt;
  const std::size_t retries = all.front().size();
  const auto n = static_cast<double>(all.size());
  const auto different = std::set<std::vector<long double>>(all.begin(), all.end()).size();
  const int repeats = static_cast<int>(all.size() - different);
  if (repeats == 0) return std::nullopt;
  std::int64_t step = 0;
  for (const auto& delays : all) {
    for (const long double d : delays) step = std::gcd(step, static_cast<std::int64_t>(d));
  }
  const double known_to = 2 * std::sqrt(std::log(4 * static_cast<double>(retries) / alpha) / (2 * n));
  double observed = n;
  // What a chained delay may do depends on the one before: of those only the first is known alone.
  for (std::size_t k = 0; k < (chained(c) ? 1 : retries); ++k)
    observed *= std::min(1.0, static_cast<double>(most_alike(all, k)) / n + known_to);
  double declared = n;
  for (const DelayLaw& law : laws_of_a_call(c, retries))
    declared *= static_cast<double>(largest_share(law, static_cast<long double>(step)));
  constexpr int repeats_by_chance = 2;
  const bool few = binomial_at_least(repeats, static_cast<int>(all.size()), observed) < alpha / 4 ||
                   (repeats > repeats_by_chance &&
                    binomial_at_least(repeats, static_cast<int>(all.size()), declared) < alpha / 4);
  if (!few) return std::nullopt;
  if (different == 1)
    return fmt::format("{} clients have the same {} {}", all.size(), retries,
                       retries == 1 ? "delay" : "delays");
  return fmt::format("{} clients have only {} different sequences of {} {}", all.size(), different, retries,
                     retries == 1 ? "delay" : "delays");
}

std::optional<TwoAlike> two_alike(const std::vector<std::vector<long double>>& processes, const DelayLaw& law,
                                  double alpha) {
  const std::size_t n = processes.size();
  for (std::size_t q = 1; q < n; ++q) {
    for (std::size_t p = 0; p < q; ++p) {
      const std::size_t clients = std::min(processes[p].size(), processes[q].size());
      const auto some = [&](const std::vector<long double>& all) {
        return std::vector<long double>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(clients));
      };
      const auto why = dependence({some(processes[p]), some(processes[q])}, law,
                                  2 * alpha / static_cast<double>(n * (n - 1)));
      if (why) return TwoAlike{p, q, *why};
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> retry_to_compare(const Contract& c) {
  const std::int64_t last = std::min<std::int64_t>(8, c.max_attempts.value_or(9) - 1);
  for (std::int64_t n = 1; n <= (chained(c) ? std::min<std::int64_t>(1, last) : last); ++n) {
    const auto law = law_of(c, n, std::nullopt);
    if (law && can_spread(*law)) return n;
  }
  return std::nullopt;
}

Seed fresh_seed(Seed of_suite, std::size_t process) {
  // Found by a search: each but the first is a multiple of as many of the moduli as fit into it.
  constexpr std::array<std::uint64_t, 8> steps{0,
                                               1'294'424'239,
                                               16'167'005'530'671'275'280U,
                                               17'597'255'892'907'933'686U,
                                               16'067'750'646'262'183'453U,
                                               10'650'453'710'561'280'000U,
                                               14'053'708'091'281'645'308U,
                                               17'857'659'336'035'207'640U};
  const std::uint64_t drawn = detail::mix(of_suite.value, 1);
  if (process < steps.size()) return Seed{(drawn >> 34) + steps.at(process)};
  return Seed{detail::mix(of_suite.value, process + 1)};
}

double share_of_a_law(double alpha) {
  return alpha / static_cast<double>(2 * retries_with_a_law().size() + 1);
}

Positions::Positions(const Contract& c, std::int64_t retry) {
  if (retry < 2 || chained(c)) return;
  const auto before = support_of(c, retry - 1, std::nullopt), own = support_of(c, retry, std::nullopt);
  if (!before || !own || before->hi <= before->lo || own->hi <= own->lo) return;
  before_ = before;
  own_ = own;
}

void Positions::add(Duration before, Duration delay) {
  if (!own_) return;
  const auto place = [](const Support& s, Duration d) { return (in_ns(d) - s.lo) / (s.hi - s.lo); };
  pairs_.first.push_back(place(*before_, before));
  pairs_.second.push_back(place(*own_, delay));
}

std::optional<std::string> Positions::dependent(double alpha) const {
  // Places of two intervals are equal by rounding alone: those are not counted (nothing lies below the cut).
  const DelayLaw law{Support{0, 1, 0}, -1, 1};
  return dependence(pairs_, law, alpha);
}

}  // namespace retrygate
