#include "policies/base/config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

Where place(const toml::node& node, const std::string& source) {
  const toml::source_position begin = node.source().begin;
  return {source, static_cast<int>(begin.line), static_cast<int>(begin.column)};
}

// Dates and times have no use here and stay texts, so that the complaint is the usual one.
Value convert(const toml::node& node, const std::string& source) {
  Value value{place(node, source), {}};
  if (const auto* table = node.as_table()) {
    Table members;
    for (const auto& [key, child] : *table) {
      const toml::source_position at = key.source().begin;
      members.push_back({std::string(key.str()),
                         {source, static_cast<int>(at.line), static_cast<int>(at.column)},
                         convert(child, source)});
    }
    // toml++ sorts by key; messages and reports follow the file.
    std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
    });
    value.data = std::move(members);
  } else if (const auto* array = node.as_array()) {
    Array items;
    for (const auto& child : *array) items.push_back(convert(child, source));
    value.data = std::move(items);
  } else if (const auto* text = node.as_string()) {
    value.data = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.data = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    value.data = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    value.data = flag->get();
  } else {
    std::ostringstream out;
    node.visit([&](const auto& leaf) {
      if constexpr (!toml::is_table<decltype(leaf)> && !toml::is_array<decltype(leaf)>) out << leaf;
    });
    value.data = out.str();
  }
  return value;
}

std::string_view kind_name(const Value& value) {
  constexpr std::string_view names[] = {"true or false", "a whole number", "a number", "a text",
                                        "a list",        "a table",        "null"};
  return names[value.data.index()];
}

Value guess(std::string_view text, Where where) {
  std::int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (auto [at, fault] = std::from_chars(text.data(), end, integer); fault == std::errc{} && at == end)
    return {std::move(where), integer};
  double number = 0;
  if (auto [at, fault] = std::from_chars(text.data(), end, number);
      fault == std::errc{} && at == end && std::isfinite(number))
    return {std::move(where), number};
  if (text == "true" || text == "false") return {std::move(where), text == "true"};
  return {std::move(where), std::string(text)};
}

// toml++ bounds the depth of lists and inline tables itself, but not that of a dotted key, and each of its
// tables is destroyed by a call within the call of the table around it.
constexpr int dots_max = 256;

// The line of a key with more parts than that, or 0. Dots count up to the `=`, and only after something
// else, so that a row of dots in a text is no key.
int too_deep(std::string_view text) {
  int line = 1, dots = 0;
  bool key = true;
  char before = '.';
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
      key = true;
    }
    if (c == '=') key = false;
    if (key && c == '.' && before != '.' && ++dots > dots_max) return line;
    if (c != ' ' && c != '\t') before = c;
  }
  return 0;
}

}  // namespace

Result<Value> parse_toml(std::string_view text, const std::string& source) {
  if (const int line = too_deep(text); line > 0)
    return failure({source, line, 1}, fmt::format("this key has more than {} parts", dots_max));
  try {
    const toml::table table = toml::parse(text, std::string_view(source));
    if (table.empty())
      return failure({source, 1, 1}, "the file is empty",
                     "it needs at least one table such as [policy.NAME]");
    Value value = convert(table, source);
    value.where = {source, 1, 1};
    return value;
  } catch (const toml::parse_error& fault) {
    const toml::source_position at = fault.source().begin;
    return failure({source, static_cast<int>(at.line), static_cast<int>(at.column)},
                   std::string(fault.description()));
  }
}

// One that does not end, or is larger than this, is refused before it fills the memory.
constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  // A directory opens but cannot be read; only a read through the stream itself makes `in` say so. An empty
  // file ends at once, which is no fault.
  if (in) in.peek();
  if (in.eof()) return std::string();
  std::string text;
  for (std::array<char, 1 << 16> part; in && text.size() <= file_bytes_max;) {
    in.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad() || (in.fail() && !in.eof())) {
    const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
    return failure({path, 0, 0}, "cannot read this file" + why, "check the path and its permissions");
  }
  if (text.size() > file_bytes_max)
    return failure({path, 0, 0}, fmt::format("this file has more than {} MiB", file_bytes_max >> 20),
                   "it is read whole: split it, or leave out what is not needed");
  return text;
}

Result<Value> load_toml(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse_toml(*text, path);
}

Result<Value> parse_overrides(std::string_view text, Where where) {
  Table members;
  Errors complaints;
  const int start = where.column;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    Where at = where;
    at.column = start + static_cast<int>(begin);
    if (equals == std::string_view::npos || equals == 0) {
      complaints.push_back({at, fmt::format("'{}' is not of the form key=value", item),
                            "write for example base=100ms,cap=5s"});
    } else {
      Where value_at = at;
      value_at.column += static_cast<int>(equals) + 1;
      const std::string key(item.substr(0, equals));
      for (const Member& earlier : members) {
        if (earlier.key == key) complaints.push_back({at, fmt::format("'{}' is given twice", key), ""});
      }
      members.push_back({key, at, guess(item.substr(equals + 1), value_at)});
    }
    begin = end + 1;
  }
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  return Value{std::move(where), std::move(members)};
}

Value to_value(std::optional<double> number) {
  if (!number) return {{}, nullptr};
  return {{}, *number};
}

Value to_value(const std::vector<double>& numbers) {
  Array all;
  for (const double number : numbers) all.push_back({{}, number});
  return {{}, std::move(all)};
}

Value overlaid(Value under, const Value& over) {
  Table& members = std::get<Table>(under.data);
  for (const Member& member : std::get<Table>(over.data)) {
    const auto same =
        std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == member.key; });
    if (same == members.end())
      members.push_back(member);
    else
      *same = member;
  }
  return under;
}

Value sorted(Value value) {
  if (auto* members = std::get_if<Table>(&value.data)) {
    std::sort(members->begin(), members->end(),
              [](const Member& a, const Member& b) { return a.key < b.key; });
    for (Member& member : *members) member.value = sorted(std::move(member.value));
  } else if (auto* items = std::get_if<Array>(&value.data)) {
    for (Value& item : *items) item = sorted(std::move(item));
  }
  return value;
}

Reader::Reader(const Value& table, Errors& complaints)
    : value_(&table), table_(std::get_if<Table>(&table.data)), complaints_(&complaints) {
  static const Table none;
  if (table_ == nullptr) {
    fail(table.where, fmt::format("this must be a table, not {}", kind_name(table)));
    table_ = &none;
  }
}

const Value* Reader::find(std::string_view key) const {
  for (const Member& member : *table_) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

bool Reader::has(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::string> Reader::keys() const {
  std::vector<std::string> all;
  for (const Member& member : *table_) all.push_back(member.key);
  return all;
}

const Value* Reader::any(std::string_view key) {
  asked_.emplace(key);
  return find(key);
}

void Reader::wrong_kind(std::string_view key, const Value& value, std::string_view wanted) {
  fail(value.where, fmt::format("'{}' must be {}, not {}", key, wanted, kind_name(value)));
}

std::optional<std::string> Reader::text(std::string_view key) {
  const Value* value = any(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&value->data)) return *text;
  wrong_kind(key, *value, "a text");
  return std::nullopt;
}

std::optional<std::int64_t> Reader::integer(std::string_view key) {
  const Value* value = any(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&value->data)) return *integer;
  if (std::holds_alternative<double>(value->data)) {
    fail(value->where, fmt::format("'{}' must be a whole number, without point or exponent", key));
    return std::nullopt;
  }
  wrong_kind(key, *value, "a whole number");
  return std::nullopt;
}

std::optional<double> Reader::number(std::string_view key) {
  const Value* value = any(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&value->data)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value->data)) {
    if (std::isfinite(*number)) return *number;
    fail(value->where, fmt::format("'{}' must be a finite number", key));
    return std::nullopt;
  }
  wrong_kind(key, *value, "a number");
  return std::nullopt;
}

std::vector<double> Reader::numbers(std::string_view key) {
  std::vector<double> all;
  const Value* value = any(key);
  if (value == nullptr) return all;
  const auto* items = std::get_if<Array>(&value->data);
  if (items == nullptr) {
    wrong_kind(key, *value, "a list of numbers");
    return all;
  }
  for (const Value& item : *items) {
    if (const auto* integer = std::get_if<std::int64_t>(&item.data))
      all.push_back(static_cast<double>(*integer));
    else if (const auto* number = std::get_if<double>(&item.data);
             number != nullptr && std::isfinite(*number))
      all.push_back(*number);
    else
      wrong_kind(key, item, "a list of finite numbers");
  }
  return all;
}

std::optional<bool> Reader::flag(std::string_view key) {
  const Value* value = any(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&value->data)) return *flag;
  wrong_kind(key, *value, "true or false");
  return std::nullopt;
}

std::optional<Duration> Reader::duration(std::string_view key) {
  const Value* value = any(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&value->data)) {
    auto parsed = parse_duration(*text, value->where);
    if (!parsed) {
      for (Error& error : parsed.error()) {
        error.message = fmt::format("'{}': {}", key, error.message);
        complaints_->push_back(std::move(error));
      }
      return std::nullopt;
    }
    if (*parsed < Duration{}) {
      fail(value->where, fmt::format("'{}' must not be negative", key));
      return std::nullopt;
    }
    return *parsed;
  }
  const auto* integer = std::get_if<std::int64_t>(&value->data);
  const auto* number = std::get_if<double>(&value->data);
  if (integer != nullptr)
    fail(value->where, fmt::format("'{}' needs a unit", key),
         fmt::format("write \"{0}ms\" or \"{0}s\", not {0}", *integer));
  else if (number != nullptr)
    fail(value->where, fmt::format("'{}' needs a unit", key),
         fmt::format("write \"{0}ms\" or \"{0}s\", not {0}", *number));
  else
    wrong_kind(key, *value, "a duration such as \"100ms\"");
  return std::nullopt;
}

std::optional<std::size_t> Reader::word(std::string_view key, const std::vector<std::string_view>& words) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == *given) return i;
  }
  fail(key, fmt::format("'{}' cannot be '{}'{}", key, *given, did_you_mean(*given, words)),
       fmt::format("known: {}", fmt::join(words, ", ")));
  return std::nullopt;
}

std::optional<Reader> Reader::table(std::string_view key) {
  const Value* value = any(key);
  if (value == nullptr) return std::nullopt;
  if (std::holds_alternative<Table>(value->data)) return Reader(*value, *complaints_);
  wrong_kind(key, *value, "a table");
  return std::nullopt;
}

std::vector<Reader> Reader::tables(std::string_view key) {
  std::vector<Reader> all;
  const Value* value = any(key);
  if (value == nullptr) return all;
  const auto* items = std::get_if<Array>(&value->data);
  if (items == nullptr) {
    wrong_kind(key, *value, fmt::format("a list of tables, written [[{}]]", key));
    return all;
  }
  for (const Value& item : *items) {
    if (std::holds_alternative<Table>(item.data))
      all.emplace_back(item, *complaints_);
    else
      wrong_kind(key, item, fmt::format("a table, written [[{}]]", key));
  }
  return all;
}

std::vector<std::string> Reader::texts(std::string_view key) {
  std::vector<std::string> all;
  const Value* value = any(key);
  if (value == nullptr) return all;
  if (const auto* text = std::get_if<std::string>(&value->data)) return {*text};
  const auto* items = std::get_if<Array>(&value->data);
  if (items == nullptr) {
    wrong_kind(key, *value, "a list of texts");
    return all;
  }
  for (const Value& item : *items) {
    if (const auto* text = std::get_if<std::string>(&item.data))
      all.push_back(*text);
    else
      wrong_kind(key, item, "a list of texts");
  }
  return all;
}

std::vector<std::pair<std::string, Reader>> Reader::members(std::string_view key) {
  std::vector<std::pair<std::string, Reader>> all;
  const Value* value = any(key);
  if (value == nullptr) return all;
  const auto* table = std::get_if<Table>(&value->data);
  if (table == nullptr) {
    wrong_kind(key, *value, fmt::format("tables, written [{}.NAME]", key));
    return all;
  }
  for (const Member& member : *table) all.emplace_back(member.key, Reader(member.value, *complaints_));
  return all;
}

Where Reader::where(std::string_view key) const {
  const Value* value = find(key);
  return value != nullptr ? value->where : value_->where;
}

void Reader::fail(std::string_view key, std::string message, std::string hint) {
  fail(where(key), std::move(message), std::move(hint));
}

void Reader::fail(Where where, std::string message, std::string hint) {
  complaints_->push_back({std::move(where), std::move(message), std::move(hint)});
}

void Reader::finish() {
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (const Member& member : *table_) {
    if (asked_.contains(member.key)) continue;
    fail(member.where, fmt::format("unknown key '{}'{}", member.key, did_you_mean(member.key, known)),
         fmt::format("known: {}", fmt::join(known, ", ")));
  }
}

void Reader::ignore_rest() {
  for (const Member& member : *table_) asked_.insert(member.key);
}

}  // namespace retrygate
