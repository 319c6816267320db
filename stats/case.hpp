// What the adapters in tests/ use to take a case apart. Every function complains to the reader about what is
// missing or wrong; an adapter asks `wrong(the_case)` once before it computes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "policies/base/config.hpp"
#include "stats/mann_whitney.hpp"
#include "stats/permutation.hpp"
#include "stats/status.hpp"

namespace retrygate::stats {

using Samples = std::vector<std::vector<double>>;

// A list of at least `least` finite numbers.
std::vector<double> sample(Reader&, std::string_view key, std::size_t least = 1);
// A list of at least `least` lists, each of at least one finite number.
Samples samples(Reader&, std::string_view key, std::size_t least = 1);
// A list of rows of equal length, not empty.
Samples rows(Reader&, std::string_view key);
// A list whose entries may be null: not given.
std::vector<std::optional<double>> gappy(Reader&, std::string_view key);
// A number, or one of the texts "Infinity" and "-Infinity"; nothing when null or absent.
std::optional<double> extended(Reader&, std::string_view key);

// The table `params`, or an empty one.
Reader params(Reader& the_case);
// A parameter within [low, high] (ends included), or `otherwise` when it is absent or null.
double number_or(Reader& params, std::string_view key, double otherwise,
                 double low = -std::numeric_limits<double>::max(),
                 double high = std::numeric_limits<double>::max());
std::int64_t integer_or(Reader& params, std::string_view key, std::int64_t otherwise, std::int64_t low,
                        std::int64_t high);
// A whole number within [low, high] that must be there; `low` after a complaint.
std::int64_t whole(Reader&, std::string_view key, std::int64_t low,
                   std::int64_t high = std::numeric_limits<std::int64_t>::max());
// A number above 0, or strictly between 0 and 1, that must be there unless there is an `otherwise`.
double positive(Reader&, std::string_view key, std::optional<double> otherwise = {});
double fraction(Reader&, std::string_view key, std::optional<double> otherwise = {});
double level(Reader& params);             // `conf_level`, strictly between 0 and 1; 0.95
Alternative alternative(Reader& params);  // `alternative`: two.sided (default), less, greater
Law law_of(Reader& params);               // `method`: exact (default) or normal
Draws draws_of(Reader& params);           // `draws` (100000), `seed` (1), `threads` (1)

// Are there complaints? Then return failure_of(the_case).
bool wrong(Reader& the_case);
tl::unexpected<Errors> failure_of(Reader& the_case);

// Members of a result.
using retrygate::member;
inline Member member(Status status) { return member("status", to_string(status)); }
Member count(std::string key, std::size_t n);  // printed as a whole number
Member resamples_of(const PermutationTest&);   // "resamples": "all", or how many were drawn
// What every permutation test says but its one-sided p, whose names differ.
Table members_of(const PermutationTest&);
Table members_of(const NormalRankTest&);
// The result of an estimate of place with its interval.
Value shift_of(const Shift&);
// For a law that takes too long to count: the complaint, and what to use.
tl::unexpected<Errors> too_many(Reader& the_case, std::string_view instead);

}  // namespace retrygate::stats
