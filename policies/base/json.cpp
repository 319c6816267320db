#include "policies/base/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace retrygate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t deepest = 64;

// Follows the parser token by token to know where each begins: between two tokens are only blanks, commas
// and colons, and the parser has checked the rest.
class Cursor {
 public:
  Cursor(std::string_view text, std::string source, int line)
      : text_(text), source_(std::move(source)), line_(line) {}

  // Where the next token begins; then moves behind it.
  Where next() {
    while (at_ < text_.size() && std::string_view(" \t\r\n,:").find(text_[at_]) != std::string_view::npos)
      step();
    const Where begin{source_, line_, column_};
    if (at_ >= text_.size()) return begin;
    if (text_[at_] == '"') {
      step();
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\') step();
        step();
      }
      step();
    } else if (std::string_view("{}[]").find(text_[at_]) != std::string_view::npos) {
      step();
    } else {
      while (at_ < text_.size() && std::string_view(" \t\r\n,:]}").find(text_[at_]) == std::string_view::npos)
        step();
    }
    return begin;
  }

  // The place of a byte, for the parser's own complaints.
  Where place(std::size_t byte) {
    while (at_ < std::min(byte, text_.size())) step();
    return {source_, line_, column_};
  }

 private:
  void step() {
    if (at_ >= text_.size()) return;
    if (text_[at_++] == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0;
  int line_;
  int column_ = 1;
};

class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const std::string& source, int line)
      : cursor_(text, source, line), start_(text, source, line) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return put(static_cast<double>(value));
    return put(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Table{}); }
  bool start_array(std::size_t) override { return open(Array{}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    Where where = cursor_.next();
    Table& table = std::get<Table>(open_.back().data);
    for (const Member& member : table) {
      if (member.key == name) {
        errors_.push_back({std::move(where), fmt::format("'{}' is given twice", name), ""});
        return false;
      }
    }
    table.push_back({std::move(name), std::move(where), {}});
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& fault) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while ..."
    const std::string_view text = fault.what();
    const std::size_t begin = text.find(": ");
    errors_.push_back(
        {start_.place(byte > 0 ? byte - 1 : 0),
         fmt::format("this is no JSON: {}", begin == std::string_view::npos ? text : text.substr(begin + 2)),
         ""});
    return false;
  }

  Value root;
  Errors take_errors() { return std::move(errors_); }

 private:
  template <class T>
  bool put(T data) {
    place({cursor_.next(), std::move(data)});
    return true;
  }
  template <class T>
  bool open(T empty) {
    Where where = cursor_.next();
    if (open_.size() >= deepest) {
      errors_.push_back({std::move(where), fmt::format("nested deeper than {}", deepest), ""});
      return false;
    }
    open_.push_back({std::move(where), std::move(empty)});
    return true;
  }
  bool close() {
    cursor_.next();
    Value done = std::move(open_.back());
    open_.pop_back();
    place(std::move(done));
    return true;
  }
  void place(Value value) {
    if (open_.empty())
      root = std::move(value);
    else if (auto* items = std::get_if<Array>(&open_.back().data))
      items->push_back(std::move(value));
    else
      std::get<Table>(open_.back().data).back().value = std::move(value);
  }

  Cursor cursor_, start_;
  std::vector<Value> open_;
  Errors errors_;
};

Json json_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return *integer;
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (const auto* number = std::get_if<double>(&value.data)) {
    if (std::isinf(*number)) return *number > 0 ? "Infinity" : "-Infinity";
    if (std::isnan(*number)) return nullptr;
    return *number;
  }
  if (const auto* items = std::get_if<Array>(&value.data)) {
    Json all = Json::array();
    for (const Value& item : *items) all.push_back(json_of(item));
    return all;
  }
  if (const auto* members = std::get_if<Table>(&value.data)) {
    Json all = Json::object();
    for (const Member& member : *members) all[member.key] = json_of(member.value);
    return all;
  }
  return nullptr;
}

}  // namespace

Result<Value> parse_json(std::string_view text, const std::string& source, int first_line) {
  Builder builder(text, source, first_line);
  if (!Json::sax_parse(text, &builder)) {
    Errors errors = builder.take_errors();
    if (errors.empty()) errors.push_back({{source, first_line, 1}, "this is no JSON", ""});
    return tl::unexpected(std::move(errors));
  }
  return std::move(builder.root);
}

std::string write_json(const Value& value, Layout layout) {
  return json_of(value).dump(layout == Layout::lines ? 1 : -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace retrygate
