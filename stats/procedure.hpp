// The catalogue of statistical procedures: each can be run on a case written as data, by a program or a
// person.
#pragma once

#include <string_view>

#include "policies/base/config.hpp"
#include "policies/base/shelf.hpp"

namespace retrygate::stats {

struct Procedure {
  std::string_view id;       // the `test` of a case
  std::string_view summary;  // what it estimates or tests, one line
  std::string_view assumes;  // what must hold of the data
  std::string_view source;   // publication of the formula
  // Takes data and params out of the case, complains to the reader, gives a Table. See stats/case.hpp.
  Result<Value> (*run)(Reader& the_case);
};

const Shelf<Procedure>& procedures();

// Runs a procedure on a case, a Table with data and an optional table `params`. Errors name the places of
// the case. Every number of the result is a number: what is not defined is null.
Result<Value> run(const Procedure&, const Value& the_case);

}  // namespace retrygate::stats
