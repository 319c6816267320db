// From what a user types to a policy: `full-jitter`, `fixed:base=1s`, `policies.toml#name`,
// `policies.toml#name:cap=10s`, `exec:python3 policy.py`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/base/config.hpp"
#include "policies/preset.hpp"
#include "policies/program_policy.hpp"

namespace retrygate {

struct Program {
  ProgramPolicy policy;  // not running
  Value contract;        // as written
};

struct NamedPolicy {
  std::string name;  // as the user refers to it, overrides included
  AnyPolicy policy;
  Where where;           // its table in a file, or the option that named it
  const Preset* preset;  // the built-in or preset it is made from
  Value source = {};     // its table as given, `kind` included: what read_policy takes
  // What finds it again from the current folder; the name is what its own file calls it.
  std::string reference = {};
  // Of a policy in another process: what starts it, and the contract that it is greeted with.
  std::shared_ptr<const Program> program = {};
  bool operator==(const NamedPolicy& other) const { return name == other.name && policy == other.policy; }
};

// `where` is where `reference` was written (an option's name, or a place in a suite). A file path is
// relative to `folder`, the current directory when empty.
Result<NamedPolicy> find_policy(std::string_view reference, Where where, const std::string& folder = {});

// The same with a policy that can be asked: itself, or its program, started anew and greeted with a seed made
// from these two. It ends with the last copy of the policy. A program that does not start, or breaks off
// later, is thrown as a ProgramFault. Error: its decisions would not come again although that is needed.
enum class Repeats : std::uint8_t { needed, never_mind };
Result<NamedPolicy> started(const NamedPolicy&, Seed, Repeats, std::uint64_t salt = 0);

// One `[policy.NAME]` table: `kind`, then the parameters of that kind.
Result<NamedPolicy> read_policy(std::string name, const Value& table);

}  // namespace retrygate
