// Retry settings of other tools as policies of ours, with what they cannot say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policies/base/config.hpp"
#include "policies/base/shelf.hpp"

namespace retrygate {

struct ImportedPolicy {
  std::string name;
  Where where;  // of the settings it is made from
  Table table;  // a [policy.NAME] table: `kind`, then its keys
};

struct Imported {
  std::vector<ImportedPolicy> policies;
  Errors warnings;  // what these settings cannot express, or mean differently than it looks
};

struct Importer {
  std::string_view id;
  std::string_view summary;
  std::string_view source;  // where the format and its defaults are documented
  Result<Imported> (*read)(std::string_view text, const std::string& source);
};

const Shelf<Importer>& importers();

// Tables [policy.NAME] as TOML.
std::string to_toml(const Imported&);

// What the importers share.
namespace importing {

// Collects the keys of one policy. Durations are written with their unit.
class Keys {
 public:
  explicit Keys(std::string kind) { set("kind", std::move(kind)); }
  Keys& set(std::string key, std::string value) { return add(std::move(key), std::move(value)); }
  Keys& set(std::string key, Duration value) { return add(std::move(key), to_string(value)); }
  Keys& set(std::string key, std::int64_t value) { return add(std::move(key), value); }
  Keys& set(std::string key, double value) { return add(std::move(key), value); }
  Keys& set(std::string key, std::vector<std::string> words);  // whole numbers are written as such
  Keys& set(std::string key, Table table) { return add(std::move(key), std::move(table)); }
  Table take() { return std::move(table_); }

 private:
  template <class T>
  Keys& add(std::string key, T value) {
    table_.push_back({std::move(key), {}, {{}, std::move(value)}});
    return *this;
  }
  Table table_;
};

// A number of retries: 0 to 2^32 - 1, what the formats' own integers hold.
std::optional<std::int64_t> count(Reader& table, std::string_view key);
const Value* at(const Value& table, std::string_view key);  // nothing if it is no table or has no such key
// protobuf's JSON form of a duration above 0: seconds with up to nine decimals and an s. A complaint about
// anything else, and where it is missing and `needed`.
std::optional<Duration> seconds(Reader& table, std::string_view key, bool needed);
// Letters, digits and dashes of a text, so that it can name a table; with a number if the name is taken.
std::string free_name(std::string_view text, const std::vector<ImportedPolicy>& taken);

}  // namespace importing
}  // namespace retrygate
