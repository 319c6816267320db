// Reading what people write. A file (TOML; JSON: json.hpp) or an override list on the command line becomes
// one plain tree of Values that know their place; a Reader takes typed values out of a table and gathers
// every complaint, so that a user sees all mistakes at once.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "policies/base/error.hpp"
#include "policies/base/units.hpp"

namespace retrygate {

struct Value;
struct Member;
using Array = std::vector<Value>;
using Table = std::vector<Member>;  // in the order of the file

struct Value {
  Where where;
  std::variant<bool, std::int64_t, double, std::string, Array, Table, std::nullptr_t>
      data;  // null: JSON only
};
struct Member {
  std::string key;
  Where where;  // of the key
  Value value;
};

Result<std::string> read_file(const std::string& path);

// A whole file as a Value that holds a Table. `source` is what messages call the file.
Result<Value> parse_toml(std::string_view text, const std::string& source);
Result<Value> load_toml(const std::string& path);

// "base=100ms,cap=5s" -> a table of texts and numbers; `where.column` is where `text` begins.
Result<Value> parse_overrides(std::string_view text, Where where);

// Values that were written by nobody: what a program puts together to print as JSON.
Value to_value(std::optional<double>);  // null when there is none
Value to_value(const std::vector<double>&);
template <class T>
requires std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, Array> || std::is_same_v<T, Table>
        Value to_value(T value) {
  return {{}, std::move(value)};
}
template <class T>
Member member(std::string key, T&& value) {
  return {std::move(key), {}, to_value(std::forward<T>(value))};
}

// `over` wins key by key (not recursively): how overrides are laid over a file's table.
Value overlaid(Value under, const Value& over);

// The same tree with the members of every table in the order of their keys.
Value sorted(Value);

// Typed access to one table. Every getter returns nothing when the key is absent, and complains (and
// returns nothing) when it is there but wrong. Call finish() at the end: what nobody asked for is an
// unknown key.
class Reader {
 public:
  // `complaints` outlives the reader. `table` must hold a Table, else that is the first complaint.
  Reader(const Value& table, Errors& complaints);

  std::optional<std::string> text(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key);
  std::optional<double> number(std::string_view key);  // integers too; finite
  std::vector<double> numbers(std::string_view key);   // a list of finite numbers
  std::optional<bool> flag(std::string_view key);
  std::optional<Duration> duration(std::string_view key);  // not negative
  // One of `words`, as its index; the complaint lists them.
  std::optional<std::size_t> word(std::string_view key, const std::vector<std::string_view>& words);
  const Value* any(std::string_view key);  // present or not, of any kind
  std::optional<Reader> table(std::string_view key);
  std::vector<Reader> tables(std::string_view key);                           // [[key]]: an array of tables
  std::vector<std::string> texts(std::string_view key);                       // one text or an array of texts
  std::vector<std::pair<std::string, Reader>> members(std::string_view key);  // [key.NAME] for every NAME

  bool has(std::string_view key) const;
  std::vector<std::string> keys() const;
  const Where& where() const { return value_->where; }
  Where where(std::string_view key) const;  // of the key's value, or of the table when absent
  void fail(std::string_view key, std::string message, std::string hint = {});
  void fail(Where where, std::string message, std::string hint = {});
  Errors& complaints() { return *complaints_; }
  void finish();
  void ignore_rest();  // nothing left over is wrong

 private:
  const Value* find(std::string_view key) const;
  void wrong_kind(std::string_view key, const Value& value, std::string_view wanted);

  const Value* value_;
  const Table* table_;
  Errors* complaints_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace retrygate
