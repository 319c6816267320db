#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "policies/importers/importer.hpp"

namespace retrygate {
namespace {

std::string toml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string written(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return toml_quoted(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return fmt::format("{}", *integer);
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value.data)) {
    const std::string text = fmt::format("{}", *number);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  std::vector<std::string> parts;
  if (const auto* items = std::get_if<Array>(&value.data)) {
    for (const Value& item : *items) parts.push_back(written(item));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  for (const Member& m : std::get<Table>(value.data))
    parts.push_back(fmt::format("{} = {}", m.key, written(m.value)));
  return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

}  // namespace

std::string to_toml(const Imported& imported) {
  std::string out;
  for (const ImportedPolicy& policy : imported.policies) {
    out += fmt::format("{}# from {}\n[policy.{}]\n", out.empty() ? "" : "\n", to_string(policy.where),
                       policy.name);
    for (const Member& m : policy.table) out += fmt::format("{} = {}\n", m.key, written(m.value));
  }
  return out;
}

namespace importing {

Keys& Keys::set(std::string key, std::vector<std::string> words) {
  Array items;
  for (std::string& word : words) {
    std::int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [at, fault] = std::from_chars(word.data(), end, number);
    if (fault == std::errc{} && at == end)
      items.push_back({{}, number});
    else
      items.push_back({{}, std::move(word)});
  }
  return add(std::move(key), std::move(items));
}

const Value* at(const Value& table, std::string_view key) {
  const auto* members = std::get_if<Table>(&table.data);
  if (members == nullptr) return nullptr;
  const auto found =
      std::find_if(members->begin(), members->end(), [&](const Member& m) { return m.key == key; });
  return found != members->end() ? &found->value : nullptr;
}

std::string free_name(std::string_view text, const std::vector<ImportedPolicy>& taken) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  if (name.empty()) name = "policy";
  const auto is_taken = [&](const std::string& wanted) {
    return std::any_of(taken.begin(), taken.end(), [&](const ImportedPolicy& p) { return p.name == wanted; });
  };
  if (!is_taken(name)) return name;
  int number = 2;
  while (is_taken(fmt::format("{}-{}", name, number))) ++number;
  return fmt::format("{}-{}", name, number);
}

}  // namespace importing
}  // namespace retrygate
