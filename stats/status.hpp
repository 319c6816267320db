// What state a result is in: a number made from 0/0 is never reported, the state is.
#pragma once

#include <string>

namespace retrygate::stats {

enum class Status {
  ok,
  undefined,            // the data do not define the statistic (no spread, too few values)
  degenerate,           // defined, but the law has a single point (all values equal): p is 1
  perfect_fit,          // a regression without residuals
  saturated,            // as many coefficients as values
  rank_deficient,       // columns that depend on each other
  unbounded_exclusive,  // a confidence set that is all but an interval
  unbounded_all         // a confidence set that is the whole line
};

inline std::string to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::undefined:
      return "undefined";
    case Status::degenerate:
      return "degenerate";
    case Status::perfect_fit:
      return "perfect_fit";
    case Status::saturated:
      return "saturated";
    case Status::rank_deficient:
      return "rank_deficient";
    case Status::unbounded_exclusive:
      return "unbounded_exclusive";
    case Status::unbounded_all:
      return "unbounded_all";
  }
  return "";
}

// Which side of the null hypothesis a one-sided p or bound is about; greater: the first sample tends to be
// larger.
enum class Alternative { two_sided, less, greater };

}  // namespace retrygate::stats
