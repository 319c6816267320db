// The catalogue of policies that can be named: built-ins and replicas of what libraries ship.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policies/base/shelf.hpp"
#include "policies/policy.hpp"

namespace retrygate {

// A promise of its own documentation that the original does not keep.
struct Deviation {
  std::string_view invariant;  // id
  std::string_view why;
  std::string_view source;
  // Does a check of the replica with its default parameters show it? Not where the original throws or wraps
  // and the replica saturates, nor where it takes more attempts or another setting than the default.
  bool shows = true;
};

struct Preset {
  std::string_view id;
  std::string_view summary;  // one line for `list policies`
  std::string_view source;   // where the law is documented: library, version, file; or a publication
  AnyPolicy (*make)(Reader& parameters);  // complaints go to the reader; the caller calls finish()
  std::vector<Deviation> deviations = {};
};

const Shelf<Preset>& presets();

}  // namespace retrygate
