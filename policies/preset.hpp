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
  std::string_view family = {};  // where it comes from: "AWS", "Go" ...
};

// Adds the presets of one file under the name of their family.
class Family {
 public:
  Family(Shelf<Preset>& shelf, std::string_view name) : shelf_(shelf), name_(name) {}
  void add(Preset preset) {
    preset.family = name_;
    shelf_.add(std::move(preset));
  }

 private:
  Shelf<Preset>& shelf_;
  std::string_view name_;
};

// What a preset is, for people: its law, its defaults, what it promises, where that was read, and every
// deviation with its source. Paragraphs of one line each.
std::vector<std::string> about(const Preset&);

const Shelf<Preset>& presets();

}  // namespace retrygate
