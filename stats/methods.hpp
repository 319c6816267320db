// How a question may be decided, by name. A suite chooses before the data are seen; every ruling says which
// method made it, by what law, and what that assumes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/paired_shares.hpp"
#include "stats/question.hpp"

namespace retrygate::stats {

struct Method {
  Deciding deciding;
  std::string_view id;       // as a suite names it
  std::string_view summary;  // what it estimates and how it decides
  std::string_view assumes;  // of the seeds, beyond that they are independent
  std::string_view source;
};
// The default first.
std::span<const Method> methods();
const Method& method_of(Deciding);
Result<Deciding> find_method(std::string_view id, Where);

// A ruling whose answer is still open, with a standard error that tells how many seeds would decide.
struct Estimated {
  Ruling ruling;
  double se = 0;
  std::size_t seeds = 0;  // fewer would not do, whatever the standard error
};

// What lies beyond a limit, seed by seed, turned so that more is further beyond.
std::vector<double> beyond(const Question&, const Limit&);

// One-sided tests of "the centre of these values is 0": a signed rank test, sign flips, a sign test.
struct CentreTest {
  double p_greater = 1, p_less = 1;
  std::string law;
};
CentreTest test_centre(Deciding, std::span<const double>);
// Such a test as another opinion on a question.
Opinion opinion_of(Deciding, const Question&);

// How much further than Student's t the bounds of a mean must reach where its seeds are too few to show its
// long tail: a mean of values that are skewed upwards is underestimated most of the time. 4 times on the side
// of the long tail with fewer than 5 + per * skewness^2 seeds, and on both sides with fewer than 10. The
// numbers are found by calibration (README.md) so that what is promised of the bounds holds up to the
// skewness of a lognormal law of sigma 1; the form is that of W. G. Cochran, "Sampling Techniques", 1977,
// section 2.15.
struct Widening {
  double low = 1, high = 1;
  std::size_t seeds = 0;  // so many would need none; 0: these do
  std::string note;       // for the reader
};
inline constexpr double skewness_at_once = 30, skewness_at_every_look = 60;
Widening widening(const Studentized&, std::size_t seeds, double per);

// The seeds of a widening, where it concerns a bound that decides; else 0.
std::size_t seeds_for(const Question&, double effect, const Widening&);

Opinion student_opinion(const Question&, const Studentized&, const Widening& = {});

// Student's t whatever the number of seeds.
Estimated rule_by_student(const Question&, const Widening& = {});
// By one of the tests of a centre: the effect is what the test is centred at, the interval what it does not
// reject; none where too few seeds reject nothing.
Estimated rule_by_centre(const Question&);

// Yes/no metrics. `a` is the error allowed on each side of the interval.
PairedShares shares_of(const Question&);  // first: yes under the candidate alone
Estimated rule_by_shares(const Question&, double a);
// Only the p values: of "no worse than the limits" and of "worse". 1 where they are well above a, without a
// further look.
struct SharesTest {
  double p = 1, p_kept = 1;
};
SharesTest test_shares(const Question&, double a);

}  // namespace retrygate::stats
