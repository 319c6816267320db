// From what a user types to a policy: `full-jitter`, `fixed:base=1s`, `policies.toml#name`,
// `policies.toml#name:cap=10s`.
#pragma once

#include <string>
#include <vector>

#include "policies/base/config.hpp"
#include "policies/preset.hpp"

namespace retrygate {

struct NamedPolicy {
  std::string name;  // as the user refers to it, overrides included
  AnyPolicy policy;
  Where where;           // its table in a file, or the option that named it
  const Preset* preset;  // the built-in or preset it is made from
  Value source = {};     // its table as given, `kind` included: what read_policy takes
  // What finds it again from the current folder; the name is what its own file calls it.
  std::string reference = {};
  bool operator==(const NamedPolicy& other) const { return name == other.name && policy == other.policy; }
};

// `where` is where `reference` was written (an option's name, or a place in a suite). A file path is
// relative to `folder`, the current directory when empty.
Result<NamedPolicy> find_policy(std::string_view reference, Where where, const std::string& folder = {});

// One `[policy.NAME]` table: `kind`, then the parameters of that kind.
Result<NamedPolicy> read_policy(std::string name, const Value& table);

}  // namespace retrygate
