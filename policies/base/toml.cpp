#include "policies/base/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace retrygate {
namespace {

std::string toml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string toml_key(std::string_view text) {
  constexpr std::string_view bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const bool is_bare = !text.empty() && text.find_first_not_of(bare) == std::string_view::npos;
  return is_bare ? std::string(text) : toml_quoted(text);
}

}  // namespace

std::string write_toml(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return toml_quoted(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return fmt::format("{}", *integer);
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value.data)) {
    const std::string text = fmt::format("{}", *number);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  std::vector<std::string> parts;
  if (const auto* items = std::get_if<Array>(&value.data)) {
    for (const Value& item : *items) parts.push_back(write_toml(item));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  const auto* table = std::get_if<Table>(&value.data);
  RG_ASSERT(table != nullptr, "TOML has no null");
  for (const Member& m : *table)
    parts.push_back(fmt::format("{} = {}", toml_key(m.key), write_toml(m.value)));
  return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

std::string write_toml(const Table& table) {
  std::string out;
  for (const Member& m : table) out += fmt::format("{} = {}\n", toml_key(m.key), write_toml(m.value));
  return out;
}

}  // namespace retrygate
