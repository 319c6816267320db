// How delays are spread: tests of delays against a declared law, sound for any number of draws. Each returns
// nothing, or what is wrong, and accuses a faithful law with probability at most alpha.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/rng.hpp"
#include "properties/bounds.hpp"

namespace retrygate {

// A distance of 0.15 from the law, or a tenth of the delays in one point, is then missed less than once in
// a thousand.
inline constexpr std::size_t draws_wanted = 2000;

// Retries that are tried for herds and for independence. A chained delay depends on the one before, so only
// its first has one law for all.
std::vector<std::int64_t> retries_of_one_law(const Contract&);

// Retries whose delays are held against their law: all of the first 70, and around the powers of two beyond,
// where counters end. Increasing; fixed beforehand, because each takes its share of the error budget.
const std::vector<std::int64_t>& retries_with_a_law();

// P(X >= k) of X ~ Binomial(n, p), summed term by term.
double binomial_at_least(int k, int n, double p);

// P(some value collects k of n) at most, where no value has more than `share` of the probability. There are
// at most 1 / share of those that have it; smaller ones collect k less often than in proportion (k > n *
// share).
double collects(int k, int n, double share);

// Would `collects` find a tenth of n delays in one point, all but once in a thousand times?
bool finds_an_atom(int n, double share, double alpha);

// A delay and the law that it was drawn from, which may depend on the delay before it.
struct Drawn {
  long double delay;
  DelayLaw law;
};
// The largest distance of the delays from their laws. Each delay is turned into its probability under its own
// law, and that is uniform; steps and rounding make it an interval of which only the ends are known.
// Dvoretzky, Kiefer and Wolfowitz with Massart's constant: P(sup |F_n - F| > e) <= 2 exp(-2 n e^2).
std::optional<std::string> far_from_law(const std::vector<Drawn>&, double alpha);

// A decorrelated law starts from the delay before, as the cap left it. One that keeps the delay before the
// cap in mind, or cuts it elsewhere, is told by what follows a delay at the cap: with the cap for its memory
// a third lies below the cap, without one none before long.
class AfterCap {
 public:
  // In the order of a call's retries, calls one after another.
  void add(const Contract&, std::optional<Duration> previous, Duration delay);
  // How many there are depends on the delays themselves, so that of all those only the first are taken, of a
  // number fixed beforehand: the powers of two from 2^7 to 2^16 share alpha.
  std::optional<std::string> far_from_law(double alpha) const;

 private:
  std::vector<Drawn> draws_;
};

// Is the law wide enough, compared with its tick and slack, for `herds` to say anything? One of a few ticks
// promises no spread.
bool can_spread(const DelayLaw&);
inline constexpr std::string_view too_narrow =
    "the declared jitter is a few ticks wide: nobody can spread in it";
// More delays in one point, or in a twentieth of the interval, than chance explains. Delays at the law's cut
// belong to it and are left out.
std::optional<std::string> herds(const std::vector<long double>& delays, const DelayLaw&, double alpha);

// Delays that should have nothing to do with each other, pair by pair.
struct Pairs {
  std::vector<long double> first, second;
};
// Equal delays more often than the law explains, or both sides together in the upper half, or never.
std::optional<std::string> dependence(const Pairs&, const DelayLaw&, double alpha);

// Delays of one client each, retry by retry, all of one length. More clients that wait as another one did, at
// every retry, than clients do that have nothing to do with each other: they share a few streams. Sound for
// any law whose delays do not hang together, coarse ones included. Each client repeats one of the n before it
// with probability n q at most, where q bounds that of any one sequence: a product over the retries of the
// largest share that one delay has, as observed (a jump of the distribution, so known to twice the distance
// of Dvoretzky, Kiefer and Wolfowitz), or as the declared law says. Under the latter three repeats are asked
// for, so that 2000 clients with a generator each, of 32 bits of seed, are accused less than once in 5e10.
std::optional<std::string> few_sequences(const std::vector<std::vector<long double>>&, const Contract&,
                                         double alpha);

// Delays of clients 0, 1, 2 ... of several processes, at one retry: two processes that wait alike.
struct TwoAlike {
  std::size_t one = 0, other = 0;
  std::string why;
};
std::optional<TwoAlike> two_alike(const std::vector<std::vector<long double>>& processes, const DelayLaw&,
                                  double alpha);
// The first retry of those that every process is asked for whose law is wide enough to compare processes;
// none where there is no such.
std::optional<std::int64_t> retry_to_compare(const Contract&);

// What fresh processes are given as seeds: the two first ones below 2^32, so that whoever takes the upper
// half alone gives them one stream, and among the first eight a couple that is the same modulo m, for every m
// from 2 to 256, for the powers of two up to 2^16, and for 1000, 3600 and 10,000. No couple is the same
// modulo 2^24 or 2^31 - 1: generators that take no more of a seed than 31 bits are common, and in use.
Seed fresh_seed(Seed of_suite, std::size_t process);

// What each of these retries may cost of the error budget, where its law and its dependence on the retry
// before it are tested, and what follows after the cap.
double share_of_a_law(double alpha);

// A retry and the one before it of the same calls, each delay by its place in its interval. A chained delay
// depends on the one before by its law, so it has no such places: every retry needs its own interval.
class Positions {
 public:
  Positions(const Contract&, std::int64_t retry);
  void add(Duration before, Duration delay);
  // Both sides together in the upper half, or never: the second delay follows from the first.
  std::optional<std::string> dependent(double alpha) const;

 private:
  std::optional<Support> before_, own_;  // absent where one of them is a point
  Pairs pairs_;
};

}  // namespace retrygate
